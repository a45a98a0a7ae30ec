//! NewReno (RFC 5681; net/ipv4/tcp_cong.c, 6.18).

use super::{Control, Moment, Window};

/// Slow start, then one segment per RTT; halves after a loss.
#[derive(Clone, Copy, Debug)]
pub struct Reno;

/// `tcp_reno_ssthresh`.
pub(super) fn half(window: &Window) -> u32 {
    (window.cwnd / 2).max(2)
}

/// `tcp_reno_cong_avoid`.
pub(super) fn cong_avoid(window: &mut Window, acked: u32) {
    if !window.is_limiting() {
        return;
    }
    let left = if window.in_slow_start() { window.slow_start(acked) } else { acked };
    if left > 0 {
        window.additive_increase(window.cwnd, left);
    }
}

impl Control for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn ssthresh(&mut self, window: &Window, _moment: &Moment) -> u32 {
        half(window)
    }

    fn cong_avoid(&mut self, window: &mut Window, _moment: &Moment, acked: u32) {
        cong_avoid(window, acked);
    }
}
