//! The thread that makes calls, which may block.

use super::calls::Caller;
use super::{PRIORITY, Start};
use crate::clock;
use crate::error::LabError;
use slowpath_drill::call::{Call, Returned};
use slowpath_drill::{KernelError, Progress};
use slowpath_model::Instant;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The thread's public state.
#[derive(Default)]
struct Shown {
    /// Its id in the kernel; 0 before it runs.
    thread: AtomicI32,
    /// Whether it is inside of a call.
    calling: AtomicBool,
    finished: AtomicBool,
}

/// The thread, with its requests and answers.
pub struct Worker {
    calls: Option<Sender<Call>>,
    returned: Receiver<(Instant, Returned)>,
    shown: Arc<Shown>,
    /// Readable when a call has returned.
    done: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// Wakes the thread from a call; its handler does nothing, and the call is not restarted.
const WAKE: libc::c_int = libc::SIGUSR2;

extern "C" fn nothing(_: libc::c_int) {}

impl Worker {
    /// Starts the thread with its caller, in the namespace of the calling thread.
    pub fn start(mut caller: Caller, start: Start) -> Result<Self, LabError> {
        // SAFETY: takes plain values; the result is checked before it is owned.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(LabError::last_os("make an eventfd"));
        }
        // SAFETY: the descriptor was just made and is nobody else's.
        let done = Arc::new(unsafe { OwnedFd::from_raw_fd(fd) });
        handle_wake()?;
        let (calls, asked) = channel::<Call>();
        let (answer, returned) = channel();
        let shown = Arc::new(Shown::default());
        let (theirs, signal) = (Arc::clone(&shown), Arc::clone(&done));
        let thread = std::thread::spawn(move || {
            clock::make_thread_punctual(PRIORITY);
            // SAFETY: takes nothing.
            theirs.thread.store(unsafe { libc::gettid() }, Ordering::SeqCst);
            while let Ok(call) = asked.recv() {
                theirs.calling.store(true, Ordering::SeqCst);
                let value = caller.make(&call);
                let at = start.now();
                theirs.calling.store(false, Ordering::SeqCst);
                if answer.send((at, value)).is_err() {
                    break;
                }
                wake(&signal);
            }
            drop(caller);
            theirs.finished.store(true, Ordering::SeqCst);
        });
        Ok(Self { calls: Some(calls), returned, shown, done, thread: Some(thread) })
    }

    /// What becomes readable when a call has returned.
    pub fn done_fd(&self) -> RawFd {
        self.done.as_raw_fd()
    }

    /// Makes a call; returns when it has returned or sleeps in the kernel.
    pub fn call(&self, call: Call) -> Result<Progress, KernelError> {
        let gone = || KernelError::new("the thread that makes calls is gone");
        self.calls.as_ref().ok_or_else(gone)?.send(call).map_err(|_| gone())?;
        loop {
            if let Some((_, returned)) = self.take_returned() {
                return Ok(Progress::Returned(returned));
            }
            if self.shown.finished.load(Ordering::SeqCst) {
                return Err(gone());
            }
            if self.shown.calling.load(Ordering::SeqCst) && self.sleeps() {
                return Ok(match self.take_returned() {
                    Some((_, returned)) => Progress::Returned(returned),
                    None => Progress::Blocked,
                });
            }
            std::thread::yield_now();
        }
    }

    /// What the last call returned, and when.
    pub fn take_returned(&self) -> Option<(Instant, Returned)> {
        let returned = self.returned.try_recv().ok()?;
        let mut count = 0u64;
        // SAFETY: the buffer is live and has the eight bytes that an eventfd returns. That nothing is there to read is
        // no error: the answer may be taken before it is signalled.
        unsafe { libc::read(self.done.as_raw_fd(), (&raw mut count).cast(), 8) };
        Some(returned)
    }

    /// Whether the thread sleeps: the third field of its stat file (proc(5)).
    fn sleeps(&self) -> bool {
        let thread = self.shown.thread.load(Ordering::SeqCst);
        let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, after)| after.trim_start().starts_with('S'))
            && self.shown.calling.load(Ordering::SeqCst)
    }
}

impl Drop for Worker {
    /// Ends the thread, whatever it waits for.
    fn drop(&mut self) {
        self.calls = None;
        while !self.shown.finished.load(Ordering::SeqCst) {
            let thread = self.shown.thread.load(Ordering::SeqCst);
            if thread != 0 {
                // SAFETY: takes plain values; the thread is one of this process, and if it has ended, nothing happens.
                unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, WAKE) };
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Some(thread) = self.thread.take() {
            // The caller that waited for its answer has seen a panic.
            let _ = thread.join();
        }
    }
}

fn wake(done: &OwnedFd) {
    let one = 1u64;
    // SAFETY: the buffer is live and has the eight bytes that an eventfd takes. It cannot be full.
    unsafe { libc::write(done.as_raw_fd(), (&raw const one).cast(), 8) };
}

fn handle_wake() -> Result<(), LabError> {
    // SAFETY: the struct is initialised whole, the handler touches nothing, and the call copies the struct.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as libc::sighandler_t;
        libc::sigemptyset(&raw mut action.sa_mask);
        if libc::sigaction(WAKE, &raw const action, std::ptr::null_mut()) != 0 {
            return Err(LabError::last_os("handle the signal that ends calls"));
        }
    }
    Ok(())
}
