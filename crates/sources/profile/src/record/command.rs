//! The recorded command, which is held before its execve(2) until perf is ready.
//!
//! perf can start a command itself, but then its own exit code and the command's cannot be told apart. So we start the
//! command: the process waits for a byte from a pipe before execve(2), while perf opens its events on it.

use super::child::{PATIENCE, end, find};
use super::error::RecordError;
use std::ffi::{OsStr, OsString};
use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// A process that waits to become the command.
pub(super) struct Held {
    program: String,
    pid: u32,
    /// A byte in it releases the process; closing it ends the process.
    go: PipeWriter,
    /// `Command::spawn` returns only once execve(2) has succeeded, thus not before the process is released.
    child: Receiver<io::Result<Child>>,
    /// Keeps the thread that started it.
    parent: Sender<()>,
}

/// A running command.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    /// The thread that started it lives as long as this.
    _parent: Sender<()>,
}

impl Held {
    /// Starts the process, held.
    pub fn new(command: &[OsString], output_to_stderr: bool) -> Result<Self, RecordError> {
        let Some((program, arguments)) = command.split_first() else {
            let source = io::Error::from(io::ErrorKind::InvalidInput);
            return Err(RecordError::Command { program: "a command without a name".to_owned(), source });
        };
        let name = program.to_string_lossy().into_owned();
        let failed = |source| RecordError::Command { program: name.clone(), source };
        // Reported before perf renames an older file.
        is_there(program).map_err(failed)?;
        let pipe = || io::pipe().map_err(RecordError::system("make a pipe"));
        let ((mut pids, tell), (wait, go)) = (pipe()?, pipe()?);
        let mut process = Command::new(program);
        process.args(arguments);
        if output_to_stderr {
            process.stdout(io::stderr());
        }
        let (own, tell_at, wait_at) = (go.as_raw_fd(), tell.as_raw_fd(), wait.as_raw_fd());
        // SAFETY: `hold` is async-signal-safe (signal-safety(7)), as it must be after a fork of a process with several
        // threads. The files are open until `spawn` has returned.
        unsafe { process.pre_exec(move || hold(own, tell_at, wait_at)) };
        let (report, child) = mpsc::channel();
        let (parent, is_over) = mpsc::channel();
        thread::spawn(move || {
            let child = process.spawn();
            drop((tell, wait));
            let _ = report.send(child);
            // The kernel takes the end of this thread for the death of the parent (PR_SET_PDEATHSIG).
            let _ = is_over.recv();
        });
        let mut pid = [0; 4];
        match pids.read_exact(&mut pid) {
            Ok(()) => Ok(Self { program: name, pid: u32::from_ne_bytes(pid), go, child, parent }),
            // The process was not even forked.
            Err(_) => {
                Err(failed(started(&child).err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into())))
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Lets the process become the command.
    pub fn release(mut self) -> Result<Running, RecordError> {
        let failed = |source| RecordError::Command { program: self.program.clone(), source };
        self.go.write_all(&[1]).map_err(failed)?;
        Ok(Running { child: started(&self.child).map_err(failed)?, _parent: self.parent })
    }
}

fn started(child: &Receiver<io::Result<Child>>) -> io::Result<Child> {
    child.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

/// Whether a program is where execvp(3) looks for it.
fn is_there(program: &OsStr) -> io::Result<()> {
    let is_path = program.as_encoded_bytes().contains(&b'/');
    if is_path {
        Path::new(program).metadata().map(drop)
    } else {
        find(program).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Runs in the process that is to become the command: reports its id, and waits to be released. The command ends with
/// this program, even if that is killed.
fn hold(own: RawFd, tell: RawFd, wait: RawFd) -> io::Result<()> {
    // SAFETY: async-signal-safe calls on open files, with values that live as long as the call.
    unsafe {
        // With its own copy of the write end, it would never see the pipe closed.
        libc::close(own);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM, 0, 0, 0);
        let pid = libc::getpid().cast_unsigned().to_ne_bytes();
        if libc::write(tell, pid.as_ptr().cast(), pid.len()) != pid.len().cast_signed() {
            return Err(io::Error::last_os_error());
        }
        let mut byte = 0_u8;
        loop {
            match libc::read(wait, (&raw mut byte).cast(), 1) {
                1 => return Ok(()),
                -1 if *libc::__errno_location() == libc::EINTR => {}
                _ => return Err(io::Error::from_raw_os_error(libc::ECANCELED)),
            }
        }
    }
}

impl Running {
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }

    /// How it ended. If it still runs, it gets a SIGTERM first, as perf does with a command of its own.
    pub fn end(mut self) -> Result<ExitStatus, RecordError> {
        let ended = end(&mut self.child, libc::SIGTERM, PATIENCE);
        ended.map(|(status, _)| status).map_err(RecordError::system("wait for the command"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // If it cannot be ended, there is nobody to report that to.
        let _ = end(&mut self.child, libc::SIGKILL, PATIENCE);
    }
}
