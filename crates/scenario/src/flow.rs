//! What is transferred between two processes, and how these behave.

use crate::host::Priority;
use crate::id::{HostId, PathId};
use slowpath_model::{Bytes, Rate};
use slowpath_tcp::choices::CongestionControl;
use std::time::Duration;

/// One or more connections that do the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name in the file.
    pub name: String,
    /// The host that opens the connections.
    pub client: HostId,
    /// The host that accepts them.
    pub server: HostId,
    /// The path that joins them.
    pub path: PathId,
    /// When the first connection is opened.
    pub start: Duration,
    /// How many connections do this side by side, at least 1.
    pub streams: u32,
    /// How long after one connection the next is opened.
    pub stagger: Duration,
    /// What is transferred.
    pub workload: Workload,
    /// The process that sends the data: the client's, except for request and response, whose data the server sends.
    pub sender: Process,
    /// The process that receives it.
    pub receiver: Process,
}

impl Flow {
    /// The host that sends the data.
    pub fn sender_host(&self) -> HostId {
        if matches!(self.workload, Workload::RequestResponse(_)) { self.server } else { self.client }
    }

    /// Whether it is of TCP.
    pub fn is_tcp(&self) -> bool {
        !matches!(self.workload, Workload::Datagrams(_))
    }

    /// The host that receives the data.
    pub fn receiver_host(&self) -> HostId {
        if matches!(self.workload, Workload::RequestResponse(_)) { self.client } else { self.server }
    }
}

/// What is transferred.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Data as fast as it goes, from client to server.
    Bulk(Bulk),
    /// Messages of one size, from client to server over one connection.
    Messages(Messages),
    /// The client asks, the server answers.
    RequestResponse(RequestResponse),
    /// UDP at a rate, from client to server.
    Datagrams(Datagrams),
}

/// When a bulk transfer is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bulk {
    /// After this much data, for each stream.
    Amount(Bytes),
    /// This long after the connection was opened; the sender then closes it.
    Time(Duration),
    /// With the run.
    Endless,
}

/// Messages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// Length of a message, at least 1 B.
    pub size: Bytes,
    /// How many, for each stream; with the run if `None`.
    pub count: Option<u64>,
    /// From one message's begin to the next one's; zero writes the next as soon as the one before is written. A message
    /// that could not be written in time delays those behind it.
    pub interval: Duration,
}

/// Bytes of an IPv4 header and a UDP header.
pub const DATAGRAM_HEADERS: u64 = 28;

/// UDP at a rate: what a generator sends that looks at the clock between one datagram and the next, and does not listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagrams {
    /// Payload of each, at least 1 B.
    pub size: Bytes,
    /// Bits of IP packets in a second. One that could not be sent in time delays those behind it.
    pub rate: Rate,
    /// For how long; with the run if `None`.
    pub lasts: Option<Duration>,
}

impl Datagrams {
    /// From the begin of one to the begin of the next, in picoseconds.
    pub fn interval_picos(&self) -> u128 {
        let bits = u128::from(self.size.get() + DATAGRAM_HEADERS) * 8;
        bits * 1_000_000_000_000 / u128::from(self.rate.get().max(1))
    }
}

/// The client asks, the server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestResponse {
    /// Length of a request, at least 1 B.
    pub request: Bytes,
    /// Lengths of the answers, taken in turn and from the beginning again; not empty, each at least 1 B.
    pub responses: Vec<Bytes>,
    /// How many exchanges, for each stream; with the run if `None`.
    pub count: Option<u64>,
    /// How long the server computes before it answers: it waits, it does not use CPU.
    pub server_time: Duration,
    /// How long the client waits after an answer before it asks again.
    pub client_time: Duration,
    /// Whether each exchange has a connection of its own.
    pub connection_each: bool,
}

/// One of the two processes of a flow. Each stream has its own two.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// How it is scheduled.
    pub priority: Priority,
    /// The CPU it is bound to, if to one.
    pub cpu: Option<u32>,
    /// Its socket's options.
    pub socket: SocketOptions,
    /// How many bytes one call of `write` or `read` takes, at least 1 B.
    pub call_size: Bytes,
    /// The rate at which it makes or uses up data, if that is bound: after each call it sleeps as long as is needed to
    /// keep to it.
    pub rate: Option<Rate>,
    /// Spells in which it neither writes nor reads, in order, without overlap.
    pub pauses: Vec<Pause>,
}

/// A spell in which a process sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// From here on, since the connection was opened: the call in progress is finished first.
    pub at: Duration,
    /// For so long; for ever if `None`.
    pub lasts: Option<Duration>,
}

/// What a process sets on its socket before it connects or listens. `None` leaves the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// `SO_SNDBUF`, the value passed to `setsockopt` (the kernel doubles it). Switches send tuning off.
    pub send_buffer: Option<Bytes>,
    /// `SO_RCVBUF`, likewise. Switches receive tuning off.
    pub receive_buffer: Option<Bytes>,
    /// `TCP_NODELAY`.
    pub no_delay: bool,
    /// `TCP_CORK`.
    pub cork: bool,
    /// `TCP_QUICKACK`; `None` lets the kernel decide.
    pub quick_ack: Option<bool>,
    /// `TCP_CONGESTION`.
    pub congestion_control: Option<CongestionControl>,
    /// `TCP_MAXSEG`.
    pub max_segment: Option<Bytes>,
    /// `TCP_WINDOW_CLAMP`.
    pub window_clamp: Option<Bytes>,
    /// `TCP_NOTSENT_LOWAT`.
    pub not_sent_low_water: Option<Bytes>,
    /// `SO_MAX_PACING_RATE`.
    pub max_pacing_rate: Option<Rate>,
    /// `SO_BUSY_POLL`, whole microseconds: how long a reader of the empty socket polls the card before it sleeps.
    pub busy_poll: Option<Duration>,
}
