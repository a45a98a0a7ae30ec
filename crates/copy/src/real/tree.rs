//! Files and folders by descriptor: no name that the other end chose is followed through a link or out of its folder.
//!
//! Needs `openat2(2)`, Linux 5.6.

use crate::error::CopyError;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where paths begin.
#[derive(Debug)]
pub enum Base {
    /// The working directory, or `/`: the user names the path.
    Here,
    /// A folder that nothing leads out of: the other end names the path.
    Below(OwnedFd, PathBuf),
}

impl Base {
    /// A folder that is served.
    pub fn below(folder: &Path) -> Result<Self, CopyError> {
        let opened = openat2(rustix::fs::CWD, folder, FOLDER, Mode::empty(), ResolveFlags::empty());
        Ok(Self::Below(opened.map_err(CopyError::file(folder))?, folder.to_owned()))
    }

    /// Opens what the user named; links are followed, below a served folder only inside it.
    pub fn open(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        match self {
            Self::Here => openat2(rustix::fs::CWD, path, flags, Mode::empty(), ResolveFlags::empty()),
            Self::Below(folder, _) => {
                let inside = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
                openat2(folder, path, flags, Mode::empty(), inside)
            }
        }
    }

    /// The path as a report names it.
    pub fn shown(&self, path: &Path) -> PathBuf {
        match self {
            Self::Here => path.to_owned(),
            Self::Below(_, folder) => folder.join(path),
        }
    }
}

/// To read a folder and to open what it has.
pub const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens a path below a folder without following any link.
pub fn open_below(folder: &impl AsFd, path: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let path = if path.is_empty() { OsStr::new(".") } else { OsStr::from_bytes(path) };
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    openat2(folder, path, flags, mode, ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

/// Opens a regular file below a folder.
pub fn open_file(folder: &impl AsFd, path: &[u8], flags: OFlags) -> Result<(File, Stat), Errno> {
    // openat2(2) refuses a mode for what is not created.
    let mode = if flags.contains(OFlags::CREATE) { Mode::RUSR | Mode::WUSR } else { Mode::empty() };
    let file = open_below(folder, path, flags, mode)?;
    let about = fstat(&file)?;
    if kind(&about) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    Ok((file.into(), about))
}

/// What a file is.
pub fn kind(about: &Stat) -> FileType {
    FileType::from_raw_mode(about.st_mode)
}

/// The names in a folder, sorted, so that each run copies in one order.
pub fn names(folder: &impl AsFd) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?;
        let name = name.file_name();
        if !is_dots(name) {
            names.push(name.to_bytes().to_vec());
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// A path and a name in it.
pub fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

/// The folder of a path, and its name in that.
pub fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}

/// Removes a file, or a folder with all that it has. No link is followed.
pub fn remove_all(folder: &impl AsFd, name: &[u8]) -> Result<(), Errno> {
    let path = OsStr::from_bytes(name);
    match unlinkat(folder, path, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR) => {}
        // A file system may answer so for a folder (unlink(2)).
        Err(Errno::PERM)
            if kind(&statat(folder, path, AtFlags::SYMLINK_NOFOLLOW)?) == FileType::Directory => {}
        Err(error) => return Err(error),
    }
    let inner = open_below(folder, name, FOLDER, Mode::empty())?;
    for name in names(&inner)? {
        remove_all(&inner, &name)?;
    }
    unlinkat(folder, path, AtFlags::REMOVEDIR)
}
