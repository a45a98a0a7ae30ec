//! BBR (Cardwell and others, ACM Queue 14(5), 2016; net/ipv4/tcp_bbr.c, version 1, 6.18): cwnd and pacing rate follow a
//! model of the path (its recent maximum delivery rate and its minimum RTT), not its losses.

pub(super) mod lumps;
mod model;
pub(super) mod pacing;
mod policed;
pub(super) mod rounds;
pub(super) mod scale;

use super::{CaEvent, CaState, Control, INFINITE_SSTHRESH, Moment, RateSample, Window};
use crate::filter::RunningMax;
use lumps::Lumps;
use pacing::Pacing;
use policed::Policed;
use rounds::{ProbeRtt, Rounds};
use scale::{GAIN_ONE, drawn, in_flight_then, pipe};
use slowpath_model::Instant;

/// 2/ln(2) doubles the data sent in each RTT (`bbr_high_gain`); its inverse drains the resulting queue.
const HIGH_GAIN: u32 = GAIN_ONE * 2885 / 1000 + 1;
const DRAIN_GAIN: u32 = GAIN_ONE * 1000 / 2885;
/// Room for delayed ACKs (`bbr_cwnd_gain`).
const WINDOW_GAIN: u32 = GAIN_ONE * 2;
/// A quarter more for an RTT, a quarter less for one, and six RTTs at the estimated rate (`bbr_pacing_gain`).
const CYCLE: [u32; 8] =
    [GAIN_ONE * 5 / 4, GAIN_ONE * 3 / 4, GAIN_ONE, GAIN_ONE, GAIN_ONE, GAIN_ONE, GAIN_ONE, GAIN_ONE];
/// A cycle begins in any phase but the draining one (`bbr_cycle_rand`).
const CYCLE_STARTS: u64 = 7;
/// The minimum cwnd (`bbr_cwnd_min_target`).
const LEAST_WINDOW: u32 = 4;
/// Below this rate, in bytes a second, a super-packet may be one segment (`bbr_min_tso_rate`, in bits).
const MIN_TSO_RATE: u64 = 1_200_000 >> 3;
/// `TCP_INIT_CWND`.
const INIT_CWND: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Finds the rate.
    Startup,
    /// Drains the queue that Startup built.
    Drain,
    /// Keeps the rate, and probes for more.
    ProbeBw,
    /// Sends nearly nothing, to measure the minimum RTT.
    ProbeRtt,
}

/// One connection's BBR (`struct bbr`).
#[derive(Clone, Debug)]
pub struct Bbr {
    mode: Mode,
    /// The minimum RTT, in microseconds, and the tick when it was measured.
    least_rtt_us: Option<u32>,
    least_rtt_at: i64,
    probe_rtt: ProbeRtt,
    /// The maximum delivery rate of ten RTTs.
    rate: RunningMax,
    rounds: Rounds,
    round: u32,
    cycle_at: Instant,
    phase: usize,
    pacing_gain: u32,
    window_gain: u32,
    before: CaState,
    conserves: bool,
    idle_restart: bool,
    is_full: bool,
    full_rate: u64,
    full_rounds: u32,
    prior_cwnd: u32,
    pacing: Pacing,
    policed: Policed,
    lumps: Lumps,
}

impl Default for Bbr {
    fn default() -> Self {
        Self {
            mode: Mode::Startup,
            least_rtt_us: None,
            least_rtt_at: 0,
            probe_rtt: ProbeRtt::default(),
            rate: RunningMax::default(),
            rounds: Rounds::default(),
            round: 0,
            cycle_at: Instant::START,
            phase: 0,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            before: CaState::Open,
            conserves: false,
            idle_restart: false,
            is_full: false,
            full_rate: 0,
            full_rounds: 0,
            prior_cwnd: 0,
            pacing: Pacing::default(),
            policed: Policed::default(),
            lumps: Lumps::default(),
        }
    }
}

/// `bbr_save_cwnd`: the cwnd to return to after a recovery or PROBE_RTT; `is_cut`: one of them has reduced it.
pub(super) fn window_to_restore(prior: u32, cwnd: u32, is_cut: bool) -> u32 {
    if is_cut { prior.max(cwnd) } else { cwnd }
}

impl Bbr {
    /// `bbr_max_bw`.
    fn most_rate(&self) -> u64 {
        u64::try_from(self.rate.get().unwrap_or(0)).unwrap_or(0)
    }

    /// `bbr_bw`.
    fn believed_rate(&self) -> u64 {
        self.policed.rate().unwrap_or_else(|| self.most_rate())
    }

    /// `bbr_set_pacing_rate`.
    fn pace(&mut self, window: &Window, moment: &Moment, gain: u32) {
        let rate = self.believed_rate();
        self.pacing.set(moment, (rate, gain), (window.cwnd, HIGH_GAIN), self.is_full);
    }

    /// `bbr_min_tso_segs`.
    const fn least_super_packet(&self) -> u32 {
        if self.pacing.rate < MIN_TSO_RATE { 1 } else { 2 }
    }

    /// `bbr_tso_segs_goal`.
    fn super_packet(&self, moment: &Moment) -> u32 {
        self.pacing.segments_in_a_millisecond(0, moment.mss).max(self.least_super_packet()).min(0x7f)
    }

    /// `bbr_save_cwnd`.
    fn save_window(&mut self, window: &Window) {
        let is_cut = self.before >= CaState::Recovery || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = window_to_restore(self.prior_cwnd, window.cwnd, is_cut);
    }

    /// `bbr_bdp`, in segments.
    fn pipe(&self, rate: u64, gain: u32) -> u32 {
        self.least_rtt_us.map_or(INIT_CWND, |rtt| pipe(rate, rtt, gain))
    }

    /// `bbr_quantization_budget`: room for a super-packet at both ends and on the path.
    fn with_super_packets(&self, window: u32, moment: &Moment) -> u32 {
        let even = window.saturating_add(3 * self.super_packet(moment)).saturating_add(1) & !1;
        // The probing phase must be able to send more.
        even.saturating_add(if self.mode == Mode::ProbeBw && self.phase == 0 { 2 } else { 0 })
    }

    /// `bbr_inflight`.
    fn in_flight_for(&self, rate: u64, gain: u32, moment: &Moment) -> u32 {
        self.with_super_packets(self.pipe(rate, gain), moment)
    }

    /// `bbr_packets_in_net_at_edt`.
    fn in_flight_then(&self, in_flight: u32, moment: &Moment) -> u32 {
        let next = if self.pacing_gain > GAIN_ONE { self.super_packet(moment) } else { 0 };
        in_flight_then(in_flight, next, self.believed_rate(), moment)
    }

    /// `bbr_set_cwnd_to_recover_or_restore`; also returns whether packet conservation applies.
    fn recover_or_restore(&mut self, cwnd: u32, moment: &Moment, sample: &RateSample) -> (u32, bool) {
        let mut cwnd = if sample.losses > 0 { cwnd.saturating_sub(sample.losses).max(1) } else { cwnd };
        let (before, state) = (self.before, moment.state);
        if state == CaState::Recovery && before != CaState::Recovery {
            self.conserves = true;
            self.rounds.restart(moment);
            cwnd = moment.in_flight + sample.acked;
        } else if before >= CaState::Recovery && state < CaState::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        self.before = state;
        if self.conserves { (cwnd.max(moment.in_flight + sample.acked), true) } else { (cwnd, false) }
    }

    /// `bbr_set_cwnd`.
    fn set_window(&mut self, window: &mut Window, moment: &Moment, sample: &RateSample) {
        let mut cwnd = window.cwnd;
        if sample.acked > 0 {
            let (new, conserves) = self.recover_or_restore(cwnd, moment, sample);
            cwnd = new;
            if !conserves {
                let rate = self.believed_rate();
                let target = self.pipe(rate, self.window_gain).saturating_add(self.room_for_lumps(rate));
                let target = self.with_super_packets(target, moment);
                if self.is_full {
                    cwnd = (cwnd + sample.acked).min(target);
                } else if cwnd < target || moment.delivered < INIT_CWND {
                    cwnd += sample.acked;
                }
                cwnd = cwnd.max(LEAST_WINDOW);
            }
        }
        window.cwnd = cwnd.min(window.clamp);
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(LEAST_WINDOW);
        }
    }

    /// `bbr_reset_probe_bw_mode`.
    fn begin_cycle(&mut self, moment: &Moment) {
        self.mode = Mode::ProbeBw;
        self.phase = CYCLE.len() - 1 - drawn(moment, CYCLE_STARTS) as usize;
        self.advance_phase(moment);
    }

    fn advance_phase(&mut self, moment: &Moment) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.cycle_at = moment.delivered_at;
    }
}

impl Control for Bbr {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn init(&mut self, window: &mut Window, moment: &Moment) {
        *self = Self {
            least_rtt_us: moment.least_rtt_us,
            least_rtt_at: moment.jiffies(),
            policed: Policed::new(moment),
            ..Self::default()
        };
        self.rounds.restart(moment);
        self.lumps.restart(moment.now);
        window.ssthresh = INFINITE_SSTHRESH;
        self.pacing.begin(window.cwnd, moment, HIGH_GAIN);
    }

    /// Losses do not change ssthresh.
    fn ssthresh(&mut self, window: &Window, _moment: &Moment) -> u32 {
        self.save_window(window);
        window.ssthresh
    }

    fn cong_avoid(&mut self, _window: &mut Window, _moment: &Moment, _acked: u32) {}

    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        self.full_rate = 0;
        self.full_rounds = 0;
        self.policed.forget();
        window.cwnd
    }

    fn set_state(&mut self, to: CaState, _window: &mut Window, moment: &Moment) {
        if to == CaState::Loss {
            self.before = CaState::Loss;
            self.full_rate = 0;
            self.rounds.starts = true;
            self.look_for_policer(moment, 1, false);
        }
    }

    fn event(&mut self, event: CaEvent, window: &mut Window, moment: &Moment) {
        if event == CaEvent::TransmitStart && moment.app_limited {
            self.idle_restart = true;
            self.lumps.restart(moment.now);
            match self.mode {
                // After idle time, no burst is needed to refill the path.
                Mode::ProbeBw => self.pace(window, moment, GAIN_ONE),
                Mode::ProbeRtt => self.leave_probe_rtt(window, moment),
                Mode::Startup | Mode::Drain => {}
            }
        }
    }

    fn control(&mut self, window: &mut Window, moment: &Moment, sample: &RateSample) {
        self.update_model(window, moment, sample);
        self.pace(window, moment, self.pacing_gain);
        self.set_window(window, moment, sample);
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(self.pacing.rate)
    }

    fn least_segments(&self) -> Option<u32> {
        Some(self.least_super_packet())
    }

    fn buffer_windows(&self) -> Option<u32> {
        Some(3)
    }

    fn holds_back(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }
}
