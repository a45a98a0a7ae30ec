//! ECN marks, where they begin at a short queue (`bbr_can_use_ecn`: ECN negotiated, and the route has `ecn_low`).

use super::super::bbr::scale::{GAIN_ONE, GAIN_SHIFT, share};
use super::Bbr3;
use super::bounds::Congested;
use crate::congestion::Moment;

/// The longest minimum RTT at which marks are used (`bbr_ecn_max_rtt_us`).
const MOST_RTT_US: u32 = 5000;
/// The weight of a round in the share of marked segments (`bbr_ecn_alpha_gain`).
pub(super) const ALPHA_GAIN: u32 = GAIN_ONE / 16;
/// The part of that share by which the lower bound is cut (`bbr_ecn_factor`).
pub(super) const FACTOR: u32 = GAIN_ONE / 3;
/// A share of marked segments that is too high (`bbr_ecn_thresh`).
const THRESHOLD: u32 = GAIN_ONE / 2;
/// Rounds of STARTUP with such a share that end it (`bbr_full_ecn_cnt`).
const FULL_ROUNDS: u32 = 2;

/// The marks of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct EcnMarks {
    /// They are used (`ecn_eligible`).
    pub is_used: bool,
    /// The moving average of the share of marked segments, in 256ths (`ecn_alpha`). It starts at 1, to react at once.
    pub alpha: u32,
    /// Segments delivered, and those with a mark, at its last update.
    delivered: u32,
    delivered_ce: u32,
    startup_rounds: u32,
}

impl Default for EcnMarks {
    fn default() -> Self {
        Self { is_used: false, alpha: GAIN_ONE, delivered: 0, delivered_ce: 0, startup_rounds: 0 }
    }
}

impl EcnMarks {
    /// The second part of `bbr_is_inflight_too_high`.
    pub fn is_too_high(&self, sample: &Congested) -> bool {
        self.is_used
            && sample.marked > 0
            && sample.delivered > 0
            && sample.marked > share(sample.delivered, THRESHOLD)
    }

    /// `bbr_ecn_cut`.
    pub fn cut(&self, in_flight: u32) -> u32 {
        share(in_flight, GAIN_ONE - share(self.alpha, FACTOR))
    }

    /// `bbr_update_ecn_alpha`: returns the share of marked segments since the last update.
    fn update(&mut self, moment: &Moment, least_rtt_us: Option<u32>) -> Option<u32> {
        self.is_used |= moment.ecn_low && least_rtt_us.is_some_and(|us| us <= MOST_RTT_US);
        let delivered = moment.delivered.wrapping_sub(self.delivered);
        if !self.is_used || delivered == 0 {
            return None;
        }
        let marked = moment.delivered_ce.wrapping_sub(self.delivered_ce);
        let ratio =
            u32::try_from((u64::from(marked) << GAIN_SHIFT) / u64::from(delivered)).unwrap_or(GAIN_ONE);
        let alpha = share(self.alpha, GAIN_ONE - ALPHA_GAIN) + share(ratio, ALPHA_GAIN);
        self.alpha = alpha.min(GAIN_ONE);
        self.delivered = moment.delivered;
        self.delivered_ce = moment.delivered_ce;
        Some(ratio)
    }
}

impl Bbr3 {
    /// A round has begun: updates the share of marked segments, which can end STARTUP
    /// (`bbr_check_ecn_too_high_in_startup`).
    pub(super) fn update_marks(&mut self, moment: &Moment) {
        let Some(ratio) = self.ecn.update(moment, self.least_rtt.us) else { return };
        if self.is_full {
            return;
        }
        self.ecn.startup_rounds = if ratio >= THRESHOLD { self.ecn.startup_rounds + 1 } else { 0 };
        if self.ecn.startup_rounds >= FULL_ROUNDS {
            self.queue_is_too_high_in_startup(moment);
        }
    }
}
