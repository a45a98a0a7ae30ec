//! BBR, version 3 (net/ipv4/tcp_bbr.c of the branch v3 of github.com/google/bbr, tag bbrv3-2025-03-18, on Linux 6.13.7;
//! draft-ietf-ccwg-bbr): version 1's model with bounds from losses and ECN marks, so that it leaves room to other flows.
//!
//! Its folder has the bounds of flight and rate (`inflight_hi`, `inflight_lo`, `bw_lo`), the cycle of PROBE_BW (DOWN,
//! CRUISE, REFILL, UP), the measurements with the ends of STARTUP and DRAIN, and the use of ECN marks.
//!
//! Not modelled: a new path by another flow label after marks or a timeout (PLB, `tcp_plb_*`), which needs IPv6; the
//! receiver that echoes each single mark (`dctcp_ece_ack_update`), in place of which RFC 3168's echoes.

mod bounds;
mod cycle;
mod ecn;
mod model;
#[cfg(test)]
mod tests;

use super::bbr::lumps::Lumps;
use super::bbr::pacing::Pacing;
use super::bbr::rounds::{ProbeRtt, Rounds};
use super::bbr::scale::{GAIN_ONE, RATE_ONE, in_flight_then, pipe};
use super::bbr::window_to_restore;
use super::{CaEvent, CaState, Control, INFINITE_SSTHRESH, LostBuffer, Moment, RateSample, Window};
use bounds::Bounds;
use cycle::Cycle;
use ecn::EcnMarks;
use model::{Growth, Signals};
use slowpath_model::Instant;

/// 4 ln(2) doubles the data sent in each RTT (`bbr_startup_pacing_gain`).
const STARTUP_PACING_GAIN: u32 = GAIN_ONE * 277 / 100 + 1;
/// Twice the pipe in flight, in STARTUP, DRAIN and PROBE_BW (`bbr_startup_cwnd_gain`, `bbr_cwnd_gain`).
const WINDOW_GAIN: u32 = GAIN_ONE * 2;
/// A quarter more in UP (`bbr_bw_probe_cwnd_gain`, 1 in quarters).
const UP_WINDOW_GAIN: u32 = WINDOW_GAIN + GAIN_ONE / 4;
/// Drains in a round what STARTUP queued (`bbr_drain_gain`).
const DRAIN_GAIN: u32 = GAIN_ONE * 1000 / 2885;
/// `bbr_pacing_gain`: 1.25 in UP, 0.91 in DOWN; 1 in CRUISE and REFILL.
const UP_GAIN: u32 = GAIN_ONE * 5 / 4;
const DOWN_GAIN: u32 = GAIN_ONE * 91 / 100;
/// The share of the pipe in flight in PROBE_RTT (`bbr_probe_rtt_cwnd_gain`).
const PROBE_RTT_GAIN: u32 = GAIN_ONE / 2;
/// The minimum cwnd (`bbr_cwnd_min_target`).
const LEAST_WINDOW: u32 = 4;
/// The most that is kept of the initial cwnd (`init_cwnd:7`).
const MOST_INIT_CWND: u32 = 0x7f;
/// A super-packet may be longer by 64 KiB, halved for each 512 µs of RTT (`bbr_tso_rtt_shift`, `GSO_LEGACY_MAX_SIZE`).
const TSO_RTT_SHIFT: u32 = 9;
const NEAR_SUPER_BYTES: u64 = 65_536;

/// `enum bbr_mode`, with the phase of PROBE_BW (`enum bbr_pacing_gain_phase`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Finds the rate.
    #[default]
    Startup,
    /// Drains the queue that STARTUP built.
    Drain,
    /// PROBE_BW: drains the queue that UP built, and leaves room.
    Down,
    /// PROBE_BW: keeps the rate.
    Cruise,
    /// PROBE_BW: fills the pipe, so that UP is not stopped by a loss before it is full.
    Refill,
    /// PROBE_BW: sends more, to find more.
    Up,
    /// Sends half of the pipe, to measure the minimum RTT.
    ProbeRtt,
}

impl State {
    /// `BBR_PROBE_BW`.
    const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// `bbr_is_probing_bandwidth`: losses are the price of what it does.
    const fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    /// `bbr_update_gains`: of the pacing rate and of cwnd.
    const fn gains(self) -> (u32, u32) {
        match self {
            Self::Startup => (STARTUP_PACING_GAIN, WINDOW_GAIN),
            Self::Drain => (DRAIN_GAIN, WINDOW_GAIN),
            Self::Down => (DOWN_GAIN, WINDOW_GAIN),
            Self::Cruise | Self::Refill => (GAIN_ONE, WINDOW_GAIN),
            Self::Up => (UP_GAIN, UP_WINDOW_GAIN),
            Self::ProbeRtt => (GAIN_ONE, GAIN_ONE),
        }
    }
}

/// A minimum RTT, and the tick when it was measured.
#[derive(Clone, Copy, Debug, Default)]
struct LeastRtt {
    /// In microseconds; `None` before the first measurement.
    us: Option<u32>,
    at: i64,
}

/// One connection's BBR (`struct bbr`).
#[derive(Clone, Debug)]
pub struct Bbr3 {
    name: &'static str,
    state: State,
    /// The minimum RTT of ten seconds, and that of five, which expires into PROBE_RTT.
    least_rtt: LeastRtt,
    recent_rtt: LeastRtt,
    probe_rtt: ProbeRtt,
    rounds: Rounds,
    before: CaState,
    idle_restart: bool,
    /// An application-limited ACK may be skipped (`try_fast_path`).
    may_skip: bool,
    init_cwnd: u32,
    pacing: Pacing,
    pacing_gain: u32,
    prior_cwnd: u32,
    growth: Growth,
    /// ACKs of this round of STARTUP that found losses (`loss_events_in_round`).
    startup_losses: u32,
    /// The pipe was full once (`full_bw_reached`).
    is_full: bool,
    lumps: Lumps,
    signals: Signals,
    /// The maximum delivery rate of the last cycle and of this one (`bw_hi`).
    most_rate: [u64; 2],
    bounds: Bounds,
    /// The bounds before the latest losses.
    undo: Option<Bounds>,
    cycle: Cycle,
    ecn: EcnMarks,
}

impl Bbr3 {
    /// One that `TCP_CONGESTION` calls `name`: kernels with version 3 call it `bbr`.
    pub fn named(name: &'static str) -> Self {
        Self {
            name,
            state: State::Startup,
            least_rtt: LeastRtt::default(),
            recent_rtt: LeastRtt::default(),
            probe_rtt: ProbeRtt::default(),
            rounds: Rounds::default(),
            before: CaState::Open,
            idle_restart: false,
            may_skip: false,
            init_cwnd: 0,
            pacing: Pacing::default(),
            pacing_gain: STARTUP_PACING_GAIN,
            prior_cwnd: 0,
            growth: Growth::default(),
            startup_losses: 0,
            is_full: false,
            lumps: Lumps::default(),
            signals: Signals::default(),
            most_rate: [0; 2],
            bounds: Bounds::default(),
            undo: None,
            cycle: Cycle::default(),
            ecn: EcnMarks::default(),
        }
    }

    /// `bbr_max_bw`.
    fn most_rate(&self) -> u64 {
        self.most_rate[0].max(self.most_rate[1])
    }

    /// `bbr_bw`.
    fn believed_rate(&self) -> u64 {
        self.bounds.rate_lo.map_or(self.most_rate(), |low| low.min(self.most_rate()))
    }

    /// `bbr_set_pacing_rate`.
    fn pace(&mut self, window: &Window, moment: &Moment, gain: u32) {
        let rate = self.believed_rate();
        self.pacing.set(moment, (rate, gain), (window.cwnd, STARTUP_PACING_GAIN), self.is_full);
    }

    /// `bbr_tso_segs_goal`.
    fn super_packet(&self, moment: &Moment) -> u32 {
        let halvings = self.least_rtt.us.map_or(u32::MAX, |us| us >> TSO_RTT_SHIFT);
        let more = NEAR_SUPER_BYTES.checked_shr(halvings).unwrap_or(0);
        self.pacing.segments_in_a_millisecond(more, moment.mss).max(moment.least_tso_segments)
    }

    /// `bbr_bdp`, in segments.
    fn pipe(&self, rate: u64, gain: u32) -> u32 {
        self.least_rtt.us.map_or(self.init_cwnd, |rtt| pipe(rate, rtt, gain))
    }

    /// `bbr_quantization_budget`: room for a super-packet at both ends and on the path.
    fn with_super_packets(&self, window: u32, moment: &Moment) -> u32 {
        let least = (3 * self.super_packet(moment)).max(LEAST_WINDOW);
        // The probe must be able to send more than a small pipe.
        window.max(least).saturating_add(if self.state == State::Up { 2 } else { 0 })
    }

    /// `bbr_inflight` at gain 1.
    fn full_pipe(&self, rate: u64, moment: &Moment) -> u32 {
        self.with_super_packets(self.pipe(rate, GAIN_ONE), moment)
    }

    /// `bbr_packets_in_net_at_edt`.
    fn in_flight_then(&self, in_flight: u32, moment: &Moment) -> u32 {
        let next = if self.pacing_gain > GAIN_ONE { self.super_packet(moment) } else { 0 };
        in_flight_then(in_flight, next, self.believed_rate(), moment)
    }

    /// `bbr_probe_rtt_cwnd`.
    fn probe_rtt_window(&self) -> u32 {
        self.pipe(self.believed_rate(), PROBE_RTT_GAIN).max(LEAST_WINDOW)
    }

    /// `bbr_save_cwnd`.
    fn save_window(&mut self, window: &Window) {
        let is_cut = self.before >= CaState::Recovery || self.state == State::ProbeRtt;
        self.prior_cwnd = window_to_restore(self.prior_cwnd, window.cwnd, is_cut);
    }

    /// `bbr_set_cwnd`.
    fn set_window(&mut self, window: &mut Window, moment: &Moment, sample: &RateSample, gain: u32) {
        let mut cwnd = window.cwnd;
        if sample.acked > 0 {
            let rate = self.believed_rate();
            let target = self.pipe(rate, gain).saturating_add(self.lumps.room(rate));
            let target = self.with_super_packets(target, moment);
            self.may_skip = if self.is_full { cwnd + sample.acked >= target } else { cwnd >= target };
            if self.is_full {
                cwnd = (cwnd + sample.acked).min(target);
            } else if cwnd < target || cwnd < 2 * self.init_cwnd {
                cwnd += sample.acked;
                self.may_skip = false;
            }
            cwnd = cwnd.max(LEAST_WINDOW);
        }
        window.cwnd = cwnd.min(window.clamp);
        if self.state == State::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_window());
        }
    }

    /// `bbr_run_fast_path`: an application-limited sample below the known rate changes no bound; returns whether that
    /// leaves nothing to do.
    fn skips(
        &mut self,
        window: &mut Window,
        moment: &Moment,
        sample: &RateSample,
        rate: u64,
    ) -> Option<bool> {
        let may = self.may_skip
            && sample.app_limited
            && rate < self.most_rate()
            && !self.signals.loss_in_round
            && !self.signals.ecn_in_round;
        if !may {
            return None;
        }
        let (state, least) = (self.state, self.least_rtt.us);
        self.look_whether_drained(window, moment);
        self.update_cycle(window, moment, sample, rate);
        self.update_least_rtt(window, moment, sample);
        Some(self.state == state && self.least_rtt.us == least && self.may_skip)
    }
}

impl Control for Bbr3 {
    fn name(&self) -> &'static str {
        self.name
    }

    fn init(&mut self, window: &mut Window, moment: &Moment) {
        let least = LeastRtt { us: moment.least_rtt_us, at: moment.jiffies() };
        *self = Self {
            least_rtt: least,
            recent_rtt: least,
            init_cwnd: window.cwnd.min(MOST_INIT_CWND),
            prior_cwnd: window.prior_cwnd,
            signals: Signals::new(moment),
            ..Self::named(self.name)
        };
        self.rounds.restart(moment);
        self.lumps.restart(moment.now);
        window.ssthresh = INFINITE_SSTHRESH;
        self.pacing.begin(window.cwnd, moment, STARTUP_PACING_GAIN);
    }

    /// Losses do not change ssthresh.
    fn ssthresh(&mut self, window: &Window, _moment: &Moment) -> u32 {
        self.save_window(window);
        self.undo = Some(self.bounds);
        window.ssthresh
    }

    fn cong_avoid(&mut self, _window: &mut Window, _moment: &Moment, _acked: u32) {}

    /// The losses were spurious: what they changed is reverted.
    fn undo_cwnd(&mut self, _window: &Window) -> u32 {
        self.growth.forget(0);
        self.signals.loss_in_round = false;
        if let Some(undo) = self.undo {
            self.bounds = self.bounds.or_looser(undo);
        }
        self.may_skip = false;
        self.prior_cwnd
    }

    fn set_state(&mut self, to: CaState, window: &mut Window, _moment: &Moment) {
        if to == CaState::Loss {
            self.before = CaState::Loss;
            // The path may be another now.
            self.growth.forget(0);
            if !self.state.is_probing() {
                // cwnd before the timeout, which the next loss response cuts.
                self.bounds.in_flight_lo.get_or_insert(window.cwnd.max(self.prior_cwnd));
            }
        } else if self.before == CaState::Loss {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
            self.may_skip = false;
        }
    }

    fn event(&mut self, event: CaEvent, window: &mut Window, moment: &Moment) {
        match event {
            CaEvent::TransmitStart if moment.app_limited => {
                self.idle_restart = true;
                self.lumps.restart(moment.now);
                if self.state.is_probe_bw() {
                    // After idle time, no burst is needed to refill the path.
                    self.pace(window, moment, GAIN_ONE);
                } else if self.state == State::ProbeRtt {
                    self.leave_probe_rtt(window, moment);
                }
            }
            CaEvent::ProbeRepairedLoss { app_limited } => {
                self.probe_repaired_loss(window, moment, app_limited)
            }
            _ => {}
        }
    }

    /// `bbr_main`.
    fn control(&mut self, window: &mut Window, moment: &Moment, sample: &RateSample) {
        self.rounds.update(moment, sample);
        if self.rounds.starts {
            self.cycle.count_round();
            self.update_marks(moment);
        }
        self.signals.ecn_in_round |= self.ecn.is_used && sample.is_ece;
        let rate = delivery_rate(sample);
        self.signals.note_delivery(moment, sample, rate);
        let skips = self.skips(window, moment, sample, rate);
        if skips.is_none() {
            self.update_model(window, moment, sample, rate);
        }
        if skips != Some(true) {
            let (pacing_gain, window_gain) = self.state.gains();
            self.pacing_gain = pacing_gain;
            self.pace(window, moment, pacing_gain);
            self.set_window(window, moment, sample, window_gain);
            self.bound_window(window);
        }
        self.signals.end_ack(sample, rate);
        self.before = moment.state;
    }

    fn marked_lost(&mut self, window: &Window, moment: &Moment, lost: &LostBuffer) {
        self.buffer_was_lost(window, moment, lost);
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(self.pacing.rate)
    }

    fn buffer_windows(&self) -> Option<u32> {
        Some(3)
    }

    fn holds_back(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn checks_app_limited_often(&self) -> bool {
        true
    }

    fn acks_fast(&self) -> bool {
        true
    }
}

/// `bbr_calculate_bw_sample`, rounded up; 0 without a sample.
fn delivery_rate(sample: &RateSample) -> u64 {
    match (sample.delivered, sample.interval_us) {
        (Some(delivered), Some(us)) => (u64::from(delivered) * RATE_ONE).div_ceil(u64::from(us)),
        _ => 0,
    }
}

/// When the wall clock has passed `micros` since `then` (`bbr_has_elapsed_in_phase`).
fn has_elapsed(moment: &Moment, then: Instant, micros: u64) -> bool {
    moment.now.since(then).is_some_and(|time| time.as_micros() > u128::from(micros))
}
