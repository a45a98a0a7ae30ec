//! The blocks of the SACK option (`tcp_sack_new_ofo_skb` and its neighbours, net/ipv4/tcp_input.c, 6.18; RFC 2018,
//! RFC 2883).

use crate::packet::Block;
use slowpath_model::StreamOffset;

/// `TCP_NUM_SACKS` (include/linux/tcp.h).
const BLOCKS: usize = 4;
/// `TCP_SACK_BLOCKS_EXPECTED` (net/ipv4/tcp_input.c): blocks that one option always carries; a later block must be sent
/// before it is dropped.
pub(super) const BLOCKS_EXPECTED: usize = 2;

/// The blocks of out-of-order data, the latest changed first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SackBlocks {
    blocks: [Block; BLOCKS],
    count: usize,
}

impl SackBlocks {
    /// The blocks, the latest first.
    pub fn as_slice(&self) -> &[Block] {
        &self.blocks[..self.count]
    }

    /// Forgets all (`tcp_sack_reset`).
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// The position of the block that touches `range`, if any (the search of `tcp_sack_new_ofo_skb`).
    pub(super) fn position(&self, range: Block) -> Option<usize> {
        self.as_slice().iter().position(|block| touches(*block, range))
    }

    /// Adds `range`; its block is the first now.
    pub(super) fn add(&mut self, range: Block) {
        if let Some(found) = self.position(range) {
            extend(&mut self.blocks[found], range);
            self.blocks[..=found].rotate_right(1);
            self.join_first();
            return;
        }
        self.count = (self.count + 1).min(BLOCKS);
        self.blocks[..self.count].rotate_right(1);
        self.blocks[0] = range;
    }

    /// Merges the blocks that the first one touches after growing (`tcp_sack_maybe_coalesce`).
    fn join_first(&mut self) {
        let mut kept = 1;
        for index in 1..self.count {
            let block = self.blocks[index];
            if touches(self.blocks[0], block) {
                extend(&mut self.blocks[0], block);
            } else {
                self.blocks[kept] = block;
                kept += 1;
            }
        }
        self.count = kept.min(self.count);
    }

    /// Removes what has been received in order (`tcp_sack_remove`).
    pub(super) fn remove_below(&mut self, nxt: StreamOffset) {
        let mut kept = 0;
        for index in 0..self.count {
            if self.blocks[index].start > nxt {
                self.blocks[kept] = self.blocks[index];
                kept += 1;
            }
        }
        self.count = kept;
    }
}

/// Whether the two share a byte or an edge.
pub(super) fn touches(block: Block, range: Block) -> bool {
    range.start <= block.end && block.start <= range.end
}

pub(super) fn extend(block: &mut Block, range: Block) {
    block.start = block.start.min(range.start);
    block.end = block.end.max(range.end);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: i64, end: i64) -> Block {
        Block { start: StreamOffset(start), end: StreamOffset(end) }
    }

    #[test]
    fn latest_sack_block_comes_first_and_merges_neighbours() {
        let mut sacks = SackBlocks::default();
        for range in [block(10, 20), block(30, 40), block(50, 60)] {
            sacks.add(range);
        }
        assert_eq!(sacks.as_slice(), [block(50, 60), block(30, 40), block(10, 20)]);
        sacks.add(block(20, 30));
        assert_eq!(sacks.as_slice(), [block(10, 40), block(50, 60)]);
    }

    #[test]
    fn fifth_sack_block_evicts_the_oldest() {
        let mut sacks = SackBlocks::default();
        for start in [10, 30, 50, 70, 90] {
            sacks.add(block(start, start + 10));
        }
        assert_eq!(sacks.as_slice(), [block(90, 100), block(70, 80), block(50, 60), block(30, 40)]);
        sacks.remove_below(StreamOffset(60));
        assert_eq!(sacks.as_slice(), [block(90, 100), block(70, 80)]);
    }
}
