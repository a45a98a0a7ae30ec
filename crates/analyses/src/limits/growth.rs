//! Whether more data in flight was delivered faster: a path with room delivers that much more, a full one only lets its
//! queue grow.

use super::queue;
use super::stretch::{Part, Stretch};
use super::thresholds;
use crate::cause::Cause;
use crate::report::Overview;

/// Growth from the first half of a time to its second, as logarithms weighted by its length.
#[derive(Default)]
struct Growth {
    flight: f64,
    rate: f64,
    /// Bytes.
    delivered: f64,
    /// In nanoseconds.
    lasted: f64,
}

/// Time-weighted sums over stretches.
#[derive(Default)]
struct Sum {
    flight: f64,
    delivered: f64,
    lasted: f64,
}

impl Sum {
    fn of<'a>(stretches: impl Iterator<Item = &'a Stretch>) -> Self {
        stretches.fold(Self::default(), |sum, stretch| {
            let lasted = stretch.lasted() as f64;
            let flight = f64::from(stretch.flight_max);
            // What was in flight is delivered once in an RTT (Little's law). More was in flight before, until a loss.
            let rtt = Some(stretch.rtt_min).filter(|rtt| (1..u32::MAX).contains(rtt));
            let most = rtt.map_or(f64::INFINITY, |rtt| flight * lasted / (f64::from(rtt) * 1e3));
            Self {
                flight: sum.flight + flight * lasted,
                delivered: sum.delivered + (stretch.delivered as f64).min(most),
                lasted: sum.lasted + lasted,
            }
        })
    }
}

/// Names the path as the cause where the congestion window seemed to hold the sender, but more data in flight was not
/// delivered faster: the RTTs do not show the queue if ACKs come in batches, the last of which shows none.
pub fn full_without_a_queue(stretches: &[Stretch], overview: &Overview, mss: u32, parts: &mut [Part]) {
    let Some(base) = overview.base_rtt else { return };
    let is_grown = |part: &Part| matches!(part.cause, Cause::AfterLoss | Cause::EarlyExit);
    let mut all = Growth::default();
    for run in parts.chunk_by(|a, b| is_grown(a) == is_grown(b)).filter(|run| is_grown(&run[0])) {
        // The first stretch includes what the loss before it had held back.
        all.add(run[1..].iter().map(|part| &stretches[part.stretch]), base, mss);
    }
    let grown: i64 = parts.iter().filter(|part| is_grown(part)).map(Part::lasted).sum();
    // A full path delivers without a pause; what a program writes does not grow with the congestion window either.
    let pauses = |part: &&Part| is_grown(part) && queue::pauses(&stretches[part.stretch], 2);
    let paused: i64 = parts.iter().filter(pauses).map(Part::lasted).sum();
    // A few losses far apart say nothing of the time with many.
    let is_telling = all.lasted * thresholds::GROWTH_TELLING_PART >= grown as f64;
    if is_telling && paused * 2 < grown && all.shows_a_full_path(overview.peak_rate) {
        for part in parts.iter_mut().filter(|part| is_grown(part)) {
            part.cause = Cause::BottleneckFull;
        }
    }
}

/// Takes back that a loss had reduced the congestion window where what is in flight did not grow for far longer than any
/// congestion control waits: CUBIC stays near the window at which the loss was for a time that its cube root gives (RFC 9438,
/// section 4.2), and no other for more than some RTTs. What held the sender is not known.
pub fn without_growth(stretches: &[Stretch], overview: &Overview, mss: u32, parts: &mut [Part]) {
    let Some(base) = overview.base_rtt else { return };
    let flight = |part: &Part| stretches[part.stretch].flight_max;
    let mut begin = 0;
    while begin < parts.len() {
        let (mut least, mut most) = (flight(&parts[begin]), flight(&parts[begin]));
        let slack = (most / thresholds::UNGROWN_PART).max(mss);
        let stays = |part: &&Part| {
            (least, most) = (least.min(flight(part)), most.max(flight(part)));
            part.cause == Cause::AfterLoss && most - least <= slack
        };
        let run = parts[begin..].iter().take_while(stays).count();
        let run = &mut parts[begin..begin + run.max(1)];
        begin += run.len();
        let lasted: i64 = run.iter().map(Part::lasted).sum();
        let plateau = 2.0 * (f64::from(slack) / f64::from(mss.max(1)) / thresholds::CUBIC_C).cbrt() * 1e9;
        if lasted >= thresholds::UNGROWN_RTTS * i64::from(base) * 1000
            && lasted as f64 >= thresholds::UNGROWN_PLATEAUS * plateau
            && run[0].cause == Cause::AfterLoss
        {
            run.iter_mut().for_each(|part| part.cause = Cause::Undetermined);
        }
    }
}

/// Whether what is in flight around the stretch at `at` rises as a congestion window does between losses: by a segment
/// or two at a time, RTT by RTT (RFC 5681, section 3.1), and not with the RTT, as it does behind a growing queue. What a
/// program writes at times of its own does not.
pub fn climbs(stretches: &[Stretch], at: usize, mss: u32) -> bool {
    let is_step = |low: &Stretch, high: &Stretch| {
        (low.flight_max..=low.flight_max + thresholds::CLIMBING_STEP * mss).contains(&high.flight_max)
    };
    let before = &stretches[at.saturating_sub(thresholds::CLIMBING_MOST)..=at];
    let after = &stretches[at..(at + thresholds::CLIMBING_MOST).min(stretches.len())];
    let down = before.windows(2).rev().take_while(|two| is_step(&two[0], &two[1])).count();
    let up = after.windows(2).take_while(|two| is_step(&two[0], &two[1])).count();
    let (first, last) = (&stretches[at - down], &stretches[at + up]);
    let (more, than) = thresholds::CLIMBING_RTT;
    down + up >= thresholds::CLIMBING_STEPS
        && last.flight_max - first.flight_max >= thresholds::CLIMBED * mss
        && last.rtt_min / more <= first.rtt_min / than
}

/// Whether about twice as much is in flight after a wait in the stretch at `at` as before it: slow start from the beginning,
/// seen from afar. What a program writes does not double.
pub fn doubles(stretches: &[Stretch], at: usize) -> bool {
    let flight = |stretch: &Stretch| Some(stretch.flight_max).filter(|flight| *flight > 0);
    let before = stretches[..=at].iter().rev().find_map(flight);
    let after = stretches[at + 1..].iter().find_map(flight);
    before.zip(after).is_some_and(|(before, after)| {
        let (least, most) = thresholds::DOUBLED;
        (least * f64::from(before)..=most * f64::from(before)).contains(&f64::from(after))
    })
}

impl Growth {
    /// Adds a time without loss, if it is long enough to tell.
    fn add<'a>(&mut self, run: impl Iterator<Item = &'a Stretch> + Clone, base: u32, mss: u32) {
        let whole = Sum::of(run.clone());
        let rtts = whole.lasted / (f64::from(base) * 1e3);
        // Of many RTTs, the most that was in flight says little.
        if rtts < thresholds::GROWTH_RTTS || rtts > thresholds::STRETCH_RTTS * run.clone().count() as f64 {
            return;
        }
        // Of few segments, one more or less is as much as a window grows.
        if whole.flight < thresholds::GROWTH_SEGMENTS * f64::from(mss) * whole.lasted {
            return;
        }
        let mut passed = 0;
        let begins = |stretch: &&Stretch| {
            passed += stretch.lasted();
            (passed as f64) <= whole.lasted / 2.0
        };
        let first = Sum::of(run.take_while(begins));
        let second = Sum {
            flight: whole.flight - first.flight,
            delivered: whole.delivered - first.delivered,
            lasted: whole.lasted - first.lasted,
        };
        let grown = |of: fn(&Sum) -> f64| {
            let [first, second] = [&first, &second].map(|sum| of(sum) / sum.lasted);
            (first > 0.0 && second > 0.0).then(|| (second / first).ln())
        };
        if let Some((flight, rate)) = grown(|sum| sum.flight).zip(grown(|sum| sum.delivered)) {
            self.flight += flight * whole.lasted;
            self.rate += rate * whole.lasted;
            self.delivered += whole.delivered;
            self.lasted += whole.lasted;
        }
    }

    /// Whether a rate near `peak`, in bit/s, did not follow the data in flight.
    fn shows_a_full_path(&self, peak: f64) -> bool {
        self.lasted > 0.0
            && self.delivered * 8e9 / self.lasted >= thresholds::REPAIRED_AT_FULL_RATE * peak
            && self.flight > thresholds::GROWN * self.lasted
            && self.rate < thresholds::BROUGHT * self.flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::stretch::Hold;
    use slowpath_model::Instant;

    /// One stretch after the other, each of so many milliseconds after a loss.
    fn after_loss(ms: i64, of: impl Iterator<Item = Stretch>) -> (Vec<Stretch>, Vec<Part>) {
        let (mut stretches, mut parts) = (Vec::new(), Vec::new());
        for (nth, stretch) in of.enumerate() {
            let from = Instant::from_nanos(nth as i64 * ms * 1_000_000);
            let mut stretch = Stretch { from, to: from, ..stretch };
            stretch.extend(from.plus_nanos(ms * 1_000_000), Hold::Open);
            let to = stretch.to;
            stretches.push(stretch);
            parts.push(Part { stretch: nth, from, to, cause: Cause::AfterLoss, repairs: false });
        }
        (stretches, parts)
    }

    /// Parts of so many milliseconds, in which ever more is in flight and as much delivered as before.
    fn without_more(ms: i64, base: u32, mss: u32) -> Cause {
        let of = (0..40).map(|nth| Stretch {
            flight_max: 10_000 + 500 * nth,
            delivered: 5_000 * ms,
            ..Stretch::at(Instant::START)
        });
        let (stretches, mut parts) = after_loss(ms, of);
        let overview = Overview { base_rtt: Some(base), peak_rate: 40e6, ..Overview::default() };
        full_without_a_queue(&stretches, &overview, mss, &mut parts);
        parts[20].cause
    }

    #[test]
    fn more_in_flight_that_brings_no_more_shows_a_full_path() {
        assert_eq!(without_more(10, 10_000, 1_448), Cause::BottleneckFull);
        // A third more is a segment or two.
        assert_eq!(without_more(10, 10_000, 8_948), Cause::AfterLoss);
        // In a stretch of many RTTs, it was in flight in one of them.
        assert_eq!(without_more(10, 500, 1_448), Cause::AfterLoss);
    }

    /// The first stretches after a loss deliver what was in flight before it, too.
    #[test]
    fn more_than_what_is_in_flight_is_not_the_paths_rate() {
        let of = (0..10).map(|nth| {
            let flight_max = 17_000 + 1_448 * nth;
            let delivered = i64::from(flight_max) + if nth < 4 { 12_000 } else { 0 };
            Stretch { flight_max, delivered, rtt_min: 60_000, ..Stretch::at(Instant::START) }
        });
        let (stretches, mut parts) = after_loss(60, of);
        let overview = Overview { base_rtt: Some(60_000), peak_rate: 4e6, ..Overview::default() };
        full_without_a_queue(&stretches, &overview, 1_448, &mut parts);
        assert_eq!(parts[5].cause, Cause::AfterLoss);
    }

    /// What the first and the last of these flights after a loss are called, in RTTs of 20 ms.
    fn with_flights(flights: impl Iterator<Item = u32>) -> [Cause; 2] {
        let of = flights.map(|flight_max| Stretch { flight_max, ..Stretch::at(Instant::START) });
        let (stretches, mut parts) = after_loss(20, of);
        let overview = Overview { base_rtt: Some(20_000), ..Overview::default() };
        without_growth(&stretches, &overview, 1_448, &mut parts);
        [parts[0].cause, parts[parts.len() - 1].cause]
    }

    #[test]
    fn window_that_never_grows_is_not_reduced_by_a_loss() {
        let same = |segments: u32, rtts: usize| std::iter::repeat_n(segments * 1_448, rtts);
        // CUBIC crosses 3 segments around a window of 96 in 3.9 s: 195 RTTs.
        assert_eq!(with_flights(same(96, 190)), [Cause::AfterLoss; 2]);
        assert_eq!(with_flights(same(96, 300)), [Cause::Undetermined; 2]);
        let growing = (0..300).map(|nth| (48 + nth / 4) * 1_448);
        assert_eq!(with_flights(growing), [Cause::AfterLoss; 2]);
        let grown = (48..96).map(|segments| segments * 1_448).chain(same(96, 300));
        assert_eq!(with_flights(grown), [Cause::AfterLoss, Cause::Undetermined]);
    }

    #[test]
    fn slow_start_doubles_and_a_program_does_not() {
        let of = |flights: &[u32]| -> Vec<Stretch> {
            let stretch = |flight: &u32| Stretch { flight_max: *flight, ..Stretch::at(Instant::START) };
            flights.iter().map(stretch).collect()
        };
        assert!(doubles(&of(&[14_480, 0, 28_960]), 1));
        assert!(!doubles(&of(&[14_480, 0, 14_480]), 1), "the same again");
        assert!(!doubles(&of(&[1_448, 0, 28_960]), 1), "a write that is longer by far");
        assert!(!doubles(&of(&[14_480, 0]), 1), "the last");
    }
}
