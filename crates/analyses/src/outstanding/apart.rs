//! Distinguishes a retransmission from a reordered original and from a frame captured twice.

use super::Hole;
use super::record::Record;
use crate::lateness::is_before;
use crate::order::SendOrder;
use slowpath_model::{Instant, Segment};

/// How much later a copy of a frame may come, in nanoseconds: less than any retransmission timer.
pub const SAME_FRAME_WITHIN: i64 = 50_000_000;

/// How much later a copy of a retransmission without identification may come, in nanoseconds: less than the time
/// between two retransmissions.
pub const SAME_RETRANSMISSION_WITHIN: i64 = 1_000_000;

/// How far apart two segments may pass to be ordered by a counter that other connections share, in nanoseconds. A host
/// that sends 60,000 packets a second is half round then.
const SHARED_COUNTER_HOLDS: i64 = 500_000_000;

/// The largest difference between the identifications of neighbours.
const ADJACENT: i16 = 8;

/// How near the tap is to a sender whose segments are not reordered on the way to it, in nanoseconds (there and back),
/// and how late one may be there.
const BESIDE: i64 = 1_000_000;
const LATE_BESIDE: i64 = 50_000_000;

/// What distinguishes the transmissions of one end, besides its identifications.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// How soon the end could have reacted to anything the tap saw (tap to it and back), in nanoseconds.
    pub nearest: Option<i64>,
    /// Sooner than this after a segment, in nanoseconds, the end cannot know that it was lost.
    pub soon: i64,
    /// How long ago a segment with the same header passed, in nanoseconds.
    pub alike: Option<i64>,
    /// The capture has most of the end's data more than once.
    pub twice: bool,
}

/// Whether the segment that filled `hole` was sent before the one that showed the hole.
pub fn is_reordered(
    new: &Record,
    hole: &Hole,
    segment: &Segment,
    order: &SendOrder,
    nearest: Option<i64>,
) -> bool {
    if is_ordered(new.at.nanos_since(hole.noticed), segment, order)
        && let Some(after) = order.is_after(new.id, hole.id)
    {
        return !after;
    }
    // RFC 7323, section 4.1: the sender's clock does not run backwards.
    if segment.timestamps.is_some() && new.tsval != hole.tsval {
        return is_before(new.tsval, hole.tsval);
    }
    // Before it is known how an end counts, a number just below that of the segment behind the hole shows as much: a
    // random one, or a retransmission's, is elsewhere.
    let step = new.id.wrapping_sub(hole.id) as i16;
    if segment.ip.id.is_some() && (-ADJACENT..0).contains(&step) {
        return true;
    }
    // For a retransmission, the sender has to learn of the loss, and the segment has to come back.
    nearest.is_some_and(|nearest| new.at.nanos_since(hole.noticed) < nearest * 9 / 10)
}

/// Whether `new` left its sender before the segment already seen with the same bytes, `before`, if that is still known.
/// `resent` is when they were last retransmitted, `nearest` how far the sender is (there and back), in nanoseconds.
pub fn is_late_original(
    before: Option<&Record>,
    resent: Option<Instant>,
    new: &Record,
    segment: &Segment,
    order: &SendOrder,
    nearest: Option<i64>,
) -> bool {
    let beside = nearest.is_some_and(|nearest| nearest < BESIDE);
    if beside && before.is_some_and(|before| new.at.nanos_since(before.at) > LATE_BESIDE) {
        return false;
    }
    let ordered = |since: Instant| is_ordered(new.at.nanos_since(since), segment, order);
    if let Some(before) = before {
        // Not so if they are the same: some load balancers retransmit with the identification of the original.
        if ordered(before.at)
            && let Some(after) = order.is_after(new.id, before.id)
        {
            return !after;
        }
    } else if resent.is_some_and(ordered) && order.is_behind(new.id) {
        return true;
    }
    let older = |before: &Record| is_before(new.tsval, before.tsval);
    segment.timestamps.is_some() && before.is_some_and(older)
}

/// Whether identifications give the order of segments that passed this far apart, in nanoseconds: a busy host's counter
/// wraps soon.
fn is_ordered(apart: i64, segment: &Segment, order: &SendOrder) -> bool {
    segment.ip.id.is_some() && (apart < SHARED_COUNTER_HOLDS || order.counts_nothing_else())
}

/// Whether `new` is `before` captured twice and not sent twice. It is if it comes within `soon` nanoseconds and nothing
/// else distinguishes them.
pub fn same_frame(before: &Record, new: &Record, segment: &Segment, order: &SendOrder, soon: i64) -> bool {
    if new.start != before.start || new.end != before.end || new.tsval != before.tsval {
        return false;
    }
    let apart = new.at.nanos_since(before.at);
    match segment.ip.id {
        // Some load balancers retransmit with the identification of the original, but not so soon.
        Some(id) if id != 0 || order.is_counted() => id == before.id && apart < SAME_FRAME_WITHIN,
        // Nothing distinguishes two transmissions but their distance in time.
        _ => apart < soon,
    }
}
