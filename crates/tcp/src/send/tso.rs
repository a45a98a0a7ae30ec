//! Super-packets: their maximum size, and whether to wait for more data (tcp_output.c, 6.18).

use super::skb::Skb;
use crate::connection::Connection;
use slowpath_model::{Flags, Instant};
use std::time::Duration;

/// A super-packet lasts about a millisecond at the pacing rate (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;

/// Whether and why a super-packet waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defer {
    /// It is sent.
    No,
    /// It waits for the congestion window to open further.
    ForCongestionWindow,
    /// It waits for the receive window.
    ForReceiveWindow,
    /// It waits for more data.
    ForData,
}

impl Connection {
    /// The maximum segments of a super-packet (`tcp_tso_segs`).
    pub(super) fn tso_segments(&self, mss: u32) -> u32 {
        if !self.settings.choices.super_packets {
            return 1;
        }
        let (most_segments, most_bytes) = self.settings.gso_max;
        let mut bytes = self.snd.pacing_rate >> PACING_SHIFT;
        let near = self.min_rtt_us().unwrap_or(u32::MAX) >> self.settings.sysctls.tcp_tso_rtt_log;
        if near < 32 {
            bytes += u64::from(most_bytes >> near);
        }
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(most_bytes);
        let least = self.congestion.least_segments().unwrap_or(self.settings.sysctls.tcp_min_tso_segs);
        (bytes / mss.max(1)).max(least).min(most_segments)
    }

    /// The maximum payload of one buffer (`tcp_xmit_size_goal`).
    pub(crate) fn size_goal(&mut self, mss: u32) -> u32 {
        if !self.settings.choices.super_packets {
            return mss;
        }
        let (most_segments, most_bytes) = self.settings.gso_max;
        let new = self.bound_to_half_window(most_bytes);
        let goal = self.snd.goal_segments * mss;
        if new < goal || new >= goal + mss {
            self.snd.goal_segments = (new / mss.max(1)).min(most_segments);
        }
        (self.snd.goal_segments * mss).max(mss)
    }

    /// `tcp_tso_should_defer`.
    pub(super) fn should_defer(&self, now: Instant, skb: &Skb, is_last: bool, most_segments: u32) -> Defer {
        let snd = &self.snd;
        if self.in_loss_or_recovery() {
            return Defer::No;
        }
        // Wait only while writes follow each other closely.
        if now.since(snd.wire_at).unwrap_or_default() > Duration::from_millis(1) {
            return Defer::No;
        }
        let send_window = i64::from(snd.wnd) - skb.seq.distance_from(snd.una);
        let congestion_window =
            i64::from(snd.window.cwnd.saturating_sub(snd.in_flight())) * i64::from(snd.mss);
        let limit = send_window.min(congestion_window);
        let len = i64::from(skb.len());
        if limit >= i64::from(most_segments) * i64::from(snd.mss) || (!is_last && limit >= len) {
            return Defer::No;
        }
        let chunk = i64::from(snd.wnd).min(i64::from(snd.window.cwnd) * i64::from(snd.mss));
        let divisor = i64::from(self.settings.sysctls.tcp_tso_win_divisor.max(1));
        if limit >= chunk / divisor {
            return Defer::No;
        }
        let Some(head) = snd.queue.head() else { return Defer::No };
        if self.next_ack_is_far(now, snd.queue[head].sent_at) {
            return Defer::No;
        }
        if congestion_window < send_window {
            if congestion_window <= len {
                return Defer::ForCongestionWindow;
            }
        } else if send_window <= len {
            return Defer::ForReceiveWindow;
        }
        if skb.flags.has(Flags::FIN) || skb.eor { Defer::No } else { Defer::ForData }
    }

    /// Whether the next ACK is more than a millisecond or half an RTT away.
    fn next_ack_is_far(&self, now: Instant, head_sent: Instant) -> bool {
        let srtt_nanos = i64::from(self.snd.rtt.srtt_us) * 1000 / 8;
        let away = head_sent.nanos() + srtt_nanos - now.nanos();
        away > (srtt_nanos >> 1).min(1_000_000)
    }
}
