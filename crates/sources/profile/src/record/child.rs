//! A process of another program: where the program is, and how the process is ended.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// How long something may take to end after the signal. perf reads its whole file again, for the build-ids of what was seen.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How often a process is asked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A program in the folders of PATH.
pub(super) fn find(name: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(is_program)
}

/// Ends a child by a signal, or after some time by SIGKILL; returns its status, and whether it was killed.
pub(super) fn end(
    child: &mut Child,
    signal: libc::c_int,
    patience: Duration,
) -> io::Result<(ExitStatus, bool)> {
    if let Some(status) = child.try_wait()? {
        return Ok((status, false));
    }
    let pid = libc::pid_t::try_from(child.id()).map_err(|_| io::ErrorKind::InvalidData)?;
    // SAFETY: it is our child and has not been waited for, so the id is its own.
    unsafe { libc::kill(pid, signal) };
    let until = Instant::now() + patience;
    while Instant::now() < until {
        if let Some(status) = child.try_wait()? {
            return Ok((status, false));
        }
        thread::sleep(LOOK_EVERY);
    }
    child.kill()?;
    Ok((child.wait()?, true))
}
