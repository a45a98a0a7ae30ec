//! Whether losses slow their sender at all.
//!
//! Most congestion control reduces its window at each loss, by a third or a half, so that the rate shows it. BBR does not: as long
//! as its retransmissions go out at the rate that the path delivers, their repair costs no time, however long it takes for the last
//! hole to be filled.

use super::pace;
use super::stretch::{Hold, Marks, Stretch};
use super::thresholds;
use crate::report::Overview;

/// Whether data was delivered evenly and at the highest rate, RTT after RTT, since the first loss, though losses were repaired most
/// of the time; and neither the receiver's window nor a program nor a clock of the host had a part in that.
pub fn losses_slow_nothing(stretches: &[Stretch], overview: &Overview, mss: u32) -> bool {
    let Some(base) = overview.base_rtt.filter(|base| *base > 0) else { return false };
    let since = || {
        let whole = |stretch: &&Stretch| stretch.lasted() >= i64::from(base) * 500;
        stretches.iter().filter(|stretch| !stretch.marks.has(Marks::BEFORE_LOSS)).filter(whole)
    };
    let is_free = |stretch: &Stretch| {
        let room = thresholds::EDGE_SEGMENTS.saturating_mul(mss);
        !pace::often_emptied(stretch)
            && !pace::has_one(stretch)
            && stretch.flight_max.saturating_add(room) <= stretch.window_max
    };
    let keeps_rate = |stretch: &Stretch| {
        pace::is_even(stretch, base)
            && stretch.rate().is_some_and(|rate| overview.is_at_peak(rate, thresholds::AT_PEAK))
    };
    let sum = |of: &dyn Fn(&Stretch) -> i64| since().map(of).sum::<i64>();
    let all = sum(&Stretch::lasted);
    let kept = sum(&|stretch| if is_free(stretch) && keeps_rate(stretch) { stretch.lasted() } else { 0 });
    let repairing = sum(&|stretch| stretch.under(Hold::Recovery));
    all >= thresholds::WRITTEN_RTTS * i64::from(base) * 1000
        && repairing * 2 > all
        && kept as f64 >= thresholds::EXCLUDES * all as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::Instant;

    /// RTTs of 50 ms, most of them in loss recovery, with so many bytes delivered in each.
    fn slow_nothing(rtts: u32, delivered: impl Fn(u32) -> i64, change: impl Fn(&mut Stretch)) -> bool {
        let overview = Overview { base_rtt: Some(50_000), peak_rate: 40e6, ..Overview::default() };
        let stretch = |nth: u32| {
            let from = Instant::from_nanos(i64::from(nth) * 50_000_000);
            let mut stretch = Stretch {
                delivered: delivered(nth),
                flight_max: 260_000,
                window_max: 3_000_000,
                gap_max: 1_000,
                ..Stretch::at(from)
            };
            stretch.extend(from.plus_nanos(10_000_000), Hold::Open);
            stretch.extend(from.plus_nanos(50_000_000), Hold::Recovery);
            change(&mut stretch);
            stretch
        };
        losses_slow_nothing(&(0..rtts).map(stretch).collect::<Vec<_>>(), &overview, 1_448)
    }

    #[test]
    fn rate_that_no_loss_changes_is_not_that_of_losses() {
        let evenly = |_| 245_000;
        let as_is = |_: &mut Stretch| {};
        assert!(slow_nothing(100, evenly, as_is));
        assert!(!slow_nothing(100, |nth| if nth % 4 == 0 { 250_000 } else { 175_000 }, as_is), "reductions");
        assert!(!slow_nothing(10, evenly, as_is), "not for long");
        assert!(!slow_nothing(100, evenly, |stretch| stretch.window_max = 262_144), "a window");
        assert!(!slow_nothing(100, evenly, |stretch| stretch.emptied = 8), "a program");
        assert!(!slow_nothing(100, evenly, |stretch| stretch.marks.set(Marks::CLOCKED)), "a shaper");
        assert!(!slow_nothing(100, evenly, |stretch| stretch.gap_max = 30_000), "pauses");
        assert!(!slow_nothing(100, evenly, |stretch| stretch.held = [0; Hold::COUNT]), "few repairs");
    }
}
