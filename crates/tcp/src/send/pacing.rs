//! Pacing (`tcp_update_pacing_rate`, tcp_input.c; `tcp_pacing_check`, tcp_output.c, 6.18).

use crate::connection::Connection;
use slowpath_model::Instant;
use std::time::Duration;

impl Connection {
    /// Whether segments are paced: only if `SO_MAX_PACING_RATE` or the congestion control requires it.
    pub(crate) const fn is_paced(&self) -> bool {
        self.options.max_pacing_rate != u64::MAX || self.congestion.paces
    }

    /// `tcp_update_pacing_rate`, in bytes per second: it also sizes super-packets.
    pub(super) fn update_pacing_rate(&mut self) {
        if self.congestion.paces {
            return;
        }
        let snd = &self.snd;
        let sysctls = &self.settings.sysctls;
        let ratio = if snd.window.cwnd < snd.window.ssthresh / 2 {
            sysctls.tcp_pacing_ss_ratio
        } else {
            sysctls.tcp_pacing_ca_ratio
        };
        let window = u64::from(snd.window.cwnd.max(snd.packets_out));
        // mss * window * 8e6 / srtt_us8, with the ratio in hundredths.
        let mut rate = u64::from(snd.mss) * (1_000_000 / 100 * 8) * u64::from(ratio) * window;
        if snd.rtt.srtt_us != 0 {
            rate /= u64::from(snd.rtt.srtt_us);
        }
        self.snd.pacing_rate = rate.min(self.options.max_pacing_rate);
    }

    /// `tcp_pacing_check`: whether the next segment must wait; arms the timer if so.
    pub(super) fn has_to_wait(&mut self, now: Instant) -> bool {
        if !self.is_paced() || self.snd.wire_at <= now {
            return false;
        }
        self.timers.pacing = Some(self.snd.wire_at);
        true
    }

    /// `tcp_update_skb_after_send`: the send time of the next segment. Up to half a delay may be caught up.
    pub(super) fn pace(&mut self, now: Instant, bytes: u32) {
        let credit = now.since(self.snd.wire_at).unwrap_or_default();
        self.snd.wire_at = self.snd.wire_at.max(now);
        let rate = self.snd.pacing_rate;
        // The first ten segments are not paced.
        if self.is_paced() && rate > 0 && self.snd.totals.data_segments_out >= 10 {
            let nanos = u64::from(bytes) * 1_000_000_000 / rate;
            let credit = slowpath_model::nanos(credit);
            self.snd.wire_at = self.snd.wire_at + Duration::from_nanos(nanos - (nanos / 2).min(credit));
        }
    }

    /// `tcp_pace_kick`.
    pub(crate) fn pacing_timer(&mut self, now: Instant) {
        if self.may_still_send() {
            if self.snd.lost_out > self.snd.retrans_out && self.snd.window.cwnd > self.snd.in_flight() {
                self.retransmit_queue(now);
            }
            self.push_pending(now);
        }
    }
}
