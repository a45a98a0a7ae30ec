//! Socket options and clock of programs that size their buffers: this one's, and the FTP client's.

use rustix::net::sockopt;
use slowpath_model::Instant;
use slowpath_uapi::TcpInfo;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};

/// Asks for a receive buffer; a host's limit (`net.core.rmem_max`) may leave less, except for an administrator.
pub fn receive_buffer(socket: &impl AsFd, bytes: u64) {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(1 << 30);
    if sockopt::set_socket_recv_buffer_size_force(socket, bytes).is_err() {
        let _ = sockopt::set_socket_recv_buffer_size(socket, bytes);
    }
}

/// Asks for a send buffer, likewise (`net.core.wmem_max`).
pub fn send_buffer(socket: &impl AsFd, bytes: u64) {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(1 << 30);
    if sockopt::set_socket_send_buffer_size_force(socket, bytes).is_err() {
        let _ = sockopt::set_socket_send_buffer_size(socket, bytes);
    }
}

/// Lets the window of a connection that exists grow with its receive buffer. Linux 6.18 keeps the limit of the buffer that the
/// connection began with (`tp->window_clamp`): only its own tuning raises it, which `SO_RCVBUF` ends.
pub fn window_up_to(stream: &TcpStream, bytes: u64) {
    let number = u32::try_from(bytes).unwrap_or(u32::MAX).min(1 << 30);
    // A kernel that refuses leaves the window as it is.
    let _ = set_number(stream, libc::TCP_WINDOW_CLAMP, number);
}

/// Sets an option of TCP that is a number.
pub(super) fn set_number(stream: &TcpStream, name: i32, number: u32) -> io::Result<()> {
    let length = size_of_val(&number) as libc::socklen_t;
    // SAFETY: the value is live and has the stated size.
    let result = unsafe {
        libc::setsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, name, (&raw const number).cast(), length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The `TCP_INFO` of a connection.
pub fn tcp_info(stream: &TcpStream) -> TcpInfo {
    let mut bytes = [0_u8; TcpInfo::LENGTH];
    let mut length = TcpInfo::LENGTH as libc::socklen_t;
    // SAFETY: both are live and have the stated sizes.
    let result = unsafe {
        let to = bytes.as_mut_ptr().cast();
        libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut length)
    };
    if result == 0 { TcpInfo::decode(&bytes[..length as usize]) } else { TcpInfo::default() }
}

/// A clock that is never set, for code that takes `now` as a parameter.
pub fn now() -> Instant {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists and the structure is live.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Instant::from_nanos(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}
