//! Asks the kernel to stamp what arrives.

use crate::error::LiveError;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Held open, it makes the kernel stamp every packet that arrives on this host (`net_enable_timestamp`,
/// net/core/dev.c): at least one socket has to ask.
#[derive(Debug)]
pub struct Stamps {
    _socket: UdpSocket,
}

impl Stamps {
    pub fn on() -> Result<Self, LiveError> {
        const DOING: &str = "have the kernel stamp packets";
        let socket = UdpSocket::bind(("127.0.0.1", 0)).map_err(LiveError::system(DOING))?;
        let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE;
        // SAFETY: the value is a live u32 and its size is passed with it.
        let result = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_TIMESTAMPING,
                (&raw const flags).cast(),
                size_of_val(&flags) as libc::socklen_t,
            )
        };
        if result != 0 {
            return Err(LiveError::system(DOING)(io::Error::last_os_error()));
        }
        Ok(Self { _socket: socket })
    }
}

/// Seconds by which TAI is ahead of the time of day here, in nanoseconds. 0 where nobody told the kernel of leap
/// seconds.
pub fn tai_minus_realtime_ns() -> i64 {
    let read = |clock| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the timespec is live; both clocks exist since 3.10.
        unsafe { libc::clock_gettime(clock, &raw mut time) };
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    let apart = read(libc::CLOCK_TAI) - read(libc::CLOCK_REALTIME);
    // The two reads are less than half a second apart.
    (apart + 500_000_000).div_euclid(1_000_000_000) * 1_000_000_000
}
