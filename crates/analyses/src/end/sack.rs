//! SACK blocks of data that the receiver cannot have.

use super::EndState;
use crate::report::ScaleKnown;
use slowpath_model::{SackBlock, Segment, StreamOffset};

/// A block may be this many windows from the ACK: more than one, since the capture may lack the largest that was offered.
const WINDOWS: i64 = 2;

/// `segment` without the SACK blocks of what the receiver cannot have, if it has some: beyond any window that `me` offered
/// (RFC 9293, section 3.10.7.4), or far beyond `nxt`, the end of what the other end sent. A device on the path translated
/// sequence numbers, and not the blocks.
pub fn without_outside(
    segment: &Segment,
    ack: StreamOffset,
    nxt: StreamOffset,
    me: &EndState,
) -> Option<Segment> {
    let ScaleKnown::Agreed(_) = me.scale else { return None };
    let least = i64::from(u16::MAX);
    let reach = WINDOWS * i64::from(me.window.max).max(least);
    // A capture that misses packets misses some of what was sent, but seldom more than it has.
    let most_sent = WINDOWS * nxt.distance_from(ack).max(least);
    let is_outside = |block: &SackBlock| {
        block.end.distance_from(ack) > reach
            || ack.distance_from(block.start) > reach
            || block.start.distance_from(ack) > most_sent
    };
    segment
        .sack
        .as_slice()
        .iter()
        .any(is_outside)
        .then(|| Segment { sack: segment.sack.without(is_outside), ..*segment })
}
