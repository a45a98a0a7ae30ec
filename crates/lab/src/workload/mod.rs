//! The two applications: who writes how much and when, and who reads how fast.
//!
//! - [`end`]: one end of one connection: its writing and reading, and its record; [`absent`] and [`squeeze`] are ways
//!   of reading that make the receiving kernel late, or short of memory.
//! - [`stream`]: connections over which one end (or both) sends in bulk or in messages; [`sequence`]: which begin when
//!   others have ended.
//! - [`options`]: socket options.
//! - [`exchange`]: requests and responses, over few or many connections.
//! - [`programs`]: the user's programs instead.

pub mod absent;
pub mod end;
pub mod exchange;
pub mod options;
pub mod programs;
pub mod sequence;
pub mod squeeze;
pub mod stream;

use crate::task::Scheduling;
pub use options::SocketOptions;
pub use programs::Programs;
use serde::{Deserialize, Serialize};

/// How an end writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Writer {
    /// As much as the socket accepts, for a time.
    For {
        /// How long.
        duration_ns: u64,
    },
    /// As much as the socket accepts, up to an amount.
    Total {
        /// The amount.
        bytes: u64,
    },
    /// Messages at fixed times; one that the socket does not accept in time delays the next.
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
    /// At most a given amount at regular intervals.
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
    /// As a scenario's process: after each call it sleeps as long as needed to keep its rate, and it pauses.
    Process {
        /// The rate, if it has one.
        rate_bit_per_s: Option<u64>,
        /// When it pauses, from the start of the connection, and for how long; in order.
        pauses: Vec<(u64, u64)>,
    },
    /// Everything at once, but occasionally into memory that is missing ([`absent`]): the reader then waits inside the
    /// kernel with its socket locked, and arriving packets wait on the socket's backlog.
    Faulting {
        /// From the start of one such wait to the start of the next.
        every_ns: u64,
        /// How long the memory is missing.
        for_ns: u64,
    },
    /// Everything at once; but whenever data behind a hole has arrived, the socket's memory is taken away until the
    /// hole is filled ([`squeeze`]), as on a host short of memory.
    Squeezing,
}

/// The size of calls.
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

/// One or several equal connections, opened by the end that writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// How many equal connections at the same time.
    pub count: u32,
    /// How the opening end writes.
    pub writer: Writer,
    /// How the other end reads.
    pub reader: Reader,
    /// Set if the other end writes too, at the same time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer: Option<Writer>,
    /// Set if the receiver's host opens and writes.
    pub reversed: bool,
    /// The size of calls.
    #[serde(skip_serializing_if = "Calls::are_usual", default)]
    pub calls: Calls,
    /// When the connection is opened, after the workload's start, or after the streams that it follows.
    pub after_ns: u64,
    /// Set if other streams must have ended first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub follows: Option<Follows>,
    /// Whether the parameter caches of both hosts are flushed before the connection is opened.
    #[serde(skip_serializing_if = "is_false", default)]
    pub flush: bool,
    /// Options of the opening socket, if not its host's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub opener_socket: Option<SocketOptions>,
    /// Options of the socket that accepts, if not its host's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub acceptor_socket: Option<SocketOptions>,
    /// How the opening process is scheduled; above all ordinary ones if `None`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub opener: Option<Scheduling>,
    /// How the accepting process is, likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub acceptor: Option<Scheduling>,
}

/// The streams that must have ended before another begins, counting equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follows {
    /// The index of the first.
    pub first: usize,
    /// How many.
    pub count: usize,
}

impl Stream {
    /// One connection that is opened immediately and read greedily.
    pub fn one(writer: Writer) -> Self {
        Self {
            count: 1,
            writer,
            reader: Reader::Greedy,
            answer: None,
            reversed: false,
            calls: Calls::default(),
            after_ns: 0,
            follows: None,
            flush: false,
            opener_socket: None,
            acceptor_socket: None,
            opener: None,
            acceptor: None,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// Requests from the receiver's host, responses from the sender's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// Clients at the same time.
    pub clients: u32,
    /// Connections that each client opens, one after the other; the run may end before.
    pub connections_per_client: u32,
    /// Requests on each connection, likewise.
    pub rounds_per_connection: u32,
    /// Size of a request.
    pub request_bytes: u64,
    /// Size of a response.
    pub response_bytes: u64,
    /// Sizes of the responses after the first, if they differ; after the last, they start over.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub further_response_bytes: Vec<u64>,
    /// When the first client starts, after the workload's start.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub after_ns: u64,
    /// The time between the starts of two clients.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub stagger_ns: u64,
    /// How long the client thinks between the end of a response and its next request.
    pub think_ns: u64,
    /// How long the server waits before it answers.
    pub server_ns: u64,
    /// Whether TCP_INFO is read and kept for each connection.
    pub recorded: bool,
    /// Whether a client continues as soon as it has received everything; otherwise it waits until the server has closed
    /// too, so that nothing of a connection is left on the path.
    #[serde(skip_serializing_if = "is_false", default)]
    pub hastens: bool,
    /// How the client's process is scheduled; above all ordinary ones if `None`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client: Option<Scheduling>,
    /// How the server's is, likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<Scheduling>,
}

impl Exchange {
    /// One request of that size and one response, recorded, without delays.
    pub fn one(request_bytes: u64, response_bytes: u64) -> Self {
        Self {
            clients: 1,
            connections_per_client: 1,
            rounds_per_connection: 1,
            request_bytes,
            response_bytes,
            further_response_bytes: Vec::new(),
            after_ns: 0,
            stagger_ns: 0,
            think_ns: 0,
            server_ns: 0,
            recorded: true,
            hastens: false,
            client: None,
            server: None,
        }
    }

    /// The size of a client's nth response, from 0.
    pub fn response(&self, nth: u64) -> u64 {
        let place = nth % (self.further_response_bytes.len() as u64 + 1);
        match place.checked_sub(1) {
            None => self.response_bytes,
            Some(further) => self.further_response_bytes[further as usize],
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
    /// The user's programs.
    Programs(Programs),
}
