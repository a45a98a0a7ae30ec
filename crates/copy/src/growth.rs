//! How many data connections a copy uses: it adds more for as long as that helps. Pure.
//!
//! A connection's window is bounded by the host's limits (`tcp_wmem` allows 4 MiB by default, `tcp_rmem` 6 or 32 MiB), and
//! after a loss it takes its share of the path back in seconds. Several connections have several windows. More than are
//! needed take bandwidth from others and memory from both hosts, so a copy begins with a few.

use slowpath_model::Instant;
use std::time::Duration;

/// Connections at the beginning. Four send buffers of 4 MiB hold 1 Gbit/s times 100 ms.
pub const FIRST: u16 = 4;
/// No more than this many are used unless the user asks for them.
pub const MOST: u16 = 16;
/// How long a rate is measured, at least.
const LEAST: Duration = Duration::from_millis(1500);
/// And for how many RTTs: slow start from 10 segments to 8 MB takes 10.
const RTTS: u32 = 16;
/// By how much the rate has to grow for the next step, in percent.
const HELPS_PERCENT: u128 = 115;

/// Decides when to add connections.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    streams: u16,
    most: u16,
    since: Instant,
    before: u64,
    /// Bytes per second with fewer connections.
    slower: Option<u128>,
    has_ended: bool,
    /// The time before the measurement, in which new connections find their windows.
    is_settling: bool,
}

impl Growth {
    /// A copy that begins now with so many connections and may use up to `most`.
    pub const fn new(streams: u16, most: u16, now: Instant) -> Self {
        Self {
            streams,
            most,
            since: now,
            before: 0,
            slower: None,
            has_ended: streams >= most,
            is_settling: true,
        }
    }

    /// So many bytes have been moved by now. `may_help` says whether what bound them is something that another connection
    /// has of its own: a window or a buffer. Returns how many connections to add.
    pub fn moved(&mut self, bytes: u64, rtt: Duration, may_help: bool, now: Instant) -> Option<u16> {
        if self.has_ended {
            return None;
        }
        let passed = now.since(self.since)?;
        if passed < LEAST.max(rtt * RTTS) {
            return None;
        }
        let moved = u128::from(bytes.saturating_sub(self.before));
        (self.since, self.before) = (now, bytes);
        if std::mem::replace(&mut self.is_settling, false) {
            return None;
        }
        let rate = moved * 1_000_000_000 / passed.as_nanos().max(1);
        if self.slower.is_some_and(|slower| rate * 100 < slower * HELPS_PERCENT) {
            self.has_ended = true;
            return None;
        }
        if !may_help || rate == 0 {
            return None;
        }
        self.slower = Some(rate);
        self.is_settling = true;
        let more = self.streams.min(self.most - self.streams);
        self.streams += more;
        self.has_ended = more == 0;
        (more > 0).then_some(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The connections used on a path on which each gets `each` and all together at most `path` bytes per second.
    fn used(each: u64, path: u64, may_help: bool) -> u16 {
        let mut growth = Growth::new(FIRST, MOST, Instant::from_nanos(0));
        let (mut streams, mut bytes) = (FIRST, 0);
        for step in 1..300_i64 {
            bytes += (each * u64::from(streams)).min(path) / 10;
            let now = Instant::from_nanos(step * 100_000_000);
            streams += growth.moved(bytes, Duration::from_millis(50), may_help, now).unwrap_or(0);
        }
        streams
    }

    #[test]
    fn connections_are_added_while_the_rate_grows() {
        assert_eq!(used(1_000_000, 100_000_000, true), MOST, "each has a window of its own");
        assert_eq!(used(20_000_000, 100_000_000, true), 16, "8 help, and 16 are tried");
        assert_eq!(used(50_000_000, 100_000_000, true), 8, "4 fill the path, and 8 are tried");
        assert_eq!(used(1_000_000, 100_000_000, false), FIRST, "a disk is not divided");
        assert_eq!(used(0, 100_000_000, true), FIRST, "nothing moves");
    }
}
