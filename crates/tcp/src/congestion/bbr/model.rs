//! BBR's model of the path, and how BBR probes it (`bbr_update_model`).

use super::scale::{GAIN_ONE, GAIN_SHIFT, RATE_ONE};
use super::{Bbr, CYCLE, DRAIN_GAIN, HIGH_GAIN, LEAST_WINDOW, Mode, WINDOW_GAIN, is_after};
use crate::congestion::{Moment, RateSample, Window};
use std::time::Duration;

/// RTTs over which the maximum rate is taken (`bbr_bw_rtts`).
const RATE_ROUNDS: i64 = CYCLE.len() as i64 + 2;
/// Startup ends when three RTTs bring less than a quarter more (`bbr_full_bw_thresh`, `bbr_full_bw_cnt`).
const FULL_GROWTH: u64 = 320;
const FULL_ROUNDS: u32 = 3;
/// The minimum RTT expires after this time, and is then probed for this long (`bbr_min_rtt_win_sec`,
/// `bbr_probe_rtt_mode_ms`).
const LEAST_RTT_LASTS_S: i64 = 10;
const PROBE_RTT_LASTS: Duration = Duration::from_millis(200);
/// RTTs per window of ACK aggregation (`bbr_extra_acked_win_rtts`), and the most that counts
/// (`bbr_ack_epoch_acked_reset_thresh`, `bbr_extra_acked_max_us`).
const LUMP_ROUNDS: u32 = 5;
const MOST_LUMP: u32 = 1 << 20;
const MOST_LUMP_US: u64 = 100_000;

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
        self.round_starts = false;
        let (Some(delivered), Some(interval)) = (sample.delivered, sample.interval_us) else { return };
        if !is_after(self.round_ends, sample.prior_delivered) {
            self.round_ends = moment.delivered;
            self.rounds += 1;
            self.round_starts = true;
            self.conserves = false;
        }
        self.look_for_policer(moment, sample.losses, sample.app_limited);
        let rate = u64::from(delivered) * RATE_ONE / u64::from(interval);
        if !sample.app_limited || rate >= self.most_rate() {
            self.rate.update(self.rounds.into(), RATE_ROUNDS, i64::try_from(rate).unwrap_or(i64::MAX));
        }
    }

    /// `bbr_update_ack_aggregation`.
    fn update_lumps(&mut self, window: &Window, moment: &Moment, sample: &RateSample) {
        if !moment.bbr_ack_aggregation
            || sample.acked == 0
            || sample.delivered.is_none()
            || sample.interval_us.is_none()
        {
            return;
        }
        if self.round_starts {
            self.beyond_rounds += 1;
            if self.beyond_rounds >= LUMP_ROUNDS {
                self.beyond_rounds = 0;
                self.beyond_at = 1 - self.beyond_at;
                self.beyond[self.beyond_at] = 0;
            }
        }
        let lasted = moment.delivered_at.since(self.lump_at).map_or(0, |time| time.as_micros());
        let expected = u128::from(self.believed_rate()) * lasted / u128::from(RATE_ONE);
        let mut expected = u32::try_from(expected).unwrap_or(u32::MAX);
        if self.lump <= expected || self.lump + sample.acked >= MOST_LUMP {
            self.lump = 0;
            self.lump_at = moment.delivered_at;
            expected = 0;
        }
        self.lump = (self.lump + sample.acked).min(MOST_LUMP - 1);
        let beyond = self.lump.saturating_sub(expected).min(window.cwnd);
        let most = &mut self.beyond[self.beyond_at];
        *most = beyond.max(*most);
    }

    /// `bbr_ack_aggregation_cwnd`.
    pub(super) fn for_lumps(&self, rate: u64) -> u32 {
        if !self.is_full {
            return 0;
        }
        let most = u32::try_from(rate * MOST_LUMP_US / RATE_ONE).unwrap_or(u32::MAX);
        self.beyond[0].max(self.beyond[1]).min(most)
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
        if self.is_full || !self.round_starts || sample.app_limited {
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
            self.save_window(window);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_ends = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(window, moment);
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    /// At least 200 ms and one RTT with four segments in flight.
    fn probe_rtt(&mut self, window: &mut Window, moment: &Moment) {
        if self.probe_rtt_ends.is_some() {
            self.probe_rtt_round_done |= self.round_starts;
            if self.probe_rtt_round_done {
                self.leave_probe_rtt(window, moment);
            }
        } else if moment.in_flight <= LEAST_WINDOW {
            self.probe_rtt_ends = Some(moment.jiffies() + i64::from(moment.ticks_of(PROBE_RTT_LASTS)));
            self.probe_rtt_round_done = false;
            self.round_ends = moment.delivered;
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn leave_probe_rtt(&mut self, window: &mut Window, moment: &Moment) {
        let now = moment.jiffies();
        if self.probe_rtt_ends.is_none_or(|ends| now <= ends) {
            return;
        }
        self.least_rtt_at = now;
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
            if self.mode == Mode::ProbeBw && self.round_starts && self.policed.has_lasted() {
                self.policed.forget();
                self.begin_cycle(moment);
            }
            return;
        }
        if self.policed.sample(moment, self.round_starts, losses, app_limited) {
            self.pacing_gain = GAIN_ONE;
        }
    }
}
