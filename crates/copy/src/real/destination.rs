//! Where a copy is written: next to its final place, under a name of its own, until all of it is there.
//!
//! A file becomes `.slowpath-partial-…`, a folder a folder of that name with all files under their own names. The name
//! follows from the final one, so that the next copy to it finds what an interrupted one left. Nothing about what arrived is
//! noted: each block of it is read and its digest compared with the source's, so neither a crash of the host nor somebody
//! who wrote to it can make a wrong block pass.

use super::tree::{Base, FOLDER, join, kind, names, open_below, open_file, remove_all, split};
use crate::error::CopyError;
use crate::protocol::names::name;
use crate::protocol::{Entry, MOST_ENTRIES};
use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, fchmod, flock,
    fstat, fstatvfs, fsync, ftruncate, futimens, mkdirat, openat, renameat, renameat_with, statat, syncfs,
};
use rustix::io::Errno;
use slowpath_model::Bytes;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How the name of a partial copy begins.
pub const PARTIAL: &str = ".slowpath-partial-";
/// Up to so many files are synced one by one. For more, all of the file system is (syncfs(2)): a disk commits once, not
/// once for each.
const MOST_SYNCED: usize = 64;
/// Bytes of all paths of one copy.
const MOST_PATH_BYTES: usize = 256 << 20;
/// Readable and writable by this user alone, until it has its name.
const PRIVATE: u32 = 0o600;
const PRIVATE_FOLDER: u32 = 0o700;

/// A destination that is being written.
pub struct Destination {
    folder: OwnedFd,
    name: Vec<u8>,
    shown: PathBuf,
    partial: String,
    force: bool,
    /// Of the source, the root first.
    pub entries: Vec<Entry>,
    by_path: HashMap<Vec<u8>, usize>,
    path_bytes: usize,
    root: Option<Root>,
}

/// The partial copy, locked by this process.
enum Root {
    File(File),
    Folder(OwnedFd),
}

impl Destination {
    /// Finds the place: a name that does not exist yet; with `force`, one of a file; or a folder, into which the source's
    /// name goes.
    ///
    /// # Errors
    /// If it exists, or its folder does not.
    pub fn find(base: &Base, path: &Path, source: &[u8], force: bool) -> Result<Self, CopyError> {
        let shown = base.shown(path);
        let as_folder = base.open(path, FOLDER);
        let (folder, own, shown) = match as_folder {
            Ok(folder) => (folder, name(source)?.to_vec(), shown.join(OsStr::from_bytes(source))),
            Err(Errno::NOENT | Errno::NOTDIR) if !path.as_os_str().as_bytes().ends_with(b"/") => {
                let own = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
                let parent = path.parent().unwrap_or(Path::new(""));
                let folder = base.open(parent, FOLDER).map_err(CopyError::file(&base.shown(parent)))?;
                (folder, name(own)?.to_vec(), shown)
            }
            Err(error) => return Err(CopyError::file(&shown)(error)),
        };
        let partial = format!("{PARTIAL}{}", &blake3::hash(&own).to_hex()[..32]);
        let destination = Self {
            folder,
            name: own,
            shown,
            partial,
            force,
            entries: Vec::new(),
            by_path: HashMap::new(),
            path_bytes: 0,
            root: None,
        };
        destination.check_free()?;
        Ok(destination)
    }

    fn check_free(&self) -> Result<(), CopyError> {
        match statat(&self.folder, OsStr::from_bytes(&self.name), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(CopyError::file(&self.shown)(error)),
            Ok(about) if kind(&about) == FileType::Directory => {
                Err(CopyError::ExistsFolder(self.shown.clone()))
            }
            // A link is replaced itself, and never followed.
            Ok(about) if self.force && matches!(kind(&about), FileType::RegularFile | FileType::Symlink) => {
                Ok(())
            }
            Ok(_) => Err(CopyError::Exists(self.shown.clone())),
        }
    }

    /// Takes note of the next entry of the source.
    ///
    /// # Errors
    /// If it exists already, has no folder, or there are too many.
    pub fn add(&mut self, entry: Entry) -> Result<(), CopyError> {
        self.path_bytes += entry.path.len();
        if self.entries.len() >= MOST_ENTRIES || self.path_bytes > MOST_PATH_BYTES {
            return Err(CopyError::TooMany(MOST_ENTRIES));
        }
        let is_root = self.entries.is_empty();
        let parent = self.by_path.get(split(&entry.path).0).map(|at| &self.entries[*at]);
        let has_folder = parent.is_some_and(|parent| parent.size.is_none());
        if entry.path.is_empty() != is_root || !is_root && !has_folder {
            return Err(CopyError::OutOfTurn);
        }
        if self.by_path.insert(entry.path.clone(), self.entries.len()).is_some() {
            return Err(CopyError::OutOfTurn);
        }
        self.entries.push(entry);
        Ok(())
    }

    fn is_folder(&self) -> bool {
        self.entries.first().is_some_and(|root| root.size.is_none())
    }

    fn file_error(&self, file: usize) -> impl FnOnce(Errno) -> CopyError {
        let path = self.path_of(file);
        move |error| CopyError::File { path, source: error.into() }
    }

    /// The final path of a file.
    pub fn path_of(&self, file: usize) -> PathBuf {
        let path = self.entries.get(file).map(|entry| &entry.path[..]).unwrap_or_default();
        if path.is_empty() { self.shown.clone() } else { self.shown.join(OsStr::from_bytes(path)) }
    }

    /// Begins to write, or continues: locks the partial copy, removes what is not of this source, makes the folders, and
    /// makes sure that the disk has room.
    ///
    /// # Errors
    /// If the folder cannot be written to, another copy runs, or the disk has too little room.
    pub fn begin(&mut self) -> Result<(), CopyError> {
        if self.entries.is_empty() {
            return Err(CopyError::OutOfTurn);
        }
        let failed = |error: Errno| CopyError::file(&self.shown)(error);
        let root = loop {
            let opened = if self.is_folder() { self.open_folder() } else { self.open_root_file() };
            match opened {
                Ok(Some(root)) => break root,
                // What is there has another kind, or belongs to a copy that has just finished.
                Ok(None) => {}
                Err(Errno::WOULDBLOCK) => return Err(CopyError::Busy(self.shown.clone())),
                Err(error) => return Err(failed(error)),
            }
        };
        if let Root::Folder(folder) = &root {
            self.prune(folder, &[]).map_err(failed)?;
            for entry in self.entries.iter().filter(|entry| entry.size.is_none() && !entry.path.is_empty()) {
                let (parent, name) = split(&entry.path);
                let parent = open_below(folder, parent, FOLDER, Mode::empty()).map_err(failed)?;
                match mkdirat(&parent, OsStr::from_bytes(name), Mode::from_raw_mode(PRIVATE_FOLDER)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
        }
        self.root = Some(root);
        self.check_room()
    }

    /// A partial file; `None` if it has to be tried again.
    fn open_root_file(&self) -> Result<Option<Root>, Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.folder, &self.partial, flags, Mode::from_raw_mode(PRIVATE)) {
            Ok(file) => file,
            Err(Errno::ISDIR | Errno::LOOP | Errno::NXIO | Errno::ACCESS) => return self.remove_partial(),
            Err(error) => return Err(error),
        };
        let about = fstat(&file)?;
        // A file with another name would be written to under that too.
        if kind(&about) != FileType::RegularFile || about.st_nlink != 1 || !is_own(&about) {
            return self.remove_partial();
        }
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        fchmod(&file, Mode::from_raw_mode(PRIVATE))?;
        Ok(self.is_current(&about)?.then(|| Root::File(file.into())))
    }

    fn open_folder(&self) -> Result<Option<Root>, Errno> {
        match mkdirat(&self.folder, &self.partial, Mode::from_raw_mode(PRIVATE_FOLDER)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        let flags = FOLDER | OFlags::NOFOLLOW;
        let folder = match openat(&self.folder, &self.partial, flags, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return self.remove_partial(),
            Err(error) => return Err(error),
        };
        let about = fstat(&folder)?;
        if !is_own(&about) {
            return Err(Errno::EXIST);
        }
        flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
        fchmod(&folder, Mode::from_raw_mode(PRIVATE_FOLDER))?;
        Ok(self.is_current(&about)?.then_some(Root::Folder(folder)))
    }

    fn remove_partial(&self) -> Result<Option<Root>, Errno> {
        remove_all(&self.folder, self.partial.as_bytes())?;
        Ok(None)
    }

    /// Whether what was locked still has the partial name: a copy that ended meanwhile has given it another.
    fn is_current(&self, about: &Stat) -> Result<bool, Errno> {
        match statat(&self.folder, &self.partial, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(now) => Ok((now.st_dev, now.st_ino) == (about.st_dev, about.st_ino)),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes what an earlier copy left that is not of this source, and makes the rest writable again.
    fn prune(&self, folder: &OwnedFd, path: &[u8]) -> Result<(), Errno> {
        for name in names(folder)? {
            let path = join(path, &name);
            let own = OsStr::from_bytes(&name);
            let about = statat(folder, own, AtFlags::SYMLINK_NOFOLLOW)?;
            let wanted = self.by_path.get(&path).map(|at| self.entries[*at].size.is_some());
            match (kind(&about), wanted) {
                (FileType::Directory, Some(false)) => {
                    rustix::fs::chmodat(folder, own, Mode::from_raw_mode(PRIVATE_FOLDER), AtFlags::empty())?;
                    let inner = open_below(folder, &name, FOLDER, Mode::empty())?;
                    self.prune(&inner, &path)?;
                }
                (FileType::RegularFile, Some(true)) if about.st_nlink == 1 => {
                    rustix::fs::chmodat(folder, own, Mode::from_raw_mode(PRIVATE), AtFlags::empty())?;
                }
                _ => remove_all(folder, &name)?,
            }
        }
        Ok(())
    }

    fn check_room(&self) -> Result<(), CopyError> {
        let disk = fstatvfs(&self.folder).map_err(CopyError::file(&self.shown))?;
        let left = disk.f_bavail.saturating_mul(disk.f_frsize);
        let mut needed = 0_u64;
        for (file, entry) in self.entries.iter().enumerate() {
            let Some(size) = entry.size else { continue };
            let here = self.about(file).map_or(0, |about| (about.st_blocks as u64).saturating_mul(512));
            needed = needed.saturating_add(size.saturating_sub(here));
        }
        if needed > left {
            let (needed, left) = (Bytes::new(needed), Bytes::new(left));
            return Err(CopyError::NoRoom { path: self.shown.clone(), needed, left });
        }
        Ok(())
    }

    fn about(&self, file: usize) -> Result<Stat, Errno> {
        match self.root.as_ref().ok_or(Errno::BADF)? {
            Root::File(own) => fstat(own),
            Root::Folder(folder) => {
                let path = OsStr::from_bytes(&self.entries[file].path);
                statat(folder, path, AtFlags::SYMLINK_NOFOLLOW)
            }
        }
    }

    /// A file that an interrupted copy left, and how much of it is there; `None` if there is nothing.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn left(&self, file: usize) -> Result<Option<(File, u64)>, CopyError> {
        let Some(size) = self.entries[file].size else { return Ok(None) };
        match self.about(file) {
            Ok(about) if about.st_size > 0 => {
                let opened = self.open(file)?;
                let length = (about.st_size as u64).min(size);
                if about.st_size as u64 > size {
                    ftruncate(&opened, size).map_err(self.file_error(file))?;
                }
                Ok(Some((opened, length)))
            }
            Ok(_) | Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(self.file_error(file)(error)),
        }
    }

    /// Opens a file to be written.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn open(&self, file: usize) -> Result<File, CopyError> {
        let opened = match self.root.as_ref() {
            None => Err(Errno::BADF),
            Some(Root::File(own)) => return own.try_clone().map_err(CopyError::file(&self.shown)),
            Some(Root::Folder(folder)) => {
                open_file(folder, &self.entries[file].path, OFlags::RDWR | OFlags::CREATE)
            }
        };
        let (opened, about) = opened.map_err(self.file_error(file))?;
        if about.st_nlink != 1 || !is_own(&about) {
            return Err(self.file_error(file)(Errno::EXIST));
        }
        Ok(opened)
    }

    /// Gives the copy its name, once the disk has all of it. `is_whole` says which files are: others are left out.
    /// `synced` is called when something was written.
    ///
    /// # Errors
    /// If the disk is full, or something of that name exists by now.
    pub fn finish(&self, is_whole: &dyn Fn(usize) -> bool) -> Result<(), CopyError> {
        let umask = umask();
        let each = self.entries.iter().filter(|entry| entry.size.is_some()).count() <= MOST_SYNCED;
        for (file, entry) in self.entries.iter().enumerate() {
            let Some(size) = entry.size else { continue };
            let failed = |error| self.file_error(file)(error);
            if size > 0 && !is_whole(file) {
                self.leave_out(file).map_err(failed)?;
                continue;
            }
            let opened = self.open(file)?;
            ftruncate(&opened, size).map_err(failed)?;
            attributes(&opened, entry, umask).map_err(failed)?;
            if each {
                fsync(&opened).map_err(failed)?;
            }
        }
        if let Some(Root::Folder(root)) = &self.root {
            // The inner ones first: an outer one may not be entered afterwards.
            for (at, entry) in self.entries.iter().enumerate().rev().filter(|(_, entry)| entry.size.is_none())
            {
                let failed = |error| self.file_error(at)(error);
                let folder = open_below(root, &entry.path, FOLDER, Mode::empty()).map_err(failed)?;
                attributes(&folder, entry, umask).map_err(failed)?;
                if each {
                    fsync(&folder).map_err(failed)?;
                }
            }
            if !each {
                syncfs(root).map_err(CopyError::file(&self.shown))?;
            }
        }
        self.rename()?;
        fsync(&self.folder).map_err(CopyError::file(&self.shown))
    }

    fn leave_out(&self, file: usize) -> Result<(), Errno> {
        let Some(Root::Folder(root)) = &self.root else { return Err(Errno::NOENT) };
        let (parent, name) = split(&self.entries[file].path);
        remove_all(&open_below(root, parent, FOLDER, Mode::empty())?, name)
    }

    fn rename(&self) -> Result<(), CopyError> {
        self.check_free()?;
        let name = OsStr::from_bytes(&self.name);
        let renamed = if self.force {
            renameat(&self.folder, &self.partial, &self.folder, name)
        } else {
            match renameat_with(&self.folder, &self.partial, &self.folder, name, RenameFlags::NOREPLACE) {
                // A file system that cannot (NFS): the name was free a moment ago.
                Err(Errno::INVAL | Errno::NOSYS) => renameat(&self.folder, &self.partial, &self.folder, name),
                other => other,
            }
        };
        match renamed {
            Ok(()) => Ok(()),
            Err(Errno::EXIST | Errno::NOTEMPTY) => Err(CopyError::Exists(self.shown.clone())),
            Err(error) => Err(CopyError::file(&self.shown)(error)),
        }
    }
}

impl Drop for Destination {
    /// A copy that ended before anything arrived leaves nothing to continue.
    fn drop(&mut self) {
        let (about, flags) = match &self.root {
            Some(Root::File(own)) => (fstat(own), AtFlags::empty()),
            // One that is not empty stays.
            Some(Root::Folder(own)) => (fstat(own), AtFlags::REMOVEDIR),
            None => return,
        };
        let is_left = |about: &Stat| kind(about) == FileType::Directory || about.st_size == 0;
        if let Ok(about) = about
            && is_left(&about)
            && self.is_current(&about) == Ok(true)
        {
            let _ = rustix::fs::unlinkat(&self.folder, &self.partial, flags);
        }
    }
}

/// Permissions of the source less the umask, and its time of change.
fn attributes(file: &impl AsFd, entry: &Entry, umask: u32) -> Result<(), Errno> {
    let time = Timespec { tv_sec: entry.modified_s, tv_nsec: i64::from(entry.modified_ns) };
    let times = Timestamps { last_access: time, last_modification: time };
    futimens(file, &times)?;
    fchmod(file, Mode::from_raw_mode(entry.mode & 0o777 & !umask))
}

fn is_own(about: &Stat) -> bool {
    about.st_uid == rustix::process::geteuid().as_raw()
}

/// The umask of this process: umask(2) would change it for other threads.
fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|text| u32::from_str_radix(text.trim(), 8).ok()).unwrap_or(0o022)
}

/// Whether writing failed because the disk is full, which a report says in these words.
pub fn full(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            io::Error::new(
                error.kind(),
                format!("{error}; what arrived is kept, and the same command continues there"),
            )
        }
        _ => error,
    }
}
