//! Questions to the kernel over netlink(7), none of which needs a right.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const HEADER_BYTES: usize = 16;
const BUFFER_BYTES: usize = 1 << 17;
/// The kernel answers at once or not at all.
const PATIENCE_S: libc::time_t = 2;

/// A socket to ask by, in the network namespace of the thread that opened it.
pub struct Netlink {
    socket: OwnedFd,
    buffer: Vec<u8>,
    asked: u32,
}

impl Netlink {
    /// Opens one of a protocol, such as `NETLINK_ROUTE`.
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

    /// Asks for all there are of a kind; `body` is the message behind its header.
    pub fn dump(&mut self, kind: u16, body: &[u8], take: impl FnMut(&[u8])) -> io::Result<()> {
        self.ask(kind, libc::NLM_F_DUMP as u16, body)?;
        self.answers(take, true)
    }

    /// Asks for one.
    pub fn get(&mut self, kind: u16, body: &[u8], take: impl FnMut(&[u8])) -> io::Result<()> {
        self.ask(kind, 0, body)?;
        self.answers(take, false)
    }

    /// `struct nlmsghdr` and what follows.
    fn ask(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.asked += 1;
        let mut message = Vec::with_capacity(HEADER_BYTES + body.len());
        message.extend(((HEADER_BYTES + body.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((libc::NLM_F_REQUEST as u16 | flags).to_ne_bytes());
        message.extend(self.asked.to_ne_bytes());
        message.extend(0_u32.to_ne_bytes());
        message.extend(body);
        // SAFETY: the message is live for so many bytes.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn answers(&mut self, mut take: impl FnMut(&[u8]), many: bool) -> io::Result<()> {
        loop {
            let buffer = &mut self.buffer;
            // SAFETY: the buffer is live for so many bytes.
            let received =
                unsafe { libc::recv(self.socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
            let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
            let is_end = messages(&self.buffer[..received], self.asked, &mut take)?;
            if is_end || !many {
                return Ok(());
            }
        }
    }
}

/// Takes the answers to a question apart; whether that was the last of many.
fn messages(mut bytes: &[u8], asked: u32, take: &mut impl FnMut(&[u8])) -> io::Result<bool> {
    const DONE: u16 = libc::NLMSG_DONE as u16;
    const ERROR: u16 = libc::NLMSG_ERROR as u16;
    while let Some(header) = bytes.get(..HEADER_BYTES) {
        let length = number(header, 0) as usize;
        let Some(message) = bytes.get(HEADER_BYTES..length) else { break };
        match u16::from_ne_bytes([header[4], header[5]]) {
            _ if number(header, 8) != asked => {}
            DONE => return Ok(true),
            ERROR => {
                return Err(io::Error::from_raw_os_error(number(message, 0).cast_signed().wrapping_neg()));
            }
            _ => take(message),
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// 32 bits as the machine has them; 0 beyond the end.
pub fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u32::from_ne_bytes(*chunk))
}

/// 64 bits as the machine has them; 0 beyond the end.
pub fn wide(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u64::from_ne_bytes(*chunk))
}

/// Text up to its NUL.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// An address of either family; `None` of no family's length.
pub fn address(bytes: &[u8]) -> Option<std::net::IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).ok().map(std::net::IpAddr::from);
    four.or_else(|| <[u8; 16]>::try_from(bytes).ok().map(std::net::IpAddr::from))
}

/// The attributes of a message behind its fixed part, by type and value (`struct rtattr`, `struct nlattr`).
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    const TYPE: u16 = libc::NLA_TYPE_MASK as u16;
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let head = rest.first_chunk::<4>()?;
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let value = rest.get(4..length)?;
        let kind = u16::from_ne_bytes([head[2], head[3]]) & TYPE;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// Adds an attribute to a question.
pub fn attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    message.extend(((4 + value.len()) as u16).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(value);
    message.resize(message.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn attributes_are_read_as_they_are_written() {
        let mut bytes = Vec::new();
        attribute(&mut bytes, 7, b"abc");
        attribute(&mut bytes, 9 | 1 << 15, &5_u32.to_ne_bytes());
        let found: Vec<_> = attributes(&bytes).collect();
        assert_eq!(found, [(7, &b"abc"[..]), (9, &5_u32.to_ne_bytes()[..])]);
        assert_eq!(attributes(&bytes[..bytes.len() - 1]).count(), 1, "half a value is none");
    }

    #[test]
    fn an_error_is_the_systems() {
        let mut bytes = Vec::new();
        bytes.extend(20_u32.to_ne_bytes());
        bytes.extend((libc::NLMSG_ERROR as u16).to_ne_bytes());
        bytes.extend([0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend((-libc::ENODEV).to_ne_bytes());
        let error = messages(&bytes, 3, &mut |_| {}).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
        assert!(!messages(&bytes, 4, &mut |_| {}).expect("another's answer"));
    }

    proptest! {
        #[test]
        fn no_answer_is_too_strange(mut bytes in prop::collection::vec(any::<u8>(), 0..200), length in 0_u32..100) {
            bytes.splice(..bytes.len().min(4), length.to_ne_bytes());
            if let Some(kind) = bytes.get_mut(4..12) {
                kind.copy_from_slice(&[16, 0, 0, 0, 1, 0, 0, 0]);
            }
            let _ = messages(&bytes, 1, &mut |message| {
                for (_, value) in attributes(message) {
                    attributes(value).for_each(drop);
                }
            });
        }
    }
}
