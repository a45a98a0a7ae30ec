//! A policer: a token bucket that drops what exceeds its rate and delays nothing.

use crate::serde_units;
use serde::{Deserialize, Serialize};
use slowpath_model::{Bytes, Instant, Rate};

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicerConfig {
    /// The rate at which the bucket fills, in IP bits.
    #[serde(rename = "rate_bit_per_s", with = "serde_units::bit_per_s")]
    pub rate: Rate,
    /// The bucket size; it starts full.
    #[serde(rename = "burst_bytes", with = "serde_units::bytes")]
    pub burst: Bytes,
}

const BIT_NS_PER_BYTE: u128 = 8 * 1_000_000_000;

/// The state of a policer. Tokens are in bit-nanoseconds per second, so nothing is ever rounded.
#[derive(Debug)]
pub struct Policer {
    rate: Rate,
    capacity: u128,
    tokens: u128,
    last: Option<Instant>,
}

impl Policer {
    /// A policer whose bucket is full.
    pub fn new(config: &PolicerConfig) -> Self {
        let capacity = u128::from(config.burst.get()) * BIT_NS_PER_BYTE;
        Self { rate: config.rate, capacity, tokens: capacity, last: None }
    }

    /// Whether the packet passes; if so, its tokens are spent.
    pub fn admits(&mut self, arrival: Instant, length: Bytes) -> bool {
        let last = self.last.unwrap_or(arrival);
        let gained =
            u128::from(arrival.nanos_since(last).max(0).unsigned_abs()) * u128::from(self.rate.get());
        self.last = Some(last.max(arrival));
        self.tokens = (self.tokens + gained).min(self.capacity);
        let needed = u128::from(length.get()) * BIT_NS_PER_BYTE;
        if self.tokens < needed {
            return false;
        }
        self.tokens -= needed;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    /// Two packets deep; one more packet per millisecond.
    const CONFIG: PolicerConfig = PolicerConfig { rate: Rate::mbit(12), burst: Bytes::new(3000) };

    fn admits(policer: &mut Policer, at: i64, bytes: u64) -> bool {
        policer.admits(Instant::from_nanos(at), Bytes::new(bytes))
    }

    #[test]
    fn burst_passes_then_only_the_rate() {
        let mut policer = Policer::new(&CONFIG);
        assert!(admits(&mut policer, 0, 1500));
        assert!(admits(&mut policer, 0, 1500));
        assert!(!admits(&mut policer, 0, 1500));
        assert!(!admits(&mut policer, MS - 1, 1500));
        assert!(admits(&mut policer, MS, 1500));
        assert!(!admits(&mut policer, MS, 1));
    }

    #[test]
    fn bucket_never_holds_more_than_its_burst() {
        let mut policer = Policer::new(&CONFIG);
        assert!(admits(&mut policer, 0, 1500));
        assert!(admits(&mut policer, 3_600_000 * MS, 3000));
        assert!(!admits(&mut policer, 3_600_000 * MS, 1));
    }
}
