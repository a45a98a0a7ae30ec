//! Losses by counting: duplicate ACKs without SACK (RFC 5681, RFC 6582), forward acknowledgment with it (before RACK).

use super::queue::SkbId;
use super::skb::Fate;
use crate::choices::SackWalk;
use crate::congestion::CaState;
use crate::connection::Connection;

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

    /// `tcp_remove_reno_sacks`: one acknowledged segment was the hole, the others ate duplicate ACKs.
    pub(super) fn remove_reno_sacks(&mut self, acked: u32) {
        if acked > 0 {
            let delivered = acked.saturating_sub(self.snd.sacked_out).max(1);
            self.snd.delivered = self.snd.delivered.wrapping_add(delivered);
            self.snd.sacked_out = self.snd.sacked_out.saturating_sub(acked - 1);
        }
        self.check_reno_reordering(acked);
    }

    /// `tcp_check_reno_reordering`: more duplicates than there can be segments beyond a hole.
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
    pub(super) fn newreno_mark_lost(&mut self, advanced: bool) {
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
        self.mark_lost(head);
    }

    /// Forward acknowledgment (`tcp_update_scoreboard` and `tcp_mark_head_lost` with `IsFack`, 2.4 and 2.6): what lies
    /// more than the reordering below the highest sacked segment is lost.
    pub(super) fn count_lost(&mut self) {
        if self.snd.sacked_out == 0 {
            return;
        }
        let mss = i64::from(self.snd.mss.max(1));
        let forward = self.snd.highest_sack_seq().distance_from(self.snd.una).max(0) / mss;
        let spare = i64::from(self.snd.reordering);
        if forward <= spare && self.snd.ca_state < CaState::Recovery {
            return;
        }
        // In recovery the head at least is lost when nothing says otherwise.
        let count = (forward - spare).max(1);
        let end = self.snd.una.0 + count * mss;
        let hint = self.snd.hints.lost.filter(|_| self.settings.choices.sack_walk != SackWalk::FromHead);
        let mut next = hint.or_else(|| self.snd.queue.first_open());
        while let Some(id) = next {
            self.work.queue_steps += 1;
            let skb = self.snd.queue[id];
            if skb.seq.0 >= end {
                break;
            }
            let retransmitted = skb.fate.any(Fate::RETRANSMITTED);
            if !skb.fate.any(Fate::LOST) && !retransmitted {
                self.mark_lost(id);
            }
            self.snd.hints.lost = Some(id);
            next = self.snd.queue.next_open(id);
        }
    }

    /// What was sent again before something that is sacked was sent for the first time, and is not sacked itself, was lost
    /// again (event C of `tcp_sacktag_write_queue`, 2.4; `tcp_mark_lost_retrans`, 2.6.24 to 4.17).
    pub(super) fn mark_lost_retransmissions(&mut self) {
        let received = self.snd.highest_sack_seq();
        let may_be = self.snd.retrans_out > 0
            && received > self.snd.resent_low
            && self.snd.ca_state == CaState::Recovery;
        if !may_be {
            return;
        }
        let mut low = self.snd.nxt;
        let mut still_out = 0;
        let mut next = self.snd.queue.first_open();
        while let Some(id) = next {
            self.work.queue_steps += 1;
            if still_out == self.snd.retrans_out {
                break;
            }
            let skb = self.snd.queue[id];
            next = self.snd.queue.next_open(id);
            if !skb.fate.any(Fate::RETRANSMITTED) {
                continue;
            }
            if received > skb.resent_below {
                self.lose_retransmission(id);
            } else {
                low = low.min(skb.resent_below);
                still_out += skb.segments;
            }
        }
        self.snd.resent_low = low;
    }

    fn lose_retransmission(&mut self, id: SkbId) {
        let skb = &mut self.snd.queue[id];
        skb.fate.clear(Fate::RETRANSMITTED);
        let segments = skb.segments;
        let was_lost = skb.fate.any(Fate::LOST);
        self.snd.retrans_out = self.snd.retrans_out.saturating_sub(segments);
        self.snd.lost = self.snd.lost.wrapping_add(segments);
        self.verify_retransmit_hint(id);
        if !was_lost {
            self.snd.queue[id].fate.set(Fate::LOST);
            self.snd.lost_out += segments;
        }
    }
}
