//! Child processes: finding their program, and ending them.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// How long a process may take to end after the signal. perf reads its whole file again, for the build-ids of the
/// images it saw.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// The polling interval for the end of a process.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Finds a program in PATH.
pub(super) fn find(name: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(is_program)
}

/// Ends a child with a signal, or with SIGKILL after some time; returns its status, and whether it was killed.
pub(super) fn end(
    child: &mut Child,
    signal: libc::c_int,
    patience: Duration,
) -> io::Result<(ExitStatus, bool)> {
    if let Some(status) = child.try_wait()? {
        return Ok((status, false));
    }
    let pid = libc::pid_t::try_from(child.id()).map_err(|_| io::ErrorKind::InvalidData)?;
    // SAFETY: it is our child and has not been waited for, so the id is valid.
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
