//! Retransmission (`tcp_retransmit_skb`, `tcp_xmit_retransmit_queue`, tcp_output.c, 6.18).

use super::acking::Retransmit;
use super::skb::{Fate, SkbId};
use super::write::Nagle;
use crate::choices::SackWalk;
use crate::congestion::CaState;
use crate::connection::{Connection, State};
use crate::timers::Pending;
use slowpath_model::{Flags, Instant};

impl Connection {
    /// Splits a sent buffer and adjusts the counts (`tcp_fragment`). Returns the second part.
    pub(super) fn fragment_sent(&mut self, id: SkbId, len: u32) -> SkbId {
        let before = self.snd.queue[id];
        let rest = self.snd.queue.fragment(id, len);
        self.charge_head();
        let more = self.snd.queue[id].segments + self.snd.queue[rest].segments;
        self.adjust_counts(before.fate, before.segments, more);
        rest
    }

    /// Changes the number of segments that a buffer counts as (`tcp_adjust_pcount`).
    fn adjust_counts(&mut self, fate: Fate, before: u32, after: u32) {
        let change = |count: &mut u32| *count = (*count + after).saturating_sub(before);
        let snd = &mut self.snd;
        change(&mut snd.packets_out);
        if fate.any(Fate::SACKED) {
            change(&mut snd.sacked_out);
        }
        if fate.any(Fate::RETRANSMITTED) {
            change(&mut snd.retrans_out);
        }
        if fate.any(Fate::LOST) {
            change(&mut snd.lost_out);
        }
    }

    /// `tcp_retransmit_skb`: retransmits up to `segments` segments of a buffer. Returns whether it did: a shrunken
    /// window can prevent it.
    pub(super) fn retransmit_buffer(&mut self, now: Instant, id: SkbId, segments: u32) -> bool {
        if !self.retransmit_uncounted(now, id, segments) {
            return false;
        }
        let sent = self.snd.queue[id].segments;
        let skb = &mut self.snd.queue[id];
        skb.fate.set(Fate::RETRANSMITTED);
        skb.resent_below = self.snd.nxt;
        if self.snd.retrans_out == 0 {
            self.snd.resent_low = self.snd.nxt;
        }
        self.snd.retrans_out += sent;
        self.snd.retrans_stamp.get_or_insert(now);
        if let Some(undo) = &mut self.snd.undo {
            undo.retransmissions = Some(undo.retransmissions.unwrap_or(0) + sent);
        }
        true
    }

    /// `__tcp_retransmit_skb`.
    pub(super) fn retransmit_uncounted(&mut self, now: Instant, id: SkbId, segments: u32) -> bool {
        self.forget_mtu_probe();
        if self.snd.queue[id].seq < self.snd.una {
            self.trim_head(id);
        }
        let mss = self.mss_now();
        let skb = self.snd.queue[id];
        let mut window = self.snd.wnd_end().distance_from(skb.seq);
        if window <= 0 {
            // Only the head is sent into a zero window, as its probe.
            if skb.seq != self.snd.una {
                return false;
            }
            window = i64::from(mss);
        }
        let window = u32::try_from(window).unwrap_or(u32::MAX);
        let mut most = mss.saturating_mul(segments);
        if most > window {
            most = window / mss * mss;
            if most == 0 {
                most = window;
            }
        }
        if skb.len() > most {
            self.fragment_for_retransmission(id, most, mss);
        } else {
            self.recut(id, mss);
            if self.snd.queue[id].len() < mss {
                self.try_collapse(id, mss);
            }
        }
        self.send_again(now, id);
        true
    }

    fn fragment_for_retransmission(&mut self, id: SkbId, len: u32, mss: u32) {
        self.recut(id, mss);
        self.fragment_sent(id, len);
    }

    /// The MSS may have changed since the buffer was first cut, and merged buffers may have been short.
    fn recut(&mut self, id: SkbId, mss: u32) {
        let skb = self.snd.queue[id];
        if skb.len() == 0 {
            return;
        }
        let after = self.snd.queue[id].cut(mss);
        if after != skb.segments {
            self.adjust_counts(skb.fate, skb.segments, after);
        }
    }

    fn send_again(&mut self, now: Instant, id: SkbId) {
        let skb = self.snd.queue[id];
        let totals = &mut self.snd.totals;
        totals.retransmissions = totals.retransmissions.wrapping_add(skb.segments);
        totals.bytes_retransmitted += u64::from(skb.len());
        self.transmit(now, id);
        if skb.flags.has(Flags::SYN) {
            self.add_syn_options(true);
        }
        self.snd.queue.was_sent_now(id);
        self.snd.queue[id].fate.set(Fate::EVER_RETRANSMITTED);
    }

    /// `tcp_retrans_try_collapse`: small buffers after a small one are merged into it.
    fn try_collapse(&mut self, id: SkbId, mss: u32) {
        if !self.settings.sysctls.tcp_retrans_collapse || self.snd.queue[id].flags.has(Flags::SYN) {
            return;
        }
        while let Some(next) = self.snd.queue.next(id) {
            let (first, second) = (self.snd.queue[id], self.snd.queue[next]);
            let may = first.segments == 1
                && second.segments == 1
                && !second.fate.any(Fate::SACKED)
                && !first.eor
                && first.len() + second.len() <= mss
                && second.end_seq <= self.snd.wnd_end();
            if !may {
                return;
            }
            self.collapse(id, next);
        }
    }

    fn collapse(&mut self, id: SkbId, next: SkbId) {
        let second = self.snd.queue[next];
        if self.snd.highest_sack == Some(next) {
            self.snd.highest_sack = self.snd.queue.next(next);
        }
        let hint = self.snd.hints.retransmit;
        self.snd.hints.forget(next);
        if hint == Some(next) {
            self.snd.hints.retransmit = Some(id);
        }
        let snd = &mut self.snd;
        if second.fate.any(Fate::LOST) {
            snd.lost_out = snd.lost_out.saturating_sub(second.segments);
        }
        if second.fate.any(Fate::RETRANSMITTED) {
            snd.retrans_out = snd.retrans_out.saturating_sub(second.segments);
        }
        snd.packets_out = snd.packets_out.saturating_sub(second.segments);
        snd.queue.collapse_next(id);
        self.free_head();
    }

    /// `tcp_xmit_retransmit_queue`: retransmits lost segments, as far as the window allows.
    pub(super) fn retransmit_queue(&mut self, now: Instant) {
        if self.snd.packets_out == 0 {
            return;
        }
        let head = self.snd.queue.head();
        let most = self.tso_segments(self.current_mss());
        let hint =
            self.snd.hints.retransmit.filter(|_| self.settings.choices.sack_walk != SackWalk::FromHead);
        let mut next = hint.or_else(|| self.snd.queue.first_open());
        let mut hole_seen = false;
        let mut rearm = false;
        while let Some(id) = next {
            self.work.queue_steps += 1;
            if self.has_to_wait(now) {
                break;
            }
            if !hole_seen {
                self.snd.hints.retransmit = Some(id);
            }
            let room = self.snd.window.cwnd.saturating_sub(self.snd.in_flight()).min(self.burst_left());
            if room == 0 || self.snd.retrans_out >= self.snd.lost_out {
                break;
            }
            let fate = self.snd.queue[id].fate;
            if !fate.any(Fate::LOST) {
                hole_seen |= !fate.any(Fate::SACKED_OR_RETRANSMITTED);
            } else if !fate.any(Fate::SACKED_OR_RETRANSMITTED) {
                let skb = self.snd.queue[id];
                if self.is_throttled(&skb, true) || !self.retransmit_buffer(now, id, room.min(most)) {
                    break;
                }
                if self.snd.in_reduction() {
                    self.snd.prr_out += self.snd.queue[id].segments;
                }
                let waits_for_reordering = matches!(self.timers.retransmit, Some((Pending::Reordering, _)));
                rearm |= Some(id) == head && !waits_for_reordering;
            }
            next = self.snd.queue.next_open(id);
        }
        if rearm {
            self.restart_retransmit_timer(now);
        }
        self.retransmit_forward(now);
    }

    /// Restarts the RTO timer.
    pub(super) fn restart_retransmit_timer(&mut self, now: Instant) {
        let rto = self.snd.rtt.rto;
        self.set_retransmit_timer(now, Pending::Retransmit, rto);
    }

    /// `tcp_xmit_recovery`: sends what an ACK allowed.
    pub(super) fn retransmit_as_told(&mut self, now: Instant, what: Retransmit) {
        if what == Retransmit::Nothing || self.state == State::SynSent {
            return;
        }
        if what == Retransmit::NewData {
            let mss = self.current_mss();
            self.push_frames(now, mss, Nagle::OFF);
            // Nothing was sent: F-RTO has nothing to observe.
            if self.snd.nxt > self.snd.high_seq {
                return;
            }
            self.snd.forward_rto = false;
        }
        self.retransmit_queue(now);
    }

    /// `tcp_simple_retransmit`: retransmits what was too large for the path, without treating it as congestion.
    pub(super) fn simple_retransmit(&mut self, now: Instant) {
        // A SYN and its data are two buffers, and were one packet that was too large.
        let opening = self.state == State::SynSent && self.rcv.attempt.data;
        let mss = self.current_mss();
        let mut next = self.snd.queue.head();
        while let Some(id) = next {
            next = self.snd.queue.next(id);
            if opening || self.snd.queue[id].segment_len() > mss {
                self.mark_lost(now, id);
            }
        }
        self.snd.hints.retransmit = None;
        if self.snd.lost_out > 0 {
            self.recover_without_congestion(now);
        }
    }

    /// Retransmits what is marked lost, without treating it as congestion (`tcp_non_congestion_loss_retransmit`).
    pub(super) fn recover_without_congestion(&mut self, now: Instant) {
        if self.snd.ca_state != CaState::Loss {
            self.snd.high_seq = self.snd.nxt;
            self.snd.window.ssthresh = self.snd.current_ssthresh();
            self.snd.prior_ssthresh = 0;
            self.snd.undo = None;
            self.set_ca_state(now, CaState::Loss);
        }
        self.retransmit_queue(now);
    }
}
