//! Two endpoints with an application each, stepped in virtual time.

use crate::network::{Channel, Fate};
use slowpath_kernels::Release;
use slowpath_model::{Flags, Instant, StreamOffset};
use slowpath_tcp::packet::{SynOptions, TcpOptions};
use slowpath_tcp::socket::{Listener, Peer, ReadFlags, Shutdown, SocketOption, SocketOptions};
use slowpath_tcp::{Choices, Connection, Errno, Packet, Settings, State, Sysctls, Work, WriteFlags};
use std::sync::Arc;
use std::time::Duration;

pub const PEER: Peer = Peer(1);

/// A connection accepted 11 ms after the start, from a peer that offers SACK and scaling but no timestamps.
pub fn accepted(settings: Arc<Settings>, mss: u16, receive_buffer: Option<i64>) -> Connection {
    let mut listener = Listener::listen(settings, SocketOptions::default(), 10);
    if let Some(bytes) = receive_buffer {
        assert_eq!(listener.setsockopt(SocketOption::ReceiveBuffer, bytes), Ok(()));
    }
    let offer = SynOptions { mss: Some(mss), window_scale: Some(7), sack_permitted: true, fast_open: None };
    let syn = Packet {
        window: 65_535,
        options: TcpOptions::Syn(offer),
        ..Packet::new(Flags::SYN, StreamOffset(0), 0)
    };
    let ack = Packet { ack: StreamOffset(1), window: 500, ..Packet::new(Flags::ACK, StreamOffset(1), 0) };
    listener.handle_packet(Instant::from_nanos(1_000_000), PEER, &syn);
    listener.handle_packet(Instant::from_nanos(11_000_000), PEER, &ack);
    listener.accept().expect("the handshake is complete").1
}

/// An application: writes `to_write` bytes, shuts down writing, reads until EOF, closes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Application {
    pub to_write: u32,
    pub written: u32,
    pub read: u64,
    pub at_end: bool,
    pub shut: bool,
    pub closed: bool,
    pub error: Option<Errno>,
    /// Reads nothing before this instant.
    pub reads_from: Option<Instant>,
}

impl Application {
    pub fn writing(to_write: u32) -> Self {
        Self { to_write, ..Self::default() }
    }

    fn act(&mut self, now: Instant, connection: &mut Connection) {
        if connection.state() == State::SynSent || self.closed {
            return;
        }
        while self.written < self.to_write {
            match connection.write(now, self.to_write - self.written, WriteFlags::default()) {
                Ok(amount) => self.written += amount,
                Err(Errno::EAGAIN) => break,
                Err(error) => {
                    self.fail(now, connection, error);
                    return;
                }
            }
        }
        if self.written == self.to_write && !self.shut && connection.state() != State::SynReceived {
            self.shut = true;
            let _ = connection.shutdown(now, Shutdown::Write);
        }
        self.read(now, connection);
        if self.at_end && self.shut {
            self.closed = true;
            connection.close(now);
        }
    }

    fn read(&mut self, now: Instant, connection: &mut Connection) {
        if self.reads_from.is_some_and(|from| now < from) {
            return;
        }
        while !self.at_end && !self.closed {
            match connection.read(now, 100_000, ReadFlags::default()) {
                Ok(0) => self.at_end = true,
                Ok(amount) => self.read += u64::from(amount),
                Err(Errno::EAGAIN) => break,
                Err(error) => self.fail(now, connection, error),
            }
        }
    }

    fn fail(&mut self, now: Instant, connection: &mut Connection, error: Errno) {
        self.error = Some(error);
        self.closed = true;
        connection.close(now);
    }
}

/// A client, a server, and the path between them.
#[derive(Debug)]
pub struct Pair {
    pub now: Instant,
    pub client: Connection,
    pub listener: Listener,
    pub server: Option<Connection>,
    pub to_server: Channel,
    pub to_client: Channel,
    /// Whether the client's qdisc drops a packet.
    pub refuses: Option<fn(&Connection, &Packet) -> bool>,
    pub client_app: Application,
    pub server_app: Application,
    /// Every packet that reached the server and the client.
    pub reached: [Vec<Packet>; 2],
    /// The client's work per packet, and whether the packet had SACK blocks.
    pub work: Vec<(bool, Work)>,
}

pub fn settings(choices: Choices, sysctls: Sysctls) -> Arc<Settings> {
    Arc::new(Settings {
        choices,
        sysctls,
        mtu: 1500,
        ip_header: 20,
        gso_max: (65_535, 65_536),
        route: Default::default(),
    })
}

impl Pair {
    pub fn new(settings: &Arc<Settings>, to_server: Vec<Fate>, to_client: Vec<Fate>) -> Self {
        let now = Instant::START;
        let delay = Duration::from_millis(10);
        Self {
            now,
            client: Connection::connect(settings.clone(), SocketOptions::default(), now),
            listener: Listener::listen(settings.clone(), SocketOptions::default(), 8),
            server: None,
            to_server: Channel::new(delay, to_server),
            to_client: Channel::new(delay, to_client),
            refuses: None,
            client_app: Application::default(),
            server_app: Application::default(),
            reached: [Vec::new(), Vec::new()],
            work: Vec::new(),
        }
    }

    /// Linux 6.18 on both sides of a clean path.
    pub fn modern() -> Self {
        Self::new(&settings(Release::Linux6_18.tcp(), Release::Linux6_18.sysctls()), Vec::new(), Vec::new())
    }

    fn applications(&mut self) {
        self.client_app.act(self.now, &mut self.client);
        if self.server.is_none() {
            self.server = self.listener.accept().ok().map(|(_, connection)| connection);
        }
        if let Some(server) = &mut self.server {
            self.server_app.act(self.now, server);
        }
    }

    fn transmit(&mut self) {
        while let Some(packet) = self.client.poll_transmit() {
            if self.refuses.is_some_and(|refuses| refuses(&self.client, &packet)) {
                self.client.handle_local_drop(self.now, &packet);
            } else {
                self.to_server.send(self.now, packet);
            }
        }
        while let Some((_, packet)) = self.listener.poll_transmit() {
            self.to_client.send(self.now, packet);
        }
        while let Some(packet) = self.server.as_mut().and_then(Connection::poll_transmit) {
            self.to_client.send(self.now, packet);
        }
    }

    fn deliver(&mut self) {
        for packet in self.to_server.arrivals(self.now) {
            self.reached[0].push(packet);
            match &mut self.server {
                Some(server) => server.handle_packet(self.now, &packet),
                None => self.listener.handle_packet(self.now, PEER, &packet),
            }
            self.settle();
        }
        for packet in self.to_client.arrivals(self.now) {
            self.reached[1].push(packet);
            self.client.handle_packet(self.now, &packet);
            self.work.push((!packet.sack().is_empty(), self.client.take_work()));
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.applications();
        self.transmit();
        for end in std::iter::once(&self.client).chain(&self.server) {
            assert!(end.accounts_for_send_memory(), "{} bytes of send memory", end.send_memory());
        }
    }

    fn timers(&mut self) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= self.now);
        if due(self.client.poll_timeout()) {
            self.client.handle_timeout(self.now);
        }
        if due(self.listener.poll_timeout()) {
            self.listener.handle_timeout(self.now);
        }
        if let Some(server) = self.server.as_mut().filter(|server| due(server.poll_timeout())) {
            server.handle_timeout(self.now);
        }
    }

    fn next(&self) -> Option<Instant> {
        let readers = [self.client_app.reads_from, self.server_app.reads_from].into_iter().flatten();
        [
            self.to_server.next(),
            self.to_client.next(),
            self.client.poll_timeout(),
            self.listener.poll_timeout(),
            self.server.as_ref().and_then(Connection::poll_timeout),
        ]
        .into_iter()
        .flatten()
        .chain(readers.filter(|at| *at > self.now))
        .min()
    }

    /// Runs until nothing is pending or until `end`; checks invariants at every step.
    pub fn drive(&mut self, end: Duration) {
        self.settle();
        let end = Instant::START + end;
        while let Some(next) = self.next().filter(|next| *next <= end) {
            assert!(next >= self.now, "a timer is due in the past: {next} at {}", self.now);
            self.now = next;
            self.deliver();
            self.timers();
            self.settle();
            self.check_memory();
        }
        self.now = self.now.max(end);
    }

    /// A receive buffer may be exceeded by at most one segment.
    fn check_memory(&self) {
        for end in [Some(&self.client), self.server.as_ref()].into_iter().flatten() {
            let (used, buffer) = (end.receive_memory(), end.receive_buffer());
            assert!(used <= buffer + 2 * 65_536, "{used} bytes in a buffer of {buffer}");
        }
    }

    /// Everything written was read, and both ends are gone.
    pub fn assert_complete(&self) {
        let Some(server) = &self.server else { panic!("never accepted: {:?}", self.client.state()) };
        assert_eq!((self.client_app.error, self.server_app.error), (None, None));
        assert_eq!(self.server_app.read, u64::from(self.client_app.to_write), "client to server");
        assert_eq!(self.client_app.read, u64::from(self.server_app.to_write), "server to client");
        assert!(self.client_app.at_end && self.server_app.at_end);
        assert_eq!((self.client.state(), server.state()), (State::Closed, State::Closed));
        assert!(self.client.is_gone() && server.is_gone());
    }
}
