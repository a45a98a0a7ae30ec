//! Dynamic Right-Sizing in the program: how large a buffer is to be, from what arrives in an RTT. Pure.
//!
//! The receiver counts what arrives in each RTT. A sender whose window is not limited by the receiver doubles it every RTT,
//! so the buffer has to hold twice that (weigle II-B; Fisk and Feng 2001, "Dynamic Right-Sizing in TCP", section 3). DRS FTP
//! does this in the program and passes the result on the control channel (weigle II-C), as this does.

use slowpath_model::Instant;
use std::time::Duration;

/// The window is twice what arrived in an RTT.
const WINDOW_PER_RTT: u64 = 2;
/// The kernel charges a packet with its memory: half of the buffer is window (`tcp_win_from_space`, Linux 6.18, with a
/// `scaling_ratio` of one half), and `SO_RCVBUF` doubles what it is given (socket(7)). So what is asked for is the window.
const ASKED_PER_WINDOW: u64 = 1;
/// No buffer is asked for below this: `tcp_rmem[1]` as Linux has it.
const LEAST: u64 = 128 << 10;
/// The largest buffer of a connection: `tcp_max_window` (65,535 << 14) is about it.
pub const MOST: u64 = 1 << 30;
/// An RTT that is shorter is not measured: arrivals come in groups.
const SHORTEST: Duration = Duration::from_millis(2);

/// The buffer of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Sizer {
    since: Instant,
    /// Bytes that had arrived by then.
    before: u64,
    /// What was asked for last.
    asked: u64,
}

impl Sizer {
    /// A connection that begins now.
    pub const fn new(now: Instant) -> Self {
        Self { since: now, before: 0, asked: LEAST }
    }

    /// A connection that begins now on a host whose buffers may be smaller than Linux's default: `window` is what its buffer
    /// holds.
    pub const fn with_window(now: Instant, window: u64) -> Self {
        Self { since: now, before: 0, asked: window }
    }

    /// So many bytes have arrived on the connection by now. Returns the buffer to ask for, if it is to grow.
    pub fn arrived(&mut self, bytes: u64, rtt: Duration, now: Instant) -> Option<u64> {
        let passed = now.since(self.since)?;
        let rtt = rtt.max(SHORTEST);
        if passed < rtt {
            return None;
        }
        let arrived = bytes.saturating_sub(self.before);
        (self.since, self.before) = (now, bytes);
        // A thread that was late has counted several RTTs as one.
        let in_rtt = u128::from(arrived) * rtt.as_nanos() / passed.as_nanos().max(1);
        let in_rtt = u64::try_from(in_rtt).unwrap_or(u64::MAX);
        let needed = in_rtt.saturating_mul(WINDOW_PER_RTT * ASKED_PER_WINDOW).min(MOST);
        if needed <= self.asked {
            return None;
        }
        self.asked = needed;
        Some(needed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn buffer_doubles_with_the_senders_window_and_never_shrinks() {
        let rtt = Duration::from_millis(50);
        let mut sizer = Sizer::new(Instant::from_nanos(0));
        let (mut arrived, mut asked) = (0, Vec::new());
        for (n, in_rtt) in [100_000, 200_000, 400_000, 800_000, 100_000, 800_000].into_iter().enumerate() {
            arrived += in_rtt;
            let now = Instant::from_nanos((n as i64 + 1) * 50 * MS);
            assert_eq!(
                sizer.arrived(arrived, rtt, Instant::from_nanos(now.nanos() - MS)),
                None,
                "within an RTT"
            );
            asked.extend(sizer.arrived(arrived, rtt, now));
        }
        assert_eq!(asked, [200_000, 400_000, 800_000, 1_600_000]);
    }

    #[test]
    fn smaller_buffer_than_the_default_grows_too() {
        let mut sizer = Sizer::with_window(Instant::from_nanos(0), 32 << 10);
        let rtt = Duration::from_millis(100);
        assert_eq!(sizer.arrived(32 << 10, rtt, Instant::from_nanos(100 * MS)), Some(64 << 10));
        assert_eq!(sizer.arrived(64 << 10, rtt, Instant::from_nanos(200 * MS)), None);
    }

    #[test]
    fn late_reader_does_not_take_several_rtts_for_one() {
        let mut sizer = Sizer::new(Instant::from_nanos(0));
        let asked = sizer.arrived(4_000_000, Duration::from_millis(10), Instant::from_nanos(100 * MS));
        assert_eq!(asked, Some(800_000));
    }
}
