//! Whether a policer drops what is beyond its rate: the same rate twice, with a fifth lost (`bbr_lt_bw_sampling`).

use super::scale::{GAIN_ONE, GAIN_SHIFT, RATE_ONE, bytes_per_second};
use crate::congestion::Moment;

/// RTTs that a rate is taken over at least, and four times as many at most (`bbr_lt_intvl_min_rtts`).
const LEAST_ROUNDS: u32 = 4;
/// Of 256 segments so many are lost (`bbr_lt_loss_thresh`).
const LOST: u64 = 50;
/// Two rates are one if they differ by no more than an eighth, or 4 kbit/s (`bbr_lt_bw_ratio`, `bbr_lt_bw_diff`).
const SAME: u64 = GAIN_ONE as u64 / 8;
const SAME_BYTES: u64 = 4000 / 8;
/// For so many RTTs it is believed (`bbr_lt_bw_max_rtts`).
const MOST_ROUNDS: u32 = 48;

#[derive(Clone, Debug, Default)]
pub(super) struct Policed {
    rate: u64,
    is_used: bool,
    is_sampling: bool,
    rounds: u32,
    /// Of this sample: since when, in milliseconds, and what had been delivered and lost then.
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

    /// The policer's, if there is one.
    pub fn rate(&self) -> Option<u64> {
        self.is_used.then_some(self.rate)
    }

    /// Another RTT with it: whether it is time to look whether it is still there.
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

    /// Goes on with the sample; whether a policer is found.
    pub fn sample(&mut self, moment: &Moment, round_starts: bool, losses: u32, app_limited: bool) -> bool {
        // The first loss shows that its tokens are used up.
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
        // It ends with a loss, when the tokens are used up again.
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
