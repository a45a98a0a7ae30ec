//! Memory mappings of processes and names of threads over time.
//!
//! A perf.data has the records of one CPU after those of another, so that a sample may precede the mapping that
//! contains it. All mappings, names and forks are therefore read first, sorted by time, and looked up later at the time
//! of each sample.

use super::room::Room;
use std::cell::Cell;
use std::collections::HashMap;

/// Limit of mappings, names and forks; each takes more than 100 bytes with all that is derived from it.
const MOST_CHANGES: usize = 4 * 1024 * 1024;

/// Limit of ancestors whose mappings are searched: a child has its parent's mappings, its child has those, and so on.
const DEEPEST: u16 = 64;

/// Limit of mappings in one space. Only code mappings are recorded; the largest programs have some hundreds.
const MOST_MAPS: usize = 16 * 1024;

/// Limit of mappings that are searched in total: this many for any file, and this many per byte of it. Beyond it, no
/// more addresses are looked up. Without a limit, many processes with thousands of mappings each, whose parents have as
/// many, would take forever.
const FREE_LOOKS: u64 = 1 << 31;
const LOOKS_PER_BYTE: u64 = 64;

/// A file, by its index in [`Spaces::files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct File(pub(crate) u32);

/// The mappings of a process over some period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Space(pub(crate) u32);

/// A part of a file in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Map {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The file offset of `start`.
    pub(crate) offset: u64,
    pub(crate) file: File,
}

/// A change of mappings or threads.
#[derive(Clone, Copy, Debug)]
enum Change {
    Mapped { process: u32, map: Map },
    Named { process: u32, thread: u32, name: u32, executes: bool },
    Forked { process: u32, parent: u32, thread: u32, parent_thread: u32 },
}

/// A space's own mappings, and the space that it inherits from.
#[derive(Clone, Debug, Default)]
struct Mapped {
    own: Vec<Map>,
    /// The space it inherits from, and how many of its mappings existed then.
    parent: Option<(Space, u32)>,
    depth: u16,
}

/// Names, each stored once.
#[derive(Clone, Debug, Default)]
struct Names {
    all: Vec<String>,
    by_name: HashMap<String, u32>,
}

impl Names {
    /// `None` if the name is new and there is no room for it.
    fn of(&mut self, room: &mut Room, name: String) -> Option<u32> {
        if let Some(known) = self.by_name.get(&name) {
            return Some(*known);
        }
        let next = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        room.text(name.len()).then(|| {
            self.all.push(name.clone());
            self.by_name.insert(name, next);
            next
        })
    }
}

/// All spaces and thread names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spaces {
    /// The changes and their times, until [`Self::order`].
    changes: Vec<(u64, Change)>,
    spaces: Vec<Mapped>,
    processes: HashMap<u32, Vec<(u64, Space)>>,
    threads: HashMap<u32, Vec<(u64, u32)>>,
    files: Names,
    names: Names,
    /// Mappings that did not fit.
    pub(crate) dropped: u64,
    /// The remaining budget of mappings to search.
    looks: Cell<u64>,
}

impl Spaces {
    /// For a file of `bytes` bytes.
    pub(crate) fn of(bytes: u64) -> Self {
        let looks = FREE_LOOKS.saturating_add(LOOKS_PER_BYTE.saturating_mul(bytes));
        Self { looks: Cell::new(looks), ..Self::default() }
    }

    fn tell(&mut self, room: &mut Room, time: u64, change: Change) -> bool {
        let has_room = self.changes.len() < MOST_CHANGES && room.thing();
        if has_room {
            self.changes.push((time, change));
        }
        has_room
    }

    /// A file was mapped. Returns false if there was no room, as the next two do.
    pub(crate) fn map(
        &mut self,
        room: &mut Room,
        time: u64,
        process: u32,
        file: String,
        [start, end, offset]: [u64; 3],
    ) -> bool {
        let Some(file) = self.files.of(room, file).map(File) else { return false };
        self.tell(room, time, Change::Mapped { process, map: Map { start, end, offset, file } })
    }

    /// A thread got a name, by executing a program or otherwise.
    pub(crate) fn name(
        &mut self,
        room: &mut Room,
        time: u64,
        process: u32,
        thread: u32,
        name: String,
        executes: bool,
    ) -> bool {
        let Some(name) = self.names.of(room, name) else { return false };
        self.tell(room, time, Change::Named { process, thread, name, executes })
    }

    /// A thread started; in a process other than its parent's, with its own memory.
    pub(crate) fn fork(
        &mut self,
        room: &mut Room,
        time: u64,
        [process, thread]: [u32; 2],
        [parent, parent_thread]: [u32; 2],
    ) -> bool {
        self.tell(room, time, Change::Forked { process, parent, thread, parent_thread })
    }

    /// Sorts and applies all changes, once they are complete.
    pub(crate) fn order(&mut self) {
        let mut changes = std::mem::take(&mut self.changes);
        // What perf reports about existing processes has time 0; its order matters.
        changes.sort_by_key(|(time, _)| *time);
        self.spaces.push(Mapped::default());
        for (time, change) in changes {
            match change {
                Change::Mapped { process, map } => self.mapped(time, process, map),
                Change::Named { process, thread, name, executes } => {
                    self.threads.entry(thread).or_default().push((time, name));
                    if executes {
                        // Until the old program is gone, the kernel is still in its execve call, whose stack is the old
                        // program's.
                        let space = self.inherit(self.latest(process));
                        self.processes.entry(process).or_default().push((time, space));
                    }
                }
                Change::Forked { process, parent, thread, parent_thread } => {
                    if let Some(&(_, name)) = self.threads.get(&parent_thread).and_then(|names| names.last())
                    {
                        self.threads.entry(thread).or_default().push((time, name));
                    }
                    if process != parent {
                        let space = self.inherit(self.latest(parent));
                        self.processes.entry(process).or_default().push((time, space));
                    }
                }
            }
        }
    }

    fn add(&mut self, mapped: Mapped) -> Space {
        let space = Space(u32::try_from(self.spaces.len()).unwrap_or(u32::MAX));
        self.spaces.push(mapped);
        space
    }

    /// A space that starts with the current mappings of another.
    fn inherit(&mut self, parent: Space) -> Space {
        let Mapped { own, depth, parent: grandparent } = &self.spaces[parent.0 as usize];
        let length = u32::try_from(own.len()).unwrap_or(u32::MAX);
        let mapped = match (length, grandparent) {
            // The parent has no mappings of its own: the child inherits from the grandparent directly.
            (0, grandparent) => Mapped { own: Vec::new(), parent: *grandparent, depth: *depth },
            _ if *depth < DEEPEST => {
                Mapped { own: Vec::new(), parent: Some((parent, length)), depth: depth + 1 }
            }
            _ => Mapped::default(),
        };
        self.add(mapped)
    }

    fn latest(&self, process: u32) -> Space {
        self.processes.get(&process).and_then(|spaces| spaces.last()).map_or(Space(0), |(_, space)| *space)
    }

    fn mapped(&mut self, time: u64, process: u32, map: Map) {
        let mut space = self.latest(process);
        // Two files at one address, one after the other: earlier samples are in the first.
        let replaces = self.overlaps(space, &map) && self.spaces[space.0 as usize].depth < DEEPEST;
        if space == Space(0) || replaces {
            space = self.inherit(space);
            self.processes.entry(process).or_default().push((time, space));
        }
        let own = &mut self.spaces[space.0 as usize].own;
        if own.len() < MOST_MAPS {
            own.push(map);
        } else {
            self.dropped += 1;
        }
    }

    fn overlaps(&self, space: Space, new: &Map) -> bool {
        let last = [new.start, new.end.saturating_sub(1)];
        last.into_iter().filter_map(|address| self.find(space, address)).any(|old| old.file != new.file)
    }

    /// The mapping that contains an address.
    pub(crate) fn find(&self, space: Space, address: u64) -> Option<Map> {
        let mut next = Some((space, u32::MAX));
        while let Some((space, most)) = next {
            let Mapped { own, parent, .. } = self.spaces.get(space.0 as usize)?;
            let own = &own[..own.len().min(most as usize)];
            self.looks.set(self.looks.get().checked_sub(1 + own.len() as u64)?);
            let is_in = |map: &&Map| (map.start..map.end).contains(&address);
            // The latest mapping is on top.
            if let Some(map) = own.iter().rev().find(is_in) {
                return Some(*map);
            }
            next = *parent;
        }
        None
    }

    /// The space of a process at that time.
    pub(crate) fn space_at(&self, process: u32, time: u64) -> Space {
        self.processes.get(&process).and_then(|spaces| at(spaces, time)).unwrap_or(Space(0))
    }

    /// The name of a thread at that time, as an index into [`Self::names`].
    pub(crate) fn name_at(&self, thread: u32, time: u64) -> Option<u32> {
        self.threads.get(&thread).and_then(|names| at(names, time))
    }

    /// Names of threads.
    pub(crate) fn names(&self) -> &[String] {
        &self.names.all
    }

    /// Names of files.
    pub(crate) fn files(&self) -> &[String] {
        &self.files.all
    }
}

/// The value at that time: the last that began no later or, for samples before the first change, the first.
fn at<T: Copy>(changes: &[(u64, T)], time: u64) -> Option<T> {
    let after = changes.partition_point(|(since, _)| *since <= time);
    changes.get(after.saturating_sub(1)).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_at(spaces: &Spaces, process: u32, time: u64, address: u64) -> Option<&str> {
        let map = spaces.find(spaces.space_at(process, time), address)?;
        Some(&spaces.files()[map.file.0 as usize])
    }

    #[test]
    fn late_mmap_records_apply_from_their_own_time() {
        let (mut spaces, room) = (Spaces::of(0), &mut Room::of(0));
        spaces.map(room, 20, 7, "later".to_owned(), [100, 200, 0]);
        spaces.map(room, 10, 7, "first".to_owned(), [100, 200, 0]);
        spaces.order();
        assert_eq!(file_at(&spaces, 7, 15, 150), Some("first"));
        assert_eq!(file_at(&spaces, 7, 20, 150), Some("later"));
        assert_eq!(file_at(&spaces, 7, 20, 200), None);
        assert_eq!(file_at(&spaces, 8, 20, 150), None);
    }

    #[test]
    fn fork_inherits_mappings_and_exec_overlays_them() {
        let (mut spaces, room) = (Spaces::of(0), &mut Room::of(0));
        spaces.name(room, 0, 1, 1, "shell".to_owned(), true);
        spaces.map(room, 1, 1, "sh".to_owned(), [100, 200, 0]);
        spaces.fork(room, 2, [2, 2], [1, 1]);
        spaces.map(room, 3, 1, "library".to_owned(), [200, 300, 0]);
        spaces.name(room, 4, 2, 2, "copy".to_owned(), true);
        spaces.map(room, 5, 2, "cp".to_owned(), [100, 200, 0]);
        spaces.order();
        assert_eq!(file_at(&spaces, 2, 3, 150), Some("sh"));
        assert_eq!(file_at(&spaces, 2, 3, 250), None, "mapped by the parent after the fork");
        assert_eq!(file_at(&spaces, 2, 5, 150), Some("cp"));
        assert_eq!(file_at(&spaces, 1, 5, 250), Some("library"));
        let name =
            |thread, time| spaces.name_at(thread, time).map(|name| spaces.names()[name as usize].as_str());
        assert_eq!((name(2, 3), name(2, 4), name(1, 9)), (Some("shell"), Some("copy"), Some("shell")));
    }

    #[test]
    fn depth_of_nested_forks_is_bounded() {
        let (mut spaces, room) = (Spaces::of(0), &mut Room::of(0));
        spaces.map(room, 0, 1, "sh".to_owned(), [100, 200, 0]);
        for n in 1..1000 {
            spaces.fork(room, u64::from(n), [n + 1, n + 1], [n, n]);
            spaces.map(
                room,
                u64::from(n),
                n + 1,
                format!("file {n}"),
                [u64::from(n) * 1000, u64::from(n) * 1000 + 9, 0],
            );
        }
        spaces.order();
        assert_eq!(file_at(&spaces, 11, 5000, 150), Some("sh"));
        assert_eq!(file_at(&spaces, 1000, 5000, 999_003), Some("file 999"));
        assert!(spaces.spaces.iter().all(|space| space.depth <= DEEPEST));
    }
}
