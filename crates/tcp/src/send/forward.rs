//! Losses by forward acknowledgment (Mathis and Mahdavi 1996), as in 2.4 (tcp_input.c): what is more than the
//! reordering below the highest SACKed segment is lost, until reordering is seen. From then on only the head of the
//! queue is, until a segment is SACKed that was sent after recovery began.

use super::acking::AckFlags;
use super::skb::{Fate, Skb, SkbId};
use super::write::Nagle;
use crate::choices::{LossDetection, SackWalk};
use crate::congestion::CaState;
use crate::connection::Connection;
use slowpath_model::{Instant, StreamOffset};

impl Connection {
    /// Whether losses are detected by forward acknowledgment: it needs SACK.
    pub(super) fn uses_forward_ack(&self) -> bool {
        self.negotiated.sack && self.settings.choices.loss_detection == LossDetection::ForwardAck
    }

    /// `fackets_out`: segments from the head to the highest SACKed one.
    fn forward_segments(&self) -> u32 {
        if self.snd.sacked_out == 0 {
            return 0;
        }
        let bytes = self.snd.highest_sack_seq().distance_from(self.snd.una).max(0);
        u32::try_from(bytes / i64::from(self.snd.mss.max(1))).unwrap_or(u32::MAX)
    }

    /// Whether more was SACKed above the head than reordering explains.
    pub(super) fn is_beyond_reordering(&self) -> bool {
        self.forward_segments() > self.snd.reordering
    }

    /// `tcp_time_to_recover` for what is not marked yet: enough duplicates, an overdue head, or too few segments
    /// outstanding to reach the threshold.
    pub(super) fn forward_ack_says_lost(&self, now: Instant) -> bool {
        let snd = &self.snd;
        let few = snd.packets_out <= snd.reordering
            && snd.sacked_out >= (snd.packets_out / 2).max(self.settings.sysctls.tcp_reordering)
            && !self.may_send_now();
        self.is_beyond_reordering() || self.is_head_overdue(now) || few
    }

    /// A segment is SACKed that was sent after the episode began: unacknowledged segments from before are lost (event B
    /// of `tcp_sacktag_write_queue`, and step C of `tcp_fastretrans_alert`).
    pub(super) fn mark_lost_before_episode(&mut self, now: Instant, flags: AckFlags) {
        let tells = flags.any(AckFlags::DATA_LOST)
            && self.snd.una < self.snd.high_seq
            && self.snd.ca_state != CaState::Open
            && self.is_beyond_reordering();
        if tells {
            self.mark_head_lost(now, self.forward_segments() - self.snd.reordering);
        }
    }

    /// `tcp_update_scoreboard`, in recovery. `doubtful`: the ACK is a duplicate, or a retransmission filled a hole.
    pub(super) fn update_scoreboard(&mut self, now: Instant, doubtful: bool) {
        let is_overdue = self.is_head_overdue(now);
        if !self.uses_forward_ack() || (!doubtful && !is_overdue) {
            return;
        }
        // By default at least the head is lost.
        let beyond = self.forward_segments().saturating_sub(self.snd.reordering).max(1);
        self.mark_head_lost(now, if self.snd.forward_ack { beyond } else { 1 });
        if is_overdue {
            self.mark_overdue_lost(now);
        }
    }

    /// `tcp_mark_head_lost`: of the first `segments` in the queue, those sent before the episode began.
    fn mark_head_lost(&mut self, now: Instant, segments: u32) {
        let mss = i64::from(self.snd.mss.max(1));
        let end = StreamOffset(self.snd.una.0 + i64::from(segments) * mss).min(self.snd.high_seq);
        let hint = self.snd.hints.lost.filter(|_| self.settings.choices.sack_walk != SackWalk::FromHead);
        let mut next = hint.or_else(|| self.snd.queue.first_open());
        while let Some(id) = next {
            self.work.queue_steps += 1;
            let skb = self.snd.queue[id];
            if skb.seq >= end {
                break;
            }
            self.mark_untagged_lost(now, id, &skb);
            self.snd.hints.lost = Some(id);
            next = self.snd.queue.next_open(id);
        }
    }

    /// Marks segments that have been in flight for longer than the RTO, which each ACK of new data restarts.
    fn mark_overdue_lost(&mut self, now: Instant) {
        let mut next = self.snd.queue.first_open();
        while let Some(id) = next {
            self.work.queue_steps += 1;
            let skb = self.snd.queue[id];
            if self.is_overdue(now, &skb) {
                self.mark_untagged_lost(now, id, &skb);
            }
            next = self.snd.queue.next_open(id);
        }
    }

    fn mark_untagged_lost(&mut self, now: Instant, id: SkbId, skb: &Skb) {
        if skb.fate.tags() == Fate::default() {
            self.mark_lost(now, id);
        }
    }

    /// `tcp_head_timedout`.
    fn is_head_overdue(&self, now: Instant) -> bool {
        let head = self.snd.queue.head().filter(|_| self.snd.packets_out > 0);
        head.is_some_and(|id| self.is_overdue(now, &self.snd.queue[id]))
    }

    /// `tcp_skb_timedout`.
    fn is_overdue(&self, now: Instant, skb: &Skb) -> bool {
        now.since(skb.sent_at).is_some_and(|since| self.ticks(since) > self.snd.rtt.rto)
    }

    /// `tcp_may_send_now`.
    fn may_send_now(&self) -> bool {
        let Some(id) = self.snd.queue.send_head() else { return false };
        let (skb, mss) = (&self.snd.queue[id], self.current_mss());
        self.snd.in_flight() < self.snd.window.cwnd
            && self.window_admits(skb, mss)
            && self.nagle_admits(skb, mss, Nagle { off: true, ..Nagle::OFF })
    }

    /// If no new data may be sent, unacknowledged segments below the highest SACKed one are retransmitted, lost or not
    /// (the end of `tcp_xmit_retransmit_queue`).
    pub(super) fn retransmit_forward(&mut self, now: Instant) {
        if self.snd.ca_state != CaState::Recovery || !self.uses_forward_ack() || self.may_send_now() {
            return;
        }
        let head = self.snd.queue.head();
        let end = self.snd.highest_sack_seq();
        let mut next = self.snd.queue.first_open();
        while let Some(id) = next {
            self.work.queue_steps += 1;
            let skb = self.snd.queue[id];
            if skb.seq >= end || self.snd.in_flight() >= self.snd.window.cwnd || self.burst_left() == 0 {
                break;
            }
            next = self.snd.queue.next_open(id);
            if skb.fate.tags() != Fate::default() {
                continue;
            }
            if !self.retransmit_buffer(now, id, 1) {
                break;
            }
            if Some(id) == head {
                self.restart_retransmit_timer(now);
            }
        }
    }

    /// A retransmission was lost if a segment is SACKed that was first sent after it, and it is not itself SACKed
    /// (event C of `tcp_sacktag_write_queue`, 2.4; `tcp_mark_lost_retrans`, 2.6.24 to 4.17).
    pub(super) fn mark_lost_retransmissions(&mut self, now: Instant) {
        let received = self.snd.highest_sack_seq();
        let may_be = self.snd.retrans_out > 0
            && received > self.snd.resent_low
            && self.snd.ca_state == CaState::Recovery;
        if !may_be {
            return;
        }
        // On a path that reorders, by more than the reordering.
        let spare = if self.snd.forward_ack { 0 } else { self.snd.reordering.saturating_mul(self.snd.mss) };
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
            if received > skb.resent_below && received >= skb.resent_below + spare {
                self.lose_retransmission(now, id);
            } else {
                low = low.min(skb.resent_below);
                still_out += skb.segments;
            }
        }
        self.snd.resent_low = low;
    }

    fn lose_retransmission(&mut self, now: Instant, id: SkbId) {
        let skb = &mut self.snd.queue[id];
        skb.fate.clear(Fate::RETRANSMITTED);
        let segments = skb.segments;
        let was_lost = skb.fate.any(Fate::LOST);
        self.snd.retrans_out = self.snd.retrans_out.saturating_sub(segments);
        self.count_lost(now, id);
        self.verify_retransmit_hint(id);
        if !was_lost {
            self.snd.queue[id].fate.set(Fate::LOST);
            self.snd.lost_out += segments;
        }
    }
}
