//! How the receiver's window changed over the stretches of a direction.

use super::context::Context;
use super::send_buffer::is_part_of_a_segment;
use super::stretch::Stretch;
use super::thresholds;
use super::window_ends::shift_to;
use crate::report::ScaleKnown;
use slowpath_model::Instant;

/// Whether the data in flight filled the receiver's window, if its scale is unknown: to the segment as it is on the wire, or to the
/// byte with one of the scales that there are. No full segment ends there by chance.
pub fn fills_unscaled(context: &Context, stretch: &Stretch) -> bool {
    let (flight, many) = (stretch.flight_max, thresholds::CHANCE_SEGMENTS * context.mss);
    if matches!(context.scale, ScaleKnown::AtLeast(1..)) {
        // In less than an RTT, it may be chance.
        let is_known = context.base_rtt.is_some() && flight >= many;
        return is_known && fills_in_part_of_a_segment(stretch.window_max, flight, context.mss);
    }
    context.unscaled_window.is_some_and(|window| {
        let as_it_is = window >= many && (window.saturating_sub(context.mss) + 1..=window).contains(&flight);
        let fields = [window, stretch.window_max];
        as_it_is || flight >= many && fields.iter().any(|field| fills_to_the_byte(*field, flight))
    })
}

/// Whether `flight` is `window`, as it is on the wire, with a scale.
fn fills_to_the_byte(window: u32, flight: u32) -> bool {
    u16::try_from(window).ok().and_then(|field| shift_to(flight.into(), field)).is_some_and(|shift| shift > 0)
}

/// Whether `flight` is `window`, scaled by the least scale that fits, and ends within a segment.
fn fills_in_part_of_a_segment(window: u32, flight: u32, mss: u32) -> bool {
    flight == window && is_part_of_a_segment(flight, mss)
}

/// The largest window of some stretches, in bytes.
pub fn largest(stretches: &[Stretch]) -> u32 {
    stretches.iter().map(|stretch| stretch.window_max).max().unwrap_or(0)
}

/// The largest window of those stretches in which data was sent, in bytes. Later, it opens as what is left is read.
pub fn largest_used(stretches: &[Stretch]) -> u32 {
    let last = stretches.iter().rposition(|stretch| stretch.sent_after.iter().any(|sent| *sent > 0));
    largest(last.and_then(|last| stretches.get(..last)).unwrap_or(stretches))
}

/// Whether far more was delivered in an RTT of `base` microseconds than the window lets through, if its scale is only the
/// least that fits, found at `since`: then the true one is larger.
pub fn is_larger(
    scale: ScaleKnown,
    stretches: &[Stretch],
    since: Option<Instant>,
    base: Option<u32>,
) -> bool {
    let Some(base) = base.filter(|_| matches!(scale, ScaleKnown::AtLeast(_))) else { return false };
    let mut later = stretches.iter().filter(|stretch| since.is_none_or(|since| stretch.from >= since));
    later.any(|stretch| {
        let delivered = stretch.rate().unwrap_or(0.0) * f64::from(base) / 8e6;
        stretch.lasted() >= i64::from(base) * 1000
            && delivered > thresholds::BEYOND_WINDOW * f64::from(stretch.window_max)
    })
}

/// Whether the receiver offered much less in the stretch at `at` than `before`, since data waited to be read. `base` is the
/// shortest RTT, in microseconds.
pub fn shrunk(stretches: &[Stretch], at: usize, before: u32, base: Option<u32>, mss: u32) -> bool {
    let has_grown = stretches.first().is_some_and(|first| before / 3 > first.window_max / 2);
    let part = if has_grown { thresholds::SHRUNK_AFTER_GROWTH } else { thresholds::SHRUNK };
    f64::from(stretches[at].window_max) < f64::from(before) * part && !is_small(stretches, at, base, mss)
}

/// Whether the data in flight stayed within two segments of the window in nearly all stretches around that at `at`: Linux saves the
/// rest for a larger segment (`tcp_tso_should_defer`, 6.18).
pub fn is_used_up_but_for_a_rest(stretches: &[Stretch], at: usize, mss: u32) -> bool {
    let is_near = |stretch: &Stretch| {
        stretch.flight_max > thresholds::EDGE_SEGMENTS.saturating_mul(mss)
            && stretch.flight_max.saturating_add(mss.saturating_mul(2)) > stretch.window_max
    };
    is_near(&stretches[at]) && holds_around(stretches, at, is_near)
}

/// Whether the data in flight came within a few segments of the window in nearly all stretches around that at `at`. A
/// congestion window has no reason to.
pub fn is_nearly_used_up(stretches: &[Stretch], at: usize, mss: u32) -> bool {
    let is_near = |stretch: &Stretch| {
        let few = thresholds::EDGE_SEGMENTS.saturating_mul(mss);
        let spread = few.max(stretch.window_max / thresholds::EDGE_PART);
        let spread = spread.min(stretch.window_max / thresholds::SAME_WINDOW_PART);
        stretch.flight_max > 0 && stretch.flight_max >= stretch.window_max - spread
    };
    is_near(&stretches[at]) && holds_around(stretches, at, is_near)
}

/// What a window lets through in each RTT of `base` microseconds, in bit/s.
pub fn allowed(window: u32, base: Option<u32>) -> Option<f64> {
    base.map(|base| f64::from(window) * 8e6 / f64::from(base.max(1)))
}

/// Whether the window was made smaller, and all is read: it is the same for many RTTs, to the segment, and all of it is
/// delivered in each.
fn is_small(stretches: &[Stretch], at: usize, base: Option<u32>, mss: u32) -> bool {
    let window = stretches[at].window_max;
    let spread = mss.min(window / thresholds::SAME_WINDOW_PART);
    let is_alike = |stretch: &Stretch| {
        [stretch.window_min, stretch.window_max].iter().all(|seen| seen.abs_diff(window) <= spread)
    };
    let all = allowed(window, base)
        .zip(stretches[at].rate())
        .is_some_and(|(allowed, rate)| rate >= thresholds::AT_PEAK * allowed);
    all && holds_around(stretches, at, is_alike)
}

/// Whether three quarters of the stretches before and after that at `at` are such, for as many RTTs as it takes.
fn holds_around(stretches: &[Stretch], at: usize, is_such: impl Fn(&Stretch) -> bool) -> bool {
    const REACH: usize = thresholds::SAME_WINDOW_REACH;
    let around = stretches.get(at.saturating_sub(REACH)..at + REACH + 1).unwrap_or_default();
    around.iter().filter(|stretch| is_such(stretch)).count() * 4 > 3 * REACH * 2
}

/// Whether three quarters of the stretches in which anything was delivered are such, around that at `at`.
pub fn mostly(stretches: &[Stretch], at: usize, is_such: impl Fn(&Stretch) -> bool) -> bool {
    const REACH: usize = thresholds::SAME_WINDOW_REACH;
    let until = stretches.len().min(at + REACH + 1);
    let around = || stretches[at.saturating_sub(REACH)..until].iter().filter(|stretch| stretch.delivered > 0);
    let all = around().count();
    all >= REACH / 2 && around().filter(|stretch| is_such(stretch)).count() * 4 >= all * 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::stretch::Hold;

    #[test]
    fn least_scale_that_fits_is_refuted_by_what_is_delivered() {
        let least = ScaleKnown::AtLeast(6);
        let mut stretch = Stretch { window_max: 215_000, delivered: 750_000, ..Stretch::at(Instant::START) };
        stretch.extend(Instant::from_nanos(275_000_000), Hold::Window);
        let is_larger = |scale, stretch: &Stretch, since| is_larger(scale, &[*stretch], since, Some(275_000));
        assert!(is_larger(least, &stretch, None));
        assert!(!is_larger(least, &stretch, Some(Instant::from_nanos(1))), "found later");
        assert!(!is_larger(ScaleKnown::Agreed(6), &stretch, None), "agreed");
        stretch.delivered = 215_000;
        assert!(!is_larger(least, &stretch, None), "a window");
    }

    #[test]
    fn flight_of_the_least_scale_fills_the_window_within_a_segment() {
        assert!(fills_in_part_of_a_segment(163_040, 163_040, 1_448));
        assert!(!fills_in_part_of_a_segment(163_040, 162_176, 1_448), "less");
        assert!(!fills_in_part_of_a_segment(144_800, 144_800, 1_448), "whole segments, by chance");
    }

    #[test]
    fn flight_of_a_scaled_window_to_the_byte_fills_it() {
        assert!(fills_to_the_byte(49_280, 98_560));
        assert!(!fills_to_the_byte(49_280, 98_559) && !fills_to_the_byte(49_280, 97_112), "less");
        assert!(!fills_to_the_byte(512, 65_536), "a program's write");
        assert!(!fills_to_the_byte(0, 98_560), "closed");
    }

    #[test]
    fn rest_of_less_than_two_segments_is_saved_for_a_larger_one() {
        const MSS: u32 = 1460;
        let of = |flight_max: u32| -> Vec<Stretch> {
            let stretch = Stretch { flight_max, window_max: 131_070, ..Stretch::at(Instant::START) };
            vec![stretch; 40]
        };
        assert!(is_used_up_but_for_a_rest(&of(88 * MSS), 20, MSS));
        assert!(!is_used_up_but_for_a_rest(&of(87 * MSS), 20, MSS), "room for two");
        let narrow: Vec<Stretch> =
            of(2 * MSS).into_iter().map(|stretch| Stretch { window_max: 3 * MSS, ..stretch }).collect();
        assert!(!is_used_up_but_for_a_rest(&narrow, 20, MSS), "of a few segments, two are most");
    }

    #[test]
    fn window_is_followed_only_if_it_is_nearly_used_up_rtt_after_rtt() {
        const MSS: u32 = 1448;
        let of = |flights: [u32; 2]| -> Vec<Stretch> {
            let stretch = |nth: usize| Stretch {
                flight_max: flights[nth % 2],
                window_max: 150_000 + 1_024 * (nth % 3) as u32,
                ..Stretch::at(Instant::START)
            };
            (0..40).map(stretch).collect()
        };
        assert!(is_nearly_used_up(&of([147_000, 149_500]), 20, MSS));
        assert!(!is_nearly_used_up(&of([147_000, 100_000]), 20, MSS), "each other RTT");
        assert!(!is_nearly_used_up(&of([130_000, 130_000]), 20, MSS), "a congestion window");
        assert!(!is_nearly_used_up(&of([147_000, 149_500]), 2, MSS), "not for long yet");
    }
}
