//! Sockets for datagrams, as far as a load needs them: `udp_sendmsg`, `udp_queue_rcv_skb` and `udp_recvmsg` (net/ipv4/udp.c).
//!
//! A datagram that finds the socket's receive buffer full is dropped (`RcvbufErrors`). A sender whose send buffer is full sleeps
//! until the card has sent half of it (`sock_alloc_send_skb`, `sock_def_write_space`).

use super::{Call, Mode, Next};
use crate::host::Host;
use crate::host::handling::Handling;
use crate::host::nic::transmit::Outgoing;
use crate::host::schedule::{TaskId, Waker};
use crate::host::socket::{SleepsFor, SocketId};
use crate::outside::Outside;
use crate::program::Done;
use crate::wire::Frame;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::{Flags, StreamOffset};
use slowpath_scenario::{Cost, DATAGRAM_HEADERS};
use slowpath_tcp::Packet;
use slowpath_tcp::choices::BufferMemory;
use std::collections::VecDeque;

/// What happened to the datagrams of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DatagramCounts {
    /// Those that the sender's process handed to its socket.
    pub sent: u64,
    /// Those of them that the sender's transmit queue had no room for.
    pub dropped_below: u64,
    /// Those that reached the receiver's socket.
    pub arrived: u64,
    /// Those of them that its receive buffer had no room for.
    pub dropped_above: u64,
    /// Those that the receiver's process read.
    pub read: u64,
}

impl DatagramCounts {
    /// Of two connections together.
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
struct Waiting {
    connection: u32,
    length: u32,
    memory: u32,
}

/// A socket.
#[derive(Debug)]
pub struct DatagramSocket {
    /// The connection that it sends on; none of a socket that receives.
    connection: Option<u32>,
    wire: usize,
    queue: VecDeque<Waiting>,
    /// Memory of what waits to be read (`sk_rmem_alloc`), and its bound.
    received: u32,
    receive_buffer: u32,
    /// Memory of what the card has not sent yet (`sk_wmem_alloc`), and its bound.
    unsent: u32,
    send_buffer: u32,
    /// A datagram that is made and not handed down.
    outgoing: Option<Frame>,
    next_id: u16,
    sleeper: Option<(TaskId, SleepsFor)>,
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

    /// The same, that sends on a connection.
    #[must_use]
    pub fn on(self, connection: u32) -> Self {
        Self { connection: Some(connection), ..self }
    }

    /// The datagram that is to be handed down, and to which wire.
    pub fn take_outgoing(&mut self) -> Option<(usize, Frame)> {
        self.outgoing.take().map(|frame| (self.wire, frame))
    }

    /// So much memory is free again: a packet is sent, or dropped. Says who may go on.
    pub fn departed(&mut self, memory: u32) -> Option<TaskId> {
        self.unsent = self.unsent.saturating_sub(memory);
        let (task, _) = self
            .sleeper
            .filter(|(_, wait)| *wait == SleepsFor::Writable && self.unsent <= self.send_buffer / 2)?;
        self.sleeper = None;
        Some(task)
    }
}

impl Host {
    /// `udp_sendmsg`: copies the datagram and hands it down.
    pub(super) fn send_datagram(
        &mut self,
        task: TaskId,
        id: SocketId,
        length: u64,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        let index = task.index();
        self.complete_sent(out);
        let Some(socket) = self.sockets.datagrams_mut(id) else { return self.fail(task) };
        let Some(connection) = socket.connection else { return self.fail(task) };
        if socket.unsent >= socket.send_buffer {
            socket.sleeper = Some((task, SleepsFor::Writable));
            self.throttled += 1;
            out.agenda.set(self.sent_slot, self.transmitter.next_completion(true));
            return Some(self.sleep(task));
        }
        let packet =
            Packet::new(Flags::default(), StreamOffset(1), u32::try_from(length).unwrap_or(u32::MAX));
        socket.unsent += packet.send_memory();
        socket.outgoing = Some(Frame { connection, id: socket.next_id, is_datagram: true, packet });
        socket.next_id = socket.next_id.wrapping_add(1);
        if let Some(counts) = out.links.datagrams_mut(connection) {
            counts.sent += 1;
        }
        handling.begin(id);
        let this = &mut self.tasks[index];
        (this.mode, this.call) = (Mode::Kernel, Call::Returned(Done::Wrote(length)));
        Some(Next::Work(self.costs.copy(length)))
    }

    /// `udp_recvmsg`: one datagram, as much of it as was asked for.
    pub(super) fn receive_datagram(
        &mut self,
        task: TaskId,
        id: SocketId,
        wanted: u64,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        let Some(socket) = self.sockets.datagrams_mut(id) else { return self.fail(task) };
        let Some(Waiting { connection, length, memory }) = socket.queue.pop_front() else {
            socket.sleeper = Some((task, SleepsFor::Readable));
            return Some(self.sleep(task));
        };
        socket.received = socket.received.saturating_sub(memory);
        let amount = u64::from(length).min(wanted);
        if let Some(link) = out.links.get_mut(connection) {
            let (read, last) = &mut link.read[link.end_at(self.id).index()];
            (*read, *last) = (*read + amount, out.now);
            if let Some(counts) = &mut link.datagrams {
                counts.read += 1;
            }
        }
        let this = &mut self.tasks[task.index()];
        (this.mode, this.call) = (Mode::Kernel, Call::Returned(Done::Read(amount)));
        Some(Next::Work(self.costs.copy(amount)))
    }

    /// `udp_queue_rcv_skb`: what a datagram costs beside IP's part.
    pub(in crate::host) fn queue_datagram(
        &mut self,
        id: SocketId,
        frame: &Frame,
        out: &mut Outside<'_>,
    ) -> Cost {
        let memory = self.packet_memory.of_segment(frame.packet.len, DATAGRAM_HEADERS as u32);
        let Some(socket) = self.sockets.datagrams_mut(id) else { return Cost::ZERO };
        let has_room = socket.received.saturating_add(memory) < socket.receive_buffer;
        if let Some(counts) = out.links.datagrams_mut(frame.connection) {
            counts.arrived += 1;
            counts.dropped_above += u64::from(!has_room);
        }
        let cost = self.costs.receive(&frame.packet);
        if !has_room {
            return cost;
        }
        socket.received += memory;
        let (connection, length) = (frame.connection, frame.packet.len);
        socket.queue.push_back(Waiting { connection, length, memory });
        let Some((task, SleepsFor::Readable)) = socket.sleeper else { return cost };
        socket.sleeper = None;
        self.wake(task, Waker::Interrupt, out);
        cost.plus(self.costs.wake_up)
    }

    /// A datagram found no room below. Its sender is not told, unless it asked for that (`IP_RECVERR`).
    pub(in crate::host) fn datagram_dropped(&mut self, packet: &Outgoing, out: &mut Outside<'_>) {
        if let Some(counts) = out.links.datagrams_mut(packet.frame.connection) {
            counts.dropped_below += 1;
        }
        self.datagram_departed(packet.socket, packet.frame.packet.send_memory(), out);
    }

    /// The memory of a datagram is free: the card has sent it, or there was no room below.
    pub(in crate::host) fn datagram_departed(&mut self, id: SocketId, memory: u32, out: &mut Outside<'_>) {
        let Some(task) = self.sockets.datagrams_mut(id).and_then(|socket| socket.departed(memory)) else {
            return;
        };
        self.throttled -= 1;
        self.wake(task, Waker::Interrupt, out);
    }
}
