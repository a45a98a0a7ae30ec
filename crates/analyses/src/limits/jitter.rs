//! Whether RTTs are long by jitter, as behind a radio link that sends in batches, and not by a queue.
//!
//! A queue lasts from one RTT to the next, it delivers without pauses, and on a full path more data in flight arrives no
//! faster. Jitter starts anew with each RTT, batches come with pauses between them, and more data in flight arrives that
//! much faster. Where most RTTs have one rate, it is that of a link, and its queue makes them long.

use super::queue;
use super::stretch::{Hold, Marks, Stretch};
use super::thresholds;
use crate::report::Overview;

/// Whether RTTs that seem to show a queue are long by jitter.
pub fn is_one(stretches: &[Stretch], overview: &Overview, mss: u32) -> bool {
    let Some(base) = overview.base_rtt else { return false };
    let seems_queued = |stretch: &&Stretch| {
        stretch.held_most() == Hold::Open
            && !stretch.marks.has(Marks::RETRANSMITTED)
            && stretch.flight_max > mss
            && stretch.delivered > 0
            && queue::is_longer(overview, stretch)
            && stretch.lasted() >= i64::from(stretch.rtt_min) * 800
    };
    let sample: Vec<&Stretch> = stretches.iter().filter(seems_queued).collect();
    if sample.len() < thresholds::JITTER_STRETCHES {
        return false;
    }
    let log = |of: &dyn Fn(&Stretch) -> f64| -> Vec<f64> {
        let values: Vec<f64> = sample.iter().map(|stretch| of(stretch).max(1.0).ln()).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.into_iter().map(|value| value - mean).collect()
    };
    let flight = log(&|stretch| stretch.flight_max.into());
    let rate = log(&|stretch| stretch.rate().unwrap_or(0.0));
    let rtt = log(&|stretch| stretch.rtt_min.into());
    let varied = (product(&flight, &flight) / flight.len() as f64).sqrt();
    let brought = product(&flight, &rate) / product(&flight, &flight).max(f64::MIN_POSITIVE);
    let lasting = product(&rtt, &rtt[1..]) / product(&rtt, &rtt).max(f64::MIN_POSITIVE);
    let paused = sample.iter().filter(|stretch| queue::pauses(stretch, thresholds::QUEUE_GAP_PART)).count();
    let mean_rtt = sample.iter().map(|stretch| f64::from(stretch.rtt_min)).sum::<f64>() / sample.len() as f64;
    // Jitter longer than the path: a queue as long as that would last.
    let is_sure = sample.len() >= thresholds::JITTER_SURE_STRETCHES && lasting < thresholds::LASTING_SURELY;
    at_one_rate(&flight, &rate) < thresholds::ONE_RATE_PART
        && varied >= thresholds::GROWN
        && brought > thresholds::BROUGHT
        && lasting < thresholds::LASTING
        && paused as f64 >= thresholds::PAUSED * sample.len() as f64
        && (mean_rtt < 2.0 * f64::from(base) || is_sure)
}

/// The largest part of the RTTs with rates that are as good as one, though what was in flight varied: a link has one rate. Both are
/// logarithms.
fn at_one_rate(flight: &[f64], rate: &[f64]) -> f64 {
    let mut both: Vec<(f64, f64)> = rate.iter().copied().zip(flight.iter().copied()).collect();
    both.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let alike = |nth: usize| {
        let rest = &both[nth..];
        &rest[..rest.partition_point(|(rate, _)| rate - rest[0].0 <= thresholds::ONE_RATE_SPREAD)]
    };
    let most = (0..both.len()).map(alike).max_by_key(|alike| alike.len()).unwrap_or_default();
    let mean = most.iter().map(|(_, flight)| flight).sum::<f64>() / most.len().max(1) as f64;
    let squares = most.iter().map(|(_, flight)| (flight - mean) * (flight - mean)).sum::<f64>();
    let varied = (squares / most.len().max(1) as f64).sqrt();
    if varied >= thresholds::GROWN { most.len() as f64 / both.len() as f64 } else { 0.0 }
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::Instant;

    const MS: i64 = 1_000_000;

    /// RTTs of 14 ms with the flights of a sawtooth, in segments of 1,000 bytes, delivered with pauses of 7 ms.
    fn sawtooth(rtt: impl Fn(i64) -> u32, delivered: impl Fn(u32) -> i64) -> bool {
        long_sawtooth(60, 10_000, rtt, delivered)
    }

    /// So many RTTs of a path of `base` microseconds.
    fn long_sawtooth(
        count: i64,
        base: u32,
        rtt: impl Fn(i64) -> u32,
        delivered: impl Fn(u32) -> i64,
    ) -> bool {
        let stretches: Vec<Stretch> = (0..count)
            .map(|nth| {
                let mut stretch = Stretch::at(Instant::from_nanos(nth * 14 * MS));
                stretch.extend(Instant::from_nanos((nth + 1) * 14 * MS), Hold::Open);
                stretch.rtt_min = rtt(nth);
                stretch.gap_max = 7_000;
                stretch.flight_max = 20_000 + 2_000 * (nth % 10) as u32;
                stretch.delivered = delivered(stretch.flight_max);
                stretch
            })
            .collect();
        is_one(&stretches, &Overview { base_rtt: Some(base), peak_rate: 25e6, ..Overview::default() }, 1_000)
    }

    #[test]
    fn batches_are_jitter_if_the_rate_follows_the_flight() {
        let at_random = |nth: i64| 12_000 + (nth * nth * 31 % 41 * 100) as u32;
        assert!(sawtooth(at_random, i64::from));
        assert!(!sawtooth(at_random, |_| 29_000), "a full path delivers no more");
        let up_to_its_rate = |flight: u32| flight.min(28_000).into();
        assert!(!sawtooth(at_random, up_to_its_rate), "a link's rate is the most that there is");
    }

    #[test]
    fn jitter_longer_than_the_path_takes_many_round_trips_to_tell() {
        // A generator of equal chances (Park and Miller, CACM 1988).
        let at_random = |nth: i64| {
            let random = (0..=nth).fold(7_u64, |state, _| state * 16_807 % 2_147_483_647);
            8_000 + (random % 41 * 100) as u32
        };
        assert!(long_sawtooth(400, 1_000, at_random, i64::from));
        assert!(!long_sawtooth(60, 1_000, at_random, i64::from), "too few");
        assert!(!long_sawtooth(400, 1_000, |nth| at_random(nth / 2), i64::from), "two RTTs are alike");
    }

    #[test]
    fn delay_that_lasts_is_a_queue() {
        assert!(!sawtooth(|nth| 12_000 + (nth % 10 * 400) as u32, i64::from));
    }
}
