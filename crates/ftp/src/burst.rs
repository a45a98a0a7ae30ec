//! The rate of the bottleneck, from how fast the data of an RTT moves. Pure.
//!
//! In slow start a sender has less in flight than the path holds. So what it sends in an RTT moves as one burst at the rate of
//! the bottleneck, and then nothing moves until the next RTT. The longest burst gives that rate, long before the transfer
//! as a whole is that fast. Auto-ncFTP used packet pairs; a burst of hundreds of packets does not depend on the time of a
//! single one (`slowpath probe` has both).

use slowpath_model::{Instant, Rate};
use std::time::Duration;

/// A pause ends a burst if it is longer than this part of the RTT, and than [`LEAST_PAUSE`].
const PAUSE_OF_RTT: u32 = 8;
/// Packets are delivered in groups, and programs lose their CPU for a moment.
const LEAST_PAUSE: Duration = Duration::from_millis(2);
/// A burst of less than this, or with fewer looks than [`LEAST_LOOKS`], shows no rate: it may be one group of packets.
const LEAST_BYTES: u64 = 128 << 10;
const LEAST_LOOKS: u32 = 4;

#[derive(Clone, Copy, Debug)]
struct Burst {
    /// The first look at it, and what had moved by then.
    from: (Instant, u64),
    to: (Instant, u64),
    looks: u32,
}

impl Burst {
    const fn bytes(&self) -> u64 {
        self.to.1.saturating_sub(self.from.1)
    }
}

/// Collects how much had moved at which instants.
#[derive(Clone, Copy, Debug)]
pub struct Bursts {
    pause: Duration,
    now: Option<Burst>,
    longest: Option<Burst>,
}

impl Bursts {
    /// For a path with this RTT.
    pub fn new(rtt: Duration) -> Self {
        Self { pause: (rtt / PAUSE_OF_RTT).max(LEAST_PAUSE), now: None, longest: None }
    }

    /// So many bytes have moved by now. Looks at which nothing new has moved may be left out.
    pub fn moved(&mut self, bytes: u64, now: Instant) {
        let look = (now, bytes);
        let Some(burst) = &mut self.now else {
            self.now = Some(Burst { from: look, to: look, looks: 0 });
            return;
        };
        if bytes <= burst.to.1 {
            return;
        }
        if now.since(burst.to.0).is_some_and(|passed| passed > self.pause) {
            // What this look shows first came before it: it is where the next burst begins.
            *burst = Burst { from: look, to: look, looks: 0 };
        } else {
            burst.to = look;
            burst.looks += 1;
        }
        let burst = *burst;
        if self.longest.is_none_or(|longest| burst.bytes() > longest.bytes()) {
            self.longest = Some(burst);
        }
    }

    /// Bytes of the longest burst.
    pub fn longest(&self) -> u64 {
        self.longest.map_or(0, |burst| burst.bytes())
    }

    /// The rate of the longest burst; `None` if none was long enough.
    pub fn rate(&self) -> Option<Rate> {
        let burst = self.longest.filter(|burst| burst.bytes() >= LEAST_BYTES && burst.looks >= LEAST_LOOKS)?;
        Rate::of(slowpath_model::Bytes::new(burst.bytes()), burst.to.0.since(burst.from.0)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// Slow start over a bottleneck of `rate` bytes per ms, looked at each time 16 KiB have arrived.
    fn slow_start(rate: u64, rtts: u32) -> Bursts {
        let mut bursts = Bursts::new(RTT);
        let (mut bytes, mut window) = (0, 14_480);
        for rtt in 0..rtts {
            let (start, mut of_rtt) = (u64::from(rtt) * 100_000_000, 0);
            while of_rtt < window {
                of_rtt = (of_rtt + (16 << 10)).min(window);
                let at = start + of_rtt * 1_000_000 / rate;
                bursts.moved(bytes + of_rtt, Instant::from_nanos(at as i64));
            }
            bytes += window;
            window *= 2;
        }
        bursts
    }

    #[test]
    fn burst_of_slow_start_shows_the_bottleneck() {
        let rate = slow_start(125_000, 7).rate().expect("a burst").get();
        assert!((990_000_000..=1_010_000_000).contains(&rate), "{rate}");
    }

    #[test]
    fn short_bursts_show_nothing() {
        assert_eq!(slow_start(125_000, 3).rate(), None);
        assert_eq!(Bursts::new(RTT).rate(), None);
    }

    #[test]
    fn counter_that_goes_back_is_ignored() {
        let mut bursts = Bursts::new(RTT);
        for bytes in [0, 1 << 20, 5, u64::MAX, 0] {
            bursts.moved(bytes, Instant::from_nanos(0));
        }
        assert_eq!(bursts.rate(), None);
    }
}
