//! File descriptors of the model: sockets in their states, epoll instances, pipes.

use super::errors::Errors;
use super::events::Epoll;
use super::header::Headers;
use super::info;
use super::udp::Udp;
use slowpath_model::Instant;
use slowpath_tcp::packet::Packet;
use slowpath_tcp::socket::cookie::Key;
use slowpath_tcp::socket::{Listener, Peer};
use slowpath_tcp::{Connection, Errno, State};
use slowpath_uapi::TcpInfo;
use std::collections::BTreeMap;
use std::time::Duration;

/// The ports of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ports {
    pub local: u16,
    pub remote: u16,
}

/// A file.
pub enum File {
    Socket(Box<Socket>),
    Epoll(Epoll),
    Udp(Udp),
    /// Either end of a pipe, by the descriptor of its first end.
    Pipe {
        bytes: u32,
    },
    /// The write end of a pipe; its bytes are at the other.
    PipeWrite {
        to: i32,
    },
    /// A file on disk with unlimited bytes.
    Plain,
}

/// The state of a socket.
pub enum Stage {
    /// Neither listening nor connected. A listener that never listens stores the options.
    Fresh(Listener),
    Listening(Listener),
    Connected(Box<Connection>),
}

impl Stage {
    /// What `getsockopt(TCP_INFO)` would report.
    pub fn info(&self, now: Instant) -> TcpInfo {
        match self {
            Self::Connected(connection) => connection.info(now),
            Self::Listening(listener) => info::of_listener(listener.queue()),
            Self::Fresh(_) => info::of_closed(),
        }
    }
}

/// A socket.
pub struct Socket {
    pub stage: Stage,
    pub port: u16,
    pub ports: Option<Ports>,
    pub nonblocking: bool,
    pub receive_timeout: Option<Duration>,
    pub send_timeout: Option<Duration>,
    pub linger: Option<Duration>,
    /// An active open whose result the application does not know yet.
    pub connecting: bool,
    /// Counts events that may wake a waiter; edge-triggered events are reported once per count.
    pub generation: u64,
    pub congestion: String,
    pub inq: bool,
    /// The IP header fields of its packets.
    pub headers: Headers,
    pub errors: Errors,
    /// The error of a failed connection, for the next call to report.
    pub left_error: Option<Errno>,
    /// This socket's own Fast Open keys, the second of which is a former one (`TCP_FASTOPEN_KEY`).
    pub fast_open_keys: Option<(Key, Option<Key>)>,
    /// Options without effect here, as set.
    pub kept: BTreeMap<(i32, i32), i32>,
}

impl Socket {
    pub fn new(listener: Listener, nonblocking: bool, congestion: &str) -> Self {
        Self {
            stage: Stage::Fresh(listener),
            port: 0,
            ports: None,
            nonblocking,
            receive_timeout: None,
            send_timeout: None,
            linger: None,
            connecting: false,
            generation: 0,
            congestion: congestion.to_owned(),
            inq: false,
            headers: Headers::default(),
            errors: Errors::default(),
            left_error: None,
            fast_open_keys: None,
            kept: BTreeMap::new(),
        }
    }

    /// A connection returned by `accept`.
    pub fn accepted(connection: Connection, ports: Ports, nonblocking: bool, parent: &Self) -> Self {
        Self {
            stage: Stage::Connected(Box::new(connection)),
            port: ports.local,
            ports: Some(ports),
            nonblocking,
            receive_timeout: parent.receive_timeout,
            send_timeout: parent.send_timeout,
            linger: parent.linger,
            connecting: false,
            generation: 1,
            congestion: parent.congestion.clone(),
            inq: parent.inq,
            headers: parent.headers,
            errors: Errors::of_child(&parent.errors),
            left_error: None,
            fast_open_keys: parent.fast_open_keys,
            kept: parent.kept.clone(),
        }
    }

    pub fn connection(&mut self) -> Option<&mut Connection> {
        match &mut self.stage {
            Stage::Connected(connection) => Some(connection),
            Stage::Fresh(_) | Stage::Listening(_) => None,
        }
    }

    /// Whether the handshake of an active open is in progress.
    pub fn is_opening(&self) -> bool {
        match &self.stage {
            Stage::Connected(connection) => matches!(connection.state(), State::SynSent | State::SynReceived),
            Stage::Fresh(_) | Stage::Listening(_) => false,
        }
    }

    /// Takes its output, and notes whether to wake waiters.
    pub fn collect(&mut self, out: &mut Vec<(Ports, Packet)>) {
        match &mut self.stage {
            Stage::Fresh(_) => {}
            Stage::Listening(listener) => {
                while let Some((Peer(peer), packet)) = listener.poll_transmit() {
                    let remote = u16::try_from(peer).unwrap_or(0);
                    out.push((Ports { local: self.port, remote }, packet));
                }
                self.generation += u64::from(listener.poll_wakeups());
            }
            Stage::Connected(connection) => {
                while let Some(packet) = connection.poll_transmit() {
                    out.extend(self.ports.map(|ports| (ports, packet)));
                }
                let wakeups = connection.poll_wakeups();
                self.generation += u64::from(wakeups.readable || wakeups.writable || wakeups.state);
            }
        }
    }

    pub fn next_timeout(&self) -> Option<Instant> {
        match &self.stage {
            Stage::Fresh(_) => None,
            Stage::Listening(listener) => listener.poll_timeout(),
            Stage::Connected(connection) => connection.poll_timeout(),
        }
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        if self.next_timeout().is_none_or(|at| at > now) {
            return;
        }
        match &mut self.stage {
            Stage::Fresh(_) => {}
            Stage::Listening(listener) => listener.handle_timeout(now),
            Stage::Connected(connection) => connection.handle_timeout(now),
        }
    }
}
