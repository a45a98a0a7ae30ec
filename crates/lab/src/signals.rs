//! Signals: SIGINT and SIGTERM remove the temporary folders before the program ends.

use crate::error::LabError;
use crate::scratch;
use std::sync::atomic::{AtomicBool, Ordering};

/// Starts a thread that waits for SIGINT and SIGTERM, removes every temporary folder of this process and exits with 130.
/// The kernel removes the namespaces then. Call it before any other thread exists: threads inherit the blocked signals.
///
/// # Errors
/// If the signals cannot be blocked.
pub fn clean_up_when_ended() -> Result<(), LabError> {
    static LISTENING: AtomicBool = AtomicBool::new(false);
    if LISTENING.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    // SAFETY: the set is live and initialised by sigemptyset before it is used; only this process's own mask
    // is changed.
    let signals = unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, libc::SIGINT);
        libc::sigaddset(&raw mut signals, libc::SIGTERM);
        if libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut()) != 0 {
            return Err(LabError::last_os("block SIGINT and SIGTERM"));
        }
        signals
    };
    std::thread::spawn(move || {
        let mut signal = 0;
        // SAFETY: both point at live values for the duration of the call.
        if unsafe { libc::sigwait(&raw const signals, &raw mut signal) } == 0 {
            scratch::remove_all();
            std::process::exit(130);
        }
    });
    Ok(())
}
