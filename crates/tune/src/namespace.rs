//! Network namespaces by their names.

use crate::error::Error;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::panic;
use std::path::{Path, PathBuf};
use std::thread;

/// The file of a namespace: of a name, as `ip netns` has it, or the file itself.
fn path(name: &str) -> PathBuf {
    if name.contains('/') { PathBuf::from(name) } else { Path::new("/run/netns").join(name) }
}

/// A name that means the same namespace in any working directory.
pub(crate) fn lasting_name(name: &str) -> String {
    if !name.contains('/') {
        return name.to_owned();
    }
    std::path::absolute(name).map_or_else(|_| name.to_owned(), |path| path.display().to_string())
}

/// Runs `work` in a network namespace, on a thread of its own; without a name in that of the calling thread. Programs that
/// it starts are in that namespace as well.
///
/// # Errors
/// If the namespace does not exist or may not be entered.
pub fn inside<T: Send>(name: Option<&str>, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    let Some(name) = name else { return Ok(work()) };
    let failed = |source| Error::Namespace { name: name.to_owned(), source };
    let file = File::open(path(name)).map_err(failed)?;
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: the descriptor is open, and the call concerns the calling thread only.
            if unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
                return Err(failed(io::Error::last_os_error()));
            }
            Ok(work())
        });
        thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
    })
}

/// Runs `work` in a network namespace of its own, which ends with it.
pub(crate) fn in_new_one<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: a plain value; the call concerns the calling thread only.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(work())
        });
        thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
    })
}

/// The inode of the calling thread's namespace, which distinguishes it from all others that exist.
pub(crate) fn inode() -> Result<u64, Error> {
    const OWN: &str = "/proc/thread-self/ns/net";
    fs::metadata(OWN).map(|about| about.ino()).map_err(|source| Error::NoProc { what: OWN, source })
}

/// The inode of a named namespace; `None` if there is none of that name.
pub(crate) fn inode_of(name: &str) -> Option<u64> {
    // A name whose namespace is gone is an empty file of another file system.
    let about = fs::metadata(path(name)).ok()?;
    let own = fs::metadata("/proc/thread-self/ns/net").ok()?;
    (about.dev() == own.dev()).then_some(about.ino())
}

/// Whether the calling thread is in the namespace of the first process, as services are.
pub(crate) fn is_first() -> bool {
    let of = |path: &str| fs::metadata(path).ok().map(|about| about.ino());
    of("/proc/1/ns/net").is_some_and(|first| of("/proc/thread-self/ns/net") == Some(first))
}
