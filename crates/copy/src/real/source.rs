//! What is copied: a file, or a folder with its files and folders.

use super::tree::{Base, FOLDER, join, kind, names, open_below, open_file};
use crate::error::CopyError;
use crate::protocol::names::MOST_DEEP;
use crate::protocol::{Entry, MOST_ENTRIES, MOST_FILE_BYTES};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// By what a file is known to have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    size: i64,
    modified: (i64, u64),
    changed: (i64, u64),
    inode: u64,
}

impl State {
    fn of(about: &Stat) -> Self {
        Self {
            size: about.st_size,
            modified: (about.st_mtime, about.st_mtime_nsec),
            changed: (about.st_ctime, about.st_ctime_nsec),
            inode: about.st_ino,
        }
    }
}

/// The source's files and folders, in the order in which they are copied.
pub struct Source {
    /// Its name, for a destination that is a folder.
    pub name: Vec<u8>,
    /// The path as it was named.
    path: PathBuf,
    root: Root,
    /// All of it, the root first.
    pub entries: Vec<Entry>,
    states: Vec<State>,
    /// What is not copied, and why.
    pub skipped: Vec<(Vec<u8>, String)>,
}

enum Root {
    File(File),
    Folder(OwnedFd),
}

impl Source {
    /// Lists the source. A link that the user names is followed; links, FIFOs, sockets and devices in a folder are not
    /// copied.
    ///
    /// # Errors
    /// If it cannot be opened, is neither a file nor a folder, or has too many entries.
    pub fn list(base: &Base, path: &Path) -> Result<Self, CopyError> {
        let shown = base.shown(path);
        let opened = base.open(path, OFlags::RDONLY).map_err(CopyError::file(&shown))?;
        let about = fstat(&opened).map_err(CopyError::file(&shown))?;
        let name = path.file_name().map(|name| name.as_bytes().to_vec()).unwrap_or_default();
        let mut source = Self {
            name,
            path: shown,
            root: Root::File(File::from(opened.try_clone().map_err(CopyError::system("duplicate a file"))?)),
            entries: Vec::new(),
            states: Vec::new(),
            skipped: Vec::new(),
        };
        match kind(&about) {
            FileType::RegularFile if about.st_size as u64 > MOST_FILE_BYTES => {
                return Err(CopyError::Unfit { path: source.path, what: TOO_LARGE });
            }
            FileType::RegularFile => source.add(Vec::new(), &about),
            FileType::Directory => {
                source.add(Vec::new(), &about);
                source.folder(&opened, &[], 0)?;
                source.root = Root::Folder(opened);
            }
            other => return Err(CopyError::Unfit { path: source.path, what: what(other) }),
        }
        Ok(source)
    }

    fn add(&mut self, path: Vec<u8>, about: &Stat) {
        let size = (kind(about) == FileType::RegularFile).then_some(about.st_size as u64);
        self.entries.push(Entry {
            path,
            size,
            mode: about.st_mode & 0o777,
            modified_s: about.st_mtime,
            modified_ns: about.st_mtime_nsec as u32,
        });
        self.states.push(State::of(about));
    }

    fn folder(&mut self, folder: &OwnedFd, path: &[u8], deep: usize) -> Result<(), CopyError> {
        let names = match names(folder) {
            Ok(names) => names,
            Err(error) => {
                self.skip(path.to_vec(), error);
                return Ok(());
            }
        };
        for name in names {
            let path = join(path, &name);
            if self.entries.len() >= MOST_ENTRIES || path.len() > crate::protocol::names::MOST_PATH {
                return Err(CopyError::TooMany(MOST_ENTRIES));
            }
            let about = match statat(folder, OsStr::from_bytes(&name), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(about) => about,
                Err(error) => {
                    self.skip(path, error);
                    continue;
                }
            };
            match kind(&about) {
                FileType::RegularFile if about.st_size as u64 > MOST_FILE_BYTES => {
                    self.skipped.push((path, TOO_LARGE.to_owned()));
                }
                FileType::RegularFile => self.add(path, &about),
                FileType::Directory if deep + 1 >= MOST_DEEP => {
                    self.skipped.push((path, "too many folders inside each other".to_owned()));
                }
                FileType::Directory => match open_below(folder, &name, FOLDER, Mode::empty()) {
                    Ok(inner) => {
                        self.add(path.clone(), &about);
                        self.folder(&inner, &path, deep + 1)?;
                    }
                    Err(error) => self.skip(path, error),
                },
                other => self.skipped.push((path, what(other).to_owned())),
            }
        }
        Ok(())
    }

    fn skip(&mut self, path: Vec<u8>, error: Errno) {
        self.skipped.push((path, std::io::Error::from(error).to_string()));
    }

    /// All bytes of its files.
    pub fn bytes(&self) -> u64 {
        self.entries.iter().filter_map(|entry| entry.size).fold(0, u64::saturating_add)
    }

    /// Whether it is one file.
    pub fn is_file(&self) -> bool {
        matches!(self.root, Root::File(_))
    }

    /// Opens one of its files.
    pub fn open(&self, file: usize) -> Result<File, std::io::Error> {
        match &self.root {
            Root::File(own) => own.try_clone(),
            Root::Folder(folder) => Ok(open_file(folder, &self.entries[file].path, OFlags::RDONLY)?.0),
        }
    }

    /// Whether a file is another one than when it was listed.
    pub fn has_changed(&self, file: usize) -> bool {
        let about = match &self.root {
            Root::File(own) => fstat(own),
            Root::Folder(folder) => {
                statat(folder, OsStr::from_bytes(&self.entries[file].path), AtFlags::SYMLINK_NOFOLLOW)
            }
        };
        about.map(|about| State::of(&about)).ok() != Some(self.states[file])
    }
}

const TOO_LARGE: &str = "larger than 1 PiB";

/// Why a kind of file is not copied.
fn what(kind: FileType) -> &'static str {
    match kind {
        FileType::Symlink => "a symbolic link, which is not copied",
        FileType::Fifo => "a FIFO, which is not copied",
        FileType::Socket => "a socket, which is not copied",
        FileType::CharacterDevice | FileType::BlockDevice => "a device, which is not copied",
        _ => "neither a file nor a folder",
    }
}
