//! Batches SACK blocks of several ACKs, where a walk for each ACK would take too long (leith, section 1.1): later ACKs
//! repeat and extend most blocks.

use crate::packet::Block;
use slowpath_model::StreamOffset;

/// The average number of holes visited per ACK. The paper does not say when a walk is postponed.
const HOLES_FOR_AN_ACK: u32 = 64;
/// The most blocks kept. Another ACK's blocks trigger a walk.
const MOST: usize = 8;
/// Blocks in one ACK.
const OF_ONE: usize = 4;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Batch {
    blocks: [Block; MOST + OF_ONE],
    count: usize,
    /// The number of batched ACKs.
    acks: u32,
    /// Holes left by the last walk.
    holes: u32,
}

impl Batch {
    /// Adds the blocks of an ACK.
    pub fn add(&mut self, blocks: &[Block]) {
        self.acks += 1;
        for &block in blocks {
            self.merge(block);
        }
    }

    fn merge(&mut self, mut block: Block) {
        let mut kept = 0;
        for at in 0..self.count {
            let other = self.blocks[at];
            if other.end < block.start || block.end < other.start {
                self.blocks[kept] = other;
                kept += 1;
            } else {
                block = Block { start: block.start.min(other.start), end: block.end.max(other.end) };
            }
        }
        // There is room: the caller walks before it adds more.
        if let Some(place) = self.blocks.get_mut(kept) {
            *place = block;
            kept += 1;
        }
        self.count = kept;
    }

    /// Whether it is time to walk.
    pub const fn is_due(&self) -> bool {
        self.count > MOST || self.acks > self.holes / HOLES_FOR_AN_ACK
    }

    /// Takes the blocks, in order.
    pub fn take(&mut self) -> ([Block; MOST + OF_ONE], usize) {
        let (mut blocks, count) = (self.blocks, self.count);
        blocks[..count].sort_unstable_by_key(|block| block.start);
        (self.count, self.acks) = (0, 0);
        (blocks, count)
    }

    /// Records the number of holes left by a walk.
    pub const fn walked(&mut self, holes: u32) {
        self.holes = holes;
    }

    /// Whether a batched block contains this byte.
    pub fn covers(&self, seq: StreamOffset) -> bool {
        self.blocks[..self.count].iter().any(|block| block.start <= seq && seq < block.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: i64, end: i64) -> Block {
        Block { start: StreamOffset(start), end: StreamOffset(end) }
    }

    #[test]
    fn adjacent_blocks_are_merged() {
        let mut batch = Batch::default();
        batch.add(&[block(50, 60), block(10, 20)]);
        batch.add(&[block(60, 70), block(20, 50)]);
        batch.add(&[block(90, 95)]);
        assert!(batch.covers(StreamOffset(69)) && !batch.covers(StreamOffset(70)));
        let (blocks, count) = batch.take();
        assert_eq!(blocks[..count], [block(10, 70), block(90, 95)]);
        assert!(!batch.covers(StreamOffset(69)));
    }

    #[test]
    fn walk_is_due_after_one_ack_per_64_holes_or_when_the_batch_is_full() {
        let mut batch = Batch::default();
        batch.add(&[block(0, 10)]);
        assert!(batch.is_due());
        batch.walked(640);
        batch.take();
        let acks = (1..).take_while(|_| {
            batch.add(&[block(0, 10)]);
            !batch.is_due()
        });
        assert_eq!(acks.count(), 10);
        batch.take();
        let single = (0..).take_while(|n| {
            batch.add(&[block(20 * n, 20 * n + 10)]);
            !batch.is_due()
        });
        assert_eq!(single.count(), MOST);
    }
}
