//! RTTs counted in packets, and the stay in PROBE_RTT (the same in versions 1 and 3).

use crate::congestion::{Moment, RateSample};
use std::time::Duration;

/// How long the flight stays small, at least (`bbr_probe_rtt_mode_ms`).
const PROBE_RTT_LASTS: Duration = Duration::from_millis(200);

/// The kernel's `after`, for numbers that wrap.
pub(in crate::congestion) const fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// An RTT ends when a segment is delivered that was sent after it began.
#[derive(Clone, Debug, Default)]
pub(in crate::congestion) struct Rounds {
    ends: u32,
    /// Whether this ACK begins one.
    pub starts: bool,
}

impl Rounds {
    /// One begins now, without an ACK that ends another.
    pub const fn restart(&mut self, moment: &Moment) {
        self.ends = moment.delivered;
    }

    /// `bbr_update_round_start`.
    pub fn update(&mut self, moment: &Moment, sample: &RateSample) {
        self.starts = sample.interval_us.is_some() && !is_after(self.ends, sample.prior_delivered);
        if self.starts {
            self.restart(moment);
        }
    }
}

/// The stay in PROBE_RTT: 200 ms and one RTT from when the flight is small enough.
#[derive(Clone, Debug, Default)]
pub(in crate::congestion) struct ProbeRtt {
    /// The tick at which it may be left, and whether an RTT has passed.
    ends: Option<i64>,
    round_done: bool,
}

impl ProbeRtt {
    /// Another ACK with at most `most` segments to be in flight; returns whether an RTT has passed with them.
    pub fn has_stayed_a_round(&mut self, most: u32, rounds: &mut Rounds, moment: &Moment) -> bool {
        if self.ends.is_some() {
            self.round_done |= rounds.starts;
            return self.round_done;
        }
        if moment.in_flight <= most {
            self.ends = Some(moment.jiffies() + i64::from(moment.ticks_of(PROBE_RTT_LASTS)));
            self.round_done = false;
            rounds.restart(moment);
        }
        false
    }

    /// Whether the 200 ms are over.
    pub fn is_over(&self, moment: &Moment) -> bool {
        self.ends.is_some_and(|ends| moment.jiffies() > ends)
    }
}
