//! Connections of a program that knows nothing of the tuner, and what the kernel made of them.

use std::ffi::{c_int, c_void};
use std::mem::size_of;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Both ends of a connection.
pub struct Connection {
    pub opened: TcpStream,
    pub accepted: TcpStream,
}

/// A number of a socket option.
pub fn option(socket: &impl AsRawFd, level: c_int, name: c_int) -> i32 {
    let mut value: c_int = 0;
    let mut size = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes no more than `size` bytes to `value`.
    let failed = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast::<c_void>(), &raw mut size)
    };
    assert_eq!(failed, 0, "option {name}");
    value
}

pub fn set_option(socket: &impl AsRawFd, level: c_int, name: c_int, value: &[u8]) {
    let size = value.len() as libc::socklen_t;
    // SAFETY: the kernel reads `size` bytes of `value`.
    let failed =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value.as_ptr().cast::<c_void>(), size) };
    assert_eq!(failed, 0, "option {name}");
}

pub fn congestion(socket: &impl AsRawFd) -> String {
    let mut name = [0_u8; 16];
    let mut size = 16;
    // SAFETY: the kernel writes no more than `size` bytes to `name`.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_mut_ptr().cast::<c_void>(),
            &raw mut size,
        )
    };
    assert_eq!(failed, 0);
    let text = String::from_utf8_lossy(&name);
    text.trim_end_matches('\0').to_owned()
}

pub fn send_buffer(socket: &impl AsRawFd) -> u64 {
    option(socket, libc::SOL_SOCKET, libc::SO_SNDBUF) as u64
}

pub fn receive_buffer(socket: &impl AsRawFd) -> u64 {
    option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF) as u64
}

impl Connection {
    /// A connection to this address of this host, whose opening end is prepared first.
    pub fn to(address: IpAddr, prepare: impl FnOnce(&OwnedFd)) -> Self {
        let listener = TcpListener::bind((address, 0)).expect("a listener");
        let at = listener.local_addr().expect("its address");
        let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        let socket = socket(family);
        prepare(&socket);
        connect(&socket, at).expect("it connects");
        let (accepted, _) = listener.accept().expect("it is accepted");
        Self { opened: socket.into(), accepted }
    }

    /// Closes both ends, without TIME-WAIT.
    pub fn close(self) {
        let reset = libc::linger { l_onoff: 1, l_linger: 0 };
        // SAFETY: a plain struct of two numbers.
        let bytes: [u8; size_of::<libc::linger>()] = unsafe { std::mem::transmute(reset) };
        set_option(&self.opened, libc::SOL_SOCKET, libc::SO_LINGER, &bytes);
        drop(self.opened);
        let _ = self.accepted.shutdown(Shutdown::Both);
    }
}

pub fn socket(family: c_int) -> OwnedFd {
    // SAFETY: it takes numbers, and returns a descriptor that nobody else has.
    unsafe {
        let socket = libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        assert!(socket >= 0);
        OwnedFd::from_raw_fd(socket)
    }
}

/// Connects a socket; one for IPv6 also to an IPv4 address.
pub fn connect(socket: &OwnedFd, to: SocketAddr) -> std::io::Result<()> {
    // SAFETY: all-zero is a valid value of the structs, and the kernel reads no more than their size.
    let failed = unsafe {
        let is_v6 = option(socket, libc::SOL_SOCKET, libc::SO_DOMAIN) == libc::AF_INET6;
        match to.ip() {
            IpAddr::V4(address) if !is_v6 => {
                let mut name: libc::sockaddr_in = std::mem::zeroed();
                name.sin_family = libc::AF_INET as libc::sa_family_t;
                name.sin_port = to.port().to_be();
                name.sin_addr.s_addr = u32::from(address).to_be();
                let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
                libc::connect(socket.as_raw_fd(), (&raw const name).cast(), size)
            }
            address => {
                let address = match address {
                    IpAddr::V4(address) => address.to_ipv6_mapped(),
                    IpAddr::V6(address) => address,
                };
                let mut name: libc::sockaddr_in6 = std::mem::zeroed();
                name.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                name.sin6_port = to.port().to_be();
                name.sin6_addr.s6_addr = address.octets();
                let size = size_of::<libc::sockaddr_in6>() as libc::socklen_t;
                libc::connect(socket.as_raw_fd(), (&raw const name).cast(), size)
            }
        }
    };
    if failed == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
