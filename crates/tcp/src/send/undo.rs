//! Undo of spurious reductions (`tcp_try_undo_*`, tcp_input.c, 6.18).

use super::skb::Fate;
use crate::choices::PartialUndo;
use crate::congestion::CaState;
use crate::connection::{Connection, State};
use slowpath_model::{Instant, StreamOffset};

impl Connection {
    /// `tcp_packet_delayed`: the original was only delayed: its echo is older than the retransmission, or nothing was
    /// retransmitted.
    fn was_only_late(&self) -> bool {
        if let Some(stamp) = self.snd.retrans_stamp {
            return self.echo_is_before(stamp);
        }
        // Without SACK, the stamp is cleared when the whole episode is acknowledged, and always for a SYN.
        if self.is_reno() && self.snd.una >= self.snd.high_seq {
            return false;
        }
        self.state != State::SynSent
    }

    /// `tcp_may_undo`.
    fn may_undo(&self) -> bool {
        self.snd.undo.is_some_and(|undo| undo.retransmissions == Some(0) || self.was_only_late())
    }

    /// `tcp_undo_cwnd_reduction`.
    fn undo_reduction(&mut self, now: Instant, unmark_lost: bool) {
        if unmark_lost {
            let mut next = self.snd.queue.head();
            while let Some(id) = next {
                self.snd.queue[id].fate.clear(Fate::LOST);
                next = self.snd.queue.next(id);
            }
            self.snd.lost_out = 0;
            (self.snd.hints.retransmit, self.snd.hints.lost) = (None, None);
        }
        self.undo_window(now);
        if self.snd.prior_ssthresh > self.snd.window.ssthresh {
            self.snd.window.ssthresh = self.snd.prior_ssthresh;
            self.snd.queue_cwr = false;
        }
        self.snd.undo = None;
        self.snd.totals.undos += 1;
        // RACK re-examines what it had marked.
        self.snd.rack.advanced = true;
        self.moderate_bursts(now);
    }

    fn undo_window(&mut self, now: Instant) {
        if self.snd.prior_ssthresh > 0 {
            self.snd.window.cwnd = self.congestion.undo_cwnd(&self.snd.window);
        }
        self.snd.cwnd_stamp = now;
    }

    /// Without SACK, the state is kept until something above the episode is acknowledged, or late duplicates would
    /// start another (`tcp_is_non_sack_preventing_reopen`; RFC 6582, section 6).
    fn prevents_reopening(&mut self, now: Instant) -> bool {
        if self.snd.una == self.snd.high_seq && self.is_reno() {
            if !self.any_retransmission_out() {
                self.snd.retrans_stamp = None;
            }
            self.moderate_bursts(now);
            return true;
        }
        false
    }

    /// `tcp_try_undo_recovery`: whether to keep the state.
    pub(super) fn try_undo_recovery(&mut self, now: Instant) -> bool {
        if self.may_undo() {
            self.undo_reduction(now, false);
        } else if self.snd.rack.persist > 0 {
            self.snd.rack.persist -= 1;
        }
        if self.prevents_reopening(now) {
            return true;
        }
        self.set_ca_state(now, CaState::Open);
        self.snd.reneging = false;
        false
    }

    /// `tcp_try_undo_dsack`: every retransmission of the episode was reported as a duplicate.
    pub(super) fn try_undo_by_duplicates(&mut self, now: Instant) -> bool {
        if self.snd.undo.is_some_and(|undo| undo.retransmissions == Some(0)) {
            self.snd.rack.persist_longer();
            self.undo_reduction(now, false);
            return true;
        }
        false
    }

    /// `tcp_try_undo_loss`; `by_order`: F-RTO detected it.
    pub(super) fn try_undo_loss(&mut self, now: Instant, by_order: bool) -> bool {
        if !by_order && !self.may_undo() {
            return false;
        }
        self.undo_reduction(now, true);
        self.snd.retransmits = 0;
        if self.prevents_reopening(now) {
            return true;
        }
        if by_order || self.negotiated.sack {
            self.set_ca_state(now, CaState::Open);
            self.snd.reneging = false;
        }
        true
    }

    /// `tcp_try_undo_partial`: the original filled the hole; returns whether retransmissions are still in flight, so
    /// that nothing can be decided yet.
    pub(super) fn try_undo_partial(&mut self, now: Instant, prior_una: StreamOffset) -> bool {
        if self.snd.undo.is_none() || !self.was_only_late() {
            return false;
        }
        self.note_reordering(prior_una);
        if self.settings.choices.partial_undo == PartialUndo::Window {
            if self.snd.retrans_out == 0 {
                self.snd.retrans_stamp = None;
            }
            self.undo_window(now);
            self.moderate_bursts(now);
            return true;
        }
        if self.snd.retrans_out > 0 {
            return true;
        }
        if !self.any_retransmission_out() {
            self.snd.retrans_stamp = None;
        }
        self.undo_reduction(now, true);
        self.try_keep_open(now);
        false
    }
}
