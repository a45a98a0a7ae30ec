//! One at a time: the lock of a journal.
//!
//! It is flock(2) on a file, which ends with the last process that has this open file. Programs that change a setting have
//! it as standard input, so one that outlives a kill keeps the lock until it is done.

use crate::clock;
use crate::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

/// How long a program that outlived a kill may take: some drivers restart a NIC meanwhile.
const ORPHANS: Duration = Duration::from_secs(20);
/// Longer than who looks at the lock holds it.
const GLANCE: Duration = Duration::from_millis(200);
const STEP: Duration = Duration::from_millis(20);

/// The lock, held.
pub(crate) struct Lock(File);

impl Lock {
    /// Takes the lock of the journal in `folder`. Waits for programs that outlived who started them, and for `patience` for
    /// everybody else.
    pub(crate) fn take(folder: &Path, doing: &str, patience: Duration) -> Result<Self, Error> {
        let path = folder.join("lock");
        let failed = |source| Error::Journal { path: path.clone(), doing: "locked", source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        let begun = Instant::now();
        while !try_lock(&file, libc::LOCK_EX).map_err(failed)? {
            let (holder, is_alive) = holder(&mut file);
            let most = if is_alive { patience.max(GLANCE) } else { patience.max(ORPHANS) };
            if begun.elapsed() >= most {
                return Err(Error::Busy { folder: folder.to_owned(), holder });
            }
            thread::sleep(STEP);
        }
        let text =
            format!("process {}, {doing} since {}\n", std::process::id(), clock::utc_text(clock::now()));
        // On a full disk nobody learns who holds it.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(text.as_bytes()));
        Ok(Self(file))
    }

    /// The lock as standard input of a program.
    pub(crate) fn input(&self) -> io::Result<Stdio> {
        Ok(Stdio::from(self.0.try_clone()?))
    }
}

/// Who holds the lock of the journal in `folder`; `None` if nobody.
pub(crate) fn held(folder: &Path) -> Option<String> {
    let mut file = File::open(folder.join("lock")).ok()?;
    match try_lock(&file, libc::LOCK_SH) {
        Ok(true) | Err(_) => None,
        Ok(false) => Some(holder(&mut file).0),
    }
}

/// Locks a file for as long as it is open. Others only look whether it is locked.
pub(crate) fn hold(file: &File) -> io::Result<()> {
    while !try_lock(file, libc::LOCK_EX)? {
        thread::sleep(STEP);
    }
    Ok(())
}

/// Whether somebody has locked a file.
pub(crate) fn is_locked(file: &File) -> bool {
    matches!(try_lock(file, libc::LOCK_SH), Ok(false))
}

/// What the lock's file says, and whether that process still runs.
fn holder(file: &mut File) -> (String, bool) {
    let mut text = String::new();
    let _ = file.rewind().and_then(|()| file.take(256).read_to_string(&mut text));
    let id = text.strip_prefix("process ").and_then(|rest| rest.split(',').next());
    let is_alive = id.is_none_or(|id| Path::new("/proc").join(id).exists());
    let text = text.trim();
    (if text.is_empty() { "by somebody unknown".to_owned() } else { text.to_owned() }, is_alive)
}

fn try_lock(file: &File, how: libc::c_int) -> io::Result<bool> {
    loop {
        // SAFETY: plain values; the descriptor is open.
        if unsafe { libc::flock(file.as_raw_fd(), how | libc::LOCK_NB) } == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EWOULDBLOCK) => return Ok(false),
            Some(libc::EINTR) => {}
            _ => return Err(error),
        }
    }
}
