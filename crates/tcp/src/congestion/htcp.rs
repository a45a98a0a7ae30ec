//! H-TCP (Leith and Shorten, PFLDnet 2004; draft-leith-tcp-htcp-06; net/ipv4/tcp_htcp.c, 6.18): the window grows faster
//! with the time since the last loss; a loss cuts it to what leaves the path's queue empty.

use super::{AckSample, CaState, Control, Moment, Window};
use std::time::Duration;

/// Fixed point: 128 is 1.
const SHIFT: u32 = 7;
const ONE: u32 = 1 << SHIFT;
/// `BETA_MIN`, `BETA_MAX`: 0.5 and 0.8.
const BETA_MIN: u32 = ONE / 2;
const BETA_MAX: u32 = 102;

/// One connection's H-TCP (`struct htcp`). Times are in ticks, rates in segments per second.
#[derive(Clone, Debug)]
pub struct Htcp {
    alpha: u32,
    beta: u32,
    /// Whether there has been a loss, so that beta may differ from a half.
    adapts: bool,
    /// Segments acknowledged by the last ACK.
    acked: u32,
    /// Segments since the rate was last measured, and when that was.
    segments: u32,
    rate_at: i64,
    least_rtt: u32,
    most_rtt: u32,
    /// The end of the last loss episode.
    last_loss: i64,
    most_rate: u32,
    most_rate_before: u32,
    rate: u32,
    /// What an undo restores.
    before: Option<Before>,
}

#[derive(Clone, Copy, Debug)]
struct Before {
    last_loss: i64,
    most_rtt: u32,
    most_rate_before: u32,
}

impl Default for Htcp {
    fn default() -> Self {
        Self {
            alpha: ONE,
            beta: BETA_MIN,
            adapts: false,
            acked: 1,
            segments: 0,
            rate_at: 0,
            least_rtt: 0,
            most_rtt: 0,
            last_loss: 0,
            most_rate: 0,
            most_rate_before: 0,
            rate: 0,
            before: None,
        }
    }
}

/// Ticks from `then` to now.
fn since(moment: &Moment, then: i64) -> u32 {
    u32::try_from(moment.jiffies() - then).unwrap_or(0)
}

impl Htcp {
    /// `measure_rtt`.
    fn measure_rtt(&mut self, moment: &Moment, rtt: u32) {
        if self.least_rtt > rtt || self.least_rtt == 0 {
            self.least_rtt = rtt;
        }
        if moment.state == CaState::Open {
            self.most_rtt = self.most_rtt.max(self.least_rtt);
            // A jump comes from another path or a timeout.
            if self.most_rtt < rtt && rtt <= self.most_rtt + moment.ticks_of(Duration::from_millis(20)) {
                self.most_rtt = rtt;
            }
        }
    }

    /// `measure_achieved_throughput`: over at least a window and an RTT.
    fn measure_rate(&mut self, window: &Window, moment: &Moment, acked: u32) {
        let now = moment.jiffies();
        if !matches!(moment.state, CaState::Open | CaState::Disorder) {
            (self.segments, self.rate_at) = (0, now);
            return;
        }
        self.segments += acked;
        let passed = since(moment, self.rate_at);
        let whole = window.cwnd.saturating_sub((self.alpha >> SHIFT).max(1));
        if self.segments < whole || self.least_rtt == 0 || passed < self.least_rtt {
            return;
        }
        let rate = (u64::from(self.segments) * u64::from(moment.hz) / u64::from(passed)) as u32;
        if since(moment, self.last_loss) / self.least_rtt <= 3 {
            (self.rate, self.most_rate) = (rate, rate);
        } else {
            self.rate = (3 * self.rate + rate) / 4;
            self.most_rate = self.most_rate.max(self.rate);
        }
        (self.segments, self.rate_at) = (0, now);
    }

    /// `htcp_beta_update`: empties the queue, unless the rate has changed by more than a fifth.
    fn update_beta(&mut self, moment: &Moment) {
        let (rate, before) = (u64::from(self.most_rate), u64::from(self.most_rate_before));
        self.most_rate_before = self.most_rate;
        if 5 * rate < 4 * before || 5 * rate > 6 * before {
            self.beta = BETA_MIN;
            self.adapts = false;
        } else if self.adapts
            && self.least_rtt > moment.ticks_of(Duration::from_millis(10))
            && self.most_rtt > 0
        {
            self.beta = ((self.least_rtt << SHIFT) / self.most_rtt).clamp(BETA_MIN, BETA_MAX);
        } else {
            self.beta = BETA_MIN;
            self.adapts = true;
        }
    }

    /// `htcp_alpha_update`: 1 + 10 (t - 1) + (t - 1)^2 / 4 segments per RTT, t seconds after the last loss, and more
    /// with a longer RTT.
    fn update_alpha(&mut self, moment: &Moment) {
        let hz = u64::from(moment.hz);
        let passed = u64::from(since(moment, self.last_loss));
        let mut factor = 1;
        if passed > hz {
            let more = passed - hz;
            factor = 1 + (10 * more + ((more / 2) * (more / 2) / hz)) / hz;
        }
        if self.least_rtt > 0 {
            // Scaled to an RTT of 100 ms, within a factor of 10 and a half.
            let scale = ((hz << 3) / (10 * u64::from(self.least_rtt))).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        let alpha = 2 * factor * u64::from(ONE - self.beta);
        self.alpha = u32::try_from(alpha).unwrap_or(u32::MAX);
        if self.alpha == 0 {
            self.alpha = ONE;
        }
    }
}

impl Control for Htcp {
    fn name(&self) -> &'static str {
        "htcp"
    }

    fn init(&mut self, _window: &mut Window, moment: &Moment) {
        *self = Self { last_loss: moment.jiffies(), ..Self::default() };
    }

    /// `htcp_recalc_ssthresh`.
    fn ssthresh(&mut self, window: &Window, moment: &Moment) -> u32 {
        self.update_beta(moment);
        self.update_alpha(moment);
        // The maximum RTT decays: the path may have changed.
        if self.least_rtt > 0 && self.most_rtt > self.least_rtt {
            self.most_rtt = self.least_rtt + (self.most_rtt - self.least_rtt) * 95 / 100;
        }
        ((u64::from(window.cwnd) * u64::from(self.beta)) >> SHIFT).max(2) as u32
    }

    fn least_in_reduction(&self, window: &Window) -> u32 {
        window.ssthresh
    }

    fn cong_avoid(&mut self, window: &mut Window, moment: &Moment, acked: u32) {
        if !window.is_limiting() {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(acked);
            return;
        }
        if (u64::from(window.count) * u64::from(self.alpha)) >> SHIFT >= u64::from(window.cwnd) {
            window.cwnd = (window.cwnd + 1).min(window.clamp);
            window.count = 0;
            self.update_alpha(moment);
        } else {
            window.count += self.acked;
        }
        self.acked = 1;
    }

    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        if let Some(before) = self.before.take() {
            self.last_loss = before.last_loss;
            self.most_rtt = before.most_rtt;
            self.most_rate_before = before.most_rate_before;
        }
        window.cwnd.max(window.prior_cwnd)
    }

    fn set_state(&mut self, to: CaState, _window: &mut Window, moment: &Moment) {
        match to {
            CaState::Open => {
                if self.before.take().is_some() {
                    self.last_loss = moment.jiffies();
                }
            }
            CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.before = Some(Before {
                    last_loss: self.last_loss,
                    most_rtt: self.most_rtt,
                    most_rate_before: self.most_rate_before,
                });
                self.last_loss = moment.jiffies();
            }
        }
    }

    fn acked(&mut self, window: &mut Window, moment: &Moment, sample: &AckSample) {
        if moment.state == CaState::Open {
            self.acked = sample.acked;
        }
        if let Some(rtt) = sample.rtt.filter(|rtt| !rtt.is_zero()) {
            self.measure_rtt(moment, moment.ticks_of(rtt));
        }
        self.measure_rate(window, moment, sample.acked);
    }
}
