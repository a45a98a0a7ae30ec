//! A far end in this process, and a client written by hand.

use slowpath_model::Rate;
use slowpath_probe::protocol::{Datagram, Message, SERVER_BYTES, Token};
use slowpath_probe::real::{Caps, Client, Happened, Server};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::Duration;

pub const SECOND: Duration = Duration::from_secs(1);

/// A far end, until it is dropped.
pub struct FarEnd {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    /// How each session or connection ended: `None` normally, or else the reason.
    ends: Receiver<Option<String>>,
    thread: Option<JoinHandle<()>>,
}

impl FarEnd {
    pub fn with(caps: Caps) -> Self {
        Self::at(Ipv4Addr::LOCALHOST.into(), caps)
    }

    pub fn at(address: std::net::IpAddr, caps: Caps) -> Self {
        let server = Server::bind(SocketAddr::new(address, 0), caps).expect("it listens");
        let address = server.address().expect("somewhere");
        let (stop, (ended, ends)) = (Arc::new(AtomicBool::new(false)), mpsc::channel());
        let stops = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let told = |happened: Happened<'_>| {
                let end = match happened {
                    Happened::Began(_) => return,
                    Happened::Ended(_) => None,
                    Happened::Broke(_, error) => Some(error.to_string()),
                };
                // At the end of a test nobody waits for it any more.
                let _ = ended.send(end);
            };
            server.run(&|| stops.load(Ordering::Relaxed), &told).expect("it serves");
        });
        Self { address, stop, ends, thread: Some(thread) }
    }

    pub fn usual() -> Self {
        Self::with(Caps { rate: Rate::mbit(1000), duration: 2 * SECOND })
    }

    pub fn client(&self) -> Client<'static> {
        Client::connect(self.address, &|| false).expect("a session").0
    }

    /// Waits until the next session or connection has ended; the reason if it broke.
    pub fn expect_end(&self) -> Option<String> {
        self.ends.recv_timeout(15 * SECOND).expect("a session ends")
    }
}

impl Drop for FarEnd {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().expect("there is one").join();
        assert!(ended.is_ok() || std::thread::panicking(), "a thread of the server panicked");
    }
}

/// A client written by hand.
pub struct ByHand {
    pub stream: TcpStream,
    read: Vec<u8>,
}

impl ByHand {
    pub fn connect(to: SocketAddr) -> Self {
        Self::of(TcpStream::connect(to).expect("somebody listens"))
    }

    /// A client on this connection.
    pub fn of(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(15 * SECOND)).expect("a time-out");
        Self { stream, read: Vec::new() }
    }

    pub fn say(&mut self, message: &Message) {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        self.stream.write_all(&bytes).expect("it listens");
    }

    /// The next message; `None` when the connection is closed.
    pub fn hear(&mut self) -> Option<Message> {
        loop {
            if let Some((message, length)) = Message::read(&self.read, SERVER_BYTES).expect("messages") {
                self.read.drain(..length);
                return Some(message);
            }
            let mut some = [0; 4096];
            match self.stream.read(&mut some) {
                Ok(0) => return None,
                Ok(count) => self.read.extend(&some[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Whether the connection is still open, after what came on it was read.
    pub fn is_open(&mut self) -> bool {
        match self.stream.read(&mut [0; 4096]) {
            Ok(count) => count > 0,
            Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }

    /// Starts a session; returns its token and the server's UDP address.
    pub fn hello(&mut self) -> (Token, SocketAddr) {
        self.say(&Message::Hello);
        let Some(Message::Welcome { token, udp_port, .. }) = self.hear() else { panic!("not welcome") };
        (token, SocketAddr::new(self.stream.peer_addr().expect("a peer").ip(), udp_port))
    }

    pub fn expect_refused(&mut self, part: &str) {
        match self.hear() {
            Some(Message::Refused(why)) => assert!(why.contains(part), "{why}"),
            other => panic!("{part}: {other:?}"),
        }
    }

    /// Starts a session and opens it; returns the UDP socket of this end.
    pub fn open(&mut self) -> UdpSocket {
        let (token, udp) = self.hello();
        let own = self.stream.local_addr().expect("an address").ip();
        let socket = UdpSocket::bind((own, 0)).expect("a socket");
        socket.connect(udp).expect("a route");
        socket.send(&Datagram::Open.write(&token)).expect("sent");
        assert_eq!(self.hear(), Some(Message::Opened));
        socket
    }
}
