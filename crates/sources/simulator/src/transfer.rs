//! The result of a connection, and of several together.

pub use crate::host::datagram_socket::DatagramCounts;
use slowpath_model::{Bytes, End, FlowKey, Instant, Rate, measured};
use slowpath_uapi::TcpInfo;
use std::time::Duration;

/// A part of an end's `TCP_INFO`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketInfo {
    /// Retransmitted segments.
    pub retransmits: u32,
    /// Retransmission timeouts.
    pub timeouts: u16,
    /// Smoothed RTT; `None` before the first measurement.
    pub smoothed_rtt: Option<Duration>,
    /// Shortest RTT; `None` before the first measurement.
    pub least_rtt: Option<Duration>,
    /// The congestion window, in segments.
    pub congestion_window: u32,
}

impl SocketInfo {
    /// From the result of `getsockopt`.
    pub fn of(info: &TcpInfo) -> Self {
        let time = |micros| measured(micros).map(|micros| Duration::from_micros(micros.into()));
        Self {
            retransmits: info.total_retrans,
            timeouts: info.total_rto,
            smoothed_rtt: time(info.rtt),
            least_rtt: time(info.min_rtt),
            congestion_window: info.snd_cwnd,
        }
    }
}

/// The result of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Its stream, numbered over all flows of the scenario.
    pub stream: usize,
    /// Its addresses and ports.
    pub key: FlowKey,
    /// The end that sent more.
    pub sender: End,
    /// Bytes that the other end's process has read.
    pub bytes: Bytes,
    /// When the client called `connect`.
    pub opened: Instant,
    /// From `connect` to the last byte read.
    pub lasted: Duration,
    /// The sender's `TCP_INFO`; `None` if it never had a connection.
    pub info: Option<SocketInfo>,
    /// The counters of its datagrams, if it carries datagrams.
    pub datagrams: Option<DatagramCounts>,
}

impl Transfer {
    /// Data read, over the time from the opening to the last read; `None` if there was none.
    pub fn rate(&self) -> Option<Rate> {
        if self.bytes == Bytes::ZERO { None } else { Rate::of(self.bytes, self.lasted) }
    }
}

/// The result of several connections together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// The number of connections.
    pub connections: u64,
    /// The data read from all of them.
    pub bytes: Bytes,
    /// When the first was opened and the last byte was read.
    pub span: Option<(Instant, Instant)>,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Smoothed RTT of the last connection that has one.
    pub smoothed_rtt: Option<Duration>,
    /// The shortest RTT of all.
    pub least_rtt: Option<Duration>,
    /// The counters of their datagrams, if they carry datagrams.
    pub datagrams: Option<DatagramCounts>,
}

impl Total {
    /// Adds a connection.
    pub fn add(&mut self, transfer: &Transfer) {
        let info = transfer.info.unwrap_or_default();
        self.join(&Self {
            connections: 1,
            bytes: transfer.bytes,
            span: Some((transfer.opened, transfer.opened + transfer.lasted)),
            retransmits: info.retransmits.into(),
            timeouts: info.timeouts.into(),
            smoothed_rtt: info.smoothed_rtt,
            least_rtt: info.least_rtt,
            datagrams: transfer.datagrams,
        });
    }

    /// Adds the total of connections, the last of which is later.
    pub fn join(&mut self, other: &Self) {
        self.connections += other.connections;
        self.bytes += other.bytes;
        self.span = match (self.span, other.span) {
            (Some((begin, end)), Some((other_begin, other_end))) => {
                Some((begin.min(other_begin), end.max(other_end)))
            }
            (one, other) => one.or(other),
        };
        self.retransmits += other.retransmits;
        self.timeouts += other.timeouts;
        self.smoothed_rtt = other.smoothed_rtt.or(self.smoothed_rtt);
        self.least_rtt = self.least_rtt.into_iter().chain(other.least_rtt).min();
        self.datagrams = self.datagrams.into_iter().chain(other.datagrams).reduce(DatagramCounts::plus);
    }

    /// From the first opening to the last byte read.
    pub fn lasted(&self) -> Duration {
        self.span.and_then(|(begin, end)| end.since(begin)).unwrap_or_default()
    }

    /// Data read over that time; `None` if there was none.
    pub fn rate(&self) -> Option<Rate> {
        if self.bytes == Bytes::ZERO { None } else { Rate::of(self.bytes, self.lasted()) }
    }
}
