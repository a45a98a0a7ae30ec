//! SACK blocks of data that the receiver cannot have.

use super::EndState;
use crate::report::ScaleKnown;
use slowpath_model::{SackBlock, Segment, StreamOffset};

/// A block may be this many windows from the ACK: more than one, since the capture may lack the largest that was offered.
const WINDOWS: i64 = 2;

/// `segment` without the SACK blocks that are farther from its `ack` than any window that `me` offered, if it has some. A
/// receiver has nothing beyond its window (RFC 9293, section 3.10.7.4), so a device on the path translated sequence
/// numbers, and not the blocks.
pub fn without_outside(segment: &Segment, ack: StreamOffset, me: &EndState) -> Option<Segment> {
    let ScaleKnown::Agreed(_) = me.scale else { return None };
    let reach = WINDOWS * i64::from(me.window.max.max(u32::from(u16::MAX)));
    let is_outside =
        |block: &SackBlock| block.end.distance_from(ack) > reach || ack.distance_from(block.start) > reach;
    segment
        .sack
        .as_slice()
        .iter()
        .any(is_outside)
        .then(|| Segment { sack: segment.sack.without(is_outside), ..*segment })
}
