//! What the two applications do: who writes how much and when, and who reads how fast.
//!
//! - [`end`]: one end of one connection: its writing and reading, and its record; [`absent`] and [`squeeze`] are ways
//!   of reading that make the receiving kernel late, or short of memory.
//! - [`stream`]: connections over which one end (or both) sends in bulk or in messages.
//! - [`exchange`]: requests and responses, over few or many connections.

pub mod absent;
pub mod end;
pub mod exchange;
pub mod squeeze;
pub mod stream;

use crate::task::Scheduling;
use serde::{Deserialize, Serialize};

/// How an end writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Writer {
    /// As much as the socket takes, for a time.
    For {
        /// How long.
        duration_ns: u64,
    },
    /// As much as the socket takes, up to an amount.
    Total {
        /// The amount.
        bytes: u64,
    },
    /// Messages at fixed times; one that the socket does not take in time delays the next.
    Messages {
        /// Size of each.
        bytes: u64,
        /// From the start of one to the start of the next.
        every_ns: u64,
        /// How many.
        count: u32,
    },
}

/// How an end reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Reader {
    /// Everything, at once.
    Greedy,
    /// At most so much every so often.
    Paced {
        /// How much at a time.
        bytes: u64,
        /// How often.
        every_ns: u64,
    },
    /// Everything at once, but with times at which it does not run (as under SIGSTOP).
    Stopping {
        /// How long it reads.
        runs_ns: u64,
        /// How long it then does not.
        stops_ns: u64,
    },
    /// As a scenario's process: after each call it sleeps as long as is needed to keep to its rate, and it pauses.
    Process {
        /// The rate, if it has one.
        rate_bit_per_s: Option<u64>,
        /// When it pauses, since the connection was made, and for how long; in order.
        pauses: Vec<(u64, u64)>,
    },
    /// Everything at once, but now and then into memory that is away ([`absent`]): the reader then waits inside the
    /// kernel with its socket locked, and what arrives meanwhile waits on the socket's backlog.
    Faulting {
        /// From the start of one such wait to the start of the next.
        every_ns: u64,
        /// How long the memory is away.
        for_ns: u64,
    },
    /// Everything at once; but whenever data has come that waits behind a hole, the socket's memory is taken away
    /// until the hole is filled ([`squeeze`]), as a host short of memory does.
    Squeezing,
}

/// How much one call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// A `write`.
    pub write_bytes: u64,
    /// A `read`.
    pub read_bytes: u64,
}

impl Default for Calls {
    fn default() -> Self {
        Self { write_bytes: 64 * 1024, read_bytes: 256 * 1024 }
    }
}

impl Calls {
    fn are_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// One connection, or several alike, opened by the end that writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// How many connections alike at the same time.
    pub count: u32,
    /// How the opening end writes.
    pub writer: Writer,
    /// How the other end reads.
    pub reader: Reader,
    /// Set if the other end writes too, at the same time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer: Option<Writer>,
    /// Set if the receiver's host is the one that opens and writes.
    #[serde(default)]
    pub reversed: bool,
    /// How much one call takes.
    #[serde(skip_serializing_if = "Calls::are_usual", default)]
    pub calls: Calls,
    /// When the connection is opened, after the workload's start.
    pub after_ns: u64,
    /// Congestion control of the writer, if not the case's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion_control: Option<String>,
    /// How the process that opens is scheduled; before all ordinary ones if `None`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub opener: Option<Scheduling>,
    /// How the process that accepts is, likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub acceptor: Option<Scheduling>,
}

impl Stream {
    /// One connection that is opened at once and read greedily.
    pub fn one(writer: Writer) -> Self {
        Self {
            count: 1,
            writer,
            reader: Reader::Greedy,
            answer: None,
            reversed: false,
            calls: Calls::default(),
            after_ns: 0,
            congestion_control: None,
            opener: None,
            acceptor: None,
        }
    }
}

/// Requests from the receiver's host, responses from the sender's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// Clients at the same time.
    pub clients: u32,
    /// Connections that each client makes, one after the other.
    pub connections_per_client: u32,
    /// Requests on each connection.
    pub rounds_per_connection: u32,
    /// Size of a request.
    pub request_bytes: u64,
    /// Size of a response.
    pub response_bytes: u64,
    /// How long the client thinks between the end of a response and its next request.
    pub think_ns: u64,
    /// How long the server takes before it answers.
    pub server_ns: u64,
    /// Whether TCP_INFO is read and kept for each connection.
    pub recorded: bool,
    /// How the client's process is scheduled; before all ordinary ones if `None`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client: Option<Scheduling>,
    /// How the server's is, likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<Scheduling>,
}

impl Exchange {
    /// One request of that size and one response, recorded; nobody takes time over them.
    pub fn one(request_bytes: u64, response_bytes: u64) -> Self {
        Self {
            clients: 1,
            connections_per_client: 1,
            rounds_per_connection: 1,
            request_bytes,
            response_bytes,
            think_ns: 0,
            server_ns: 0,
            recorded: true,
            client: None,
            server: None,
        }
    }
}

/// What runs over the path in a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Bulk or messages.
    Streams(Vec<Stream>),
    /// Requests and responses.
    Exchange(Exchange),
}

/// What an application sets on its socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketOptions {
    /// `SO_SNDBUF`; the kernel doubles it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub so_sndbuf_bytes: Option<u32>,
    /// `SO_RCVBUF`, set before the connection is made; the kernel doubles it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub so_rcvbuf_bytes: Option<u32>,
    /// `TCP_WINDOW_CLAMP` of a listening socket, from which the window scale follows; it is lifted from each
    /// connection once that is made, when the scale can no longer change.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_clamp_at_handshake_bytes: Option<u32>,
    /// `TCP_CONGESTION`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion_control: Option<String>,
    /// `TCP_NODELAY`.
    #[serde(default)]
    pub nodelay: bool,
}
