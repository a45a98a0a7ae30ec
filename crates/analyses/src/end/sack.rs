//! SACK blocks of data that no sender can have sent.

use super::EndState;
use crate::report::ScaleKnown;
use slowpath_model::{SackBlock, SackBlocks, Segment, StreamOffset};

/// How much farther than the largest window a block may be from the ACK: twice as far, since a window larger than those
/// captured may have been offered before.
const WINDOWS: i64 = 2;

/// `segment` without the SACK blocks that are farther from its `ack` than any window that `me` offered, if it has some: a
/// device on the path translates sequence numbers, and not the blocks. A receiver has nothing beyond its window
/// (RFC 9293, section 3.10.7.4).
pub fn without_outside(segment: &Segment, ack: StreamOffset, me: &EndState) -> Option<Segment> {
    let ScaleKnown::Agreed(_) = me.scale else { return None };
    let reach = WINDOWS * i64::from(me.window.max.max(u32::from(u16::MAX)));
    let is_outside =
        |block: &SackBlock| block.end.distance_from(ack) > reach || ack.distance_from(block.start) > reach;
    let blocks = segment.sack.as_slice();
    if !blocks.iter().any(is_outside) {
        return None;
    }
    let mut sack = SackBlocks::NONE;
    (0..segment.sack.outside()).for_each(|_| sack.push_outside());
    for block in blocks {
        if is_outside(block) {
            sack.push_outside();
        } else {
            sack.push(*block);
        }
    }
    Some(Segment { sack, ..*segment })
}
