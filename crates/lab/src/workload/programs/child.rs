//! A program's processes: all of them, and no longer than they are wanted.
//!
//! They are in a process namespace of their own (pid_namespaces(7)), of which a process of ours is the first. Whatever
//! ends that one ends them all, also those that have gone into the background or into a session of their own: the end of
//! the thread that watches, and so slowpath's (`PR_SET_PDEATHSIG`).

use super::{Program, ProgramRecord, Role};
use crate::clock;
use crate::error::LabError;
use crate::namespaces::{Namespaces, Place, SYS, mount_own};
use crate::workload::end::CASE_TIME;
use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// The stored length of a program's output.
const KEPT_BYTES: usize = 64 << 10;
/// How long its processes may take to end after SIGTERM.
const PATIENCE_NS: u64 = 2_000_000_000;
const LOOK_EVERY_MS: i32 = 10;

/// Runs a program until it has ended or `stop` is set. The calling thread is good for nothing else afterwards.
pub(crate) fn watch(
    namespaces: &Namespaces,
    (role, program): (Role, &Program),
    command: &str,
    stop: &AtomicBool,
) -> Result<ProgramRecord, LabError> {
    let doing = || format!("start `{command}`");
    namespaces.enter(Place::from(program.host))?;
    if let Some(scheduling) = &program.scheduling {
        scheduling.apply(0)?;
    }
    // SAFETY: the next child of this thread is the first process of a new namespace; nothing else changes.
    if unsafe { libc::unshare(libc::CLONE_NEWPID) } != 0 {
        return Err(LabError::last_os("make a process namespace"));
    }
    let (mut output, input) = io::pipe().map_err(LabError::system(doing()))?;
    let second = input.try_clone().map_err(LabError::system(doing()))?;
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(input).stderr(second);
    // SAFETY: what it does is safe in a signal handler (signal-safety(7)), as it has to be in a process that was forked
    // from one with many threads.
    unsafe { shell.pre_exec(become_the_second) };
    let first = shell.spawn().map_err(LabError::system(doing()))?;
    // Its ends of the pipe are the program's alone.
    drop(shell);
    let first = libc::pid_t::try_from(first.id()).unwrap_or(libc::pid_t::MAX);
    let mut said = Said::default();
    let mut given_up_ns = None;
    loop {
        said.read(&mut output, LOOK_EVERY_MS);
        if let Some((status, ran_ns)) = ended(first) {
            said.read(&mut output, 0);
            let exit_code =
                (given_up_ns.is_none() && libc::WIFEXITED(status)).then(|| libc::WEXITSTATUS(status));
            return Ok(ProgramRecord {
                role,
                host: program.host,
                command: command.to_owned(),
                exit_code,
                ran_ns,
                said: String::from_utf8_lossy(&said.kept).into_owned(),
                said_bytes: said.bytes,
            });
        }
        match given_up_ns {
            None if stop.load(Ordering::Relaxed) => {
                given_up_ns = Some(clock::monotonic_ns() + PATIENCE_NS);
                tell(first, libc::SIGTERM);
            }
            Some(at_ns) if clock::monotonic_ns() >= at_ns => tell(first, libc::SIGKILL),
            _ => {}
        }
    }
}

fn tell(process: libc::pid_t, signal: libc::c_int) {
    // SAFETY: it is our child and has not been waited for, so the id is its own.
    unsafe { libc::kill(process, signal) };
}

/// How a child ended, and the CPU time of it and of those that it waited for; `None` if it has not.
fn ended(process: libc::pid_t) -> Option<(libc::c_int, u64)> {
    let mut status = 0;
    // SAFETY: all-zero is a rusage, which the call fills.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both values are live.
    let waited = unsafe { libc::wait4(process, &raw mut status, libc::WNOHANG, &raw mut usage) };
    let nanos = |time: libc::timeval| (time.tv_sec * 1_000_000_000 + time.tv_usec * 1_000).cast_unsigned();
    (waited != 0).then(|| (status, nanos(usage.ru_utime) + nanos(usage.ru_stime)))
}

/// What a program said: the beginning of it, and how much it was.
#[derive(Default)]
struct Said {
    kept: Vec<u8>,
    bytes: u64,
    is_over: bool,
}

impl Said {
    /// Takes what there is, after it has waited for it for so long at most.
    fn read(&mut self, from: &mut PipeReader, wait_ms: i32) {
        let mut polled = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // Nothing comes from a pipe that nobody writes to any more, and poll reports that immediately.
        let count = libc::nfds_t::from(!self.is_over);
        let mut wait_ms = wait_ms;
        let mut buffer = [0; 1 << 16];
        // SAFETY: one live pollfd at most is passed.
        while unsafe { libc::poll(&raw mut polled, count, wait_ms) } > 0 {
            match from.read(&mut buffer) {
                Ok(0) => {
                    self.is_over = true;
                    return;
                }
                Ok(read) => {
                    let left = KEPT_BYTES - self.kept.len();
                    self.kept.extend_from_slice(&buffer[..read.min(left)]);
                    self.bytes += read as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
            wait_ms = 0;
        }
    }
}

/// Makes the calling process, fresh from fork(2), the first of its namespace, and goes on as its child.
fn become_the_second() -> io::Result<()> {
    // SAFETY: async-signal-safe calls with plain values, or with values that live as long as the call.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        // Where that is allowed; without root it is not in every container.
        let _ = mount_own(&[(c"proc", c"/proc"), SYS]);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        // slowpath waits for its signals in one thread, and blocks them in all.
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => Ok(()),
            second => be_the_first(second),
        }
    }
}

/// Waits for all processes of the namespace, and ends as the second did.
///
/// # Safety
/// In a child of its own: it closes all files.
unsafe fn be_the_first(second: libc::pid_t) -> ! {
    // SAFETY: async-signal-safe calls with values that live as long as the call.
    unsafe {
        libc::close_range(0, u32::MAX, 0);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = pass_on as extern "C" fn(libc::c_int) as libc::sighandler_t;
        // Ctrl-C in a terminal comes to all of its processes; those of the program have it by themselves.
        for signal in [libc::SIGTERM, libc::SIGALRM] {
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
        // A parent that died before the prctl does not kill us any more.
        libc::alarm(CASE_TIME.as_secs() as libc::c_uint);
        let mut code = 0;
        loop {
            let mut status = 0;
            match libc::waitpid(-1, &raw mut status, 0) {
                -1 if *libc::__errno_location() == libc::EINTR => {}
                -1 => libc::_exit(code),
                ended if ended != second => {}
                _ if libc::WIFEXITED(status) => code = libc::WEXITSTATUS(status),
                _ => code = 128 + libc::WTERMSIG(status),
            }
        }
    }
}

/// Sends SIGTERM to all other processes of the namespace; when time is over for good, ends them with its own.
extern "C" fn pass_on(signal: libc::c_int) {
    // SAFETY: async-signal-safe calls with plain values.
    unsafe {
        if signal == libc::SIGALRM {
            libc::_exit(128 + signal);
        }
        libc::kill(-1, signal);
    }
}
