//! ACKs that come in lumps: the largest excess over the delivery rate, so that a sender with as much more in flight
//! does not stop between them (`bbr_update_ack_aggregation`, the same in versions 1 and 3).

use super::scale::delivers;
use crate::congestion::{Moment, RateSample};
use slowpath_model::Instant;

/// RTTs per window of the maximum (`bbr_extra_acked_win_rtts`), and the largest lump
/// (`bbr_ack_epoch_acked_reset_thresh`, `bbr_extra_acked_max_us`).
pub(in crate::congestion) const WINDOW_ROUNDS: u32 = 5;
const MOST_LUMP: u32 = 1 << 20;
const MOST_LUMP_US: u128 = 100_000;

/// The excess of one connection.
#[derive(Clone, Debug, Default)]
pub(in crate::congestion) struct Lumps {
    /// When the epoch began, and the segments acknowledged in it.
    since: Instant,
    acked: u32,
    /// The maximum excess of two windows, the current one, and its age in RTTs.
    beyond: [u32; 2],
    current: usize,
    rounds: u32,
}

impl Lumps {
    /// Begins an epoch.
    pub fn restart(&mut self, now: Instant) {
        self.since = now;
        self.acked = 0;
    }

    /// Counts an ACK against the rate; a window of the maximum lasts `window_rounds` RTTs.
    pub fn update(
        &mut self,
        moment: &Moment,
        sample: &RateSample,
        (cwnd, rate): (u32, u64),
        (round_starts, window_rounds): (bool, u32),
    ) {
        if sample.acked == 0 || sample.delivered.is_none() || sample.interval_us.is_none() {
            return;
        }
        if round_starts {
            self.rounds += 1;
            if self.rounds >= window_rounds {
                self.rounds = 0;
                self.current = 1 - self.current;
                self.beyond[self.current] = 0;
            }
        }
        let lasted = moment.delivered_at.since(self.since).map_or(0, |time| time.as_micros());
        let mut expected = delivers(rate, lasted);
        if self.acked <= expected || self.acked + sample.acked >= MOST_LUMP {
            self.restart(moment.delivered_at);
            expected = 0;
        }
        self.acked = (self.acked + sample.acked).min(MOST_LUMP - 1);
        let beyond = self.acked.saturating_sub(expected).min(cwnd);
        let most = &mut self.beyond[self.current];
        *most = beyond.max(*most);
    }

    /// `bbr_ack_aggregation_cwnd`: the segments to have in flight for them, at most what the rate delivers in 100 ms.
    pub fn room(&self, rate: u64) -> u32 {
        self.beyond[0].max(self.beyond[1]).min(delivers(rate, MOST_LUMP_US))
    }
}
