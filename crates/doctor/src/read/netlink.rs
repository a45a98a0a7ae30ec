//! Unprivileged netlink(7) queries.

use slowpath_uapi::netlink;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const BUFFER_BYTES: usize = 1 << 17;
/// The kernel answers immediately or not at all.
const PATIENCE_S: libc::time_t = 2;

/// A socket for queries, in the network namespace of the thread that opened it.
pub struct Netlink {
    socket: OwnedFd,
    buffer: Vec<u8>,
    asked: u32,
}

impl Netlink {
    /// Opens a socket of a protocol, such as `NETLINK_ROUTE`.
    pub fn open(protocol: libc::c_int) -> io::Result<Self> {
        // SAFETY: no pointers are passed; the result is checked before it is owned.
        let raw = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and nobody else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(raw) };
        let patience = libc::timeval { tv_sec: PATIENCE_S, tv_usec: 0 };
        let size = size_of::<libc::timeval>() as libc::socklen_t;
        // SAFETY: the value is live, and its true size is passed with it.
        let set = unsafe {
            let value = (&raw const patience).cast();
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVTIMEO, value, size)
        };
        if set < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { socket, buffer: vec![0; BUFFER_BYTES], asked: 0 })
    }

    /// Requests all objects of a kind; `body` is the message after its header.
    pub fn dump(&mut self, kind: u16, body: &[u8], take: impl FnMut(&[u8])) -> io::Result<()> {
        self.ask(kind, netlink::DUMP, body)?;
        self.answers(take, true)
    }

    /// Requests one object.
    pub fn get(&mut self, kind: u16, body: &[u8], take: impl FnMut(&[u8])) -> io::Result<()> {
        self.ask(kind, 0, body)?;
        self.answers(take, false)
    }

    fn ask(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.asked += 1;
        let message = netlink::request(kind, flags, self.asked, body);
        // SAFETY: the message is live for its whole length.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn answers(&mut self, mut take: impl FnMut(&[u8]), many: bool) -> io::Result<()> {
        loop {
            let buffer = &mut self.buffer;
            // SAFETY: the buffer is live for its whole length.
            let received =
                unsafe { libc::recv(self.socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
            let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
            let last = netlink::answers(&self.buffer[..received], self.asked, |_, message| take(message));
            if last.map_err(|refused| io::Error::from_raw_os_error(refused.0))? || !many {
                return Ok(());
            }
        }
    }
}
