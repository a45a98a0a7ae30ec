//! Processing of ACKs at the sender (`tcp_ack`, tcp_input.c, 6.18).

use super::acking::{AckFlags, Acking, Retransmit};
use super::chrono::Waiting;
use super::skb::Fate;
use crate::choices::{RoundTrips, WindowIncrease};
use crate::congestion::{AckSample, RateSample};
use crate::connection::Connection;
use crate::packet::Packet;
use slowpath_model::{Flags, Instant, StreamOffset};
use std::time::Duration;

/// The result of processing an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckResult {
    /// It acknowledges data in flight, or is a duplicate ACK.
    Valid,
    /// It is older than the last one, within the window.
    Old,
    /// It is too old to be valid (RFC 5961, section 5.2): a challenge ACK is sent.
    TooOld,
    /// It acknowledges data that was never sent.
    Unsent,
}

impl Connection {
    /// Processes a segment's acknowledgment. `slow`: it did not pass header prediction.
    pub(crate) fn ack(&mut self, now: Instant, packet: &Packet, slow: bool) -> AckResult {
        self.rcv.accurate.clock = now;
        let snd = &self.snd;
        let ack = packet.ack;
        let mut acking = Acking {
            now,
            prior_una: snd.una,
            prior_highest: snd.highest_sack_seq(),
            prior_sacked: snd.sacked_out,
            prior_delivered: snd.delivered,
            prior_lost: snd.lost,
            prior_in_flight: snd.in_flight(),
            duplicates: packet.segments(),
            ..Acking::default()
        };
        let prior_packets = snd.packets_out;
        if ack < snd.una {
            return self.old_ack(packet, acking);
        }
        if ack > snd.nxt {
            return AckResult::Unsent;
        }
        self.snd.reneging = false;
        self.snd.sent_for_ack = 0;
        self.snd.rate.begin_ack();
        self.recheck_app_limited();
        if ack > acking.prior_una {
            acking.flags.set(AckFlags::SND_UNA_ADVANCED);
            self.snd.retransmits = 0;
        }
        self.note_echo(packet);
        acking.slow = slow || !acking.flags.any(AckFlags::SND_UNA_ADVANCED);
        if !acking.slow {
            self.snd.wl1 = packet.seq;
            self.advance_una(ack);
            acking.flags.set(AckFlags::WIN_UPDATE);
        } else {
            self.read_slowly(packet, &mut acking);
        }
        self.soft_error = None;
        self.snd.probes_out = 0;
        self.snd.last_ack = now;
        if prior_packets == 0 {
            self.ack_of_nothing(packet, acking);
            return AckResult::Valid;
        }
        self.clean_queue(&mut acking);
        self.update_reordering_window();
        if acking.flags.any(AckFlags::ACKED) {
            let advance = self.snd.una.distance_from(acking.prior_una);
            acking.delivered_bytes = u32::try_from(advance).unwrap_or(u32::MAX);
        }
        self.count_marks(packet, slow, &mut acking);
        self.process_probe_ack(ack, &mut acking);
        let mut retransmit = Retransmit::Nothing;
        if self.is_dubious(acking.flags) {
            let duplicates = self.duplicate_count(acking);
            retransmit = self.fast_retransmit_alert(&mut acking, duplicates);
        }
        if acking.flags.any(AckFlags::SET_XMIT_TIMER) {
            self.set_transmit_timer(now);
        }
        self.finish_ack(acking, retransmit);
        AckResult::Valid
    }

    /// An ACK below `snd_una`: its SACK blocks still count.
    fn old_ack(&mut self, packet: &Packet, mut acking: Acking) -> AckResult {
        let window = u64::from(self.snd.max_window).min(self.snd.totals.bytes_acked) as i64;
        if packet.ack.distance_from(self.snd.una) < -window {
            return AckResult::TooOld;
        }
        if !packet.sack().is_empty() {
            self.note_echo(packet);
            self.snd.rate.begin_ack();
            self.tag_sacked(packet, &mut acking);
            let retransmit = self.fast_retransmit_alert(&mut acking, 0);
            self.retransmit_as_told(acking.now, retransmit);
        }
        AckResult::Old
    }

    /// Nothing was in flight: the answer to a window probe, a window update, or an old ACK.
    fn ack_of_nothing(&mut self, packet: &Packet, mut acking: Acking) {
        if acking.flags.any(AckFlags::DSACKING_ACK) {
            self.fast_retransmit_alert(&mut acking, 0);
        }
        self.ack_probe(acking.now);
        self.process_probe_ack(packet.ack, &mut acking);
    }

    /// The slow path: window, SACK, ECN-Echo.
    fn read_slowly(&mut self, packet: &Packet, acking: &mut Acking) {
        if packet.end() != packet.seq {
            acking.flags.set(AckFlags::DATA);
        }
        self.update_send_window(packet, acking);
        if self.negotiated.sack && !packet.sack().is_empty() {
            self.tag_sacked(packet, acking);
        }
        if self.negotiated.ecn.is_classic() && packet.flags.has(Flags::ECE) && !packet.flags.has(Flags::SYN) {
            acking.flags.set(AckFlags::ECE);
        }
    }

    /// `tcp_ack_update_window`.
    fn update_send_window(&mut self, packet: &Packet, acking: &mut Acking) {
        let shift = match self.negotiated.window_scale {
            Some((theirs, _)) if !packet.flags.has(Flags::SYN) => theirs,
            _ => 0,
        };
        let window = u32::from(packet.window) << shift;
        if self.may_update_window(packet, window) {
            acking.flags.set(AckFlags::WIN_UPDATE);
            self.snd.wl1 = packet.seq;
            if self.snd.wnd != window {
                self.snd.wnd = window;
                // A pure sender returns to the fast path only here.
                self.rcv.fast_path = false;
                self.check_fast_path();
                if !self.snd.queue.is_all_sent() {
                    self.restart_after_idle(acking.now);
                }
                if window > self.snd.max_window {
                    self.snd.max_window = window;
                    self.sync_mss();
                }
            }
        }
        self.advance_una(packet.ack);
    }

    /// `tcp_may_update_window` (RFC 9293, section 3.10.7.4).
    fn may_update_window(&self, packet: &Packet, window: u32) -> bool {
        let snd = &self.snd;
        packet.ack > snd.una
            || packet.seq > snd.wl1
            || (packet.seq == snd.wl1 && (window > snd.wnd || window == 0))
    }

    /// `tcp_snd_una_update`.
    fn advance_una(&mut self, ack: StreamOffset) {
        let delta = ack.distance_from(self.snd.una);
        self.snd.totals.bytes_acked += u64::try_from(delta).unwrap_or(0);
        self.snd.una = ack;
    }

    /// Stores the timestamp that this ACK echoes, for undo.
    fn note_echo(&mut self, packet: &Packet) {
        self.snd.rack.echoed = packet.timestamps.map(|timestamps| timestamps.ecr).filter(|&ecr| ecr != 0);
    }

    /// `tcp_ack_is_dubious`.
    fn is_dubious(&self, flags: AckFlags) -> bool {
        !flags.any(AckFlags::NOT_DUP)
            || flags.any(AckFlags::CA_ALERT)
            || self.snd.ca_state != crate::congestion::CaState::Open
    }

    /// The number of duplicate ACKs that this one counts as.
    fn duplicate_count(&self, acking: Acking) -> u32 {
        let not = AckFlags(AckFlags::SND_UNA_ADVANCED.0 | AckFlags::NOT_DUP.0 | AckFlags::DSACKING_ACK.0);
        if acking.flags.any(not) { 0 } else { acking.duplicates.max(1) }
    }

    /// `tcp_clean_rtx_queue`: removes acknowledged buffers, and takes RTT samples.
    fn clean_queue(&mut self, acking: &mut Acking) {
        let mut sent = Sent::default();
        while let Some(id) = self.snd.queue.head() {
            if !self.acknowledge_head(id, acking, &mut sent) {
                break;
            }
        }
        if self.snd.queue.is_all_acknowledged() {
            let idle = self.snd.is_idle();
            self.snd.chrono.stop(acking.now, Waiting::Busy, idle);
        }
        if self.snd.urgent >= acking.prior_una && self.snd.urgent < self.snd.una {
            self.snd.urgent = self.snd.una;
        }
        let head = self.snd.queue.head().map(|id| self.snd.queue[id]);
        if head.is_some_and(|skb| skb.fate.any(Fate::SACKED)) {
            acking.flags.set(AckFlags::SACK_RENEGING);
        }
        let counts_sacked = self.settings.choices.round_trips == RoundTrips::Sent;
        let sacked_rtt = acking.first_sacked.filter(|_| counts_sacked).map(|at| micros_since(acking.now, at));
        let measured = self.measure(acking, &sent, sacked_rtt);
        if acking.flags.any(AckFlags::ACKED) {
            acking.flags.set(AckFlags::SET_XMIT_TIMER);
            self.note_mtu_probe_arrived(acking.now);
            self.after_progress(acking, &sent);
        } else if let (Some(head), true, Some(rtt)) = (head, measured, sacked_rtt)
            && rtt > micros_since(acking.now, head.sent_at)
        {
            // SACKed data was sent before the head was last sent: the timer need not be restarted otherwise.
            acking.flags.set(AckFlags::SET_XMIT_TIMER);
        }
        self.tell_congestion_control(acking);
    }

    /// Removes the acknowledged part of the head of the queue; returns whether to go on with the next.
    fn acknowledge_head(&mut self, id: super::skb::SkbId, acking: &mut Acking, sent: &mut Sent) -> bool {
        let skb = self.snd.queue[id];
        let una = self.snd.una;
        let fully = skb.end_seq <= una;
        let segments = if fully {
            skb.segments
        } else {
            if skb.segments == 1 || una <= skb.seq {
                return false;
            }
            match self.trim_acknowledged(id) {
                0 => return false,
                acked => acked,
            }
        };
        self.count_acknowledged(&skb, segments, acking, sent);
        sent.partial |= !fully;
        if skb.flags.has(Flags::SYN) {
            acking.flags.set(AckFlags::SYN_ACKED);
            self.snd.retrans_stamp = None;
        } else {
            acking.flags.set(AckFlags::DATA_ACKED);
        }
        if fully {
            self.forget(id);
        }
        fully
    }

    /// `tcp_tso_acked`: removes whole acknowledged segments from the head; returns their number.
    fn trim_acknowledged(&mut self, id: super::skb::SkbId) -> u32 {
        let before = self.snd.queue[id];
        self.trim_head(id);
        before.segments.saturating_sub(self.snd.queue[id].segments)
    }

    /// Cuts what is acknowledged off a buffer (`tcp_trim_head`).
    pub(super) fn trim_head(&mut self, id: super::skb::SkbId) {
        let before = self.snd.queue[id].len();
        self.snd.queue.trim(id, self.snd.una);
        self.free_send_memory(before.saturating_sub(self.snd.queue[id].len()));
    }

    fn count_acknowledged(
        &mut self,
        skb: &super::skb::Skb,
        segments: u32,
        acking: &mut Acking,
        sent: &mut Sent,
    ) {
        let flags = &mut acking.flags;
        if skb.fate.any(Fate::ANY_RETRANSMISSION) {
            if skb.fate.any(Fate::RETRANSMITTED) {
                self.snd.retrans_out = self.snd.retrans_out.saturating_sub(segments);
            }
            flags.set(AckFlags::RETRANS_DATA_ACKED);
        } else if !skb.fate.any(Fate::SACKED) && !self.snd.batch.covers(skb.seq) {
            sent.last = Some(skb.sent_at);
            sent.first.get_or_insert(skb.sent_at);
            acking.reordered = Some(acking.reordered.map_or(skb.seq, |seq| seq.min(skb.seq)));
            if skb.end_seq <= self.snd.high_seq {
                flags.set(AckFlags::ORIG_SACK_ACKED);
            }
        }
        if skb.fate.any(Fate::SACKED) {
            self.snd.sacked_out = self.snd.sacked_out.saturating_sub(segments);
        } else if self.negotiated.sack {
            self.snd.delivered = self.snd.delivered.wrapping_add(segments);
            if !self.is_spurious_retransmission(skb) {
                self.rack_advance(acking.now, skb);
            }
        }
        if skb.fate.any(Fate::LOST) {
            self.snd.lost_out = self.snd.lost_out.saturating_sub(segments);
        }
        self.snd.packets_out = self.snd.packets_out.saturating_sub(segments);
        acking.acked_segments += segments;
        if !skb.fate.any(Fate::SACKED) {
            self.rate_delivered(acking.now, skb);
        }
    }

    /// Removes a buffer from the queue and from everything that points at it.
    fn forget(&mut self, id: super::skb::SkbId) {
        let snd = &mut self.snd;
        let next = snd.queue.next(id);
        snd.hints.forget(id);
        if snd.highest_sack == Some(id) {
            snd.highest_sack = next;
        }
        self.work.freed += 1;
        let memory = self.memory(&self.snd.queue[id]);
        self.snd.queue.unlink(id);
        self.free_send_memory(memory);
    }

    /// `tcp_ack_update_rtt`; returns whether there was an RTT sample.
    fn measure(&mut self, acking: &mut Acking, sent: &Sent, sacked_rtt: Option<u32>) -> bool {
        let now = acking.now;
        let mut sample = None;
        if let (Some(first), Some(last), false) =
            (sent.first, sent.last, acking.flags.any(AckFlags::RETRANS_DATA_ACKED))
        {
            sample = Some(micros_since(now, first));
            acking.ca_rtt_us = Some(micros_since(now, last));
            if self.may_be_delayed(acking, sent) {
                acking.flags.set(AckFlags::ACK_MAYBE_DELAYED);
            }
        }
        if sacked_rtt.is_some() {
            acking.ca_rtt_us = acking.last_sacked.map(|at| micros_since(now, at));
        }
        sample = match self.settings.choices.round_trips {
            RoundTrips::Sent => sample.or(sacked_rtt),
            RoundTrips::Echoed if acking.flags.any(AckFlags::ACKED) => self.echoed_rtt_us(now).or(sample),
            RoundTrips::Echoed => None,
        };
        if sample.is_none() && acking.flags.any(AckFlags::ACKED) {
            sample = self.echoed_rtt_us(now);
            acking.ca_rtt_us = sample;
        }
        let Some(rtt_us) = sample else { return false };
        if let Some(ca_rtt_us) = acking.ca_rtt_us {
            self.note_min_rtt(now, ca_rtt_us, acking.flags);
        }
        self.take_rtt(rtt_us);
        self.snd.backoff = 0;
        true
    }

    /// Whether a single small segment was acknowledged: its receiver may have delayed the ACK.
    fn may_be_delayed(&self, acking: &Acking, sent: &Sent) -> bool {
        let advanced = self.snd.una.distance_from(acking.prior_una);
        acking.acked_segments == 1
            && !sent.partial
            && acking.prior_sacked == 0
            && advanced < i64::from(self.snd.mss)
            && !acking.flags.any(AckFlags::CA_ALERT)
            && !acking.flags.any(AckFlags::SYN_ACKED)
    }

    /// `tcp_update_rtt_min`: a delayed ACK does not raise the minimum.
    fn note_min_rtt(&mut self, now: Instant, rtt_us: u32, flags: AckFlags) {
        if flags.any(AckFlags::ACK_MAYBE_DELAYED) && self.min_rtt_us().is_some_and(|least| rtt_us > least) {
            return;
        }
        let window = self.settings.sysctls.tcp_min_rtt_wlen;
        self.snd.rtt.minimum.update(now, window, rtt_us.max(1));
    }

    /// `snd_una` advanced: updates the reordering estimate.
    fn after_progress(&mut self, acking: &mut Acking, sent: &Sent) {
        if self.is_reno() {
            self.remove_reno_sacks(acking.acked_segments);
            // Without SACK, progress after a retransmission may come from it.
            if acking.flags.any(AckFlags::RETRANS_DATA_ACKED) {
                acking.flags.clear(AckFlags::ORIG_SACK_ACKED);
            }
        } else if let Some(seq) = acking.reordered
            && !sent.is_empty()
            && seq < acking.prior_highest
        {
            // A hole filled without a retransmission: the path reorders.
            self.note_reordering(seq);
        }
    }

    fn tell_congestion_control(&mut self, acking: &Acking) {
        let sample = AckSample {
            acked: acking.acked_segments,
            rtt: acking.ca_rtt_us.map(|us| Duration::from_micros(u64::from(us))),
            in_flight: acking.prior_in_flight,
        };
        let moment = self.moment(acking.now);
        self.congestion.acked(&mut self.snd.window, &moment, &sample);
        self.congestion.ack(acking.slow, &moment);
    }

    /// The end of an ACK: rate sample, window, and the segments that it allows.
    fn finish_ack(&mut self, acking: Acking, retransmit: Retransmit) {
        let delivered = self.snd.delivered.wrapping_sub(acking.prior_delivered);
        if acking.flags.any(AckFlags::ECE) && self.negotiated.ecn.is_classic() {
            // Which of them had the CE mark is unknown (`tcp_count_delivered`).
            self.snd.delivered_ce = self.snd.delivered_ce.wrapping_add(delivered);
        }
        let lost = self.snd.lost.wrapping_sub(acking.prior_lost);
        let sample = RateSample {
            acked: delivered,
            losses: lost,
            prior_in_flight: acking.prior_in_flight,
            rtt_us: acking.ca_rtt_us,
            is_ack_delayed: acking.flags.any(AckFlags::ACK_MAYBE_DELAYED),
            is_ece: acking.flags.any(AckFlags::ECE),
            is_of_probe: acking.of_probe,
            ..self.rate_sample(acking.now)
        };
        self.control_window(&acking, &sample);
        self.retransmit_as_told(acking.now, retransmit);
    }

    /// `tcp_cong_control`.
    fn control_window(&mut self, acking: &Acking, sample: &RateSample) {
        if self.congestion.paces {
            let moment = self.moment(acking.now);
            self.congestion.control(&mut self.snd.window, &moment, sample);
            self.follow_control();
            if self.congestion.holds_back() {
                self.mark_app_limited();
            }
            return;
        }
        if self.snd.in_reduction() {
            self.reduce_window(sample.acked, sample.losses, acking.flags);
        } else if self.may_raise_window(acking.flags) {
            let moment = self.moment(acking.now);
            let acked = match self.settings.choices.window_increase {
                WindowIncrease::ByAck => 1,
                WindowIncrease::BySegment => sample.acked,
            };
            self.congestion.cong_avoid(&mut self.snd.window, &moment, acked);
            self.snd.cwnd_stamp = acking.now;
        }
        self.update_pacing_rate();
    }

    /// `tcp_may_raise_cwnd`: when the path reorders a lot, SACKed data counts too.
    fn may_raise_window(&self, flags: AckFlags) -> bool {
        if self.snd.reordering > self.settings.sysctls.tcp_reordering {
            flags.any(AckFlags::FORWARD_PROGRESS)
        } else {
            flags.any(AckFlags::DATA_ACKED)
        }
    }
}

/// The send time of the newly acknowledged segments, if they were never retransmitted.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    first: Option<Instant>,
    last: Option<Instant>,
    partial: bool,
}

impl Sent {
    const fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

/// Microseconds since `then`, an earlier instant.
pub(super) fn micros_since(now: Instant, then: Instant) -> u32 {
    // The kernel's timestamps are in microseconds: the difference of two truncated values.
    u32::try_from(now.nanos().div_euclid(1000) - then.nanos().div_euclid(1000)).unwrap_or(0)
}
