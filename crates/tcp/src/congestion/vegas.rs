//! TCP Vegas (Brakmo and Peterson, JSAC 13(8), 1995; net/ipv4/tcp_vegas.c, 6.18): keeps two to four segments in the
//! path's queue, estimated from the RTT above its minimum.

use super::{AckSample, CaEvent, CaState, Control, Moment, Window, reno};
use slowpath_model::StreamOffset;

/// With fewer segments queued, the window grows; with more, it shrinks (`alpha`, `beta`).
const ALPHA: u32 = 2;
const BETA: u32 = 4;
/// More queued segments end slow start (`gamma`).
const GAMMA: u32 = 1;

/// One connection's Vegas (`struct vegas`).
#[derive(Clone, Debug)]
pub struct Vegas {
    /// `snd_nxt` when this round began.
    round_ends: StreamOffset,
    is_active: bool,
    /// RTT samples of this round, and their minimum in microseconds.
    samples: u32,
    least_us: u32,
    /// The minimum RTT.
    base_us: u32,
}

/// No RTT measured.
const NONE: u32 = 0x7fff_ffff;

impl Default for Vegas {
    fn default() -> Self {
        Self { round_ends: StreamOffset(0), is_active: true, samples: 0, least_us: NONE, base_us: NONE }
    }
}

impl Vegas {
    /// `vegas_enable`.
    fn enable(&mut self, moment: &Moment) {
        self.is_active = true;
        self.round_ends = moment.snd_nxt;
        self.begin_round();
    }

    fn begin_round(&mut self) {
        self.samples = 0;
        self.least_us = NONE;
    }

    /// Once per round with more than two samples.
    fn adjust(&self, window: &mut Window, acked: u32) {
        let cwnd = u64::from(window.cwnd);
        let target = cwnd * u64::from(self.base_us) / u64::from(self.least_us);
        let queued = cwnd * u64::from(self.least_us - self.base_us) / u64::from(self.base_us);
        if window.in_slow_start() {
            if queued > u64::from(GAMMA) {
                window.cwnd = window.cwnd.min(u32::try_from(target).unwrap_or(u32::MAX).saturating_add(1));
                window.ssthresh = window.ssthresh.min(window.cwnd);
            } else {
                window.slow_start(acked);
            }
        } else if queued > u64::from(BETA) {
            window.cwnd -= 1;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if queued < u64::from(ALPHA) {
            window.cwnd += 1;
        }
        window.cwnd = window.cwnd.max(2).min(window.clamp);
        window.ssthresh = window.current_ssthresh();
    }
}

impl Control for Vegas {
    fn name(&self) -> &'static str {
        "vegas"
    }

    fn init(&mut self, _window: &mut Window, moment: &Moment) {
        self.base_us = NONE;
        self.enable(moment);
    }

    fn ssthresh(&mut self, window: &Window, _moment: &Moment) -> u32 {
        reno::half(window)
    }

    fn cong_avoid(&mut self, window: &mut Window, moment: &Moment, acked: u32) {
        if !self.is_active {
            return reno::cong_avoid(window, acked);
        }
        if moment.snd_una > self.round_ends {
            self.round_ends = moment.snd_nxt;
            if self.samples > 2 {
                self.adjust(window, acked);
            } else {
                reno::cong_avoid(window, acked);
            }
            self.begin_round();
        } else if window.in_slow_start() {
            window.slow_start(acked);
        }
    }

    fn set_state(&mut self, to: CaState, _window: &mut Window, moment: &Moment) {
        if to == CaState::Open {
            self.enable(moment);
        } else {
            self.is_active = false;
        }
    }

    /// After idle time the path may have changed.
    fn event(&mut self, event: CaEvent, window: &mut Window, moment: &Moment) {
        if matches!(event, CaEvent::WindowRestart | CaEvent::TransmitStart) {
            self.init(window, moment);
        }
    }

    fn acked(&mut self, _window: &mut Window, _moment: &Moment, sample: &AckSample) {
        let Some(rtt) = sample.rtt else { return };
        let us = u32::try_from(rtt.as_micros()).unwrap_or(NONE).saturating_add(1).min(NONE);
        self.base_us = self.base_us.min(us);
        self.least_us = self.least_us.min(us);
        self.samples += 1;
    }
}
