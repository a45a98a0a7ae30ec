//! The kernel's clocks, waiting, and randomness.

use super::{ProbeError, Stop};
use crate::protocol::Token;
use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

/// The time of day, the clock of the kernel's packet timestamps (`SO_TIMESTAMPNS`).
pub fn time_of_day_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// A clock that is never set.
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// The time of that clock, for code that takes `now` as a parameter.
pub fn now() -> slowpath_model::Instant {
    slowpath_model::Instant::from_nanos(i64::try_from(monotonic_ns()).unwrap_or(i64::MAX))
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists and the structure is live.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How long to wait between checks whether to stop.
pub const LOOK: Duration = Duration::from_millis(50);

/// Sleeps, unless a stop is requested.
pub fn sleep(nanos: u64, stop: Stop<'_>) -> Result<(), ProbeError> {
    let until = Instant::now() + Duration::from_nanos(nanos);
    loop {
        if stop() {
            return Err(ProbeError::Stopped);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(LOOK));
    }
}

/// Waits until one of these is readable or at its end, for at most this long and no longer than between two checks
/// whether to stop. Returns which of them.
pub fn readable<const N: usize>(descriptors: [RawFd; N], most: Duration) -> Result<[bool; N], ProbeError> {
    let is_ready = ready(descriptors.map(|fd| (fd, libc::POLLIN)).into_iter(), most)?;
    Ok(std::array::from_fn(|n| is_ready[n]))
}

/// Waits as [`readable`] does for any number of descriptors, each with what it is polled for.
pub fn ready(
    descriptors: impl Iterator<Item = (RawFd, libc::c_short)>,
    most: Duration,
) -> Result<Vec<bool>, ProbeError> {
    let mut polled: Vec<libc::pollfd> =
        descriptors.map(|(fd, events)| libc::pollfd { fd, events, revents: 0 }).collect();
    // Rounded up, so that waiting for less than a millisecond does not spin.
    let millis = most.min(LOOK).as_micros().div_ceil(1000) as libc::c_int;
    // SAFETY: the array is live and has the stated length.
    let count = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, millis) };
    let error = io::Error::last_os_error();
    if count < 0 && error.kind() != io::ErrorKind::Interrupted {
        return Err(ProbeError::System { what: "wait for packets", source: error });
    }
    Ok(polled.iter().map(|one| count > 0 && one.revents != 0).collect())
}

/// Whether the other end has closed this connection, or it broke.
pub fn is_gone(connection: RawFd) -> bool {
    let mut polled = libc::pollfd { fd: connection, events: libc::POLLRDHUP, revents: 0 };
    // SAFETY: one live structure.
    unsafe { libc::poll(&raw mut polled, 1, 0) };
    polled.revents != 0
}

/// Random bytes from the kernel.
pub fn token() -> Result<Token, ProbeError> {
    let mut token = Token::default();
    // SAFETY: the buffer is live and has the stated length.
    let count = unsafe { libc::getrandom(token.as_mut_ptr().cast(), token.len(), 0) };
    if count == token.len() as isize {
        Ok(token)
    } else {
        Err(ProbeError::System { what: "draw a random token", source: io::Error::last_os_error() })
    }
}
