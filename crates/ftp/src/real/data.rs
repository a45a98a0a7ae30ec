//! Data connections: their buffers, and whom they may lead to.

use super::session::{HANDSHAKE, LOOK, within};
use crate::error::FtpError;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};
use slowpath_copy::real::sockets::{receive_buffer, send_buffer};
use slowpath_model::Bytes;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

/// The buffers of the next data connection; `None` leaves them to the kernel.
pub type NextBuffer = Arc<Mutex<Option<u64>>>;

/// Sets the buffers of the next data connection.
pub fn set_next(next: &NextBuffer, bytes: Option<u64>) {
    *next.lock().unwrap_or_else(PoisonError::into_inner) = bytes;
}

fn next_of(next: &NextBuffer) -> Option<u64> {
    *next.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives both buffers of a data connection the size that was set.
pub fn give(socket: &impl AsFd, next: &NextBuffer) {
    if let Some(bytes) = next_of(next) {
        receive_buffer(socket, bytes);
        send_buffer(socket, bytes);
    }
}

/// Opens passive data connections for suppaftp: only to the server itself, with the buffers set before the handshake, in
/// which the window scale is chosen.
pub fn builder(
    server: String,
    own: IpAddr,
    next: NextBuffer,
) -> impl Fn(SocketAddr) -> suppaftp::FtpResult<TcpStream> + Send + Sync + 'static {
    move |named| {
        if named.ip().to_canonical() != own.to_canonical() {
            return Err(within(FtpError::OtherHost { server: server.clone(), named, own }));
        }
        open(named, &next)
            .map_err(|source| within(FtpError::NoData { server: server.clone(), port: named.port(), source }))
    }
}

fn open(to: SocketAddr, next: &NextBuffer) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    give(&socket, next);
    // connect(2) waits as long as SO_SNDTIMEO (socket(7)), and fails with EINPROGRESS then.
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(HANDSHAKE))?;
    match rustix::net::connect(&socket, &to) {
        Ok(()) => {}
        Err(rustix::io::Errno::INPROGRESS | rustix::io::Errno::AGAIN) => {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Err(error) => return Err(error.into()),
    }
    Ok(TcpStream::from(socket))
}

/// Has calls return often enough that a stop is noticed.
pub fn attend(data: &TcpStream) -> Result<(), FtpError> {
    data.set_read_timeout(Some(LOOK)).map_err(FtpError::system("set a time-out"))?;
    data.set_write_timeout(Some(LOOK)).map_err(FtpError::system("set a time-out"))
}

/// The buffer that a direction uses, as the kernel counts it.
pub fn size_of(data: &TcpStream, receives: bool) -> Bytes {
    let size = if receives {
        sockopt::socket_recv_buffer_size(data)
    } else {
        sockopt::socket_send_buffer_size(data)
    };
    Bytes::new(size.unwrap_or(0) as u64)
}
