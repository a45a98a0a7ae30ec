//! The rate of the bottleneck, from how fast the data of an RTT moves. Pure.
//!
//! In slow start a sender has less in flight than the path holds. So what it sends in an RTT moves as one burst at the rate of
//! the bottleneck, and then nothing moves until the next RTT. The bursts give that rate, long before the transfer as a whole is
//! that fast. Auto-ncFTP used packet pairs; hundreds of packets do not depend on the time of a single one (`slowpath probe`
//! has both). A sender that paces its packets, as BBR does, has no bursts: then the rate is what it has reached by the end,
//! which the path may exceed.

use slowpath_model::{Bytes, Instant, Rate};
use std::time::Duration;

/// A pause ends a burst if it is longer than this part of the RTT, and than [`LEAST_PAUSE`].
const PAUSE_OF_RTT: u32 = 8;
/// Packets are delivered in groups, and programs lose their CPU for a moment.
const LEAST_PAUSE: Duration = Duration::from_millis(2);
/// A burst of less than this, or with fewer looks than [`LEAST_LOOKS`], shows no rate: it may be one group of packets.
const LEAST_BYTES: u64 = 128 << 10;
const LEAST_LOOKS: u32 = 4;

/// The rate is that of the fastest stretch of this length, if a burst is so long. At 10 Gbit/s it takes 0.4 ms.
const STRETCH: u64 = 512 << 10;

/// A part of the transfer without a pause.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// The first look at it, and what had moved by then.
    from: (Instant, u64),
    to: (Instant, u64),
    looks: u32,
}

impl Stretch {
    const fn at(look: (Instant, u64)) -> Self {
        Self { from: look, to: look, looks: 0 }
    }

    const fn bytes(&self) -> u64 {
        self.to.1.saturating_sub(self.from.1)
    }

    fn rate(&self) -> Option<Rate> {
        let is_enough = self.bytes() >= LEAST_BYTES && self.looks >= LEAST_LOOKS;
        Rate::of(Bytes::new(self.bytes()), self.to.0.since(self.from.0)?).filter(|_| is_enough)
    }
}

/// Collects how much had moved at which instants.
#[derive(Clone, Copy, Debug)]
pub struct Bursts {
    pause: Duration,
    now: Option<Stretch>,
    /// The longest one below [`STRETCH`].
    longest: Option<Stretch>,
    /// Of those of at least [`STRETCH`].
    fastest: Option<Rate>,
}

impl Bursts {
    /// For a path with this RTT.
    pub fn new(rtt: Duration) -> Self {
        Self { pause: (rtt / PAUSE_OF_RTT).max(LEAST_PAUSE), now: None, longest: None, fastest: None }
    }

    /// So many bytes have moved by now. Looks at which nothing new has moved may be left out.
    pub fn moved(&mut self, bytes: u64, now: Instant) {
        let look = (now, bytes);
        let Some(stretch) = &mut self.now else {
            self.now = Some(Stretch::at(look));
            return;
        };
        if bytes <= stretch.to.1 {
            return;
        }
        if now.since(stretch.to.0).is_some_and(|passed| passed > self.pause) {
            // What this look shows first came before it: it is where the next burst begins.
            *stretch = Stretch::at(look);
            return;
        }
        stretch.to = look;
        stretch.looks += 1;
        if stretch.bytes() >= STRETCH && stretch.looks >= LEAST_LOOKS {
            self.fastest = self.fastest.max(stretch.rate());
            *stretch = Stretch::at(look);
        } else if self.longest.is_none_or(|longest| stretch.bytes() > longest.bytes()) {
            self.longest = Some(*stretch);
        }
    }

    /// The rate; `None` if nothing was long enough.
    pub fn rate(&self) -> Option<Rate> {
        self.fastest.or_else(|| self.longest?.rate())
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
    fn paced_sender_shows_what_it_has_reached() {
        let mut bursts = Bursts::new(RTT);
        let (mut at, mut bytes) = (0, 0);
        for rtt in 0..9 {
            let packets = 10 << rtt;
            for _ in 0..packets {
                at += 100_000_000 / packets;
                bytes += 1448;
                bursts.moved(bytes, Instant::from_nanos(at as i64));
            }
        }
        let rate = bursts.rate().expect("a rate").get();
        assert!((290_000_000..=310_000_000).contains(&rate), "2560 packets in 100 ms, and not {rate}");
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
