//! Packets on the path, ordered by due time.

use super::arena::FrameId;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A packet: part of a frame's payload, or a whole frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packet {
    /// When it leaves the path.
    pub due_ns: u64,
    /// Of packets due at the same time, the first to arrive leaves first.
    pub order: u64,
    /// Its frame.
    pub frame: FrameId,
    /// Where its payload begins in the frame's.
    pub offset: u32,
    /// Bytes of payload.
    pub bytes: u32,
}

/// Adjacent packets of one frame that are delivered together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The frame.
    pub frame: FrameId,
    /// Where the payload of the first begins.
    pub offset: u32,
    /// Their payload.
    pub bytes: u32,
    /// How many.
    pub packets: u32,
    /// When the last of them is due.
    pub due_ns: u64,
}

/// All packets on the path.
#[derive(Debug, Default)]
pub struct Pending {
    /// Most are due no earlier than the one that came before.
    in_order: VecDeque<Packet>,
    overtaking: BinaryHeap<Reverse<Packet>>,
    order: u64,
}

impl Pending {
    /// An empty set.
    pub fn new() -> Self {
        Self {
            in_order: VecDeque::with_capacity(1 << 14),
            overtaking: BinaryHeap::with_capacity(1 << 10),
            order: 0,
        }
    }

    /// Adds a packet.
    pub fn add(&mut self, due_ns: u64, frame: FrameId, offset: u32, bytes: u32) {
        let packet = Packet { due_ns, order: self.order, frame, offset, bytes };
        self.order += 1;
        if self.in_order.back().is_none_or(|last| last.due_ns <= due_ns) {
            self.in_order.push_back(packet);
        } else {
            self.overtaking.push(Reverse(packet));
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.in_order.len() + self.overtaking.len()
    }

    /// The next packets to deliver: the first, and those that continue where it ends and are due within the window, or
    /// by now.
    pub fn next(&self, window_ns: u64, now_ns: u64) -> Option<Run> {
        let overtaking = self.overtaking.peek().map(|Reverse(packet)| packet);
        let first = match (self.in_order.front(), overtaking) {
            (Some(ordered), Some(other)) => ordered.min(other),
            (one, other) => one.or(other)?,
        };
        let mut run = Run {
            frame: first.frame,
            offset: first.offset,
            bytes: first.bytes,
            packets: 1,
            due_ns: first.due_ns,
        };
        if window_ns == 0 || overtaking == Some(first) {
            return Some(run);
        }
        let until_ns = (first.due_ns + window_ns).max(now_ns);
        for packet in self.in_order.iter().skip(1) {
            let goes_on = packet.frame == run.frame && packet.offset == run.offset + run.bytes;
            if !goes_on || packet.due_ns > until_ns || overtaking.is_some_and(|other| other < packet) {
                break;
            }
            run.bytes += packet.bytes;
            run.packets += 1;
            run.due_ns = packet.due_ns;
        }
        Some(run)
    }

    /// Removes the next one.
    pub fn pop(&mut self) -> Option<Packet> {
        match (self.in_order.front(), self.overtaking.peek()) {
            (Some(ordered), Some(Reverse(other))) if other < ordered => {
                self.overtaking.pop().map(|packet| packet.0)
            }
            (None, _) => self.overtaking.pop().map(|packet| packet.0),
            _ => self.in_order.pop_front(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compared with a sorted list.
        #[test]
        fn packets_are_delivered_in_due_order(dues in proptest::collection::vec(0_u64..50, 1..200)) {
            let mut pending = Pending::new();
            for (n, due_ns) in dues.iter().enumerate() {
                pending.add(*due_ns, n as u64, 0, 1);
            }
            let mut sorted: Vec<_> = dues.iter().copied().zip(0_u64..).collect();
            sorted.sort_unstable();
            for (left, (due_ns, frame)) in (1..=sorted.len()).rev().zip(sorted) {
                prop_assert_eq!(pending.len(), left);
                let next = pending.next(10, 0).expect("one is left");
                prop_assert_eq!((next.frame, next.packets), (frame, 1));
                let packet = pending.pop().expect("one is left");
                prop_assert_eq!((packet.due_ns, packet.frame), (due_ns, frame));
            }
            prop_assert_eq!(pending.next(10, 0), None);
        }
    }

    fn of_frame_7(pending: &mut Pending, packets: &[(u64, u32)]) {
        packets.iter().for_each(|(due_ns, offset)| pending.add(*due_ns, 7, *offset, 10));
    }

    #[test]
    fn adjacent_packets_within_the_window_are_joined() {
        let mut pending = Pending::new();
        of_frame_7(&mut pending, &[(100, 0), (130, 10), (150, 20), (151, 30)]);
        let run = |packets, due_ns| Some(Run { frame: 7, offset: 0, bytes: 10 * packets, packets, due_ns });
        assert_eq!(pending.next(50, 0), run(3, 150));
        assert_eq!(pending.next(0, 0), run(1, 100));
        // A late relay finds more packets that are due.
        assert_eq!(pending.next(50, 160), run(4, 151));
    }

    #[test]
    fn duplicates_gaps_and_reordering_end_a_run() {
        let packets = |pending: &Pending| pending.next(50, 0).map(|run| run.packets);
        let mut copy = Pending::new();
        of_frame_7(&mut copy, &[(100, 0), (100, 0), (101, 10)]);
        assert_eq!(packets(&copy), Some(1));
        copy.pop();
        assert_eq!(packets(&copy), Some(2));
        let mut gap = Pending::new();
        of_frame_7(&mut gap, &[(100, 0), (101, 20)]);
        assert_eq!(packets(&gap), Some(1));
        let mut overtaken = Pending::new();
        of_frame_7(&mut overtaken, &[(100, 0), (110, 10), (120, 20)]);
        overtaken.add(115, 8, 0, 10);
        assert_eq!(packets(&overtaken), Some(2));
    }
}
