//! What BBR measures: delivery, losses and marks in rounds, the full pipe, the minimum RTT.

use super::super::bbr::lumps::WINDOW_ROUNDS;
use super::super::bbr::rounds::{ProbeRtt, is_after};
use super::super::bbr::scale::GAIN_SHIFT;
use super::bounds::Congested;
use super::{Bbr3, State};
use crate::congestion::{CaState, Moment, RateSample, Window};
use std::time::Duration;

/// The pipe is full when three rounds bring less than a quarter more (`bbr_full_bw_thresh`, in 256ths; `bbr_full_bw_cnt`).
pub(super) const FULL_GROWTH: u64 = 320;
pub(super) const FULL_ROUNDS: u32 = 3;
/// Or, in STARTUP, with losses of more than [`LOSS_THRESHOLD`](super::bounds::LOSS_THRESHOLD) that a round of recovery
/// found with at least six ACKs (`bbr_full_loss_cnt`); at most 15 are counted.
pub(super) const FULL_LOSSES: u32 = 6;
const MOST_LOSSES: u32 = 0xf;
/// The minimum RTT is that of ten seconds (`bbr_min_rtt_win_sec`). After five without one as low, PROBE_RTT looks for it
/// (`bbr_probe_rtt_win_ms`).
const LEAST_RTT_LASTS: Duration = Duration::from_secs(10);
const PROBE_RTT_EVERY: Duration = Duration::from_secs(5);

/// Whether the rate still grows (`full_bw`, `full_bw_cnt`, `full_bw_now`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    rate: u64,
    rounds: u32,
    /// It has not, for three rounds.
    pub is_full_now: bool,
}

impl Growth {
    /// `bbr_reset_full_bw`: growth counts from this rate.
    pub const fn forget(&mut self, rate: u64) {
        self.rate = rate;
        self.rounds = 0;
        self.is_full_now = false;
    }
}

/// Delivery, losses and marks of the latest round and of the cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signals {
    /// The round of the losses ends when this many segments are delivered (`loss_round_delivered`).
    round_ends: u32,
    round_starts: bool,
    pub loss_in_round: bool,
    pub ecn_in_round: bool,
    pub loss_in_cycle: bool,
    pub ecn_in_cycle: bool,
    /// The maximum rate and amount delivered in the latest round (`bw_latest`, `inflight_latest`).
    pub latest_rate: u64,
    pub latest_in_flight: u32,
}

impl Signals {
    /// The first round ends with the first flight.
    pub fn new(moment: &Moment) -> Self {
        Self { round_ends: moment.delivered.wrapping_add(1), ..Self::default() }
    }

    /// `bbr_reset_congestion_signals`.
    pub const fn forget(&mut self) {
        (self.loss_in_round, self.ecn_in_round) = (false, false);
        (self.loss_in_cycle, self.ecn_in_cycle) = (false, false);
        (self.latest_rate, self.latest_in_flight) = (0, 0);
    }

    /// `bbr_note_loss`: the round of the first loss is a whole round from there.
    pub const fn note_loss(&mut self, moment: &Moment) {
        if !self.loss_in_round {
            self.round_ends = moment.delivered;
        }
        self.loss_in_round = true;
        self.loss_in_cycle = true;
    }

    /// `bbr_update_latest_delivery_signals`.
    pub fn note_delivery(&mut self, moment: &Moment, sample: &RateSample, rate: u64) {
        self.round_starts = false;
        if !is_valid(sample) {
            return;
        }
        self.latest_rate = self.latest_rate.max(rate);
        self.latest_in_flight = self.latest_in_flight.max(sample.delivered.unwrap_or(0));
        if !is_after(self.round_ends, sample.prior_delivered) {
            self.round_ends = moment.delivered;
            self.round_starts = true;
        }
    }

    /// The end of an ACK: a new round of the latest delivery, unless the ACK is of a tail loss probe
    /// (`bbr_advance_latest_delivery_signals`).
    pub fn end_ack(&mut self, sample: &RateSample, rate: u64) {
        if self.round_starts && !sample.is_of_probe {
            self.latest_rate = rate;
            self.latest_in_flight = sample.delivered.unwrap_or(0);
        }
        self.loss_in_cycle |= sample.lost > 0;
        self.ecn_in_cycle |= sample.delivered_ce > 0;
    }
}

/// Whether an ACK delivered something at a known rate.
const fn is_valid(sample: &RateSample) -> bool {
    sample.interval_us.is_some() && sample.acked > 0
}

impl Bbr3 {
    /// `bbr_update_model`.
    pub(super) fn update_model(
        &mut self,
        window: &mut Window,
        moment: &Moment,
        sample: &RateSample,
        rate: u64,
    ) {
        self.update_signals(window, sample, rate);
        let windows = if self.is_full { WINDOW_ROUNDS } else { 1 };
        let believed = self.believed_rate();
        self.lumps.update(moment, sample, (window.cwnd, believed), (self.rounds.starts, windows));
        self.look_for_loss_in_startup(moment, sample);
        self.look_whether_full(sample, rate);
        self.look_whether_drained(window, moment);
        self.update_cycle(window, moment, sample, rate);
        self.update_least_rtt(window, moment, sample);
    }

    /// `bbr_update_congestion_signals`.
    fn update_signals(&mut self, window: &Window, sample: &RateSample, rate: u64) {
        if !is_valid(sample) {
            return;
        }
        if !sample.app_limited || rate >= self.most_rate() {
            self.most_rate[1] = self.most_rate[1].max(rate);
        }
        self.signals.loss_in_round |= sample.losses > 0;
        if self.signals.round_starts {
            self.adapt_lower_bounds(window);
            (self.signals.loss_in_round, self.signals.ecn_in_round) = (false, false);
        }
    }

    /// `bbr_check_loss_too_high_in_startup`: at the end of a round of recovery, when it is known how much was lost.
    fn look_for_loss_in_startup(&mut self, moment: &Moment, sample: &RateSample) {
        if self.is_full {
            return;
        }
        if sample.losses > 0 {
            self.startup_losses = (self.startup_losses + 1).min(MOST_LOSSES);
        }
        if !self.signals.round_starts {
            return;
        }
        if moment.state == CaState::Recovery
            && self.startup_losses >= FULL_LOSSES
            && self.is_too_high(&Congested::of(sample))
        {
            self.queue_is_too_high_in_startup(moment);
            return;
        }
        self.startup_losses = 0;
    }

    /// `bbr_handle_queue_too_high_in_startup`.
    pub(super) fn queue_is_too_high_in_startup(&mut self, moment: &Moment) {
        self.is_full = true;
        let pipe = self.full_pipe(self.most_rate(), moment);
        self.bounds.in_flight_hi = Some(pipe.max(self.signals.latest_in_flight));
    }

    /// `bbr_check_full_bw_reached`.
    fn look_whether_full(&mut self, sample: &RateSample, rate: u64) {
        if self.growth.is_full_now || sample.app_limited {
            return;
        }
        if rate >= (self.growth.rate * FULL_GROWTH) >> GAIN_SHIFT {
            self.growth.forget(rate);
            return;
        }
        if self.rounds.starts {
            self.growth.rounds += 1;
            self.growth.is_full_now = self.growth.rounds >= FULL_ROUNDS;
            self.is_full |= self.growth.is_full_now;
        }
    }

    /// `bbr_check_drain`.
    pub(super) fn look_whether_drained(&mut self, window: &mut Window, moment: &Moment) {
        if self.state == State::Startup && self.is_full {
            window.ssthresh = self.full_pipe(self.most_rate(), moment);
            self.state = State::Drain;
            self.signals.forget();
        }
        if self.state == State::Drain
            && self.in_flight_then(moment.in_flight, moment) <= self.full_pipe(self.most_rate(), moment)
        {
            self.begin_down(moment);
        }
    }

    /// `bbr_update_min_rtt`.
    pub(super) fn update_least_rtt(&mut self, window: &mut Window, moment: &Moment, sample: &RateSample) {
        let now = moment.jiffies();
        let has_passed = |since: i64, time| now > since + i64::from(moment.ticks_of(time));
        let is_time = has_passed(self.recent_rtt.at, PROBE_RTT_EVERY);
        if let Some(rtt) = sample.rtt_us
            && (self.recent_rtt.us.is_none_or(|least| rtt < least) || (is_time && !sample.is_ack_delayed))
        {
            self.recent_rtt = super::LeastRtt { us: Some(rtt), at: now };
        }
        let is_lower = match (self.recent_rtt.us, self.least_rtt.us) {
            (Some(recent), Some(least)) => recent <= least,
            (_, None) => true,
            (None, Some(_)) => false,
        };
        if is_lower || has_passed(self.least_rtt.at, LEAST_RTT_LASTS) {
            self.least_rtt = self.recent_rtt;
        }
        if is_time && !self.idle_restart && self.state != State::ProbeRtt {
            self.state = State::ProbeRtt;
            self.save_window(window);
            self.probe_rtt = ProbeRtt::default();
            self.cycle.stop_probing();
            self.rounds.restart(moment);
        }
        if self.state == State::ProbeRtt {
            let most = self.probe_rtt_window();
            if self.probe_rtt.has_stayed_a_round(most, &mut self.rounds, moment) {
                self.leave_probe_rtt(window, moment);
            }
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    /// `bbr_check_probe_rtt_done`, `bbr_exit_probe_rtt`.
    pub(super) fn leave_probe_rtt(&mut self, window: &mut Window, moment: &Moment) {
        if !self.probe_rtt.is_over(moment) {
            return;
        }
        self.recent_rtt.at = moment.jiffies();
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.bounds.forget_lower();
        if self.is_full {
            // The flight is below the pipe: the next probe is a whole wait away.
            self.begin_down(moment);
            self.begin_cruise();
        } else {
            self.state = State::Startup;
        }
    }
}
