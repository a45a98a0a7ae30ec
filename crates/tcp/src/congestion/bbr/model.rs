//! BBR's model of the path, and how BBR probes it (`bbr_update_model`).

use super::lumps::WINDOW_ROUNDS;
use super::rounds::ProbeRtt;
use super::scale::{GAIN_ONE, GAIN_SHIFT, RATE_ONE};
use super::{Bbr, CYCLE, DRAIN_GAIN, HIGH_GAIN, LEAST_WINDOW, Mode, WINDOW_GAIN};
use crate::congestion::{Moment, RateSample, Window};

/// RTTs over which the maximum rate is taken (`bbr_bw_rtts`).
const RATE_ROUNDS: i64 = CYCLE.len() as i64 + 2;
/// Startup ends when three RTTs bring less than a quarter more (`bbr_full_bw_thresh`, `bbr_full_bw_cnt`).
const FULL_GROWTH: u64 = 320;
const FULL_ROUNDS: u32 = 3;
/// The minimum RTT expires after this time, and is then probed (`bbr_min_rtt_win_sec`).
const LEAST_RTT_LASTS_S: i64 = 10;

impl Bbr {
    pub(super) fn update_model(&mut self, window: &mut Window, moment: &Moment, sample: &RateSample) {
        self.update_rate(moment, sample);
        self.update_lumps(window, moment, sample);
        if self.mode == Mode::ProbeBw && self.is_phase_over(moment, sample) {
            self.advance_phase(moment);
        }
        self.look_whether_full(sample);
        self.look_whether_drained(window, moment);
        self.update_least_rtt(window, moment, sample);
        self.update_gains();
    }

    /// `bbr_update_bw`.
    fn update_rate(&mut self, moment: &Moment, sample: &RateSample) {
        self.rounds.update(moment, sample);
        let (Some(delivered), Some(interval)) = (sample.delivered, sample.interval_us) else { return };
        if self.rounds.starts {
            self.round += 1;
            self.conserves = false;
        }
        self.look_for_policer(moment, sample.losses, sample.app_limited);
        let rate = u64::from(delivered) * RATE_ONE / u64::from(interval);
        if !sample.app_limited || rate >= self.most_rate() {
            self.rate.update(self.round.into(), RATE_ROUNDS, i64::try_from(rate).unwrap_or(i64::MAX));
        }
    }

    /// `bbr_update_ack_aggregation`.
    fn update_lumps(&mut self, window: &Window, moment: &Moment, sample: &RateSample) {
        if moment.bbr_ack_aggregation {
            let rate = self.believed_rate();
            self.lumps.update(moment, sample, (window.cwnd, rate), (self.rounds.starts, WINDOW_ROUNDS));
        }
    }

    /// `bbr_ack_aggregation_cwnd`.
    pub(super) fn room_for_lumps(&self, rate: u64) -> u32 {
        if self.is_full { self.lumps.room(rate) } else { 0 }
    }

    /// `bbr_is_next_cycle_phase`.
    fn is_phase_over(&self, moment: &Moment, sample: &RateSample) -> bool {
        let lasted = moment.delivered_at.since(self.cycle_at).map_or(0, |time| time.as_micros());
        let is_long = lasted > u128::from(self.least_rtt_us.unwrap_or(u32::MAX));
        if self.pacing_gain == GAIN_ONE {
            return is_long;
        }
        let in_flight = self.in_flight_then(sample.prior_in_flight, moment);
        let rate = self.most_rate();
        if self.pacing_gain > GAIN_ONE {
            let is_filled = in_flight >= self.in_flight_for(rate, self.pacing_gain, moment);
            return is_long && (sample.losses > 0 || is_filled);
        }
        is_long || in_flight <= self.in_flight_for(rate, GAIN_ONE, moment)
    }

    /// `bbr_check_full_bw_reached`.
    fn look_whether_full(&mut self, sample: &RateSample) {
        if self.is_full || !self.rounds.starts || sample.app_limited {
            return;
        }
        if self.most_rate() >= (self.full_rate * FULL_GROWTH) >> GAIN_SHIFT {
            self.full_rate = self.most_rate();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    /// `bbr_check_drain`.
    fn look_whether_drained(&mut self, window: &mut Window, moment: &Moment) {
        let pipe = || self.in_flight_for(self.most_rate(), GAIN_ONE, moment);
        if self.mode == Mode::Startup && self.is_full {
            window.ssthresh = pipe();
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain
            && self.in_flight_then(moment.in_flight, moment)
                <= self.in_flight_for(self.most_rate(), GAIN_ONE, moment)
        {
            self.begin_cycle(moment);
        }
    }

    /// `bbr_update_min_rtt`.
    fn update_least_rtt(&mut self, window: &mut Window, moment: &Moment, sample: &RateSample) {
        let now = moment.jiffies();
        let is_stale = now > self.least_rtt_at + LEAST_RTT_LASTS_S * i64::from(moment.hz);
        if let Some(rtt) = sample.rtt_us
            && (self.least_rtt_us.is_none_or(|least| rtt < least) || (is_stale && !sample.is_ack_delayed))
        {
            self.least_rtt_us = Some(rtt);
            self.least_rtt_at = now;
        }
        if is_stale && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window(window);
            self.probe_rtt = ProbeRtt::default();
        }
        if self.mode == Mode::ProbeRtt
            && self.probe_rtt.has_stayed_a_round(LEAST_WINDOW, &mut self.rounds, moment)
        {
            self.leave_probe_rtt(window, moment);
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn leave_probe_rtt(&mut self, window: &mut Window, moment: &Moment) {
        if !self.probe_rtt.is_over(moment) {
            return;
        }
        self.least_rtt_at = moment.jiffies();
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.is_full {
            self.begin_cycle(moment);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policed.rate().is_some() => (GAIN_ONE, WINDOW_GAIN),
            Mode::ProbeBw => (CYCLE[self.phase], WINDOW_GAIN),
            Mode::ProbeRtt => (GAIN_ONE, GAIN_ONE),
        };
    }

    /// `bbr_lt_bw_sampling`.
    pub(super) fn look_for_policer(&mut self, moment: &Moment, losses: u32, app_limited: bool) {
        if self.policed.rate().is_some() {
            if self.mode == Mode::ProbeBw && self.rounds.starts && self.policed.has_lasted() {
                self.policed.forget();
                self.begin_cycle(moment);
            }
            return;
        }
        if self.policed.sample(moment, self.rounds.starts, losses, app_limited) {
            self.pacing_gain = GAIN_ONE;
        }
    }
}
