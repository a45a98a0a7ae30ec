//! What tells a retransmission from a reordered original and from a frame captured twice.

use super::Hole;
use super::record::Record;
use crate::order::SendOrder;
use slowpath_model::{Instant, Segment};

/// How much later a copy of a frame may come, in nanoseconds: less than any retransmission timer.
pub const SAME_FRAME_WITHIN: i64 = 50_000_000;

/// How much later a copy of a retransmission may come that has no identification, in nanoseconds: less than from one
/// retransmission to the next.
pub const SAME_RETRANSMISSION_WITHIN: i64 = 1_000_000;

/// How far apart segments may pass whose order a counter tells that other connections share, in nanoseconds. A host that
/// sends 60,000 packets a second is half round then.
const SHARED_COUNTER_HOLDS: i64 = 500_000_000;

/// As far below another identification as one may be to be that of a neighbour.
const ADJACENT: i16 = 8;

/// How near the tap is to a sender whose segments do not overtake each other on the way to it, in nanoseconds (there and
/// back), and how late one may be there.
const BESIDE: i64 = 1_000_000;
const LATE_BESIDE: i64 = 50_000_000;

/// What tells the sendings of one end apart, besides its identifications.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// How soon the end could have reacted to anything the tap saw (tap to it and back), in nanoseconds.
    pub nearest: Option<i64>,
    /// Sooner than this after a segment, in nanoseconds, the end cannot have learnt that it was lost.
    pub soon: i64,
    /// How long before this segment one with the same header passed, in nanoseconds.
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
        return (new.tsval.wrapping_sub(hole.tsval) as i32) < 0;
    }
    // Before it is known how an end counts, a number just below that of the segment behind the hole tells as much: one of
    // chance, or of a retransmission, is elsewhere.
    let step = new.id.wrapping_sub(hole.id) as i16;
    if segment.ip.id.is_some() && (-ADJACENT..0).contains(&step) {
        return true;
    }
    // A retransmission needs word of the loss to reach the sender, and the way back.
    nearest.is_some_and(|nearest| new.at.nanos_since(hole.noticed) < nearest * 9 / 10)
}

/// Whether `new` left its sender before what was seen of the same bytes, `before`, where that is still known.
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
        // Not so if they are the same: some load balancers retransmit with the identification of the first sending.
        if ordered(before.at)
            && let Some(after) = order.is_after(new.id, before.id)
        {
            return !after;
        }
    } else if resent.is_some_and(ordered) && order.is_behind(new.id) {
        return true;
    }
    let older = |before: &Record| (new.tsval.wrapping_sub(before.tsval) as i32) < 0;
    segment.timestamps.is_some() && before.is_some_and(older)
}

/// Whether identifications tell the order of segments that passed so far apart, in nanoseconds: a busy host's counter
/// comes round soon.
fn is_ordered(apart: i64, segment: &Segment, order: &SendOrder) -> bool {
    segment.ip.id.is_some() && (apart < SHARED_COUNTER_HOLDS || order.counts_nothing_else())
}

/// Whether `new` is `before` captured twice and not sent twice. It is if it comes sooner than `soon` nanoseconds later
/// and nothing else tells.
pub fn same_frame(before: &Record, new: &Record, segment: &Segment, order: &SendOrder, soon: i64) -> bool {
    if new.start != before.start || new.end != before.end || new.tsval != before.tsval {
        return false;
    }
    let apart = new.at.nanos_since(before.at);
    match segment.ip.id {
        // Some load balancers send again with the identification of the first sending, but not so soon.
        Some(id) if id != 0 || order.is_counted() => id == before.id && apart < SAME_FRAME_WITHIN,
        // Nothing tells two sendings apart but their distance in time.
        _ => apart < soon,
    }
}
