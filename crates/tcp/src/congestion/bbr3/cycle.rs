//! PROBE_BW: DOWN, CRUISE, REFILL, UP (`bbr_update_cycle_phase`).

use super::super::bbr::scale::{GAIN_SHIFT, drawn};
use super::{Bbr3, State, has_elapsed};
use crate::congestion::{CaState, Moment, RateSample, Window};
use slowpath_model::Instant;

/// The most RTTs without a probe, as a Reno flow of 25 Mbit/s and 30 ms would have (`bbr_bw_probe_max_rounds`), less a
/// random number below 2 (`bbr_bw_probe_rand_rounds`).
pub(super) const MOST_ROUNDS: u32 = 63;
const RANDOM_ROUNDS: u64 = 2;
/// The longest time without a probe: 2 s, and up to a second at random (`bbr_bw_probe_base_us`, `bbr_bw_probe_rand_us`).
pub(super) const LEAST_WAIT_US: u64 = 2_000_000;
pub(super) const RANDOM_WAIT_US: u64 = 1_000_000;
/// After marks and no loss, the first probe raises the bound by half in a round (`bbr_ecn_reprobe_gain`, in 256ths).
const REPROBE_GAIN: u64 = 128;
/// The most doublings of the growth in UP (`bw_probe_up_rounds`).
const MOST_UP_ROUNDS: u32 = 30;

/// What the ACKs that arrive say about the probe (`enum bbr_ack_phase`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Feedback {
    /// They are of data sent at the known rate.
    #[default]
    None,
    Refilling,
    /// UP has begun; its data is not acknowledged yet.
    Starting,
    /// They are of data sent in UP.
    Probing,
    /// UP is over; they still are.
    Stopping,
}

/// The state of the cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    /// When DOWN or UP began (`cycle_mstamp`), and how long after DOWN's begin to probe.
    since: Instant,
    wait_us: u64,
    /// RTTs since the last probe (`rounds_since_probe`).
    rounds: u32,
    feedback: Feedback,
    /// Samples are of data sent to probe (`bw_probe_samples`).
    pub has_samples: bool,
    /// The last UP went too high (`prev_probe_too_high`).
    pub was_too_high: bool,
    /// The last UP stopped at the known bound (`stopped_risky_probe`).
    stopped_at_bound: bool,
    /// Segments to be acknowledged per segment of growth, those acknowledged, and the doublings so far
    /// (`bw_probe_up_cnt`, `bw_probe_up_acks`, `bw_probe_up_rounds`).
    up_count: u32,
    up_acks: u32,
    up_rounds: u32,
}

impl Cycle {
    /// A round has begun.
    pub fn count_round(&mut self) {
        self.rounds = (self.rounds + 1).min(0xff);
    }

    /// PROBE_RTT begins: it ends a probe.
    pub const fn stop_probing(&mut self) {
        self.feedback = Feedback::Stopping;
    }

    /// `bbr_raise_inflight_hi_slope`: twice the growth in each round of UP.
    fn raise_slope(&mut self, cwnd: u32) {
        let growth = 1u32 << self.up_rounds.min(MOST_UP_ROUNDS);
        self.up_rounds = (self.up_rounds + 1).min(MOST_UP_ROUNDS);
        self.up_count = (cwnd / growth).max(1);
    }
}

impl Bbr3 {
    fn set_phase(&mut self, phase: State) {
        self.state = phase;
        self.may_skip = false;
    }

    /// `bbr_start_bw_probe_down`.
    pub(super) fn begin_down(&mut self, moment: &Moment) {
        self.signals.forget();
        self.cycle.up_count = u32::MAX;
        // `bbr_pick_probe_wait`.
        self.cycle.rounds = u32::try_from(drawn(moment, RANDOM_ROUNDS)).unwrap_or(0);
        self.cycle.wait_us = LEAST_WAIT_US + drawn(moment, RANDOM_WAIT_US);
        self.cycle.since = moment.now;
        self.cycle.feedback = Feedback::Stopping;
        self.rounds.restart(moment);
        self.set_phase(State::Down);
    }

    /// `bbr_start_bw_probe_cruise`.
    pub(super) fn begin_cruise(&mut self) {
        if let (Some(low), Some(high)) = (&mut self.bounds.in_flight_lo, self.bounds.in_flight_hi) {
            *low = (*low).min(high);
        }
        self.set_phase(State::Cruise);
    }

    /// `bbr_start_bw_probe_refill`.
    fn begin_refill(&mut self, moment: &Moment, up_rounds: u32) {
        self.bounds.forget_lower();
        self.cycle.up_rounds = up_rounds;
        self.cycle.up_acks = 0;
        self.cycle.stopped_at_bound = false;
        self.cycle.feedback = Feedback::Refilling;
        self.rounds.restart(moment);
        self.set_phase(State::Refill);
    }

    /// `bbr_start_bw_probe_up`.
    fn begin_up(&mut self, window: &Window, moment: &Moment, rate: u64) {
        self.cycle.feedback = Feedback::Starting;
        self.rounds.restart(moment);
        self.cycle.since = moment.now;
        self.growth.forget(rate);
        self.set_phase(State::Up);
        self.cycle.raise_slope(window.cwnd);
    }

    /// `bbr_probe_inflight_hi_upward`: only while the bound is what limits.
    pub(super) fn probe_upward(&mut self, window: &Window, sample: &RateSample) {
        let Some(high) = &mut self.bounds.in_flight_hi else { return };
        if !window.limited || window.cwnd < *high {
            return;
        }
        self.cycle.up_acks += sample.acked;
        if self.cycle.up_acks >= self.cycle.up_count {
            let more = self.cycle.up_acks / self.cycle.up_count;
            self.cycle.up_acks -= more * self.cycle.up_count;
            *high = high.saturating_add(more);
            self.may_skip = false;
        }
        if self.rounds.starts {
            self.cycle.raise_slope(window.cwnd);
        }
    }

    /// The first part of `bbr_adapt_upper_bounds`: whose samples arrive now. Returns whether another probe begins.
    fn follow_probe(&mut self, moment: &Moment, sample: &RateSample) -> bool {
        if !self.rounds.starts {
            return false;
        }
        match self.cycle.feedback {
            Feedback::Starting => self.cycle.feedback = Feedback::Probing,
            Feedback::Stopping => {
                self.cycle.has_samples = false;
                self.cycle.feedback = Feedback::None;
                if !self.state.is_probe_bw() {
                    return false;
                }
                if !sample.app_limited {
                    self.advance_most_rate();
                }
                // The known bound was reached without harm: the next probe goes beyond it.
                if self.cycle.stopped_at_bound && !self.cycle.was_too_high {
                    self.begin_refill(moment, 0);
                    return true;
                }
            }
            _ => {}
        }
        false
    }

    /// `bbr_check_time_to_probe_bw`: returns whether REFILL begins.
    fn is_time_to_probe(&mut self, window: &Window, moment: &Moment) -> bool {
        let signals = &self.signals;
        let up_rounds = if self.ecn.is_used
            && signals.ecn_in_cycle
            && !signals.loss_in_cycle
            && moment.state == CaState::Open
        {
            // Marks without loss: once they end, 2^n is half of the bound.
            let high = self.bounds.in_flight_hi.unwrap_or(u32::MAX);
            ((u64::from(high) * REPROBE_GAIN) >> GAIN_SHIFT).max(1).ilog2()
        } else {
            // As often as a Reno flow of this pipe would (`bbr_is_reno_coexistence_probe_time`).
            let most = self.target_in_flight(window, moment).min(MOST_ROUNDS);
            if !has_elapsed(moment, self.cycle.since, self.cycle.wait_us) && self.cycle.rounds < most {
                return false;
            }
            0
        };
        self.begin_refill(moment, up_rounds);
        true
    }

    /// `bbr_check_time_to_cruise`: headroom is left, and the queue is drained.
    fn is_drained(&self, in_flight: u32, moment: &Moment) -> bool {
        self.bounds.with_headroom().is_none_or(|most| in_flight <= most)
            && in_flight <= self.full_pipe(self.most_rate(), moment)
    }

    /// Whether UP has found what it can: at the bound that was too high before, or the rate no longer grows.
    fn is_probe_done(&mut self, window: &Window, in_flight: u32, rate: u64) -> bool {
        let high = self.bounds.in_flight_hi;
        if self.cycle.was_too_high && high.is_some_and(|high| in_flight >= high) {
            self.cycle.stopped_at_bound = true;
            return true;
        }
        if window.limited && high.is_some_and(|high| window.cwnd >= high) {
            // The bound keeps the rate from growing.
            self.growth.forget(rate);
            return false;
        }
        self.growth.is_full_now
    }

    fn probe(&mut self, window: &Window, moment: &Moment, in_flight: u32, rate: u64) {
        if self.is_probe_done(window, in_flight, rate) {
            self.cycle.was_too_high = false;
            self.begin_down(moment);
        }
    }

    fn drain(&mut self, window: &Window, moment: &Moment, in_flight: u32) {
        if !self.is_time_to_probe(window, moment) && self.is_drained(in_flight, moment) {
            self.begin_cruise();
        }
    }

    /// `bbr_update_cycle_phase`.
    pub(super) fn update_cycle(&mut self, window: &Window, moment: &Moment, sample: &RateSample, rate: u64) {
        if !self.is_full || self.follow_probe(moment, sample) {
            return;
        }
        self.adapt_upper_bound(window, moment, sample);
        let in_flight = self.in_flight_then(sample.prior_in_flight, moment);
        match self.state {
            State::Cruise => {
                self.is_time_to_probe(window, moment);
            }
            State::Refill if self.rounds.starts => {
                self.cycle.has_samples = true;
                self.begin_up(window, moment, rate);
            }
            State::Up => self.probe(window, moment, in_flight, rate),
            State::Down => self.drain(window, moment, in_flight),
            _ => {}
        }
    }

    /// `bbr_advance_max_bw_filter`: the maximum rate is that of one to two cycles.
    fn advance_most_rate(&mut self) {
        if self.most_rate[1] > 0 {
            self.most_rate = [self.most_rate[1], 0];
        }
    }
}
