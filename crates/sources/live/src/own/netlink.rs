//! Asks the kernel for its TCP sockets: `NETLINK_SOCK_DIAG` (sock_diag(7)), which needs no privilege.

use crate::error::LiveError;
use crate::tcp_info::TcpInfo;
use slowpath_model::Endpoint;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A socket as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its number, which is never used again.
    pub cookie: u64,
    /// Its own end, and its peer's.
    pub ends: [Endpoint; 2],
    /// TCP's state, such as 1 for established.
    pub state: u8,
    /// The number of its file.
    pub inode: u64,
    /// `rcv_nxt - copied_seq`.
    pub receive_queue: u32,
    pub info: TcpInfo,
    /// `struct sk_meminfo`'s numbers, in the order of `SK_MEMINFO_VARS`.
    pub memory: Option<[u32; 9]>,
}

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_SKMEMINFO: u16 = 7;
/// Established, and those in which data can still come or go: not LISTEN, TIME_WAIT, SYN_RECV or CLOSE.
const STATES: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
const HEADER_BYTES: usize = 16;
const MESSAGE_BYTES: usize = 72;
const BUFFER_BYTES: usize = 1 << 16;

/// A socket to ask by.
pub struct Netlink {
    socket: OwnedFd,
    buffer: Vec<u8>,
    asked: u32,
}

impl Netlink {
    pub fn open() -> Result<Self, LiveError> {
        const DOING: &str = "open a netlink socket";
        // SAFETY: no pointers are passed; the result is checked before it is owned.
        let raw = unsafe {
            libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_SOCK_DIAG)
        };
        if raw < 0 {
            return Err(LiveError::system(DOING)(io::Error::last_os_error()));
        }
        // SAFETY: the descriptor was just made and nobody else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(raw) };
        Ok(Self { socket, buffer: vec![0; BUFFER_BYTES], asked: 0 })
    }

    /// Hands out every TCP socket of this network namespace that has a connection.
    pub fn each(&mut self, mut take: impl FnMut(Described)) -> Result<(), LiveError> {
        [libc::AF_INET, libc::AF_INET6].into_iter().try_for_each(|family| {
            let asked = self.ask(family as u8).and_then(|()| self.answers(&mut take));
            asked.map_err(LiveError::system("ask the kernel for its sockets"))
        })
    }

    /// `struct nlmsghdr` and `struct inet_diag_req_v2`.
    fn ask(&mut self, family: u8) -> io::Result<()> {
        const FLAGS: u16 = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
        const REQUEST_BYTES: usize = 56;
        const EXTENSIONS: u8 = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_SKMEMINFO - 1);
        self.asked += 1;
        let mut message = Vec::with_capacity(HEADER_BYTES + REQUEST_BYTES);
        message.extend(((HEADER_BYTES + REQUEST_BYTES) as u32).to_ne_bytes());
        message.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        message.extend(FLAGS.to_ne_bytes());
        message.extend(self.asked.to_ne_bytes());
        message.extend(0_u32.to_ne_bytes());
        message.extend([family, libc::IPPROTO_TCP as u8, EXTENSIONS, 0]);
        message.extend(STATES.to_ne_bytes());
        // Any ports and addresses.
        message.resize(HEADER_BYTES + REQUEST_BYTES, 0);
        // SAFETY: the message is live for so many bytes.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn answers(&mut self, take: &mut impl FnMut(Described)) -> io::Result<()> {
        loop {
            let buffer = &mut self.buffer;
            // SAFETY: the buffer is live for so many bytes.
            let received =
                unsafe { libc::recv(self.socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
            let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
            if messages(&self.buffer[..received], self.asked, take)? {
                return Ok(());
            }
        }
    }
}

/// Takes the answers to a question apart; whether that was all.
fn messages(mut bytes: &[u8], asked: u32, take: &mut impl FnMut(Described)) -> io::Result<bool> {
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
            SOCK_DIAG_BY_FAMILY => {
                if let Some(described) = describe(message) {
                    take(described);
                }
            }
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// 32 bits as the machine has them; 0 beyond the end.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u32::from_ne_bytes(*chunk))
}

/// `struct inet_diag_msg` and its attributes.
fn describe(message: &[u8]) -> Option<Described> {
    let fixed = message.get(..MESSAGE_BYTES)?;
    let port = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let address = |at: usize| {
        let bytes = fixed[at..at + 16].try_into().unwrap_or_default();
        crate::address::address(fixed[0].into(), bytes)
    };
    let mut info = None;
    let mut memory = None;
    let mut rest = message.get(MESSAGE_BYTES..)?;
    // `struct rtattr`: length, type, value.
    while let Some(head) = rest.first_chunk::<4>() {
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let Some(value) = rest.get(4..length) else { break };
        match u16::from_ne_bytes([head[2], head[3]]) {
            INET_DIAG_INFO => info = TcpInfo::read(value),
            INET_DIAG_SKMEMINFO => memory = Some(std::array::from_fn(|place| number(value, place * 4))),
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(Described {
        cookie: u64::from(number(fixed, 44)) | u64::from(number(fixed, 48)) << 32,
        ends: [
            Endpoint { address: address(8), port: port(4) },
            Endpoint { address: address(24), port: port(6) },
        ],
        state: fixed[1],
        inode: number(fixed, 68).into(),
        receive_queue: number(fixed, 56),
        info: info?,
        memory,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_connection_of_this_process_is_described() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let mut client =
            TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let server = listener.accept().expect("its other end").0;
        client.write_all(&[1; 100]).expect("there is room");
        let local = client.local_addr().expect("an address");
        let mut found = Vec::new();
        Netlink::open().and_then(|mut netlink| netlink.each(|one| found.push(one))).expect("it answers");
        let of = |place: usize| {
            let is_it = |one: &&Described| {
                (one.ends[place].address, one.ends[place].port) == (local.ip(), local.port())
            };
            found.iter().find(is_it).expect("it is among them")
        };
        let (sender, receiver) = (of(0), of(1));
        assert_eq!((sender.state, sender.info.state), (1, 1));
        assert_eq!(
            (sender.info.bytes_sent, receiver.info.bytes_received, receiver.receive_queue),
            (100, 100, 100)
        );
        assert!(receiver.memory.is_some_and(|memory| memory[0] > 0), "{receiver:?}");
        let inode = |stream: &TcpStream| {
            let file = format!("/proc/self/fd/{}", stream.as_raw_fd());
            std::fs::metadata(file).expect("it is open").ino()
        };
        assert_eq!((sender.inode, receiver.inode), (inode(&client), inode(&server)));
        assert_ne!(sender.cookie, receiver.cookie);
    }

    proptest! {
        #[test]
        fn no_answer_is_too_strange(mut bytes in prop::collection::vec(any::<u8>(), 0..400), length in 0_u32..300) {
            bytes.splice(..bytes.len().min(4), length.to_ne_bytes());
            if let Some(kind) = bytes.get_mut(4..12) {
                kind.copy_from_slice(&[20, 0, 0, 0, 1, 0, 0, 0]);
            }
            let _ = messages(&bytes, 1, &mut |_| {});
            let _ = describe(&bytes);
        }
    }
}
