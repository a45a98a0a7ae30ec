//! One direction of a path, with the packets that are on it.
//!
//! The path decides about a packet when it is sent: it is lost, or due at an instant. A link and a constant delay
//! keep packets in order, so those on the way are a ring, and the agenda knows only when the first of them is due.
//! The few that a reordering holds back, or that a jitter lets overtake, wait in a heap beside it.

use crate::agenda::{Agenda, Slot};
use slowpath_model::{Bytes, Flags, Instant};
use slowpath_path::{Path, PathConfig, StreamPart, Verdict};
use slowpath_scenario::DATAGRAM_HEADERS;
use slowpath_tcp::Packet;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Bytes of an IPv4 header and a TCP header without options.
const HEADERS: u32 = 40;

/// A packet between two hosts, with what is on the wire beside TCP's part.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The connection it belongs to.
    pub connection: u32,
    /// The IP identification.
    pub id: u16,
    /// It is UDP: of the segment only the length means something.
    pub is_datagram: bool,
    /// Its TCP segment.
    pub packet: Packet,
}

impl Frame {
    /// Length of the IP packet, in bytes.
    pub fn length(&self) -> u32 {
        let headers =
            if self.is_datagram { DATAGRAM_HEADERS as u32 } else { HEADERS + self.packet.option_bytes() };
        headers + self.packet.len
    }
}

/// A frame on its way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    due: Instant,
    frame: Frame,
}

/// A frame that is out of order with those in the ring.
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
    /// Which arrival from now the receiving host has asked to be told of, the next being 1; 0 for none.
    watched: usize,
    delivered: u64,
    most_in_flight: usize,
    order: u64,
}

impl Wire {
    /// An empty one. `slot` is due when the first packet is, while the wire is watched.
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

    /// Sends a frame whose last bit leaves the host at `at`, which must not be before that of the last one.
    pub fn send(&mut self, at: Instant, frame: &Frame, agenda: &mut Agenda) {
        let packet = &frame.packet;
        let part = (!frame.is_datagram).then(|| StreamPart {
            flow: u64::from(frame.connection),
            start: packet.seq,
            len: packet.len,
            syn: packet.flags.has(Flags::SYN),
        });
        let shown = slowpath_path::Packet { length: Bytes::new(frame.length().into()), part };
        let verdict = self.path.schedule(at, &shown);
        let Verdict::Deliver { due, held_back, twice } = verdict else { return };
        for _ in 0..1 + u32::from(twice) {
            if held_back.is_zero() && self.ring.back().is_none_or(|last| last.due <= due) {
                self.ring.push_back(Flight { due, frame: *frame });
            } else {
                self.order += 1;
                self.stragglers.push(Reverse(Straggler { due, order: self.order, frame: *frame }));
            }
        }
        self.most_in_flight = self.most_in_flight.max(self.in_flight());
        if self.watched != 0 && (self.in_flight() == self.watched || !self.stragglers.is_empty()) {
            agenda.set(self.slot, self.watched_due());
        }
    }

    /// When the next packet arrives.
    pub fn next_due(&self) -> Option<Instant> {
        let straggler = self.stragglers.peek().map(|Reverse(straggler)| straggler.due);
        match (self.ring.front().map(|flight| flight.due), straggler) {
            (Some(ring), Some(straggler)) => Some(ring.min(straggler)),
            (ring, straggler) => ring.or(straggler),
        }
    }

    /// The next packet that has arrived by `now`, and when it did.
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

    /// Of which arrival from now the agenda is to tell the receiving host, the next being 1. A host that polls need not
    /// be told of any: 0. While some packets overtake others, it is told of the next.
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

    /// Packets on the way.
    pub fn in_flight(&self) -> usize {
        self.ring.len() + self.stragglers.len()
    }

    /// Most packets that were on the way at once.
    pub fn most_in_flight(&self) -> usize {
        self.most_in_flight
    }

    /// Packets that arrived at the other end.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// What the path did with what it was shown.
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
    use std::time::Duration;

    const MS: i64 = 1_000_000;

    fn frame(id: u16) -> Frame {
        let packet = Packet::new(Flags::ACK, StreamOffset(1 + i64::from(id) * 1460), 1460);
        Frame { connection: 0, id, is_datagram: false, packet }
    }

    fn at(nanos: i64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// Sends a frame every millisecond and takes what has arrived; returns identifications in order of arrival.
    fn run(config: &PathConfig) -> (Vec<u16>, Wire) {
        let mut agenda = Agenda::new();
        let slot = agenda.add();
        let mut wire = Wire::new(config, 7, slot);
        let mut arrived = Vec::new();
        for n in 0..1000 {
            wire.send(at(i64::from(n) * MS), &frame(n), &mut agenda);
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
    fn a_plain_delay_keeps_the_order() {
        let (arrived, wire) =
            run(&PathConfig { delay: Duration::from_micros(20_500), ..PathConfig::default() });
        assert_eq!(arrived, (0..1000).collect::<Vec<_>>());
        // Of one a millisecond 21 are on the way, and one has arrived and is not taken yet.
        assert_eq!(wire.most_in_flight(), 22);
    }

    #[test]
    fn what_is_held_back_is_overtaken_and_arrives_all_the_same() {
        let reorder = Some(ReorderConfig { probability_ppm: 100_000, extra: Duration::from_micros(3500) });
        let (mut arrived, wire) =
            run(&PathConfig { delay: Duration::from_millis(10), reorder, ..PathConfig::default() });
        assert!(wire.totals().held_back_packets > 50);
        assert!(!arrived.is_sorted());
        arrived.sort_unstable();
        assert_eq!(arrived, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn copies_arrive_and_drops_do_not() {
        let link = Some(LinkConfig { rate: Rate::mbit(6), queue: QueueLimit::Packets(10), stalls: vec![] });
        let (arrived, wire) = run(&PathConfig { link, duplicate_ppm: 50_000, ..PathConfig::default() });
        assert!(wire.totals().dropped() > 400);
        assert!(wire.totals().duplicated_packets > 10);
        assert_eq!(arrived.len() as u64, wire.delivered());
    }
}
