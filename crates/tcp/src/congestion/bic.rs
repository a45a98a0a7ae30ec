//! BIC (Xu, Harfoush and Rhee, INFOCOM 2004; net/ipv4/tcp_bic.c, 6.18), the default from 2.6.8 to 2.6.18.

use super::{AckSample, CaState, Control, Moment, Window};

/// The factor after a loss: 819/1024 (`beta`).
const BETA: u32 = 819;
const BETA_SCALE: u32 = 1024;
/// The search goes a quarter of the way to the last maximum per RTT (`BICTCP_B`).
const B: u32 = 4;
/// The most segments added per RTT (`max_increment`).
const MOST: u32 = 16;
/// Up to this window, BIC is Reno (`low_window`).
const LOW_WINDOW: u32 = 14;
/// RTTs for the last steps up to the maximum (`smooth_part`).
const SMOOTH: u32 = 20;
/// `ACK_RATIO_SHIFT`: segments per ACK are counted in sixteenths.
const RATIO_SHIFT: u32 = 4;

/// One connection's BIC (`struct bictcp`).
#[derive(Clone, Debug)]
pub struct Bic {
    /// Acknowledged segments per increase by one.
    count: u32,
    last_max_cwnd: u32,
    last_cwnd: u32,
    last_time: i64,
    /// Segments per ACK, in sixteenths.
    delayed_ack: u32,
}

impl Default for Bic {
    fn default() -> Self {
        Self { count: 0, last_max_cwnd: 0, last_cwnd: 0, last_time: 0, delayed_ack: 2 << RATIO_SHIFT }
    }
}

impl Bic {
    /// `bictcp_update`.
    fn update(&mut self, cwnd: u32, moment: &Moment) {
        let now = moment.jiffies();
        if self.last_cwnd == cwnd && now - self.last_time <= i64::from(moment.hz) / 32 {
            return;
        }
        self.last_cwnd = cwnd;
        self.last_time = now;
        if cwnd <= LOW_WINDOW {
            self.count = cwnd;
            return;
        }
        let mut count = self.segments_for_one(cwnd);
        // The first window grows by at least 5 % per RTT.
        if self.last_max_cwnd == 0 {
            count = count.min(20);
        }
        self.count = ((count << RATIO_SHIFT) / self.delayed_ack).max(1);
    }

    /// Binary search up to the last maximum; beyond it, as slow an increase as on the approach.
    fn segments_for_one(&self, cwnd: u32) -> u32 {
        let max = self.last_max_cwnd;
        if cwnd < max {
            match (max - cwnd) / B {
                step if step > MOST => cwnd / MOST,
                0 | 1 => cwnd * SMOOTH / B,
                step => cwnd / step,
            }
        } else if cwnd < max + B {
            cwnd * SMOOTH / B
        } else if cwnd < max + MOST * (B - 1) {
            cwnd * (B - 1) / (cwnd - max)
        } else {
            cwnd / MOST
        }
    }
}

impl Control for Bic {
    fn name(&self) -> &'static str {
        "bic"
    }

    /// `bictcp_recalc_ssthresh`, with fast convergence.
    fn ssthresh(&mut self, window: &Window, _moment: &Moment) -> u32 {
        let cwnd = window.cwnd;
        self.last_max_cwnd = if cwnd < self.last_max_cwnd {
            (u64::from(cwnd) * u64::from(BETA_SCALE + BETA) / u64::from(2 * BETA_SCALE)) as u32
        } else {
            cwnd
        };
        let left = if cwnd <= LOW_WINDOW {
            cwnd / 2
        } else {
            (u64::from(cwnd) * u64::from(BETA) / u64::from(BETA_SCALE)) as u32
        };
        left.max(2)
    }

    fn least_in_reduction(&self, window: &Window) -> u32 {
        window.ssthresh
    }

    fn cong_avoid(&mut self, window: &mut Window, moment: &Moment, acked: u32) {
        if !window.is_limiting() {
            return;
        }
        let left = if window.in_slow_start() { window.slow_start(acked) } else { acked };
        if left > 0 {
            self.update(window.cwnd, moment);
            window.additive_increase(self.count, left);
        }
    }

    fn set_state(&mut self, to: CaState, _window: &mut Window, _moment: &Moment) {
        if to == CaState::Loss {
            *self = Self::default();
        }
    }

    /// Tracks how many segments an ACK covers.
    fn acked(&mut self, _window: &mut Window, moment: &Moment, sample: &AckSample) {
        if moment.state == CaState::Open {
            self.delayed_ack = (self.delayed_ack + sample.acked - (self.delayed_ack >> RATIO_SHIFT)).max(1);
        }
    }
}
