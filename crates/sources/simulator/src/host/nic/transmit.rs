//! Transmission: the qdisc, the transmit ring, and the NIC that sends what is in it.

use super::bus::Bus;
use crate::host::socket::SocketId;
use crate::outside::Outside;
use crate::wire::{self, Frame};
use slowpath_kernels::TransmitPath;
use slowpath_model::{Bytes, Instant, Rate};
use slowpath_scenario::Nic;
use std::collections::VecDeque;
use std::time::Duration;

/// An outgoing packet or super-packet.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Its socket.
    pub socket: SocketId,
    /// Its wire.
    pub wire: usize,
    /// The frame.
    pub frame: Frame,
}

/// The result of passing a packet to the qdisc (`NET_XMIT_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handed {
    /// It is on its way.
    Taken,
    /// The queue was full; it is dropped (`NET_XMIT_DROP`).
    Dropped,
}

/// A packet or super-packet that the NIC has not completely sent yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// When its last bit is on the wire.
    pub sent: Instant,
    /// The socket; its place may have been reused by then.
    pub socket: SocketId,
    /// The connection.
    pub connection: u32,
    /// Its memory.
    pub memory: u32,
}

/// The counters of transmission: `handed == dropped + sent + queued`, always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransmitCounts {
    /// Packets and super-packets passed to the qdisc.
    pub handed: u64,
    /// Packets dropped by the queue.
    pub dropped: u64,
    /// Packets passed to the NIC.
    pub sent: u64,
    /// Packets on the wire.
    pub wire_packets: u64,
    /// The longest queue in packets.
    pub most_queued: u64,
    /// The maximum number of descriptors in use.
    pub most_in_ring: u64,
    /// The maximum memory of packets in queue and ring, in bytes.
    pub most_memory: u64,
}

/// The transmit queue and the NIC.
#[derive(Debug)]
pub struct Transmitter {
    host: usize,
    /// `pfifo`: packets that do not fit the ring.
    queue: VecDeque<Outgoing>,
    queue_limit: usize,
    /// A descriptor for each packet or super-packet, in use until it is sent.
    ring: VecDeque<Descriptor>,
    /// Memory of packets in queue and ring.
    memory: u64,
    descriptors: usize,
    rate: Rate,
    /// Whether it segments super-packets; otherwise it gets single packets.
    tso: bool,
    /// The last length and its transmission time, cached: most packets have the same length.
    last_time: (u32, Duration),
    /// When the NIC will have sent everything.
    busy_until: Instant,
    counts: TransmitCounts,
}

impl Transmitter {
    /// An idle transmitter.
    pub fn new(host: usize, nic: &Nic, path: &TransmitPath) -> Self {
        Self {
            host,
            queue: VecDeque::new(),
            queue_limit: path.txqueuelen as usize,
            ring: VecDeque::with_capacity((nic.tx_ring as usize).min(4096)),
            memory: 0,
            descriptors: nic.tx_ring.max(1) as usize,
            rate: nic.rate,
            tso: nic.tso,
            last_time: (0, Duration::ZERO),
            busy_until: Instant::START,
            counts: TransmitCounts::default(),
        }
    }

    /// The stack passes a packet down (`dev_queue_xmit`).
    pub fn hand(&mut self, packet: &Outgoing, bus: Option<&mut Bus>, out: &mut Outside<'_>) -> Handed {
        self.counts.handed += 1;
        let has_room = self.queue.is_empty() && self.ring.len() < self.descriptors;
        if !has_room && self.queue.len() >= self.queue_limit {
            self.counts.dropped += 1;
            return Handed::Dropped;
        }
        self.memory += u64::from(packet.frame.packet.send_memory());
        self.counts.most_memory = self.counts.most_memory.max(self.memory);
        if has_room {
            self.send(packet, bus, out);
            return Handed::Taken;
        }
        self.queue.push_back(*packet);
        self.counts.most_queued = self.counts.most_queued.max(self.queue.len() as u64);
        Handed::Taken
    }

    /// Puts a packet on the ring, where a capture sees it (`dev_hard_start_xmit`). The bus carries it before it is sent. Its
    /// segments' times on the wire are known immediately, since the NIC is serial.
    fn send(&mut self, packet: &Outgoing, mut bus: Option<&mut Bus>, out: &mut Outside<'_>) {
        self.counts.sent += 1;
        let mut at = self.busy_until.max(out.now);
        let super_packet = if self.tso { packet.frame.packet.len } else { 0 };
        for segment in segments(&packet.frame) {
            let length = segment.length();
            if self.last_time.0 != length {
                let time = self.rate.time_for(Bytes::new(u64::from(length))).unwrap_or(Duration::ZERO);
                self.last_time = (length, time);
            }
            if let Some(bus) = bus.as_deref_mut() {
                at = at.max(bus.carry(out.now, length));
            }
            at = at + self.last_time.1;
            self.counts.wire_packets += 1;
            out.observe(self.host, true, &segment);
            wire::send(out.wires, packet.wire, at, (&segment, super_packet), out.agenda);
        }
        self.busy_until = at;
        self.ring.push_back(Descriptor {
            sent: at,
            socket: packet.socket,
            connection: packet.frame.connection,
            memory: packet.frame.packet.send_memory(),
        });
        self.counts.most_in_ring = self.counts.most_in_ring.max(self.ring.len() as u64);
    }

    /// The next packet completely sent by now: its memory is freed, and the queue advances.
    pub fn complete(&mut self, bus: Option<&mut Bus>, out: &mut Outside<'_>) -> Option<Descriptor> {
        let departed = *self.ring.front().filter(|front| front.sent <= out.now)?;
        self.ring.pop_front();
        self.memory -= u64::from(departed.memory);
        if let Some(packet) = self.queue.pop_front() {
            self.send(&packet, bus, out);
        }
        Some(departed)
    }

    /// When the next packet is completely sent, if that matters: one waits in the queue, or a connection waits for it.
    pub fn next_completion(&self, awaited: bool) -> Option<Instant> {
        self.ring.front().filter(|_| awaited || !self.queue.is_empty()).map(|front| front.sent)
    }

    /// Packets in the queue and descriptors in use.
    pub fn waiting(&self) -> (usize, usize) {
        (self.queue.len(), self.ring.len())
    }

    /// The counters.
    pub fn counts(&self) -> TransmitCounts {
        self.counts
    }

    /// Whether every packet handed down is dropped, sent or queued.
    pub fn is_conserved(&self) -> bool {
        self.counts.handed == self.counts.dropped + self.counts.sent + self.queue.len() as u64
    }
}

/// The packets of a super-packet on the wire: the IP identification increments.
pub fn segments(frame: &Frame) -> impl Iterator<Item = Frame> {
    let frame = *frame;
    (0u16..).zip(frame.packet.cut()).map(move |(n, packet)| Frame {
        id: frame.id.wrapping_add(n),
        packet,
        ..frame
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::FrameKind;
    use slowpath_model::{Flags, StreamOffset};
    use slowpath_tcp::Packet;

    #[test]
    fn super_packet_is_segmented_as_in_the_kernel() {
        let flags = Flags::ACK.with(Flags::PSH).with(Flags::CWR).with(Flags::FIN);
        let mut packet = Packet::new(flags, StreamOffset(1), 3000);
        packet.gso_size = 1448;
        let cut: Vec<Frame> =
            segments(&Frame { connection: 0, id: u16::MAX, kind: FrameKind::Segment, packet }).collect();
        let lengths: Vec<_> =
            cut.iter().map(|frame| (frame.packet.seq.0, frame.packet.len, frame.id)).collect();
        assert_eq!(lengths, [(1, 1448, u16::MAX), (1449, 1448, 0), (2897, 104, 1)]);
        let flags: Vec<_> = cut.iter().map(|frame| frame.packet.flags.to_string()).collect();
        assert_eq!(flags, ["W.", ".", "FP."]);
    }

    #[test]
    fn single_packet_is_not_segmented() {
        let packet = Packet::new(Flags::ACK.with(Flags::PSH), StreamOffset(1), 0);
        let frame = Frame { connection: 3, id: 9, kind: FrameKind::Segment, packet };
        let cut: Vec<Frame> = segments(&frame).collect();
        assert_eq!(cut.len(), 1);
        assert_eq!(cut[0].packet, packet);
    }
}
