//! Files below a folder.

use crate::regular::check;
use std::ffi::{CString, OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Symbolic links that are followed on one path (`MAXSYMLINKS`, `include/linux/namei.h`).
const MOST_LINKS: u32 = 40;
/// Folders inside each other. Each is held open on the way.
const MOST_DEEP: usize = 256;
/// A path has no more bytes (`PATH_MAX`, `include/uapi/linux/limits.h`).
const LONGEST_PATH: usize = 4096;

/// File systems whose files are the kernel's answers, of type and value of `linux/magic.h`. Reading one can take something
/// away (`/proc/kmsg`, `trace_pipe`), wait, or speak to a device.
const ANSWERS: &[i64] = &[
    0x9fa0,      // PROC_SUPER_MAGIC
    0x6265_6572, // SYSFS_MAGIC
    0x6462_6720, // DEBUGFS_MAGIC
    0x7472_6163, // TRACEFS_MAGIC
    0x7363_6673, // SECURITYFS_MAGIC
    0xcafe_4a11, // BPF_FS_MAGIC
    0x0027_e0eb, // CGROUP_SUPER_MAGIC
    0x6367_7270, // CGROUP2_SUPER_MAGIC
    0x6265_6570, // CONFIGFS_MAGIC
    0xde5e_81e4, // EFIVARFS_MAGIC
    0x0187,      // AUTOFS_SUPER_MAGIC
];

/// A folder that files are opened below of, as if it were `/`: no `..` leads above it, and absolute symbolic links begin in it.
///
/// It is what `openat2(2)` does with `RESOLVE_IN_ROOT`, for kernels and containers without that call, and opens nothing but
/// regular files.
#[derive(Debug)]
pub struct Root {
    folder: OwnedFd,
}

impl Root {
    /// Holds a folder.
    ///
    /// # Errors
    ///
    /// If it is no folder, or may not be searched.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let flags = libc::O_PATH | libc::O_DIRECTORY;
        let folder = OpenOptions::new().read(true).custom_flags(flags).open(folder)?;
        Ok(Self { folder: folder.into() })
    }

    /// Opens a regular file below it. Whether the path begins with `/` makes no difference.
    ///
    /// # Errors
    ///
    /// If there is none, or it may not be read; if the path leads to a folder, a FIFO, a socket or a device, or into a file
    /// system of the kernel's, such as /proc; if it is too long or has too many links.
    pub fn file(&self, path: &Path) -> io::Result<File> {
        let mut left = Vec::new();
        push(&mut left, path.as_os_str())?;
        let (mut folders, mut links) = (Vec::<OwnedFd>::new(), 0);
        while let Some(name) = left.pop() {
            if name == ".." {
                folders.pop();
                continue;
            }
            let folder = folders.last().map_or(self.folder.as_fd(), AsFd::as_fd);
            let found = File::from(open_at(folder, &name, libc::O_PATH | libc::O_NOFOLLOW)?);
            let kind = found.metadata()?.file_type();
            if kind.is_symlink() {
                links += 1;
                if links > MOST_LINKS {
                    return Err(io::Error::from_raw_os_error(libc::ELOOP));
                }
                let target = read_link(found.as_fd())?;
                if target.as_bytes().starts_with(b"/") {
                    folders.clear();
                }
                push(&mut left, &target)?;
            } else if kind.is_dir() {
                if folders.len() >= MOST_DEEP {
                    return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
                }
                folders.push(found.into());
            } else if left.is_empty() {
                return read_at(folder, &name, &found);
            } else {
                return Err(io::ErrorKind::NotADirectory.into());
            }
        }
        Err(io::ErrorKind::IsADirectory.into())
    }
}

/// Puts the names of a path where the next one is taken from.
fn push(left: &mut Vec<OsString>, path: &OsStr) -> io::Result<()> {
    if path.len() >= LONGEST_PATH {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    let names = path.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    left.extend(names.rev().map(|name| OsStr::from_bytes(name).to_owned()));
    Ok(())
}

/// Opens what was found under that name, to be read.
fn read_at(folder: BorrowedFd<'_>, name: &OsStr, found: &File) -> io::Result<File> {
    let looked_at = found.metadata()?;
    check(looked_at.file_type())?;
    if ANSWERS.contains(&file_system(found.as_fd())?) {
        return Err(io::Error::other("it is in a file system of the kernel's"));
    }
    // What is found by its folder and name, since without /proc what was found cannot be opened itself.
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = File::from(open_at(folder, name, flags)?);
    let opened = file.metadata()?;
    if (opened.dev(), opened.ino()) != (looked_at.dev(), looked_at.ino()) {
        return Err(io::Error::other("it was replaced while it was opened"));
    }
    Ok(file)
}

fn open_at(folder: BorrowedFd<'_>, name: &OsStr, flags: i32) -> io::Result<OwnedFd> {
    let name = CString::new(name.as_bytes())?;
    // SAFETY: the descriptor is open, and the name ends with a zero.
    let opened = unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), flags | libc::O_CLOEXEC) };
    if opened < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was opened just now, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}

/// Where a symbolic link points that was opened itself.
fn read_link(link: BorrowedFd<'_>) -> io::Result<OsString> {
    let mut target = vec![0u8; LONGEST_PATH];
    // SAFETY: the descriptor is open, the empty name ends with a zero, and the buffer is as long as it says.
    let length =
        unsafe { libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), target.as_mut_ptr().cast(), target.len()) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    target.truncate(length);
    Ok(OsString::from_vec(target))
}

/// The type of file system that a file is in.
fn file_system(file: BorrowedFd<'_>) -> io::Result<i64> {
    // SAFETY: zeros are a value of it.
    let mut about: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and there is room for the answer.
    if unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut about) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // Its type is another one on other machines.
    Ok(about.f_type as i64)
}
