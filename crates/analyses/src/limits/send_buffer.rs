//! Signs of a full send buffer.

use super::context::Context;
use super::stretch::{Hold, Part, Stretch};
use super::thresholds;
use super::track::Finished;
use crate::cause::{Cause, Limit};

/// Next to the sender, the most data in flight, if it was the same to the byte in many RTTs while neither window nor loss held the sender: no
/// whole number of segments, as a clamped congestion window is, or less than any initial window.
pub fn ceiling(context: &Context, stretches: &[Stretch], finished: &Finished<'_>) -> Option<u32> {
    if !context.at_sender || !context.scale.is_known() {
        return None;
    }
    let most = u32::try_from(finished.flight_max.get()).ok()?;
    let is_free = |stretch: &&Stretch| {
        matches!(stretch.held_most(), Hold::Open | Hold::Dry) && stretch.emptied_short == 0
    };
    let free = stretches.iter().filter(is_free);
    let at_ceiling = free.clone().filter(|stretch| stretch.flight_max == most).count();
    let is_one = at_ceiling >= thresholds::CEILING_RTTS
        && at_ceiling * thresholds::CEILING_PART >= free.count()
        && (!most.is_multiple_of(context.mss) || most < thresholds::INITIAL_WINDOW_SEGMENTS * context.mss);
    is_one.then_some(most)
}

/// A writer that waits until part of its buffer is free fills it at once: a burst of a congestion window, whose ACKs
/// come an RTT later. That RTT belongs to the buffer too, since otherwise new data would have left with each ACK.
pub fn between_full(stretches: usize, parts: &mut [Part]) {
    const REACH: usize = thresholds::SEND_BUFFER_REACH;
    let mut full = vec![false; stretches];
    for part in parts.iter() {
        full[part.stretch] |= part.cause == Cause::SendBufferFull;
    }
    let any = |some: &[bool]| some.contains(&true);
    if !any(&full) {
        return;
    }
    for Part { stretch: at, cause, .. } in parts {
        let at = *at;
        if cause.limit() == Limit::CongestionWindow {
            let before = any(&full[at.saturating_sub(REACH)..at]);
            let after = any(&full[at..(at + REACH + 1).min(full.len())]) || at + REACH >= full.len();
            if before && after {
                *cause = Cause::SendBufferFull;
            }
        }
    }
}
