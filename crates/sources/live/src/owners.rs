//! Which process owns a socket: /proc/PID/fd lists the sockets that a process has open.

use crate::table::{Owner, Process};
use slowpath_model::{End, FlowId};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::linux::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The least time between two scans of /proc, which may be long.
const EVERY: Duration = Duration::from_secs(1);
/// Sockets whose owners are kept: both ends of all flows that are kept.
const MOST_SOCKETS: usize = 200_000;

/// The owners of the sockets seen.
#[derive(Default)]
pub struct Owners {
    sockets: HashMap<(FlowId, End), Socket>,
    /// When /proc was last scanned.
    looked: Option<Instant>,
    /// There are sockets whose processes were not searched for.
    has_new: bool,
}

#[derive(Clone, Debug)]
struct Socket {
    owner: Owner,
    process: Sought,
}

/// A process is searched for once: if this process may not read it, it will not be found the next time either.
#[derive(Clone, Debug)]
enum Sought {
    NotYet,
    InVain,
    Found(Process),
}

impl Owners {
    /// Notes the live sockets and searches for the processes of new ones; returns these, by socket inode.
    pub fn look(&mut self, owners: impl Iterator<Item = (FlowId, End, Owner)>) -> Vec<(u64, Process)> {
        for (flow, end, owner) in owners.filter(|(.., owner)| owner.inode != 0) {
            let key = (flow, end);
            let is_known = self.sockets.get(&key).is_some_and(|known| known.owner.inode == owner.inode);
            if !is_known && self.sockets.len() < MOST_SOCKETS {
                self.sockets.insert(key, Socket { owner, process: Sought::NotYet });
                self.has_new = true;
            }
        }
        if self.looked.is_none_or(|looked| looked.elapsed() >= EVERY) { self.seek_new() } else { Vec::new() }
    }

    /// Searches for the processes of new sockets at once; returns these, by socket inode.
    pub fn seek_new(&mut self) -> Vec<(u64, Process)> {
        if !self.has_new {
            return Vec::new();
        }
        self.looked = Some(Instant::now());
        self.seek(&processes())
    }

    fn seek(&mut self, processes: &HashMap<u64, Process>) -> Vec<(u64, Process)> {
        let mut all = Vec::new();
        for socket in self.sockets.values_mut().filter(|socket| matches!(socket.process, Sought::NotYet)) {
            let found = processes.get(&socket.owner.inode).cloned();
            all.extend(found.clone().map(|process| (socket.owner.inode, process)));
            socket.process = found.map_or(Sought::InVain, Sought::Found);
        }
        self.has_new = false;
        all
    }

    /// Forgets the sockets of flows that have ended.
    pub fn forget(&mut self, ended: &[FlowId]) {
        for flow in ended {
            for end in End::BOTH {
                self.sockets.remove(&(*flow, end));
            }
        }
    }

    /// The process at an end of a flow.
    pub fn process(&self, flow: FlowId, end: End) -> Option<&Process> {
        match &self.sockets.get(&(flow, end))?.process {
            Sought::Found(process) => Some(process),
            Sought::NotYet | Sought::InVain => None,
        }
    }

    /// The processes found, by end of flow.
    pub fn processes(&self) -> HashMap<(FlowId, End), Process> {
        let found = |(key, socket): (&(FlowId, End), &Socket)| match &socket.process {
            Sought::Found(process) => Some((*key, process.clone())),
            Sought::NotYet | Sought::InVain => None,
        };
        self.sockets.iter().filter_map(found).collect()
    }

    /// Whether one of the ends belongs to this process.
    pub fn has_process(&self, flow: FlowId, pid: u32) -> bool {
        End::BOTH.into_iter().any(|end| self.process(flow, end).is_some_and(|process| process.pid == pid))
    }

    /// Whether one of the ends belongs to one of these control groups.
    pub fn is_in(&self, flow: FlowId, groups: &HashSet<u64>) -> bool {
        let socket = |end| self.sockets.get(&(flow, end));
        End::BOTH.into_iter().filter_map(socket).any(|socket| groups.contains(&socket.owner.cgroup))
    }
}

/// The sockets of all processes that this one may read, by their inodes.
fn processes() -> HashMap<u64, Process> {
    let mut found = HashMap::new();
    let numbers = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    for folder in fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path()) {
        let Some(pid) = numbers(&folder) else { continue };
        let Ok(files) = fs::read_dir(folder.join("fd")) else { continue };
        let links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
        let inodes: Vec<u64> = links.filter_map(|link| inode(link.to_str()?)).collect();
        if !inodes.is_empty() {
            let name = fs::read_to_string(folder.join("comm")).unwrap_or_default().trim_end().to_owned();
            found.extend(inodes.into_iter().map(|inode| (inode, Process { pid, name: name.clone() })));
        }
    }
    found
}

/// `socket:[12345]`
fn inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// The numbers of a control group and of all below it; `None` if `folder` is not one.
pub fn cgroups_below(folder: &Path) -> Option<HashSet<u64>> {
    folder.join("cgroup.procs").exists().then_some(())?;
    let mut found = HashSet::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        // A group that is removed meanwhile has no sockets.
        found.extend(fs::metadata(&folder).map(|about| about.st_ino()));
        let below = fs::read_dir(&folder).into_iter().flatten().flatten();
        left.extend(below.map(|entry| entry.path()).filter(|path| path.is_dir()));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;

    #[test]
    fn owner_of_a_socket_is_found_in_proc() {
        let socket = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).expect("a link");
        let number = inode(link.to_str().expect("text")).expect("a socket's");
        assert_eq!(processes().get(&number).map(|process| process.pid), Some(std::process::id()));
        assert_eq!(inode("pipe:[1]"), None);
    }

    /// A socket whose process is not found is not searched for again, and keeps its owner.
    #[test]
    fn owner_process_is_searched_for_once() {
        let mut owners = Owners::default();
        let nobodys = Owner { inode: u64::MAX, cgroup: 7, netns: 1 };
        owners.look([(FlowId(1), End::A, nobodys)].into_iter());
        owners.looked = None;
        owners.look([(FlowId(1), End::A, nobodys)].into_iter());
        assert!(owners.looked.is_none(), "/proc was scanned again");
        assert!(owners.is_in(FlowId(1), &HashSet::from([7])) && owners.process(FlowId(1), End::A).is_none());
    }
}
