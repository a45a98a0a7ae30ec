//! The congestion state machine (`tcp_fastretrans_alert`, `tcp_enter_recovery`, `tcp_enter_loss`, `tcp_process_loss`,
//! tcp_input.c, 6.18).

use super::acking::{AckFlags, Acking, Retransmit};
use super::sender::Undo;
use super::skb::{Fate, SkbId};
use crate::choices::{ForwardRto, LossDetection, PartialUndo, PriorThreshold, Reneging, SackWalk};
use crate::congestion::{CaEvent, CaState, LostBuffer};
use crate::connection::Connection;
use crate::timers::Pending;
use slowpath_model::Instant;

impl Connection {
    /// `tcp_fastretrans_alert`. `duplicates`: how many duplicate ACKs this one counts as.
    pub(super) fn fast_retransmit_alert(&mut self, acking: &mut Acking, duplicates: u32) -> Retransmit {
        let now = acking.now;
        if self.snd.packets_out == 0 {
            self.snd.sacked_out = 0;
        }
        if acking.flags.any(AckFlags::ECE) {
            self.snd.prior_ssthresh = 0;
        }
        if self.check_reneging(acking) {
            return Retransmit::Nothing;
        }
        if self.snd.ca_state == CaState::Open {
            self.snd.retrans_stamp = None;
        } else if self.snd.una >= self.snd.high_seq && self.episode_is_over(now) {
            return Retransmit::Nothing;
        }
        match self.snd.ca_state {
            CaState::Recovery => self.alert_in_recovery(acking, duplicates),
            CaState::Loss => self.alert_in_loss(acking, duplicates),
            CaState::Open | CaState::Disorder | CaState::Cwr => self.alert_otherwise(acking, duplicates),
        }
    }

    /// An episode is fully acknowledged; returns whether this ACK needs no more processing.
    fn episode_is_over(&mut self, now: Instant) -> bool {
        match self.snd.ca_state {
            CaState::Cwr if self.snd.una != self.snd.high_seq => {
                self.end_reduction(now);
                self.set_ca_state(now, CaState::Open);
            }
            CaState::Recovery => {
                if self.is_reno() {
                    self.snd.sacked_out = 0;
                }
                if self.try_undo_recovery(now) {
                    return true;
                }
                self.end_reduction(now);
            }
            _ => {}
        }
        false
    }

    fn alert_in_recovery(&mut self, acking: &mut Acking, duplicates: u32) -> Retransmit {
        let now = acking.now;
        let mut doubtful = is_duplicate(acking.flags);
        if !acking.flags.any(AckFlags::SND_UNA_ADVANCED) {
            if self.is_reno() {
                self.add_reno_sacks(duplicates);
            }
        } else {
            doubtful = self.is_beyond_reordering();
            if self.try_undo_partial(now, acking.prior_una) {
                if !self.uses_forward_ack() {
                    return Retransmit::Nothing;
                }
                // The other holes are most probably reordered too.
                doubtful = false;
            }
        }
        // Until 3.2 the episode ends before duplicates are counted.
        if self.settings.choices.partial_undo == PartialUndo::All && self.try_undo_by_duplicates(now) {
            self.try_to_open(now, acking.flags);
        }
        self.identify_loss(acking);
        if self.snd.ca_state != CaState::Recovery {
            // An undo has ended the episode; another may begin.
            if !self.is_time_to_recover(now) {
                return Retransmit::Nothing;
            }
            self.enter_recovery(now, acking.flags.any(AckFlags::ECE));
        }
        self.update_scoreboard(now, doubtful);
        Retransmit::Lost
    }

    fn alert_in_loss(&mut self, acking: &mut Acking, duplicates: u32) -> Retransmit {
        let retransmit = self.process_loss(acking, duplicates);
        if self.snd.ca_state == CaState::Loss {
            self.moderate_bursts(acking.now);
        } else {
            self.end_timeouts(acking.now);
        }
        self.identify_loss(acking);
        // Continue only if the timeout was undone, or a retransmission was lost too.
        if self.snd.ca_state != CaState::Open && !acking.flags.any(AckFlags::LOST_RETRANS) {
            return retransmit;
        }
        match self.alert_otherwise(acking, duplicates) {
            Retransmit::Nothing => retransmit,
            more => more,
        }
    }

    fn alert_otherwise(&mut self, acking: &mut Acking, duplicates: u32) -> Retransmit {
        let now = acking.now;
        if self.is_reno() {
            if acking.flags.any(AckFlags::SND_UNA_ADVANCED) {
                self.snd.sacked_out = 0;
            }
            self.add_reno_sacks(duplicates);
        }
        if self.snd.ca_state <= CaState::Disorder {
            self.try_undo_by_duplicates(now);
        }
        self.identify_loss(acking);
        if !self.is_time_to_recover(now) {
            self.try_to_open(now, acking.flags);
            return Retransmit::Nothing;
        }
        if self.mtu_probe_was_lost(now) {
            return Retransmit::Nothing;
        }
        self.enter_recovery(now, acking.flags.any(AckFlags::ECE));
        self.update_scoreboard(now, is_duplicate(acking.flags));
        Retransmit::Lost
    }

    /// `tcp_time_to_recover`: segments are marked lost, or should be.
    fn is_time_to_recover(&self, now: Instant) -> bool {
        self.snd.lost_out > 0 || (self.uses_forward_ack() && self.forward_ack_says_lost(now))
    }

    /// `tcp_identify_packet_loss`.
    fn identify_loss(&mut self, acking: &mut Acking) {
        if self.snd.queue.is_all_acknowledged() {
            return;
        }
        if self.is_reno() {
            self.newreno_mark_lost(acking.now, acking.flags.any(AckFlags::SND_UNA_ADVANCED));
        } else if self.uses_rack() {
            let before = self.snd.retrans_out;
            if self.rack_mark_lost(acking.now) {
                acking.flags.clear(AckFlags::SET_XMIT_TIMER);
            }
            if before > self.snd.retrans_out {
                acking.flags.set(AckFlags::LOST_RETRANS);
            }
        } else {
            self.mark_lost_retransmissions(acking.now);
            self.mark_lost_before_episode(acking.now, acking.flags);
        }
    }

    /// `tcp_mark_skb_lost`.
    pub(super) fn mark_lost(&mut self, now: Instant, id: SkbId) {
        let skb = self.snd.queue[id];
        if skb.fate.any(Fate::SACKED) {
            return;
        }
        self.verify_retransmit_hint(id);
        let segments = skb.segments;
        if skb.fate.any(Fate::LOST) {
            if skb.fate.any(Fate::RETRANSMITTED) {
                self.snd.queue[id].fate.clear(Fate::RETRANSMITTED);
                self.snd.retrans_out = self.snd.retrans_out.saturating_sub(segments);
                self.count_lost(now, id);
            }
        } else {
            self.snd.queue[id].fate.set(Fate::LOST);
            self.snd.lost_out += segments;
            self.count_lost(now, id);
        }
    }

    /// `tcp_notify_skb_loss_event`.
    pub(super) fn count_lost(&mut self, now: Instant, id: SkbId) {
        let skb = self.snd.queue[id];
        self.snd.lost = self.snd.lost.wrapping_add(skb.segments);
        if self.congestion.paces {
            let lost = LostBuffer {
                segments: skb.segments,
                // Unknown for what the receiver SACKed and then reneged on.
                in_flight: if self.snd.reneging { 0 } else { skb.sent.in_flight },
                lost: self.snd.lost.wrapping_sub(skb.sent.lost),
                app_limited: skb.sent.app_limited,
            };
            let moment = self.moment(now);
            self.congestion.marked_lost(&self.snd.window, &moment, &lost);
        }
    }

    /// `tcp_verify_retransmit_hint`.
    pub(super) fn verify_retransmit_hint(&mut self, id: SkbId) {
        let snd = &mut self.snd;
        let earlier = match snd.hints.retransmit {
            None => snd.retrans_out >= snd.lost_out,
            Some(hint) => snd.queue[id].seq < snd.queue[hint].seq,
        };
        if earlier {
            snd.hints.retransmit = Some(id);
        }
    }

    /// `tcp_enter_recovery`.
    pub(super) fn enter_recovery(&mut self, now: Instant, ece: bool) {
        // Retransmissions still in flight keep the old time (`tcp_retrans_stamp_cleanup`).
        if !self.any_retransmission_out() {
            self.snd.retrans_stamp = None;
        }
        if !self.settings.choices.undo_again {
            self.snd.prior_ssthresh = 0;
        }
        self.init_undo();
        if !self.snd.in_reduction() {
            self.snd.prior_ssthresh = if ece { 0 } else { self.prior_threshold() };
            self.begin_reduction(now);
        }
        self.set_ca_state(now, CaState::Recovery);
    }

    /// The ssthresh that an undo would restore.
    pub(super) fn prior_threshold(&self) -> u32 {
        let usual = self.snd.current_ssthresh();
        match self.settings.choices.prior_threshold {
            PriorThreshold::Exact if !self.snd.in_reduction() => usual.max(self.snd.window.cwnd),
            PriorThreshold::Exact | PriorThreshold::ThreeQuarters => usual,
        }
    }

    /// `tcp_init_undo`.
    fn init_undo(&mut self) {
        let probed = self.snd.probe.is_some_and(|probe| probe.retransmission);
        let retransmissions = self.snd.retrans_out + u32::from(probed);
        self.snd.undo = Some(Undo {
            marker: self.snd.una,
            retransmissions: (retransmissions > 0).then_some(retransmissions),
        });
    }

    /// `tcp_enter_loss`: a timeout.
    pub(super) fn enter_loss(&mut self, now: Instant) {
        let new_episode = self.snd.ca_state < CaState::Recovery;
        let counts = self.settings.choices.loss_detection == LossDetection::ForwardAck;
        let sent_again = self.mark_lost_by_timeout(now);
        let first = self.snd.ca_state <= CaState::Disorder
            || self.snd.high_seq <= self.snd.una
            || (self.snd.ca_state == CaState::Loss && self.snd.retransmits == 0);
        if first {
            self.snd.prior_ssthresh = self.prior_threshold();
            self.snd.window.prior_cwnd = self.snd.window.cwnd;
            let moment = self.moment(now);
            self.snd.window.ssthresh = self.congestion.ssthresh(&self.snd.window, &moment);
            self.tell_control(now, CaEvent::Loss);
            self.init_undo();
        }
        if counts {
            self.init_undo();
            // Until 3.16 nothing showed whether an ACK is for the original or the retransmission.
            self.snd.undo = self.snd.undo.filter(|_| !sent_again);
        }
        let in_flight = self.snd.in_flight();
        self.snd.window.cwnd = in_flight + 1;
        self.snd.window.count = 0;
        self.snd.cwnd_stamp = now;
        // Many duplicate ACKs before a timeout: the reordering was overestimated.
        let usual = self.settings.sysctls.tcp_reordering;
        if counts || (self.snd.ca_state <= CaState::Disorder && self.snd.sacked_out >= usual) {
            self.snd.reordering = self.snd.reordering.min(usual);
        }
        let again = self.snd.retransmits > 0;
        self.set_ca_state(now, CaState::Loss);
        self.snd.high_seq = self.snd.nxt;
        self.snd.probe = None;
        self.snd.queue_cwr = self.negotiated.ecn.is_classic();
        // RFC 5682, section 3.1, step 1.
        self.snd.forward_rto = self.settings.choices.forward_rto != ForwardRto::No
            && self.settings.sysctls.tcp_frto != 0
            && (new_episode || again);
    }

    /// `tcp_timeout_mark_lost`: marks everything lost, except what RACK considers too recent; reneging clears all SACK
    /// marks. Returns whether any of it had been retransmitted.
    fn mark_lost_by_timeout(&mut self, now: Instant) -> bool {
        let head = self.snd.queue.head();
        let reneged = head.is_some_and(|id| self.snd.queue[id].fate.any(Fate::SACKED));
        if reneged {
            self.snd.sacked_out = 0;
            self.snd.batch.take();
            self.snd.reneging = true;
        } else if self.is_reno() {
            self.snd.sacked_out = 0;
        }
        let mut next = head;
        let mut sent_again = false;
        while let Some(id) = next {
            self.work.queue_steps += 1;
            next = self.snd.queue.next(id);
            sent_again |= self.snd.queue[id].fate.any(Fate::ANY_RETRANSMISSION);
            if reneged {
                self.snd.queue[id].fate.clear(Fate::SACKED);
            } else if Some(id) != head && self.rack_spares(now, &self.snd.queue[id]) {
                continue;
            }
            self.mark_lost(now, id);
        }
        (self.snd.hints.retransmit, self.snd.hints.lost) = (None, None);
        if reneged && self.settings.choices.sack_walk == SackWalk::Holes {
            self.snd.queue.list_holes();
        }
        sent_again
    }

    /// `tcp_check_sack_reneging`: the head was SACKed but is not acknowledged.
    fn check_reneging(&mut self, acking: &mut Acking) -> bool {
        let flags = acking.flags;
        if !flags.any(AckFlags::SACK_RENEGING) || !flags.any(AckFlags::SND_UNA_ADVANCED) {
            return false;
        }
        self.snd.totals.renegings += 1;
        match self.settings.choices.reneging {
            Reneging::AsTimeout => self.renege_as_timeout(acking),
            Reneging::Forget => self.forget_sacks(acking.now),
            Reneging::Wait => self.wait_for_reneging(acking),
        }
        true
    }

    /// Until 3.16.
    fn renege_as_timeout(&mut self, acking: &mut Acking) {
        self.enter_loss(acking.now);
        self.snd.retransmits = self.snd.retransmits.saturating_add(1);
        if let Some(head) = self.snd.queue.head() {
            self.retransmit_buffer(acking.now, head, 1);
        }
        let rto = self.snd.rtt.rto;
        self.set_retransmit_timer(acking.now, Pending::Retransmit, rto);
        acking.flags.clear(AckFlags::SET_XMIT_TIMER);
    }

    /// Everything is retransmitted, without treating it as congestion (leith, section 1.3).
    fn forget_sacks(&mut self, now: Instant) {
        self.mark_lost_by_timeout(now);
        self.snd.undo = None;
        self.snd.high_seq = self.snd.nxt;
        self.set_ca_state(now, CaState::Loss);
        self.retransmit_queue(now);
    }

    /// Since 3.17.
    fn wait_for_reneging(&mut self, acking: &mut Acking) {
        // The receiver's ACKs may be in flight: half an RTT, at least 10 ms.
        let delay = (self.snd.rtt.srtt_us >> 4).max(10_000);
        let ticks = self.ticks(std::time::Duration::from_micros(u64::from(delay)));
        self.set_retransmit_timer(acking.now, Pending::Retransmit, ticks);
        acking.flags.clear(AckFlags::SET_XMIT_TIMER);
    }

    /// `tcp_process_loss`: an ACK after a timeout.
    fn process_loss(&mut self, acking: &mut Acking, duplicates: u32) -> Retransmit {
        let now = acking.now;
        let advanced = acking.flags.any(AckFlags::SND_UNA_ADVANCED);
        let recovered = self.snd.una >= self.snd.high_seq;
        if advanced && self.try_undo_loss(now, false) {
            return Retransmit::Nothing;
        }
        if self.snd.forward_rto {
            // Step 3b: a segment sent once, before the timeout, has arrived.
            if acking.flags.any(AckFlags::ORIG_SACK_ACKED) && self.try_undo_loss(now, true) {
                return Retransmit::Nothing;
            }
            if self.snd.nxt > self.snd.high_seq {
                // Step 3a: the loss was real.
                if acking.flags.any(AckFlags::DATA_SACKED) || duplicates > 0 {
                    self.snd.forward_rto = false;
                }
            } else if advanced && !recovered {
                self.snd.high_seq = self.snd.nxt;
                // Step 2b: new data, if available and allowed by the window.
                if !self.snd.queue.is_all_sent() && self.snd.wnd_end() > self.snd.nxt {
                    return Retransmit::NewData;
                }
                self.snd.forward_rto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(now);
            return Retransmit::Nothing;
        }
        if self.is_reno() {
            // A duplicate ACK means that the data of step 2b was delivered.
            if self.snd.nxt > self.snd.high_seq && duplicates > 0 {
                self.add_reno_sacks(duplicates);
            } else if advanced {
                self.snd.sacked_out = 0;
            }
        }
        Retransmit::Lost
    }

    /// `tcp_try_keep_open`.
    pub(super) fn try_keep_open(&mut self, now: Instant) {
        let unsettled = self.snd.left_out() > 0 || self.any_retransmission_out();
        let state = if unsettled { CaState::Disorder } else { CaState::Open };
        if self.snd.ca_state != state {
            self.set_ca_state(now, state);
            self.snd.high_seq = self.snd.nxt;
        }
    }

    /// `tcp_try_to_open`.
    fn try_to_open(&mut self, now: Instant, flags: AckFlags) {
        if !self.any_retransmission_out() {
            self.snd.retrans_stamp = None;
        }
        if flags.any(AckFlags::ECE) {
            self.enter_cwr(now);
        }
        if self.snd.ca_state != CaState::Cwr {
            self.try_keep_open(now);
            self.moderate_bursts(now);
        }
    }

    /// `tcp_any_retrans_done`.
    pub(super) fn any_retransmission_out(&self) -> bool {
        self.snd.retrans_out > 0
            || self.snd.queue.head().is_some_and(|id| self.snd.queue[id].fate.any(Fate::EVER_RETRANSMITTED))
    }
}

/// Whether an ACK only reports an arrival.
fn is_duplicate(flags: AckFlags) -> bool {
    !flags.any(AckFlags::SND_UNA_ADVANCED) && !flags.any(AckFlags::NOT_DUP)
}
