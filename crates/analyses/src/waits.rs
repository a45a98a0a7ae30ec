//! Where packets, data and processes waited on a host, and for how long.

use slowpath_model::{Bytes, Histogram, Wait};
use std::time::Duration;

/// Where the steps of [`Steps`] begin, but for the first: those of [`CLASSES`], and finer ones for places where packets
/// wait for microseconds.
pub const STEPS: [Duration; 7] = [
    Duration::from_micros(10),
    Duration::from_micros(100),
    CLASSES[0],
    CLASSES[1],
    CLASSES[2],
    CLASSES[3],
    CLASSES[4],
];
/// The first step that is a class.
const FIRST_CLASS: usize = STEPS.len() - CLASSES.len();

/// Waits at the end of one flow, or of several together, by place. Costs 15 KiB for each place where there were any,
/// however many there were.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    places: [Option<Box<At>>; Wait::ALL.len()],
}

/// How long packets or a process waited at a place. Times are within 2 %, the longest exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Where.
    pub on: Wait,
    /// How many packets, or waits of a process; in the receive queue, bytes.
    pub count: u64,
    /// The median.
    pub median: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The longest.
    pub longest: Duration,
    /// How many fall into each class of Wu et al.: below each of [`CLASSES`], and above all.
    pub classes: [u64; CLASSES.len() + 1],
}

/// The boundaries of Wu et al.'s classes of waits.
pub const CLASSES: [Duration; 5] = [
    Duration::from_millis(1),
    Duration::from_millis(10),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_secs(1),
];

impl Waits {
    /// Notes waits of the same length. In the receive queue every byte counts, elsewhere every packet, or every wait of
    /// a process.
    pub fn add(&mut self, on: Wait, lasted: Duration, amount: Bytes, times: u64) {
        let weight = if on == Wait::ReceiveQueue { amount.get() } else { times };
        self.places[on as usize].get_or_insert_with(Default::default).add(lasted, weight);
    }

    /// Adds what waited elsewhere.
    pub fn join(&mut self, other: &Self) {
        for (own, other) in self.places.iter_mut().zip(&other.places) {
            if let Some(other) = other {
                own.get_or_insert_with(Default::default).join(other);
            }
        }
    }

    /// The places where there were waits, on the way from the card to the process.
    pub fn spreads(&self) -> impl Iterator<Item = Spread> {
        let places = Wait::ALL.iter().zip(&self.places);
        places.filter_map(|(on, at)| at.as_ref()?.spread(*on))
    }

    /// The places where there were waits, with their counts.
    pub fn steps(&self) -> impl Iterator<Item = (Wait, &Steps)> {
        Wait::ALL.iter().zip(&self.places).filter_map(|(on, at)| Some((*on, &at.as_ref()?.steps)))
    }
}

/// Counts of waits that can be added up for ever, in little memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// How many were shorter than each of [`STEPS`] and no shorter than the one before; the last, all above.
    pub counts: [u64; STEPS.len() + 1],
    /// All of them together, in nanoseconds.
    pub sum_ns: u128,
}

impl Steps {
    /// Counts waits of the same length.
    pub fn add(&mut self, lasted: Duration, times: u64) {
        let step = &mut self.counts[STEPS.iter().take_while(|bound| **bound <= lasted).count()];
        *step = step.saturating_add(times);
        self.sum_ns = self.sum_ns.saturating_add(lasted.as_nanos().saturating_mul(times.into()));
    }

    /// Adds what waited elsewhere, or at another time.
    pub fn join(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(own, other)| *own = own.saturating_add(other));
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }

    /// How many fall into each class of Wu et al.
    fn classes(&self) -> [u64; CLASSES.len() + 1] {
        let (below, classes) = self.counts.split_at(FIRST_CLASS);
        let mut counts = [0; CLASSES.len() + 1];
        counts.copy_from_slice(classes);
        counts[0] += below.iter().sum::<u64>();
        counts
    }
}

/// The waits at one place.
#[derive(Clone, Debug, Default)]
struct At {
    times: Histogram,
    steps: Steps,
}

impl At {
    fn add(&mut self, lasted: Duration, weight: u64) {
        self.times.add(lasted, weight);
        self.steps.add(lasted, weight);
    }

    fn join(&mut self, other: &Self) {
        self.times.join(&other.times);
        self.steps.join(&other.steps);
    }

    fn spread(&self, on: Wait) -> Option<Spread> {
        (self.times.total() > 0).then(|| Spread {
            on,
            count: self.times.total(),
            median: self.times.quantile(500),
            p99: self.times.quantile(990),
            longest: self.times.longest(),
            classes: self.steps.classes(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with a sorted list.
    #[test]
    fn wait_quantiles_match_sorted_times() {
        let mut waits = Waits::default();
        let mut times: Vec<u64> = (0..5000_u64).map(|n| n.wrapping_mul(0x9e37_79b9) % 3_000_000).collect();
        for nanos in &times {
            waits.add(Wait::Ring, Duration::from_nanos(*nanos), Bytes::new(1448), 1);
        }
        times.sort_unstable();
        let spread = waits.spreads().next().expect("there were waits");
        assert_eq!((spread.on, spread.count), (Wait::Ring, 5000));
        assert_eq!(spread.longest.as_nanos(), u128::from(times[4999]));
        for (found, exact) in [(spread.median, times[2499]), (spread.p99, times[4949])] {
            let error = found.as_nanos() as f64 / exact as f64 - 1.0;
            assert!(error.abs() < 0.02, "{found:?} for {exact} ns");
        }
    }

    #[test]
    fn steps_add_up_to_classes_and_to_the_sum() {
        let mut waits = Waits::default();
        for (micros, times) in [(3, 5), (10, 1), (999, 2), (1000, 4), (2_000_000, 1)] {
            waits.add(Wait::Ring, Duration::from_micros(micros), Bytes::ZERO, times);
        }
        let (on, steps) = waits.steps().next().expect("there were waits");
        assert_eq!((on, steps.counts), (Wait::Ring, [5, 1, 2, 4, 0, 0, 0, 1]));
        assert_eq!(steps.sum_ns, 2_006_023_000);
        assert_eq!(waits.spreads().next().expect("there were waits").classes, [8, 4, 0, 0, 0, 1]);
    }

    #[test]
    fn receive_queue_waits_are_weighted_by_bytes() {
        let mut waits = Waits::default();
        waits.add(Wait::ReceiveQueue, Duration::from_millis(1), Bytes::new(1_000_000), 1);
        waits.add(Wait::ReceiveQueue, Duration::from_millis(900), Bytes::new(1000), 1);
        let spread = waits.spreads().next().expect("there were waits");
        assert_eq!((spread.count, spread.longest), (1_001_000, Duration::from_millis(900)));
        assert!(spread.p99 < Duration::from_micros(1020), "{:?}", spread.p99);
        assert_eq!(waits.spreads().count(), 1);
    }
}
