//! One direction of a path, with the packets on it.
//!
//! The path decides the fate of a packet when it is sent: it is lost, or due at an instant. A link and a constant delay
//! keep packets in order, so a ring holds those in flight, and the agenda knows only when the first is due. The few
//! delayed by reordering or reordered by jitter wait in a separate heap.

use crate::agenda::{Agenda, Slot};
use slowpath_model::{Bytes, Flags, Instant, StreamOffset};
use slowpath_path::action::Replacement;
use slowpath_path::action::{Answer, Changes};
use slowpath_path::{Path, PathConfig, StreamPart, Verdict};
use slowpath_scenario::DATAGRAM_HEADERS;
use slowpath_tcp::Packet;
use slowpath_tcp::packet::{Block, Sack, TcpOptions};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Bytes of an IPv4 header and a TCP header without options.
const HEADERS: u32 = 40;
/// An ICMP error: its IP header and its own, and as much of the packet as fits 576 bytes (RFC 1812, section 4.3.2.3).
const ICMP_HEADERS: u32 = 28;
const ICMP_QUOTES: u32 = 548;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// A TCP segment.
    Segment,
    /// A TCP segment whose checksum is wrong.
    Damaged,
    /// UDP: only the segment's length is valid.
    Datagram,
    /// ICMP "fragmentation needed" about the segment, to the host that sent it. The urgent pointer is the MTU.
    TooBig,
}

/// A packet between two hosts: its TCP segment, and the other headers' fields.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The connection it belongs to.
    pub connection: u32,
    /// The IP identification.
    pub id: u16,
    /// Its kind.
    pub kind: FrameKind,
    /// Its TCP segment.
    pub packet: Packet,
}

impl Frame {
    /// Whether it is UDP.
    pub fn is_datagram(&self) -> bool {
        self.kind == FrameKind::Datagram
    }

    /// Length of the IP packet, in bytes.
    pub fn length(&self) -> u32 {
        let segment = HEADERS + self.packet.option_bytes() + self.packet.len;
        match self.kind {
            FrameKind::Segment | FrameKind::Damaged => segment,
            FrameKind::Datagram => DATAGRAM_HEADERS as u32 + self.packet.len,
            FrameKind::TooBig => ICMP_HEADERS + segment.min(ICMP_QUOTES),
        }
    }

    /// The path's view of it, as part of a super-packet with this much payload.
    fn shown(&self, super_packet: u32) -> slowpath_path::Packet {
        let packet = &self.packet;
        let part = matches!(self.kind, FrameKind::Segment | FrameKind::Damaged).then(|| StreamPart {
            super_packet,
            ack: packet.acknowledges(),
            window: packet.window,
            window_scale: packet.syn_options().window_scale,
            has_sack: !packet.sack().is_empty(),
            ..StreamPart::new(u64::from(self.connection), packet.flags, packet.seq, packet.len)
        });
        let length = Bytes::new(self.length().into());
        slowpath_path::Packet { length, ecn: packet.ecn, id: Some(self.id), part }
    }

    /// Applies the changes by middleboxes.
    fn with(mut self, changes: &Changes) -> Self {
        let packet = &mut self.packet;
        packet.ecn = changes.ecn.unwrap_or(packet.ecn);
        self.id = changes.id.unwrap_or(self.id);
        match (changes.window_scale, &mut packet.options) {
            (Some(Replacement::Shift(shift)), TcpOptions::Syn(syn)) => syn.window_scale = Some(shift),
            (Some(Replacement::Removed), TcpOptions::Syn(syn)) => syn.window_scale = None,
            _ => {}
        }
        if let TcpOptions::Sack(sack) = packet.options
            && changes.sack_shift != 0
        {
            packet.options = TcpOptions::Sack(shifted(&sack, packet.ack, changes.sack_shift));
        }
        if changes.is_damaged {
            self.kind = FrameKind::Damaged;
        }
        self
    }

    /// A RST after it, in its sender's name.
    fn reset_behind(&self, beyond: u32) -> Self {
        let flags = Flags::RST.with(Flags(self.packet.flags.0 & Flags::ACK.0));
        let reset = Packet { ack: self.packet.ack, ..Packet::new(flags, self.packet.end() + beyond, 0) };
        Self { connection: self.connection, id: 0, kind: FrameKind::Segment, packet: reset }
    }

    /// The ICMP error or RST that its sender gets.
    fn answered(&self, answer: Answer) -> Self {
        match answer {
            Answer::TooBig { mtu } => {
                let urgent = u16::try_from(mtu.get()).unwrap_or(u16::MAX);
                Self { kind: FrameKind::TooBig, packet: Packet { urgent, ..self.packet }, ..*self }
            }
            Answer::Reset => {
                let packet = Packet::new(Flags::RST, self.packet.ack, 0);
                Self { connection: self.connection, id: 0, kind: FrameKind::Segment, packet }
            }
        }
    }
}

/// Blocks with both edges shifted, modulo 2^32 as on the wire.
fn shifted(sack: &Sack, ack: StreamOffset, by: u32) -> Sack {
    let edge = |edge: StreamOffset| {
        let distance = (edge.distance_from(ack) as u32).wrapping_add(by).cast_signed();
        StreamOffset(ack.0 + i64::from(distance))
    };
    let mut all = Sack::default();
    for block in sack.blocks(ack) {
        all.push(ack, Block { start: edge(block.start), end: edge(block.end) });
    }
    all
}

/// Sends a frame, cut from a super-packet with this much payload, over one of all wires. Each path has its forward wire
/// first and its reverse wire next; each overhears the other's packets.
pub fn send(
    wires: &mut [Wire],
    number: usize,
    at: Instant,
    (frame, super_packet): (&Frame, u32),
    agenda: &mut Agenda,
) {
    let shown = frame.shown(super_packet);
    let answer = wires[number].send_shown(at, frame, &shown, agenda);
    let back = &mut wires[number ^ 1];
    match answer {
        Sent::Dropped(Some(answer)) => {
            let answer = frame.answered(answer);
            // No middlebox inspects packets sent by another one.
            let shown = slowpath_path::Packet { part: None, id: None, ..answer.shown(0) };
            back.send_shown(at, &answer, &shown, agenda);
        }
        Sent::OnItsWay if back.path.has_middleboxes() => back.path.overhear(at, &shown),
        Sent::Dropped(None) | Sent::OnItsWay => {}
    }
}

/// The fate of a frame.
enum Sent {
    OnItsWay,
    Dropped(Option<Answer>),
}

/// A frame in flight.
#[derive(Clone, Copy, Debug)]
struct Flight {
    due: Instant,
    frame: Frame,
}

/// A frame out of order with those in the ring.
#[derive(Debug)]
struct Straggler {
    due: Instant,
    order: u64,
    frame: Frame,
}

impl PartialEq for Straggler {
    fn eq(&self, other: &Self) -> bool {
        (self.due, self.order) == (other.due, other.order)
    }
}

impl Eq for Straggler {}

impl PartialOrd for Straggler {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Straggler {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due, self.order).cmp(&(other.due, other.order))
    }
}

/// One direction of a path.
#[derive(Debug)]
pub struct Wire {
    path: Path,
    ring: VecDeque<Flight>,
    stragglers: BinaryHeap<Reverse<Straggler>>,
    slot: Slot,
    /// Which future arrival the receiving host is notified of, the next being 1; 0 for none.
    watched: usize,
    delivered: u64,
    most_in_flight: usize,
    order: u64,
}

impl Wire {
    /// An empty wire. `slot` is due when the first packet is, while the wire is watched.
    pub fn new(config: &PathConfig, seed: u64, slot: Slot) -> Self {
        let mut path = Path::new(config, seed);
        path.begin(Instant::START);
        Self {
            path,
            ring: VecDeque::new(),
            stragglers: BinaryHeap::new(),
            slot,
            watched: 1,
            delivered: 0,
            most_in_flight: 0,
            order: 0,
        }
    }

    /// Sends a frame whose last bit leaves the host at `at`, which must not be earlier than that of the last frame.
    fn send_shown(
        &mut self,
        at: Instant,
        frame: &Frame,
        shown: &slowpath_path::Packet,
        agenda: &mut Agenda,
    ) -> Sent {
        let (due, held_back, twice, changes) = match self.path.schedule(at, shown) {
            Verdict::Drop { answer, .. } => return Sent::Dropped(answer),
            Verdict::Deliver { due, held_back, twice, changes } => (due, held_back, twice, changes),
        };
        let arrives = if changes == Changes::NONE { *frame } else { frame.with(&changes) };
        let reset = changes.reset_beyond.map(|beyond| frame.reset_behind(beyond));
        let copies = std::iter::repeat_n(arrives, 1 + usize::from(twice));
        for frame in copies.chain(reset) {
            if held_back.is_zero() && self.ring.back().is_none_or(|last| last.due <= due) {
                self.ring.push_back(Flight { due, frame });
            } else {
                self.order += 1;
                self.stragglers.push(Reverse(Straggler { due, order: self.order, frame }));
            }
        }
        self.most_in_flight = self.most_in_flight.max(self.in_flight());
        let in_flight = self.in_flight();
        let added = 1 + usize::from(twice) + usize::from(reset.is_some());
        let watched_is_new = (in_flight - added..in_flight).contains(&(self.watched.wrapping_sub(1)));
        if self.watched != 0 && (watched_is_new || !self.stragglers.is_empty()) {
            agenda.set(self.slot, self.watched_due());
        }
        Sent::OnItsWay
    }

    /// When the next packet arrives.
    pub fn next_due(&self) -> Option<Instant> {
        let straggler = self.stragglers.peek().map(|Reverse(straggler)| straggler.due);
        match (self.ring.front().map(|flight| flight.due), straggler) {
            (Some(ring), Some(straggler)) => Some(ring.min(straggler)),
            (ring, straggler) => ring.or(straggler),
        }
    }

    /// The next packet that has arrived by `now`, and its arrival time.
    pub fn take(&mut self, now: Instant) -> Option<(Instant, Frame)> {
        if self.stragglers.is_empty() {
            let due = self.ring.front().map(|flight| flight.due).filter(|due| *due <= now)?;
            self.delivered += 1;
            return self.ring.pop_front().map(|flight| (due, flight.frame));
        }
        let due = self.next_due().filter(|due| *due <= now)?;
        self.delivered += 1;
        if self.ring.front().is_some_and(|flight| flight.due == due) {
            return self.ring.pop_front().map(|flight| (due, flight.frame));
        }
        self.stragglers.pop().map(|Reverse(straggler)| (due, straggler.frame))
    }

    /// Notifies the receiving host of the nth future arrival, the next being 1. A polling host needs none: 0. While
    /// packets are being reordered, it is notified of the next.
    pub fn watch(&mut self, nth: usize, agenda: &mut Agenda) {
        self.watched = nth;
        agenda.set(self.slot, self.watched_due());
    }

    fn watched_due(&self) -> Option<Instant> {
        let before = self.watched.checked_sub(1)?;
        if self.stragglers.is_empty() {
            self.ring.get(before).map(|flight| flight.due)
        } else {
            self.next_due()
        }
    }

    /// Packets in flight.
    pub fn in_flight(&self) -> usize {
        self.ring.len() + self.stragglers.len()
    }

    /// The maximum number of packets in flight.
    pub fn most_in_flight(&self) -> usize {
        self.most_in_flight
    }

    /// Packets that arrived at the other end.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The counters of the path.
    pub fn totals(&self) -> &slowpath_path::Totals {
        self.path.totals()
    }

    /// Whether every packet is delivered, dropped or on its way.
    pub fn is_conserved(&self) -> bool {
        let totals = self.path.totals();
        totals.are_conserved() && totals.scheduled_packets == self.delivered + self.in_flight() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::{Rate, StreamOffset};
    use slowpath_path::ReorderConfig;
    use slowpath_path::link::{LinkConfig, QueueLimit};
    use slowpath_path::middlebox::MiddleboxConfig;
    use slowpath_path::mtu::MtuConfig;
    use std::time::Duration;

    const MS: i64 = 1_000_000;

    fn frame(id: u16) -> Frame {
        let packet = Packet::new(Flags::ACK, StreamOffset(1 + i64::from(id) * 1460), 1460);
        Frame { connection: 0, id, kind: FrameKind::Segment, packet }
    }

    fn at(nanos: i64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// Sends a frame every millisecond and takes the arrivals; returns identifications in order of arrival.
    fn run(config: &PathConfig) -> (Vec<u16>, Wire) {
        let mut agenda = Agenda::new();
        let slot = agenda.add();
        let mut wire = Wire::new(config, 7, slot);
        let mut arrived = Vec::new();
        for n in 0..1000 {
            let frame = frame(n);
            wire.send_shown(at(i64::from(n) * MS), &frame, &frame.shown(frame.packet.len), &mut agenda);
            assert_eq!(agenda.due(slot), wire.next_due());
            while let Some((due, frame)) = wire.take(at(i64::from(n) * MS)) {
                assert!(due.nanos() >= i64::from(frame.id) * MS);
                arrived.push(frame.id);
            }
            wire.watch(1, &mut agenda);
            assert!(wire.is_conserved());
        }
        while let Some((_, frame)) = wire.take(at(i64::MAX)) {
            arrived.push(frame.id);
        }
        assert!(wire.is_conserved());
        (arrived, wire)
    }

    #[test]
    fn constant_delay_keeps_the_order() {
        let (arrived, wire) =
            run(&PathConfig { delay: Duration::from_micros(20_500), ..PathConfig::default() });
        assert_eq!(arrived, (0..1000).collect::<Vec<_>>());
        // At one per millisecond, 21 are in flight, and one has arrived and is not taken yet.
        assert_eq!(wire.most_in_flight(), 22);
    }

    #[test]
    fn delayed_packet_is_reordered_and_arrives() {
        let reorder = Some(ReorderConfig { probability_ppm: 100_000, extra: Duration::from_micros(3500) });
        let (mut arrived, wire) =
            run(&PathConfig { delay: Duration::from_millis(10), reorder, ..PathConfig::default() });
        assert!(wire.totals().held_back_packets > 50);
        assert!(!arrived.is_sorted());
        arrived.sort_unstable();
        assert_eq!(arrived, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn duplicates_arrive_and_dropped_packets_do_not() {
        let link = Some(LinkConfig { rate: Rate::mbit(6), queue: QueueLimit::Packets(10), stalls: vec![] });
        let (arrived, wire) = run(&PathConfig { link, duplicate_ppm: 50_000, ..PathConfig::default() });
        assert!(wire.totals().dropped() > 400);
        assert!(wire.totals().duplicated_packets > 10);
        assert_eq!(arrived.len() as u64, wire.delivered());
    }

    /// The two wires of a path with a middlebox on the forward one; returns what arrives on each.
    fn sent_with(middlebox: MiddleboxConfig, packet: Packet) -> [Option<Frame>; 2] {
        let mut agenda = Agenda::new();
        let forward = PathConfig { middleboxes: vec![middlebox], ..PathConfig::default() };
        let slots = [agenda.add(), agenda.add()];
        let mut wires = [Wire::new(&forward, 7, slots[0]), Wire::new(&PathConfig::default(), 8, slots[1])];
        let sent = Frame { packet, ..frame(0) };
        send(&mut wires, 0, at(0), (&sent, packet.len), &mut agenda);
        assert!(wires.iter().all(Wire::is_conserved));
        wires.each_mut().map(|wire| wire.take(at(0)).map(|(_, frame)| frame))
    }

    #[test]
    fn only_a_syn_with_data_is_dropped() {
        let syn = |len| Packet::new(Flags::SYN, StreamOffset(0), len);
        assert!(sent_with(MiddleboxConfig::SynData, syn(0))[0].is_some());
        assert!(sent_with(MiddleboxConfig::SynData, syn(100)).iter().all(Option::is_none));
    }

    #[test]
    fn middlebox_answer_takes_the_reverse_wire() {
        let mtu = MtuConfig { mtu: Bytes::new(1400), icmp: true };
        let [there, back] = sent_with(MiddleboxConfig::Mtu(mtu), frame(0).packet);
        let back = back.expect("an ICMP error");
        assert!(there.is_none());
        assert_eq!((back.kind, back.packet.urgent, back.length()), (FrameKind::TooBig, 1400, 576));
    }
}
