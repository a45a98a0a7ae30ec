//! Asks the kernel for its TCP sockets: `NETLINK_SOCK_DIAG` (sock_diag(7)), which needs no privilege.

use crate::address::address;
use crate::error::LiveError;
use crate::tcp_info::TcpInfo;
use slowpath_model::Endpoint;
use slowpath_uapi::{netlink, sock_diag};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A socket as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its number, which is never used again.
    pub cookie: u64,
    /// Its own address, and its peer's.
    pub ends: [Endpoint; 2],
    /// TCP's state, such as 1 for established.
    pub state: u8,
    /// The inode of its file.
    pub inode: u64,
    /// `rcv_nxt - copied_seq`; of a listening socket, connections in its accept queue.
    pub receive_queue: u32,
    /// Of a listening socket, the most connections that its accept queue takes.
    pub write_queue: u32,
    pub info: TcpInfo,
    /// `struct sk_meminfo`'s numbers, in the order of [`sock_diag::MEMINFO`].
    pub memory: Option<[u32; 9]>,
}

/// Established, and the states in which data can still be transferred: not LISTEN, TIME_WAIT, SYN_RECV or CLOSE.
const STATES: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
/// LISTEN.
const LISTENING: u32 = 1 << 10;
const BUFFER_BYTES: usize = 1 << 16;

/// A netlink socket for queries.
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

    /// Calls `take` with every TCP socket of this network namespace that has a connection.
    pub fn each(&mut self, take: impl FnMut(Described)) -> Result<(), LiveError> {
        self.each_of(STATES, take)
    }

    /// Calls `take` with every TCP socket of this network namespace that listens.
    pub fn each_listening(&mut self, take: impl FnMut(Described)) -> Result<(), LiveError> {
        self.each_of(LISTENING, take)
    }

    fn each_of(&mut self, states: u32, mut take: impl FnMut(Described)) -> Result<(), LiveError> {
        [libc::AF_INET, libc::AF_INET6].into_iter().try_for_each(|family| {
            let asked = self.ask(family as u8, states).and_then(|()| self.answers(&mut take));
            asked.map_err(LiveError::system("ask the kernel for its sockets"))
        })
    }

    fn ask(&mut self, family: u8, states: u32) -> io::Result<()> {
        self.asked += 1;
        let question = sock_diag::tcp_sockets(family, states);
        let message = netlink::request(sock_diag::BY_FAMILY, netlink::DUMP, self.asked, &question);
        // SAFETY: the message is live for its length.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn answers(&mut self, take: &mut impl FnMut(Described)) -> io::Result<()> {
        loop {
            let buffer = &mut self.buffer;
            // SAFETY: the buffer is live for its length.
            let received =
                unsafe { libc::recv(self.socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
            let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
            let last = netlink::answers(&self.buffer[..received], self.asked, |_, message| {
                describe(message).into_iter().for_each(&mut *take);
            });
            if last.map_err(|refused| io::Error::from_raw_os_error(refused.0))? {
                return Ok(());
            }
        }
    }
}

/// `struct inet_diag_msg` and its attributes.
fn describe(message: &[u8]) -> Option<Described> {
    let message = sock_diag::Message::decode(message)?;
    let end = |place: usize| Endpoint {
        address: address(message.family.into(), message.addresses[place]),
        port: message.ports[place],
    };
    let mut info = None;
    let mut memory = None;
    for (kind, value) in netlink::attributes(message.attributes) {
        match kind {
            sock_diag::INFO => info = TcpInfo::read(value),
            sock_diag::SKMEMINFO => memory = Some(sock_diag::meminfo(value)),
            _ => {}
        }
    }
    Some(Described {
        cookie: message.cookie,
        ends: [end(0), end(1)],
        state: message.state,
        inode: message.inode.into(),
        receive_queue: message.receive_queue,
        write_queue: message.write_queue,
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
    fn sock_diag_describes_a_connection_of_this_process() {
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
            found.iter().find(is_it).expect("the connection is listed")
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
        fn any_sock_diag_answer_is_parsed(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = describe(&bytes);
        }
    }
}
