//! TCP streams: options, and errors that pass.

use super::ProbeError;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// The kernel ends the connection if the other end acknowledges nothing for this long, or keeps its window shut, also
/// after it was closed here: without a limit, what a peer that is gone has not read stays in memory for minutes
/// (tcp(7), `TCP_USER_TIMEOUT`; `tcp_orphan_retries`).
pub fn gives_up_after(stream: &TcpStream, time: Duration) -> Result<(), ProbeError> {
    let millis = libc::c_uint::try_from(time.as_millis()).unwrap_or(libc::c_uint::MAX);
    let (level, name) = (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT);
    let length = size_of_val(&millis) as libc::socklen_t;
    // SAFETY: the value is live and has the stated size.
    let result =
        unsafe { libc::setsockopt(stream.as_raw_fd(), level, name, (&raw const millis).cast(), length) };
    if result == 0 {
        Ok(())
    } else {
        Err(ProbeError::system("set TCP_USER_TIMEOUT")(io::Error::last_os_error()))
    }
}

/// Whether a failed call may be retried.
pub fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
