//! Distributions of times, in bounded memory.

use std::time::Duration;

/// Buckets per power of two.
const PARTS: usize = 32;
const PARTS_BITS: u32 = PARTS.ilog2();
/// Up to 2^64 nanoseconds.
const BUCKETS: usize = (64 - PARTS_BITS as usize + 1) * PARTS;

/// Counts of times in buckets that are exact below 32 ns, and 1/32 of their time wide above: 15 KiB, however many and
/// however long they are.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: [u64; BUCKETS],
    total: u64,
    longest: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], total: 0, longest: 0 }
    }
}

impl Histogram {
    /// Counts a time `weight` times.
    pub fn add(&mut self, time: Duration, weight: u64) {
        let nanos = crate::time::nanos(time);
        self.counts[bucket(nanos)] += weight;
        self.total += weight;
        self.longest = self.longest.max(nanos);
    }

    /// Adds another histogram.
    pub fn join(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(own, other)| *own += other);
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
    }

    /// The number of times counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The longest time, exactly; zero if empty.
    pub fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest)
    }

    /// The quantile at `share` thousandths, within 2 %; zero if empty.
    pub fn quantile(&self, share: u64) -> Duration {
        let wanted = (u128::from(self.total) * u128::from(share)).div_ceil(1000);
        let mut seen = 0_u128;
        let found = self.counts.iter().position(|count| {
            seen += u128::from(*count);
            seen >= wanted
        });
        Duration::from_nanos(found.map_or(self.longest, middle).min(self.longest))
    }
}

/// The bucket of a time.
fn bucket(nanos: u64) -> usize {
    let Some(doublings) = nanos.checked_ilog2().and_then(|log| log.checked_sub(PARTS_BITS)) else {
        return nanos as usize;
    };
    // The leading bit and the next five select it.
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
    fn buckets_are_contiguous_and_at_most_1_32_wide() {
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
}
