//! What the far end may send to an address, over all its sessions.

use crate::protocol::BURST_NS;
use slowpath_model::{Instant, Rate, nanos};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// Time at the served rate that may leave back to back: two bursts of the longest kind, so that a sender that was late
/// can catch up.
const PACE: Duration = Duration::from_nanos(2 * BURST_NS);
/// Two packets of the longest kind, which a packet pair needs whatever the rate.
const PAIR_BYTES: u64 = 2 * 9000;
/// A spent budget is full again after this many times `--max-duration`.
const REFILL: u64 = 4;
/// Transfers of the longest kind in a full budget: one in each direction.
const TRANSFERS: u64 = 2;
const SECOND_NS: u128 = 1_000_000_000;

/// The limits of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// The rate of a train.
    pub rate: Rate,
    /// The duration of a train, and of a transfer; multiplied by the rate, the UDP budget of an address.
    pub duration: Duration,
}

/// A token bucket.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    most: u64,
    per_s: u64,
    /// What is missing to a full bucket, in billionths.
    missing: u128,
    at: Instant,
}

impl Bucket {
    /// A full bucket that holds `most` and refills with `per_s` each second.
    pub fn full(most: u64, per_s: u64, now: Instant) -> Self {
        Self { most, per_s: per_s.max(1), missing: 0, at: now }
    }

    fn refill(&mut self, now: Instant) {
        let elapsed = now.since(self.at).map_or(0, |elapsed| elapsed.as_nanos());
        self.missing = self.missing.saturating_sub(elapsed.saturating_mul(u128::from(self.per_s)));
        self.at = self.at.max(now);
    }

    /// Takes an amount, or returns how long until it is there; `None` if it never will be.
    pub fn take(&mut self, amount: u64, now: Instant) -> Result<(), Option<Duration>> {
        self.take_up_to(1, amount, now).map(|_| ())
    }

    /// Takes as many of `count` equal parts as are there and returns their number, or how long until one is there;
    /// `None` if it never will be.
    pub fn take_up_to(&mut self, count: usize, each: u64, now: Instant) -> Result<usize, Option<Duration>> {
        self.refill(now);
        if each > self.most {
            return Err(None);
        }
        let (each, most) = (u128::from(each.max(1)) * SECOND_NS, u128::from(self.most) * SECOND_NS);
        let there = most - self.missing;
        let taken = (there / each).min(count as u128);
        if taken == 0 && count > 0 {
            let nanos = (each - there).div_ceil(u128::from(self.per_s));
            return Err(Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))));
        }
        self.missing += taken * each;
        Ok(taken as usize)
    }

    /// Its missing part, in thousandths.
    fn missing_permille(&mut self, now: Instant) -> u128 {
        self.refill(now);
        self.missing * 1000 / (u128::from(self.most.max(1)) * SECOND_NS)
    }
}

/// The budgets of one address.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// UDP, in bytes: `--max-rate` times `--max-duration`.
    pub udp: Bucket,
    /// UDP, in bytes: what may leave at once.
    pub pace: Bucket,
    /// Transfers, in nanoseconds.
    pub transfers: Bucket,
}

impl Budget {
    /// Full budgets.
    pub fn full(caps: &Caps, now: Instant) -> Self {
        let rate = caps.rate.get() / 8;
        let at_once = caps.rate.amount_in(PACE).get().saturating_add(PAIR_BYTES);
        let duration_ns = nanos(caps.duration);
        Self {
            udp: Bucket::full(caps.rate.amount_in(caps.duration).get(), rate / REFILL, now),
            pace: Bucket::full(at_once, rate, now),
            transfers: Bucket::full(
                duration_ns.saturating_mul(TRANSFERS),
                SECOND_NS as u64 / REFILL * TRANSFERS,
                now,
            ),
        }
    }

    /// How far it is from full, in thousandths; nobody needs to remember a full one.
    pub fn spent_permille(&mut self, now: Instant) -> u128 {
        let slow = self.udp.missing_permille(now).max(self.transfers.missing_permille(now));
        slow.max(self.pace.missing_permille(now))
    }
}

/// Whose budget an address uses: its own, or that of its /64 in IPv6, where one host has as many as it likes.
pub fn owner(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from(u128::from(v6) >> 64 << 64).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_gives_what_it_holds_and_then_its_rate() {
        let begin = Instant::START;
        let mut bucket = Bucket::full(1000, 100, begin);
        assert_eq!(bucket.take(1001, begin), Err(None));
        assert_eq!(bucket.take_up_to(0, 90, begin), Ok(0));
        assert_eq!(bucket.take_up_to(20, 90, begin), Ok(11));
        assert_eq!(bucket.take(30, begin), Err(Some(Duration::from_millis(200))));
        let mut taken = 990;
        for millis in 0..10_000 {
            taken += 7 * u64::from(bucket.take(7, begin + Duration::from_millis(millis)).is_ok());
        }
        assert!((1990 - 7..=2000).contains(&taken), "{taken}");
        assert_eq!(bucket.missing_permille(begin + Duration::from_secs(60)), 0);
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_a_budget() {
        let of = |text: &str| owner(text.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
