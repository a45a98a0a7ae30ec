//! The relay's wait for the next packet to arrive or to be due.

use std::os::fd::RawFd;

/// The stop flag is checked at least this often.
const LONGEST_NS: u64 = 20_000_000;
/// The part of the time between two deliveries spent waiting without sleeping: one in this many.
const AWAKE: u64 = 8;
/// A sleeping thread is seldom woken later than this, on a machine that has to be woken too.
const LONGEST_AWAKE_NS: u64 = 1_000_000;

/// Waits until one of the sockets is readable, or the time has come. The last eighth of the wait does not sleep: rare
/// packets are on time, and this takes at most an eighth of a CPU.
pub fn wait(sockets: [RawFd; 2], now_ns: u64, due_ns: Option<u64>, last_delivery_ns: u64) {
    let due_ns = due_ns.unwrap_or(u64::MAX);
    let awake_ns = (due_ns.saturating_sub(last_delivery_ns) / AWAKE).min(LONGEST_AWAKE_NS);
    let left_ns = due_ns.saturating_sub(now_ns);
    if left_ns <= awake_ns {
        std::hint::spin_loop();
    } else {
        sleep(sockets, (left_ns - awake_ns).min(LONGEST_NS));
    }
}

fn sleep(sockets: [RawFd; 2], nanos: u64) {
    let timeout = libc::timespec { tv_sec: 0, tv_nsec: nanos.cast_signed() };
    let mut sockets = sockets.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: `sockets` holds two pollfds and outlives the call; no signal mask is given.
    unsafe { libc::ppoll(sockets.as_mut_ptr(), 2, &raw const timeout, std::ptr::null()) };
}
