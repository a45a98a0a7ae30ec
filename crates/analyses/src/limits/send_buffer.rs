//! Signs of a full send buffer.

use super::context::Context;
use super::stretch::{Hold, Marks, Part, Stretch, around};
use super::thresholds;
use super::track::Finished;
use crate::cause::{Cause, Limit};
use crate::report::Overview;
use slowpath_model::statistics::median;

/// Next to the sender, whether the data in flight in the stretch at `at` was the same in many around it, while neither window
/// nor loss held the sender: no congestion window. One that is clamped is a whole number of segments, none shrinks without a
/// loss, and one that losses keep small was larger before. The amount is the same to the byte; if ACKs let out bursts with
/// pauses between them (`in_bursts`), but for a super-packet.
pub fn is_ceiling(context: &Context, stretches: &[Stretch], at: usize, in_bursts: bool) -> bool {
    let (most, marks) = (stretches[at].flight_max, stretches[at].marks);
    if !context.at_sender || !context.scale.is_known() || most == 0 || marks.has(Marks::AFTER_ECN) {
        return false;
    }
    let slack = if in_bursts { thresholds::CEILING_SEGMENTS * context.mss } else { 0 };
    let free = |stretch: &&Stretch| matches!(stretch.held_most(), Hold::Open | Hold::Dry);
    let is_alike = |stretch: &&Stretch| stretch.flight_max.abs_diff(most) <= slack;
    let around = around(stretches, at, thresholds::CEILING_RTTS).iter().filter(free);
    let alike = around.clone().filter(is_alike).count();
    let had_more = stretches[..at].iter().any(|stretch| stretch.flight_max > most + slack);
    let is_whole = most.is_multiple_of(context.mss);
    let is_small = most < thresholds::INITIAL_WINDOW_SEGMENTS * context.mss;
    let is_own = if marks.has(Marks::BEFORE_LOSS) {
        !is_whole || is_small || had_more
    } else {
        (!is_whole || is_small) && !had_more
    };
    is_own
        && alike >= thresholds::CEILING_RTTS
        && alike * 2 >= around.count()
        && !is_exceeded(stretches, most, slack)
}

/// Whether the data in flight has a ceiling to the byte at which the sender waits for ACKs, however short its segments and
/// however late it reacts: a writer that polls, or wakes late, fills what is free in its buffer. Whatever sends by itself
/// does not keep still while no ACK comes.
pub fn waits_at_ceiling(context: &Context, stretches: &[Stretch], at: usize) -> bool {
    let around = around(stretches, at, thresholds::CEILING_RTTS);
    let sum = |of: fn(&Stretch) -> u16| around.iter().map(|stretch| u32::from(of(stretch))).sum::<u32>();
    let still = sum(|stretch| stretch.still);
    // Slow start that ends at the ceiling is none yet.
    let most = around.iter().map(|stretch| stretch.flight_max).max().unwrap_or(0);
    let (part, of) = thresholds::AT_CEILING_PART;
    // Each ACK makes room, so that the sender is not still for longer than ACKs are.
    let (longer, than) = thresholds::STILL_LONGER;
    let follows = |stretch: &&Stretch| stretch.send_gap_max / longer <= stretch.gap_max / than;
    stretches[at].flight_max / part >= most / of
        && around.iter().filter(follows).count() * 4 >= around.len() * 3
        && still >= thresholds::TELLING_PAUSES
        && still >= sum(|stretch| stretch.not_still) * thresholds::STILL_TIMES
        && has_ceiling(context, stretches, at)
}

/// Whether so much in flight is more than a segment and no whole number of them, as a congestion window is.
pub fn is_part_of_a_segment(flight: u32, mss: u32) -> bool {
    flight > mss && !flight.is_multiple_of(mss.max(1))
}

/// Whether the same amount was in flight in many RTTs around the stretch at `at`, to the byte, and is no whole number of segments: no
/// congestion window is part of one. Far from the sender, a buffer and a program look alike.
pub fn is_no_congestion_window(stretches: &[Stretch], at: usize, mss: u32) -> bool {
    let flight = stretches[at].flight_max;
    let around = around(stretches, at, thresholds::CEILING_RTTS).iter();
    is_part_of_a_segment(flight, mss)
        && around.filter(|stretch| stretch.flight_max == flight).count() >= thresholds::CEILING_RTTS / 2
}

/// Whether the most that was in flight around the stretch at `at` is a ceiling to the byte.
pub fn has_ceiling(context: &Context, stretches: &[Stretch], at: usize) -> bool {
    let from = at.saturating_sub(thresholds::CEILING_RTTS);
    let near = from..(at + thresholds::CEILING_RTTS + 1).min(stretches.len());
    let fullest = near.max_by_key(|at| stretches[*at].flight_max).unwrap_or(at);
    is_ceiling(context, stretches, fullest, false)
}

/// Whether ACKs let nothing out until a good part of what was in flight is acknowledged, and then one of them lets out a
/// burst, again and again: a writer wakes when a third of its buffer is free (`sk_stream_write_space`, 6.18). A congestion
/// window lets out with each ACK what that acknowledges, and a program writes at other times.
pub fn is_refilled(stretches: &[Stretch], at: usize, at_sender: bool) -> bool {
    let around = around(stretches, at, thresholds::REFILL_REACH);
    let sum = |of: &dyn Fn(&Stretch) -> u32| around.iter().map(of).sum::<u32>();
    let waits = sum(&|stretch| stretch.dry_clocked + stretch.dry_free + stretch.prompted);
    let clocked = sum(&|stretch| stretch.dry_clocked);
    let (part, of) = thresholds::REFILLED_PART;
    let is_low = |(near, left): &(usize, u32)| *left > 0 && left / part <= around[*near].flight_max / of;
    let refills = left_after_acks(around).filter(is_low).count() >= thresholds::REFILLS
        && !is_exceeded(stretches, stretches[at].flight_max, 0);
    let is_refilled = refills || at_sender && wakes_at_one_level(around);
    // Slow start at the beginning is no refill, though some follow.
    let takes_part =
        stretches[at].under(Hold::Dry) >= stretches[at].lasted() / thresholds::REFILL_WAITED_PART / 2;
    takes_part && is_refilled && f64::from(clocked) >= thresholds::REFILLED_BY_ACKS * f64::from(waits)
}

/// Whether waits end with as much left in flight each time, however long they were: a writer wakes when as much of its
/// buffer is free. A program's writes end in short segments.
fn wakes_at_one_level(around: &[Stretch]) -> bool {
    let sum = |of: fn(&Stretch) -> u32| around.iter().map(of).sum::<u32>();
    let waits = sum(|stretch| stretch.dry_clocked);
    if sum(|stretch| stretch.emptied_short) * 2 > waits && sum(|stretch| stretch.let_in) * 2 < waits {
        return false;
    }
    are_alike(|| left_after_acks(around).map(|(_, left)| left))
}

/// Whether many of these amounts are alike, and none of those is 0.
fn are_alike<I: Iterator<Item = u32>>(amounts: impl Fn() -> I) -> bool {
    let Some(usual) = median(amounts().map(f64::from)) else { return false };
    let is_usual = |amount: &u32| (f64::from(*amount) - usual).abs() <= usual / thresholds::ONE_LEVEL_PART;
    amounts().filter(|amount| *amount > 0).filter(is_usual).count() >= thresholds::REFILLS_TO_ONE_LEVEL
}

/// Whether an ACK ended a wait in RTT after RTT around the stretch at `at`, with as much left in flight each time, and a burst as
/// large followed: a writer woke when so much of its buffer was free, and filled it. A sender that paces what was written takes most
/// of the RTT for it. A program's writes end in short segments, and it writes at other times too.
pub fn wakes_rtt_after_rtt(stretches: &[Stretch], at: usize) -> bool {
    let around = around(stretches, at, thresholds::CEILING_RTTS);
    let sum = |of: fn(&Stretch) -> u32| around.iter().map(of).sum::<u32>();
    let clocked = sum(|stretch| stretch.dry_clocked);
    let others = sum(|stretch| stretch.dry_free + stretch.prompted + stretch.emptied_short);
    // What a capture misses may have been written at other times.
    let is_complete = !around.iter().any(|stretch| stretch.marks.has(Marks::GAP));
    let woken = || around.iter().filter(|stretch| stretch.dry_clocked > 0);
    clocked as usize >= thresholds::REFILLS_TO_ONE_LEVEL
        && others * thresholds::SELDOM_OTHERWISE <= clocked
        && is_complete
        && are_alike(|| woken().map(|stretch| stretch.peak_max))
        && are_alike(|| woken().map(|stretch| stretch.flight_max))
        && !is_exceeded(stretches, stretches[at].flight_max, 0)
}

/// Whether as much was in flight in a stretch next to that at `at`, so that ACKs let out equal amounts.
pub fn is_alike_beside(stretches: &[Stretch], at: usize) -> bool {
    let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
    beside.filter_map(|at| stretches.get(at)).any(|stretch| stretch.flight_max == stretches[at].flight_max)
}

/// Whether about `most` was in flight for several RTTs, and later far more: what holds more is not full with that. If it comes
/// back to `most`, but for `slack`, again and again, with full segments and without a loss, that is all it holds: the overhead of
/// segments counts, and some have less of it.
fn is_exceeded(stretches: &[Stretch], most: u32, slack: u32) -> bool {
    let mut rtts = 0;
    let exceeds = |stretch: &Stretch| {
        if rtts < thresholds::EXCEEDED_RTTS {
            let is_alike = stretch.flight_max.abs_diff(most) <= most / thresholds::EXCEEDED_ALIKE_PART;
            rtts = if is_alike { rtts + 1 } else { 0 };
            return false;
        }
        let (more, than) = thresholds::EXCEEDED_PART;
        stretch.flight_max / more > most / than
    };
    let Some(exceeded) = stretches.iter().position(exceeds) else { return false };
    let later = stretches[exceeded..].iter().take_while(|stretch| stretch.marks.has(Marks::BEFORE_LOSS));
    let is_back =
        |stretch: &&Stretch| stretch.emptied_short == 0 && stretch.flight_max.abs_diff(most) <= slack;
    later.filter(is_back).count() < thresholds::REFILLS
}

/// The most that was in flight, with the first new segment, after a wait of the stretch at `at`. That segment may begin the
/// next one.
pub fn left_after_wait(stretches: &[Stretch], at: usize) -> u32 {
    stretches[at..].iter().take(2).map(|stretch| stretch.peak_max).find(|left| *left > 0).unwrap_or(0)
}

/// The stretches in which an ACK ended a wait, by number, and what was in flight after it.
fn left_after_acks(stretches: &[Stretch]) -> impl Iterator<Item = (usize, u32)> {
    let waits = (0..stretches.len()).filter(|at| stretches[*at].dry_clocked > 0);
    waits.map(|at| (at, left_after_wait(stretches, at)))
}

/// Whether the sender waited for its buffer for a good part of the time around the stretch at `at`. If it is `paced`, what
/// refilled the buffer leaves slowly.
pub fn waited(stretches: &[Stretch], at: usize, paced: bool) -> bool {
    let around = around(stretches, at, thresholds::REFILL_REACH);
    let sum = |of: &dyn Fn(&Stretch) -> i64| around.iter().map(of).sum::<i64>();
    let part = thresholds::REFILL_WAITED_PART * if paced { 2 } else { 1 };
    sum(&|stretch| stretch.under(Hold::Dry)) >= sum(&Stretch::lasted) / part
}

/// Whether the amount in flight in the stretch at `at` may be all that the buffer holds: about as much as around it, no less
/// than later, and ACKs ended several waits there. An answer longer than an initial window has one.
pub fn may_be_full(stretches: &[Stretch], at: usize) -> bool {
    let around = around(stretches, at, thresholds::CEILING_RTTS);
    let most = around.iter().map(|stretch| stretch.flight_max).max().unwrap_or(0);
    let waits: u32 = around.iter().map(|stretch| stretch.dry_clocked).sum();
    waits >= thresholds::LEAST_REFILLS
        && stretches[at].flight_max >= most / 2
        && !is_exceeded(stretches, stretches[at].flight_max, 0)
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

/// Names it far from the sender, where the flow as a whole shows it: what is in flight has a ceiling to the byte, and ACKs end the
/// sender's waits, beyond chance. A congestion window is a whole number of segments, a receiver's window is known, and what a
/// program writes does not wait for ACKs.
pub fn take_over_from_afar(
    stretches: &[Stretch],
    overview: &Overview,
    context: &Context,
    finished: &Finished<'_>,
    parts: &mut [Part],
) {
    let is_on_credit = overview.waits.prompted > overview.waits.clocked;
    if context.at_sender
        || is_on_credit
        || !context.scale.is_known()
        || !finished.from_afar.mostly_shows_clock()
    {
        return;
    }
    let Some(ceiling) = ceiling_to_the_byte(stretches, context.mss) else { return };
    let (part, of) = thresholds::AT_CEILING_PART;
    for Part { cause, stretch: at, repairs, .. } in parts {
        let stretch = &stretches[*at];
        let is_full = stretch.flight_max == ceiling;
        let may_be = match cause {
            Cause::SenderIdle | Cause::Undetermined => {
                !stretch.marks.has(Marks::TICKING) && stretch.flight_max / part >= ceiling / of
            }
            Cause::EarlyExit | Cause::AfterLoss => is_full,
            Cause::SlowStart => is_full && *at >= thresholds::STUCK_AFTER,
            // A buffer that keeps the path full leaves no pauses.
            Cause::BottleneckFull | Cause::StandingQueue => {
                is_full && stretch.gap_max > stretch.rtt_min / thresholds::EVEN_GAP_PART
            }
            _ => false,
        };
        if may_be && !*repairs {
            *cause = Cause::SendBufferFull;
        }
    }
}

/// What is in flight to the byte for most of the time, if it hardly ever is more, nothing is idle, and neither segments nor the
/// receiver's window explain it.
fn ceiling_to_the_byte(stretches: &[Stretch], mss: u32) -> Option<u32> {
    let mut flights: Vec<(u32, i64)> = stretches
        .iter()
        .filter(|stretch| stretch.delivered > 0)
        .map(|stretch| (stretch.flight_max, stretch.lasted()))
        .collect();
    flights.sort_unstable();
    let lasted = |of: &[(u32, i64)]| of.iter().map(|(_, lasted)| lasted).sum::<i64>();
    let usual = flights.chunk_by(|one, other| one.0 == other.0).max_by_key(|alike| lasted(alike))?;
    let (ceiling, most) = (usual[0].0, flights.last()?.0);
    let idle: i64 = stretches.iter().map(|stretch| stretch.under(Hold::Idle)).sum();
    let all: i64 = stretches.iter().map(Stretch::lasted).sum();
    let is_at = |stretch: &&Stretch| stretch.flight_max == ceiling;
    let smallest_window = stretches.iter().filter(is_at).map(|stretch| stretch.window_max).min()?;
    // Without its scale, a window ends at the largest field.
    let is_field = (thresholds::LEAST_FULL_FIELD..=u32::from(u16::MAX)).contains(&ceiling);
    // Of short writes at equal times, each follows the ACK of an earlier one by as much.
    let sum = |of: &dyn Fn(&Stretch) -> i64| stretches.iter().map(of).sum::<i64>();
    let has_full = sum(&|stretch| i64::from(stretch.emptied_short)) * i64::from(mss)
        <= sum(&|stretch| stretch.delivered);
    let (part, of) = thresholds::AT_CEILING_PART;
    (has_full
        && lasted(usual) as f64 >= thresholds::CEILING_SHARE * lasted(&flights) as f64
        && is_part_of_a_segment(ceiling, mss)
        && ceiling / part >= most / of
        && idle <= all / thresholds::CEILING_IDLE_PART
        && ceiling < smallest_window.saturating_sub(mss)
        && !is_field)
        .then_some(ceiling)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::Instant;

    #[test]
    fn part_of_a_segment_in_flight_rtt_after_rtt_is_no_congestion_window() {
        let of = |flights: [u32; 2]| {
            let stretch =
                |nth: usize| Stretch { flight_max: flights[nth % 2], ..Stretch::at(Instant::START) };
            is_no_congestion_window(&(0..40).map(stretch).collect::<Vec<_>>(), 20, 1_448)
        };
        assert!(of([38_848, 38_848]) && of([26_272, 26_024]));
        assert!(!of([27 * 1_448, 27 * 1_448]), "whole segments");
    }

    #[test]
    fn one_wait_for_acks_shows_no_full_buffer() {
        let with = |dry_clocked| Stretch { flight_max: 15_000, dry_clocked, ..Stretch::at(Instant::START) };
        assert!(!may_be_full(&[with(0), with(1), with(0)], 1), "an initial window and the rest");
        assert!(may_be_full(&[with(1), with(1), with(1)], 1));
    }

    /// A sender that paces what its writer filled in at once, when 30 kB were left of 68; and waits that something else ended.
    #[test]
    fn writer_that_wakes_at_one_level_rtt_after_rtt_fills_a_buffer() {
        let wakes = |left: &dyn Fn(u32) -> u32, free: u32| {
            let stretch = |nth: u32| Stretch {
                flight_max: 68_056,
                peak_max: left(nth),
                dry_clocked: 1,
                dry_free: u32::from(free > 0 && nth.is_multiple_of(free)),
                ..Stretch::at(Instant::START)
            };
            wakes_rtt_after_rtt(&(0..40).map(stretch).collect::<Vec<_>>(), 20)
        };
        assert!(wakes(&|_| 33_304, 0));
        assert!(!wakes(&|nth| 20_000 + nth * 1_448, 0), "at any level");
        assert!(!wakes(&|_| 33_304, 3), "a program's timer too");
    }

    /// RTTs of 40 ms with so much in flight, of which this part is a segment less; `idle` is for how many milliseconds of each all
    /// is acknowledged.
    fn ceiling_of(flight: u32, less: u32, idle: i64) -> Option<u32> {
        let stretch = |nth: u32| {
            let flight_max = if nth * 37 % 100 < less { flight - 1_448 } else { flight };
            let mut stretch = Stretch {
                flight_max,
                delivered: flight_max.into(),
                window_max: 1 << 20,
                ..Stretch::at(Instant::START)
            };
            stretch.extend(Instant::from_nanos((40 - idle) * 1_000_000), Hold::Open);
            stretch.extend(Instant::from_nanos(40_000_000), Hold::Idle);
            stretch
        };
        ceiling_to_the_byte(&(0..100).map(stretch).collect::<Vec<_>>(), 1_448)
    }

    #[test]
    fn ceiling_to_the_byte_is_that_of_a_buffer() {
        assert_eq!(ceiling_of(65_536, 10, 0), Some(65_536));
        assert_eq!(ceiling_of(65_536, 50, 0), None, "in half of the time");
        assert_eq!(ceiling_of(65_536, 10, 20), None, "a program pauses");
        assert_eq!(ceiling_of(45 * 1_448, 10, 0), None, "a congestion window");
        assert_eq!(ceiling_of(65_535, 10, 0), None, "a window without its scale");
    }
}
