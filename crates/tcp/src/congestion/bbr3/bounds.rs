//! What may be in flight, as losses and ECN marks show: a long-term upper bound that probing finds, and short-term lower
//! bounds on rate and flight that last until the next probe.

use super::super::bbr::scale::{GAIN_ONE, GAIN_SHIFT, share};
use super::{Bbr3, LEAST_WINDOW, State};
use crate::congestion::{LostBuffer, Moment, RateSample, Window};

/// A loss rate above 2 % is too high (`bbr_loss_thresh`, in 256ths: 5).
pub(super) const LOSS_THRESHOLD: u32 = GAIN_ONE * 2 / 100;
/// What remains of a bound after a loss: 0.7 (`bbr_beta` is the part that goes).
pub(super) const LOSS_CUT: u32 = GAIN_ONE - GAIN_ONE * 30 / 100;
/// The part of the upper bound that CRUISE and PROBE_RTT leave to others (`bbr_inflight_headroom`).
pub(super) const HEADROOM: u32 = GAIN_ONE * 15 / 100;

/// The bounds; `None`: not known, no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    /// The sending rate (`bw_lo`).
    pub rate_lo: Option<u64>,
    /// Segments in flight until the next probe for more (`inflight_lo`).
    pub in_flight_lo: Option<u32>,
    /// Segments in flight, as probing found (`inflight_hi`).
    pub in_flight_hi: Option<u32>,
}

impl Bounds {
    /// Each bound, or the other's if that is looser.
    pub fn or_looser(self, other: Self) -> Self {
        Self {
            rate_lo: self.rate_lo.zip(other.rate_lo).map(|(a, b)| a.max(b)),
            in_flight_lo: self.in_flight_lo.zip(other.in_flight_lo).map(|(a, b)| a.max(b)),
            in_flight_hi: self.in_flight_hi.zip(other.in_flight_hi).map(|(a, b)| a.max(b)),
        }
    }

    /// `bbr_reset_lower_bounds`.
    pub const fn forget_lower(&mut self) {
        self.rate_lo = None;
        self.in_flight_lo = None;
    }

    /// `bbr_inflight_with_headroom`.
    pub fn with_headroom(&self) -> Option<u32> {
        let high = self.in_flight_hi?;
        Some(high.saturating_sub(share(high, HEADROOM).max(1)).max(LEAST_WINDOW))
    }
}

/// A rate sample's losses and marks, or those of the flight before a lost buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Congested {
    /// Segments in flight when the sample's segment was sent.
    pub in_flight: u32,
    /// Segments lost since.
    pub lost: u32,
    /// Segments delivered since, and those with a mark.
    pub delivered: u32,
    pub marked: u32,
    pub app_limited: bool,
}

impl Congested {
    pub fn of(sample: &RateSample) -> Self {
        Self {
            in_flight: sample.sent_in_flight,
            lost: sample.lost,
            delivered: sample.delivered.unwrap_or(0),
            marked: sample.delivered_ce,
            app_limited: sample.app_limited,
        }
    }
}

/// `bbr_inflight_hi_from_lost_skb`: the flight at the segment of the buffer with which the loss rate became too high.
/// `None` if the counts do not allow it.
pub(super) fn in_flight_at_threshold(lost: &LostBuffer) -> Option<u32> {
    let in_flight_before = lost.in_flight.checked_sub(lost.segments)?;
    let lost_before = lost.lost.checked_sub(lost.segments)?;
    // lost_before + prefix = threshold * (in_flight_before + prefix), solved for the prefix.
    let budget = (u64::from(in_flight_before) * u64::from(LOSS_THRESHOLD)).div_ceil(u64::from(GAIN_ONE));
    let left = budget.saturating_sub(u64::from(lost_before));
    let prefix = (left << GAIN_SHIFT) / u64::from(GAIN_ONE - LOSS_THRESHOLD);
    Some(in_flight_before.saturating_add(u32::try_from(prefix).unwrap_or(u32::MAX)))
}

impl Bbr3 {
    /// `bbr_is_inflight_too_high`.
    pub(super) fn is_too_high(&self, sample: &Congested) -> bool {
        let by_loss =
            sample.lost > 0 && sample.in_flight > 0 && sample.lost > share(sample.in_flight, LOSS_THRESHOLD);
        by_loss || self.ecn.is_too_high(sample)
    }

    /// `bbr_target_inflight`: the pipe, unless congestion cut cwnd.
    pub(super) fn target_in_flight(&self, window: &Window, moment: &Moment) -> u32 {
        self.full_pipe(self.believed_rate(), moment).min(window.cwnd)
    }

    /// `bbr_handle_inflight_too_high`: once per probe, cuts the upper bound and ends UP. `in_flight`: `None` if it is
    /// not known, which leaves no bound.
    fn cut_upper_bound(
        &mut self,
        window: &Window,
        moment: &Moment,
        in_flight: Option<u32>,
        app_limited: bool,
    ) {
        self.cycle.was_too_high = true;
        self.cycle.has_samples = false;
        if !app_limited {
            let least = share(self.target_in_flight(window, moment), LOSS_CUT);
            self.bounds.in_flight_hi = in_flight.map(|in_flight| in_flight.max(least));
        }
        if self.state == State::Up {
            self.begin_down(moment);
        }
    }

    /// `bbr_skb_marked_lost`.
    pub(super) fn buffer_was_lost(&mut self, window: &Window, moment: &Moment, lost: &LostBuffer) {
        self.signals.note_loss(moment);
        let before = Congested {
            in_flight: lost.in_flight,
            lost: lost.lost,
            app_limited: lost.app_limited,
            ..Congested::default()
        };
        if self.cycle.has_samples && self.is_too_high(&before) {
            self.cut_upper_bound(window, moment, in_flight_at_threshold(lost), lost.app_limited);
        }
    }

    /// `bbr_run_loss_probe_recovery`: the probe has repaired the loss of one segment.
    pub(super) fn probe_repaired_loss(&mut self, window: &Window, moment: &Moment, app_limited: bool) {
        self.signals.note_loss(moment);
        let in_flight = self.signals.latest_in_flight + 1;
        let repaired = Congested { in_flight, lost: 1, app_limited, ..Congested::default() };
        if self.cycle.has_samples && self.is_too_high(&repaired) {
            self.cut_upper_bound(window, moment, Some(in_flight), app_limited);
        }
    }

    /// `bbr_adapt_upper_bounds`, after its phases: returns nothing, since it begins DOWN at most.
    pub(super) fn adapt_upper_bound(&mut self, window: &Window, moment: &Moment, sample: &RateSample) {
        let seen = Congested::of(sample);
        if self.is_too_high(&seen) {
            if self.cycle.has_samples {
                self.cut_upper_bound(window, moment, Some(seen.in_flight), seen.app_limited);
            }
            return;
        }
        let Some(high) = &mut self.bounds.in_flight_hi else { return };
        // A higher flight is safe, in whatever phase it is seen: random losses must not keep the bound down.
        *high = (*high).max(seen.in_flight);
        if self.state == State::Up {
            self.probe_upward(window, sample);
        }
    }

    /// `bbr_adapt_lower_bounds`: not below what is delivered now.
    pub(super) fn adapt_lower_bounds(&mut self, window: &Window) {
        if self.state.is_probing() {
            return;
        }
        let signals = &self.signals;
        let bounds = &mut self.bounds;
        let mut marked = None;
        if signals.ecn_in_round {
            marked = Some(self.ecn.cut(*bounds.in_flight_lo.get_or_insert(window.cwnd)));
        }
        if signals.loss_in_round {
            let most = self.most_rate[0].max(self.most_rate[1]);
            let rate = bounds.rate_lo.unwrap_or(most);
            let cut = (rate * u64::from(LOSS_CUT)) >> GAIN_SHIFT;
            bounds.rate_lo = Some(cut.max(signals.latest_rate).max(1));
            let in_flight = bounds.in_flight_lo.unwrap_or(window.cwnd);
            bounds.in_flight_lo = Some(share(in_flight, LOSS_CUT).max(signals.latest_in_flight));
        }
        if let (Some(low), Some(marked)) = (&mut bounds.in_flight_lo, marked) {
            *low = (*low).min(marked);
        }
    }

    /// `bbr_bound_cwnd_for_inflight_model`.
    pub(super) fn bound_window(&self, window: &mut Window) {
        let upper = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.in_flight_hi,
            State::Cruise | State::ProbeRtt => self.bounds.with_headroom(),
            State::Startup | State::Drain => None,
        };
        if let Some(most) = [upper, self.bounds.in_flight_lo].into_iter().flatten().min() {
            window.cwnd = window.cwnd.min(most.max(LEAST_WINDOW));
        }
    }
}
