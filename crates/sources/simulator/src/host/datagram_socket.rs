//! A datagram socket, as far as a load needs it (net/ipv4/udp.c).
//!
//! A datagram that does not fit the receive buffer is dropped (`RcvbufErrors`). A sender whose send buffer is full
//! sleeps until the NIC has sent half of it (`sock_alloc_send_skb`, `sock_def_write_space`).

use super::schedule::TaskId;
use super::socket::SleepsFor;
use crate::wire::Frame;
use slowpath_tcp::choices::BufferMemory;
use std::collections::VecDeque;

/// The datagram counters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramCounts {
    /// Datagrams that the sender's process wrote to its socket.
    pub sent: u64,
    /// Datagrams dropped by the sender's transmit queue.
    pub dropped_below: u64,
    /// Datagrams that reached the receiver's socket.
    pub arrived: u64,
    /// Datagrams dropped because its receive buffer was full.
    pub dropped_above: u64,
    /// Datagrams that the receiver's process read.
    pub read: u64,
}

impl DatagramCounts {
    /// The sum for two connections.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            dropped_below: self.dropped_below + other.dropped_below,
            arrived: self.arrived + other.arrived,
            dropped_above: self.dropped_above + other.dropped_above,
            read: self.read + other.read,
        }
    }
}

/// A datagram waiting to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) connection: u32,
    pub(super) length: u32,
    pub(super) memory: u32,
}

/// A socket.
#[derive(Debug)]
pub struct DatagramSocket {
    /// The connection that it sends on; none for a receiving socket.
    pub(super) connection: Option<u32>,
    pub(super) wire: usize,
    pub(super) queue: VecDeque<Waiting>,
    /// Memory of unread datagrams (`sk_rmem_alloc`), and its limit.
    pub(super) received: u32,
    pub(super) receive_buffer: u32,
    /// Memory of unsent datagrams (`sk_wmem_alloc`), and its limit.
    pub(super) unsent: u32,
    pub(super) send_buffer: u32,
    /// A datagram that is built and not passed to the qdisc yet.
    pub(super) outgoing: Option<Frame>,
    pub(super) next_id: u16,
    pub(super) sleeper: Option<(TaskId, SleepsFor)>,
}

impl DatagramSocket {
    /// A socket with the given buffer sizes; by default the kernel's (`rmem_default` and `wmem_default`: 65535 bytes
    /// where memory counts as requested, 212992 where it counts as allocated).
    pub fn new(memory: BufferMemory, wire: usize, buffers: [Option<u32>; 2]) -> Self {
        let usual = match memory {
            BufferMemory::AsAsked => 65_535,
            BufferMemory::AsAllocated => 212_992,
        };
        let [send_buffer, receive_buffer] = buffers.map(|bytes| bytes.unwrap_or(usual));
        Self {
            connection: None,
            wire,
            queue: VecDeque::new(),
            received: 0,
            receive_buffer,
            unsent: 0,
            send_buffer,
            outgoing: None,
            next_id: 0,
            sleeper: None,
        }
    }

    /// Makes it a sending socket of a connection.
    #[must_use]
    pub fn on(self, connection: u32) -> Self {
        Self { connection: Some(connection), ..self }
    }

    /// The datagram to pass to the qdisc, and its wire.
    pub fn take_outgoing(&mut self) -> Option<(usize, Frame)> {
        self.outgoing.take().map(|frame| (self.wire, frame))
    }

    /// Frees the memory of a packet that was sent or dropped. Returns the process that may continue.
    pub fn departed(&mut self, memory: u32) -> Option<TaskId> {
        self.unsent = self.unsent.saturating_sub(memory);
        let (task, _) = self
            .sleeper
            .filter(|(_, wait)| *wait == SleepsFor::Writable && self.unsent <= self.send_buffer / 2)?;
        self.sleeper = None;
        Some(task)
    }
}
