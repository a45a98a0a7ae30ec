//! Losses by counting duplicate ACKs, without SACK (RFC 5681, RFC 6582).

use super::skb::Fate;
use crate::congestion::CaState;
use crate::connection::Connection;
use slowpath_model::Instant;

impl Connection {
    /// `tcp_add_reno_sack`: each duplicate ACK means that one segment has left the network.
    pub(super) fn add_reno_sacks(&mut self, duplicates: u32) {
        if duplicates == 0 {
            return;
        }
        let before = self.snd.sacked_out;
        self.snd.sacked_out += duplicates;
        self.check_reno_reordering(0);
        let delivered = self.snd.sacked_out.saturating_sub(before);
        self.snd.delivered = self.snd.delivered.wrapping_add(delivered);
    }

    /// `tcp_remove_reno_sacks`: one acknowledged segment was the hole, the others caused duplicate ACKs.
    pub(super) fn remove_reno_sacks(&mut self, acked: u32) {
        if acked > 0 {
            let delivered = acked.saturating_sub(self.snd.sacked_out).max(1);
            self.snd.delivered = self.snd.delivered.wrapping_add(delivered);
            self.snd.sacked_out = self.snd.sacked_out.saturating_sub(acked - 1);
        }
        self.check_reno_reordering(acked);
    }

    /// `tcp_check_reno_reordering`: more duplicate ACKs than segments beyond the hole.
    fn check_reno_reordering(&mut self, acked: u32) {
        let snd = &mut self.snd;
        let holes = snd.lost_out.max(1).min(snd.packets_out);
        if snd.sacked_out + holes > snd.packets_out {
            snd.sacked_out = snd.packets_out - holes;
            snd.reordering = (snd.packets_out + acked).min(self.settings.sysctls.tcp_max_reordering);
            snd.reordering_seen += 1;
        }
    }

    /// `tcp_newreno_mark_lost`: the head is lost after the duplicate threshold, and in recovery after each partial
    /// ACK.
    pub(super) fn newreno_mark_lost(&mut self, now: Instant, advanced: bool) {
        let state = self.snd.ca_state;
        let enough = state < CaState::Recovery && self.snd.sacked_out >= self.snd.reordering;
        let partial = state == CaState::Recovery && advanced;
        if !enough && !partial {
            return;
        }
        let Some(head) = self.snd.queue.head() else { return };
        let skb = self.snd.queue[head];
        if skb.fate.any(Fate::LOST) {
            return;
        }
        if skb.segments > 1 && skb.len() > skb.mss {
            self.fragment_sent(head, skb.mss);
        }
        self.mark_lost(now, head);
    }
}
