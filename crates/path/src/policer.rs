//! A policer: a token bucket that drops what is over its rate and delays nothing.

use serde::{Deserialize, Serialize};

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicerConfig {
    /// Rate at which the bucket fills, in bits of IP packet per second.
    pub rate_bit_per_s: u64,
    /// What the bucket holds; it starts full.
    pub burst_bytes: u64,
}

const BIT_NS_PER_BYTE: u128 = 8 * 1_000_000_000;

/// A policer at work. Tokens are kept in bit-nanoseconds per second, so no rounding ever happens.
#[derive(Debug)]
pub struct Policer {
    rate_bit_per_s: u64,
    capacity: u128,
    tokens: u128,
    last_ns: Option<u64>,
}

impl Policer {
    /// A policer whose bucket is full.
    pub fn new(config: &PolicerConfig) -> Self {
        let capacity = u128::from(config.burst_bytes) * BIT_NS_PER_BYTE;
        Self { rate_bit_per_s: config.rate_bit_per_s, capacity, tokens: capacity, last_ns: None }
    }

    /// Whether the packet passes; if so its tokens are spent.
    pub fn admits(&mut self, arrival_ns: u64, length_bytes: u32) -> bool {
        let last_ns = self.last_ns.unwrap_or(arrival_ns);
        let gained = u128::from(arrival_ns.saturating_sub(last_ns)) * u128::from(self.rate_bit_per_s);
        self.last_ns = Some(last_ns.max(arrival_ns));
        self.tokens = (self.tokens + gained).min(self.capacity);
        let needed = u128::from(length_bytes) * BIT_NS_PER_BYTE;
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

    const MS: u64 = 1_000_000;

    #[test]
    fn burst_passes_then_only_the_rate() {
        // 12 Mbit/s, two packets deep: one more packet per millisecond.
        let mut policer = Policer::new(&PolicerConfig { rate_bit_per_s: 12_000_000, burst_bytes: 3000 });
        assert!(policer.admits(0, 1500));
        assert!(policer.admits(0, 1500));
        assert!(!policer.admits(0, 1500));
        assert!(!policer.admits(MS - 1, 1500));
        assert!(policer.admits(MS, 1500));
        assert!(!policer.admits(MS, 1));
    }

    #[test]
    fn bucket_never_holds_more_than_its_burst() {
        let mut policer = Policer::new(&PolicerConfig { rate_bit_per_s: 12_000_000, burst_bytes: 3000 });
        assert!(policer.admits(0, 1500));
        assert!(policer.admits(3_600_000 * MS, 3000));
        assert!(!policer.admits(3_600_000 * MS, 1));
    }
}
