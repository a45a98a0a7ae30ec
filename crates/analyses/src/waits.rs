//! Where packets, data and processes waited on a host, and for how long.

use slowpath_model::{Bytes, Wait};
use std::time::Duration;

/// Waits at the end of one flow, or of several together, by place. Costs 15 KiB for each place where there were any,
/// however many there were.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    places: [Option<Box<Histogram>>; Wait::ALL.len()],
}

/// How long one waited at a place. Times are within 2 %, the longest exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Where.
    pub on: Wait,
    /// How many packets or times a process; in the receive queue, bytes.
    pub count: u64,
    /// No more than this for half of them.
    pub median: Duration,
    /// No more than this for 99 of 100.
    pub p99: Duration,
    /// The longest.
    pub longest: Duration,
    /// How many fall into each class of Wu and others: below each of [`CLASSES`], and above all.
    pub classes: [u64; CLASSES.len() + 1],
}

/// The boundaries of Wu and others' classes of waits.
pub const CLASSES: [Duration; 5] = [
    Duration::from_millis(1),
    Duration::from_millis(10),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_secs(1),
];

impl Waits {
    /// Notes waits of the same length. In the receive queue every byte counts, elsewhere every packet, or time a
    /// process waited.
    pub fn add(&mut self, on: Wait, lasted: Duration, amount: Bytes, times: u64) {
        let weight = if on == Wait::ReceiveQueue { amount.get() } else { times };
        let histogram = self.places[on as usize].get_or_insert_with(Default::default);
        histogram.add(u64::try_from(lasted.as_nanos()).unwrap_or(u64::MAX), weight);
    }

    /// The places where there were waits, on the way from the card to the process.
    pub fn spreads(&self) -> impl Iterator<Item = Spread> {
        let histograms = Wait::ALL.iter().zip(&self.places);
        histograms.filter_map(|(on, histogram)| histogram.as_ref()?.spread(*on))
    }
}

/// Parts of a doubling: buckets are so many to each power of two.
const PARTS: usize = 32;
const PARTS_BITS: u32 = PARTS.ilog2();
/// Up to 2^64 nanoseconds.
const BUCKETS: usize = (64 - PARTS_BITS as usize + 1) * PARTS;

/// Counts of nanoseconds in buckets that are exact below 32, and above it 1/32 of their time wide.
#[derive(Clone, Debug)]
struct Histogram {
    counts: [u64; BUCKETS],
    total: u64,
    longest: u64,
    classes: [u64; CLASSES.len() + 1],
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], total: 0, longest: 0, classes: [0; CLASSES.len() + 1] }
    }
}

impl Histogram {
    fn add(&mut self, nanos: u64, weight: u64) {
        self.counts[bucket(nanos)] += weight;
        self.total += weight;
        self.longest = self.longest.max(nanos);
        let class = CLASSES.iter().take_while(|bound| bound.as_nanos() <= u128::from(nanos)).count();
        self.classes[class] += weight;
    }

    /// The least time that is no less than that of `share` of a thousand.
    fn quantile(&self, share: u64) -> Duration {
        let wanted = (u128::from(self.total) * u128::from(share)).div_ceil(1000);
        let mut seen = 0_u128;
        let found = self.counts.iter().position(|count| {
            seen += u128::from(*count);
            seen >= wanted
        });
        Duration::from_nanos(found.map_or(self.longest, middle).min(self.longest))
    }

    fn spread(&self, on: Wait) -> Option<Spread> {
        (self.total > 0).then(|| Spread {
            on,
            count: self.total,
            median: self.quantile(500),
            p99: self.quantile(990),
            longest: Duration::from_nanos(self.longest),
            classes: self.classes,
        })
    }
}

/// The bucket of a time.
fn bucket(nanos: u64) -> usize {
    let Some(doublings) = nanos.checked_ilog2().and_then(|log| log.checked_sub(PARTS_BITS)) else {
        return nanos as usize;
    };
    // The leading bit and the five behind it say which.
    (doublings as usize) * PARTS + (nanos >> doublings) as usize
}

/// The time in the middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let doublings = (bucket / PARTS).saturating_sub(1);
    let first = ((bucket - doublings * PARTS) as u64) << doublings;
    first + ((1_u64 << doublings) - 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_none_is_wider_than_a_thirty_second() {
        let mut before = 0;
        for nanos in
            (0..200_000).chain((18..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit])).chain([u64::MAX])
        {
            let place = bucket(nanos);
            assert!(
                place < BUCKETS && (place == before || place == before + 1 || nanos > 200_000),
                "{nanos}"
            );
            before = place;
            assert!(middle(place).abs_diff(nanos) <= nanos / 62, "{nanos} is shown as {}", middle(place));
        }
    }

    /// Against a sorted list.
    #[test]
    fn quantiles_are_those_of_the_sorted_times() {
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
    fn bytes_count_in_the_receive_queue() {
        let mut waits = Waits::default();
        waits.add(Wait::ReceiveQueue, Duration::from_millis(1), Bytes::new(1_000_000), 1);
        waits.add(Wait::ReceiveQueue, Duration::from_millis(900), Bytes::new(1000), 1);
        let spread = waits.spreads().next().expect("there were waits");
        assert_eq!((spread.count, spread.longest), (1_001_000, Duration::from_millis(900)));
        assert!(spread.p99 < Duration::from_micros(1020), "{:?}", spread.p99);
        assert_eq!(waits.spreads().count(), 1);
    }
}
