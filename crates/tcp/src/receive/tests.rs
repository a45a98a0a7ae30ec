//! The out-of-order queue against a slow and obvious model: a set of sequence numbers.

use super::ofo::{OutOfOrder, Stretch};
use super::sack_blocks::SackBlocks;
use super::{PacketMemory, memory::ReceiveQueue};
use crate::packet::{Block, Packet};
use proptest::prelude::*;
use slowpath_model::{Flags, StreamOffset};
use std::collections::BTreeSet;

fn layouts() -> impl Strategy<Value = PacketMemory> {
    prop_oneof![Just(PacketMemory::Linear), Just(PacketMemory::SenderPages), Just(PacketMemory::Ring(2048))]
}

fn stretch(layout: PacketMemory, start: i64, len: u32) -> Stretch {
    let packet = Packet::new(Flags::ACK, StreamOffset(start), len);
    Stretch { start: packet.seq, end: packet.end(), cost: layout.cost(&packet, 40), fin: false }
}

fn numbers(block: Block) -> impl Iterator<Item = i64> {
    block.start.0..block.end.0
}

/// All that is queued, and its memory charge.
fn contents(queue: &OutOfOrder) -> (BTreeSet<i64>, u32) {
    let numbers = queue.iter().flat_map(|stretch| stretch.start.0..stretch.end.0).collect();
    (numbers, queue.iter().map(|stretch| stretch.cost.truesize).sum())
}

proptest! {
    #[test]
    fn out_of_order_queue_holds_every_arrival(
        layout in layouts(),
        arrivals in prop::collection::vec((1..400_i64, 1..60_u32), 1..60),
    ) {
        let mut queue = OutOfOrder::default();
        let mut came = BTreeSet::new();
        let mut memory = 0;
        for (start, len) in arrivals {
            let arrival = stretch(layout, start, len);
            let range = Block { start: arrival.start, end: arrival.end };
            let known: Vec<i64> = numbers(range).filter(|number| came.contains(number)).collect();
            let insertion = queue.insert(arrival);
            memory = memory - insertion.freed + insertion.charged.unwrap_or(0);
            match insertion.duplicate {
                // All that is reported as a duplicate was one.
                Some(block) => prop_assert!(numbers(block).all(|number| came.contains(&number))),
                None => prop_assert!(known.is_empty()),
            }
            prop_assert!(insertion.charged.is_some() || known.len() == len as usize);
            came.extend(numbers(range));
            prop_assert_eq!(contents(&queue), (came.clone(), memory));
            prop_assert!(queue.iter().zip(queue.iter().skip(1)).all(|(left, right)| left.start <= right.start));
        }
        prop_assert_eq!(queue.clear(), memory);
    }

    #[test]
    fn filled_holes_release_data_in_order(
        layout in layouts(),
        arrivals in prop::collection::vec((1..400_i64, 1..60_u32), 1..60),
    ) {
        let mut queue = OutOfOrder::default();
        for (start, len) in arrivals {
            queue.insert(stretch(layout, start, len));
        }
        let (mut waiting, _) = contents(&queue);
        let mut nxt = StreamOffset(1);
        let mut received = ReceiveQueue::default();
        while !queue.is_empty() {
            while let Some(first) = queue.pop_until(nxt) {
                received.push(first.start, first.end, false, first.cost);
                nxt = nxt.max(first.end);
            }
            waiting = waiting.split_off(&nxt.0);
            prop_assert_eq!(contents(&queue).0, waiting.clone());
            // The next hole is filled.
            nxt = waiting.first().map_or(nxt, |number| StreamOffset(*number));
        }
        prop_assert!(received.release(nxt) > 0 && received.is_empty());
    }

    #[test]
    fn sack_blocks_report_arrivals_latest_first(
        arrivals in prop::collection::vec((1..400_i64, 1..60_u32), 1..60),
    ) {
        let mut sacks = SackBlocks::default();
        let mut came = BTreeSet::new();
        for (start, len) in arrivals {
            let range = Block { start: StreamOffset(start), end: StreamOffset(start) + len };
            came.extend(numbers(range));
            sacks.add(range);
            let blocks = sacks.as_slice();
            prop_assert!(blocks.iter().copied().flat_map(numbers).all(|number| came.contains(&number)));
            prop_assert!(blocks[0].start <= range.start && range.end <= blocks[0].end);
            for (place, block) in blocks.iter().enumerate() {
                prop_assert!(blocks[..place].iter().all(|other| other.end < block.start || block.end < other.start));
            }
        }
    }
}
