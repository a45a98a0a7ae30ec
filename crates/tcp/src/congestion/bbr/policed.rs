//! Detects a policer that drops what exceeds its rate: the same rate twice, with a fifth lost (`bbr_lt_bw_sampling`).

use super::scale::{GAIN_ONE, GAIN_SHIFT, RATE_ONE, bytes_per_second};
use crate::congestion::Moment;

/// The minimum RTTs of a rate sample; the maximum is four times that (`bbr_lt_intvl_min_rtts`).
const LEAST_ROUNDS: u32 = 4;
/// Lost segments of 256 that indicate a policer (`bbr_lt_loss_thresh`).
const LOST: u64 = 50;
/// Two rates are equal if they differ by at most an eighth, or 4 kbit/s (`bbr_lt_bw_ratio`, `bbr_lt_bw_diff`).
const SAME: u64 = GAIN_ONE as u64 / 8;
const SAME_BYTES: u64 = 4000 / 8;
/// RTTs for which the policer's rate is used (`bbr_lt_bw_max_rtts`).
const MOST_ROUNDS: u32 = 48;

#[derive(Clone, Debug, Default)]
pub(super) struct Policed {
    rate: u64,
    is_used: bool,
    is_sampling: bool,
    rounds: u32,
    /// The current sample: its start in milliseconds, and the delivered and lost counts then.
    since_ms: i64,
    delivered: u32,
    lost: u32,
}

impl Policed {
    pub fn new(moment: &Moment) -> Self {
        let mut new = Self::default();
        new.begin(moment);
        new
    }

    /// The policer's rate, if one was detected.
    pub fn rate(&self) -> Option<u64> {
        self.is_used.then_some(self.rate)
    }

    /// Counts an RTT at the policer's rate; returns whether to probe if the policer is still there.
    pub fn has_lasted(&mut self) -> bool {
        self.rounds += 1;
        self.rounds >= MOST_ROUNDS
    }

    /// `bbr_reset_lt_bw_sampling`; the next loss begins a sample.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// `bbr_reset_lt_bw_sampling_interval`.
    fn begin(&mut self, moment: &Moment) {
        self.since_ms = milliseconds(moment);
        self.delivered = moment.delivered;
        self.lost = moment.lost;
        self.rounds = 0;
    }

    /// Continues the sample; returns whether a policer is found.
    pub fn sample(&mut self, moment: &Moment, round_starts: bool, losses: u32, app_limited: bool) -> bool {
        // The first loss shows that the policer's tokens are used up.
        if !self.is_sampling {
            if losses == 0 {
                return false;
            }
            self.begin(moment);
            self.is_sampling = true;
        }
        if app_limited {
            self.forget();
            return false;
        }
        self.rounds += u32::from(round_starts);
        if self.rounds < LEAST_ROUNDS {
            return false;
        }
        if self.rounds > 4 * LEAST_ROUNDS {
            self.forget();
            return false;
        }
        let lost = u64::from(moment.lost.wrapping_sub(self.lost));
        let delivered = u64::from(moment.delivered.wrapping_sub(self.delivered));
        // The sample ends with a loss, when the tokens are used up again.
        if losses == 0 || delivered == 0 || lost << GAIN_SHIFT < LOST * delivered {
            return false;
        }
        let lasted = milliseconds(moment) - self.since_ms;
        if lasted < 1 {
            return false;
        }
        self.take(moment, delivered * RATE_ONE / (lasted.unsigned_abs() * 1000))
    }

    /// `bbr_lt_bw_interval_done`.
    fn take(&mut self, moment: &Moment, rate: u64) -> bool {
        if self.rate > 0 {
            let apart = rate.abs_diff(self.rate);
            let is_same = apart * u64::from(GAIN_ONE) <= SAME * self.rate
                || bytes_per_second(apart, moment.mss, GAIN_ONE) <= SAME_BYTES;
            if is_same {
                self.rate = (rate + self.rate) / 2;
                self.is_used = true;
                self.rounds = 0;
                return true;
            }
        }
        self.rate = rate;
        self.begin(moment);
        false
    }
}

fn milliseconds(moment: &Moment) -> i64 {
    moment.delivered_at.nanos() / 1_000_000
}
