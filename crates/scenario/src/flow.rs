//! The data transferred between two processes, and their behaviour.

use crate::host::Priority;
use crate::id::{HostId, PathId};
use slowpath_model::{Bytes, Rate};
use slowpath_tcp::choices::CongestionControl;
use std::time::Duration;

/// One or more connections with the same workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name in the file.
    pub name: String,
    /// The host that opens the connections.
    pub client: HostId,
    /// The host that accepts them.
    pub server: HostId,
    /// The path between them.
    pub path: PathId,
    /// When the first connection is opened.
    pub start: Start,
    /// Whether the parameter caches of its two hosts are flushed just before (`ip tcp_metrics flush`).
    pub flush: bool,
    /// The number of parallel connections, at least 1.
    pub streams: u32,
    /// The time from opening one connection to opening the next.
    pub stagger: Duration,
    /// What is transferred.
    pub workload: Workload,
    /// The process that sends the data: the client's, except for requests and responses, where it is the server's.
    pub sender: Process,
    /// The process that receives it.
    pub receiver: Process,
}

impl Flow {
    /// The host that sends the data.
    pub fn sender_host(&self) -> HostId {
        if matches!(self.workload, Workload::RequestResponse(_)) { self.server } else { self.client }
    }

    /// Whether it uses TCP.
    pub fn is_tcp(&self) -> bool {
        !matches!(self.workload, Workload::Datagrams(_))
    }

    /// The host that receives the data.
    pub fn receiver_host(&self) -> HostId {
        if matches!(self.workload, Workload::RequestResponse(_)) { self.client } else { self.server }
    }
}

/// When a flow begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At this time of the run.
    At(Duration),
    /// When all processes of another flow have ended, and a pause is over.
    After {
        /// The other flow's index in the scenario; it is lower than the index of this one.
        flow: usize,
        /// The pause.
        pause: Duration,
    },
}

impl Start {
    /// The time of the run before which it does not begin.
    pub const fn earliest(self) -> Duration {
        match self {
            Self::At(time) => time,
            Self::After { pause, .. } => pause,
        }
    }
}

/// What is transferred.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Bulk data at full speed, from client to server.
    Bulk(Bulk),
    /// Messages of one size, from client to server over one connection.
    Messages(Messages),
    /// The client sends requests, the server responses.
    RequestResponse(RequestResponse),
    /// UDP at a rate, from client to server.
    Datagrams(Datagrams),
}

impl Workload {
    /// Whether it ends only with the run.
    pub const fn is_endless(&self) -> bool {
        match self {
            Self::Bulk(bulk) => matches!(bulk, Bulk::Endless),
            Self::Messages(messages) => messages.count.is_none(),
            Self::RequestResponse(plan) => plan.count.is_none(),
            Self::Datagrams(datagrams) => datagrams.lasts.is_none(),
        }
    }
}

/// When a bulk transfer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bulk {
    /// After this much data, for each stream.
    Amount(Bytes),
    /// This long after the connection was opened; the sender then closes it.
    Time(Duration),
    /// At the end of the run.
    Endless,
}

/// Messages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// Length of a message, at least 1 B.
    pub size: Bytes,
    /// How many, for each stream; `None`: until the end of the run.
    pub count: Option<u64>,
    /// From the start of a message to the start of the next; zero writes the next as soon as the previous one is
    /// written. A message written late delays the following ones.
    pub interval: Duration,
}

/// Bytes of an IPv4 header and a UDP header.
pub const DATAGRAM_HEADERS: u64 = 28;

/// UDP at a rate: a generator that reads the clock between two datagrams, and does not receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagrams {
    /// Payload of each, at least 1 B.
    pub size: Bytes,
    /// IP bits per second. A datagram sent late delays the following ones.
    pub rate: Rate,
    /// For how long; `None`: until the end of the run.
    pub lasts: Option<Duration>,
}

impl Datagrams {
    /// The interval between two datagrams, in picoseconds.
    pub fn interval_picos(&self) -> u128 {
        let bits = u128::from(self.size.get() + DATAGRAM_HEADERS) * 8;
        bits * 1_000_000_000_000 / u128::from(self.rate.get().max(1))
    }
}

/// The client sends requests, the server responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestResponse {
    /// Length of a request, at least 1 B.
    pub request: Bytes,
    /// Lengths of the responses, used cyclically; not empty, each at least 1 B.
    pub responses: Vec<Bytes>,
    /// How many exchanges, for each stream; `None`: until the end of the run.
    pub count: Option<u64>,
    /// How long the server waits before its response, without using CPU.
    pub server_time: Duration,
    /// How long the client waits after a response before its next request.
    pub client_time: Duration,
    /// Whether each exchange has its own connection.
    pub connection_each: bool,
}

/// One of the two processes of a flow. Each stream has its own two.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// How it is scheduled.
    pub priority: Priority,
    /// The CPU it is pinned to, if any.
    pub cpu: Option<u32>,
    /// Its socket's options.
    pub socket: SocketOptions,
    /// Bytes per call of `write` or `read`, at least 1 B.
    pub call_size: Bytes,
    /// The rate limit for producing or consuming data: after each call it sleeps as long as needed to keep it.
    pub rate: Option<Rate>,
    /// Pauses in which it neither writes nor reads, in order, without overlap.
    pub pauses: Vec<Pause>,
}

/// A pause of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Its start, since the connection was opened: the call in progress is finished first.
    pub at: Duration,
    /// Its duration; `None`: forever.
    pub lasts: Option<Duration>,
}

/// The options that a process sets on its socket before it connects or listens. `None` leaves the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// `SO_SNDBUF`, the value passed to `setsockopt` (the kernel doubles it). Disables send buffer autotuning.
    pub send_buffer: Option<Bytes>,
    /// `SO_RCVBUF`, likewise. Disables receive buffer autotuning.
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
    /// `SO_BUSY_POLL`, whole microseconds: how long a reader of an empty socket polls the NIC before it sleeps.
    pub busy_poll: Option<Duration>,
}
