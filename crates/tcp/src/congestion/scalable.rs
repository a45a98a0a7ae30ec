//! Scalable TCP (Kelly, CCR 33(2), 2003; net/ipv4/tcp_scalable.c, 6.18).

use super::{Control, Moment, Window};

/// Acknowledged segments per increase by one (`TCP_SCALABLE_AI_CNT`): a hundredth of the window per RTT, whatever the
/// window.
const ONE_OF: u32 = 100;
/// Reduces by an eighth after a loss (`TCP_SCALABLE_MD_SCALE`).
const LESS_SHIFT: u32 = 3;

/// Grows and shrinks by fractions of the window.
#[derive(Clone, Copy, Debug)]
pub struct Scalable;

impl Control for Scalable {
    fn name(&self) -> &'static str {
        "scalable"
    }

    fn ssthresh(&mut self, window: &Window, _moment: &Moment) -> u32 {
        (window.cwnd - (window.cwnd >> LESS_SHIFT)).max(2)
    }

    fn cong_avoid(&mut self, window: &mut Window, _moment: &Moment, acked: u32) {
        if !window.is_limiting() {
            return;
        }
        let left = if window.in_slow_start() { window.slow_start(acked) } else { acked };
        if left > 0 {
            window.additive_increase(window.cwnd.min(ONE_OF), left);
        }
    }
}
