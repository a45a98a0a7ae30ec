//! A socket for datagrams, as far as a load needs it (net/ipv4/udp.c).
//!
//! A datagram that finds the socket's receive buffer full is dropped (`RcvbufErrors`). A sender whose send buffer is full sleeps
//! until the card has sent half of it (`sock_alloc_send_skb`, `sock_def_write_space`).

use super::schedule::TaskId;
use super::socket::SleepsFor;
use crate::wire::Frame;
use slowpath_tcp::choices::BufferMemory;
use std::collections::VecDeque;

/// The datagram counters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramCounts {
    /// Those that the sender's process handed to its socket.
    pub sent: u64,
    /// Datagrams that the sender's transmit queue had no room for.
    pub dropped_below: u64,
    /// Those that reached the receiver's socket.
    pub arrived: u64,
    /// Datagrams that its receive buffer had no room for.
    pub dropped_above: u64,
    /// Those that the receiver's process read.
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

/// A datagram that waits to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) connection: u32,
    pub(super) length: u32,
    pub(super) memory: u32,
}

/// A socket.
#[derive(Debug)]
pub struct DatagramSocket {
    /// The connection that it sends on; none of a socket that receives.
    pub(super) connection: Option<u32>,
    pub(super) wire: usize,
    pub(super) queue: VecDeque<Waiting>,
    /// Memory of what waits to be read (`sk_rmem_alloc`), and its bound.
    pub(super) received: u32,
    pub(super) receive_buffer: u32,
    /// Memory of what the card has not sent yet (`sk_wmem_alloc`), and its bound.
    pub(super) unsent: u32,
    pub(super) send_buffer: u32,
    /// A datagram that is made and not handed down.
    pub(super) outgoing: Option<Frame>,
    pub(super) next_id: u16,
    pub(super) sleeper: Option<(TaskId, SleepsFor)>,
}

impl DatagramSocket {
    /// A socket with buffers of so many bytes, where they were set, and else as the kernel has them (`rmem_default` and
    /// `wmem_default`: 65535 bytes where memory counts as asked for, 212992 where it counts as allocated).
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

    /// Makes it a socket that sends on a connection.
    #[must_use]
    pub fn on(self, connection: u32) -> Self {
        Self { connection: Some(connection), ..self }
    }

    /// The datagram that is to be handed down, and to which wire.
    pub fn take_outgoing(&mut self) -> Option<(usize, Frame)> {
        self.outgoing.take().map(|frame| (self.wire, frame))
    }

    /// Frees the memory of a packet that was sent or dropped. Returns the process that may go on.
    pub fn departed(&mut self, memory: u32) -> Option<TaskId> {
        self.unsent = self.unsent.saturating_sub(memory);
        let (task, _) = self
            .sleeper
            .filter(|(_, wait)| *wait == SleepsFor::Writable && self.unsent <= self.send_buffer / 2)?;
        self.sleeper = None;
        Some(task)
    }
}
