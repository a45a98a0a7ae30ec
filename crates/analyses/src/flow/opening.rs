//! The opening of a connection: SYN, SYN-ACK, the handshake's last ACK, and what comes in their place.

use super::closing::{self, Fin};
use super::{FlowState, reset};
use crate::cause::Cause;
use crate::end::{EndState, note_distance};
use crate::limits::thresholds;
use crate::report::{EcnAnswer, ScaleKnown, SynOptions};
use crate::rtt::is_far_nearer;
use slowpath_model::{Checksum, End, Flags, IcmpKind, Instant, Segment, StreamOffset};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

/// The largest segment of an end whose peer names no MSS, though RFC 9293, section 3.7.1 allows it only 536.
pub const ETHERNET_MSS: u32 = 1460;

/// A SYN-ACK this long after the handshake's last ACK is a retransmission by timer (1 s, RFC 6298, section 2): it did
/// not cross that ACK, and no copy of a SYN triggered it.
const SYN_ACK_TIMER: i64 = 500_000_000;

/// A SYN is not repeated sooner (RFC 6298, section 2: 1 s), and what is late by more was not in a queue that stands always.
pub const SYN_TIMER: i64 = 500_000_000;

/// Segments of data without an answer up to which one is waited for: more than an initial window (RFC 6928) is sent only if
/// the answers pass elsewhere.
const MOST_UNANSWERED: u64 = 16;

impl FlowState {
    /// Whether a SYN was seen, and no answer to it.
    #[inline]
    pub(super) const fn is_closed_to_data(&self) -> bool {
        self.opening.syn.is_some() && self.opening.syn_ack.is_none()
    }

    /// Whether `segment` belongs to an earlier connection between the same ports: the other end's challenge ACK to a SYN
    /// (RFC 5961, section 4), or the reset that answers it.
    #[cold]
    pub(super) fn is_of_old_connection(&self, segment: &Segment) -> bool {
        if segment.flags.has(Flags::SYN) {
            return false;
        }
        let initiator = &self.ends[0].outstanding;
        match segment.from {
            End::A => segment.flags.has(Flags::RST) && self.opening.challenges > 0,
            End::B => segment.ack.is_some_and(|ack| ack < StreamOffset(1) || ack > initiator.nxt()),
        }
    }

    /// Whether `segment` is a SYN of another connection: two hosts answered one SYN, and this answer was not accepted.
    pub(super) fn is_other_syn(&self, segment: &Segment) -> bool {
        segment.flags.has(Flags::SYN)
            && self.opening.established.is_some()
            && segment.seq != StreamOffset::default()
    }

    /// A segment that opens the connection or ends it.
    #[cold]
    pub(super) fn control(&mut self, at: Instant, segment: &Segment) {
        self.note_handshake(at, segment);
        self.note_acceptance(at, segment);
        if segment.flags.has(Flags::RST) {
            reset::note(self, at, segment);
        } else {
            reset::follow(self, segment);
        }
        self.note_control(at, segment);
        closing::note(self, at, segment);
        let opening = &self.opening;
        let is_waiting = opening.accepted.is_none() && (opening.unaccepted > 0 || self.awaits_answer());
        let is_opening = opening.established.is_none() && opening.syn_ack.is_some();
        let is_closing = self.fins.iter().flatten().any(Fin::is_pending);
        self.is_watched = is_opening || is_waiting || is_closing || self.closing.reset.is_some();
        self.begin = opening.established.or(opening.syn_ack).unwrap_or(self.first);
    }

    /// SYN, FIN and RST.
    fn note_control(&mut self, at: Instant, segment: &Segment) {
        let me = segment.from.index();
        let flags = segment.flags;
        self.closing.fin[me] |= flags.has(Flags::FIN);
        self.closing.rst[me] |= flags.has(Flags::RST);
        self.opening.refused |= flags.has(Flags::RST) && me == 1 && self.is_closed_to_data();
        if !flags.has(Flags::SYN) || flags.has(Flags::RST) {
            return;
        }
        let opening = &mut self.opening;
        let damaged = u32::from(segment.checksum == Checksum::Wrong);
        if me == 0 && opening.syn_ack.is_none() {
            opening.unanswered += 1;
            opening.unanswered_with_data += u32::from(segment.len > 0);
            opening.unanswered_wrong_checksum += damaged;
        }
        if me == 1 {
            self.syn_acks = (self.syn_acks.0 + 1, self.syn_acks.1 + damaged);
        } else {
            let (passed, damaged) = std::mem::take(&mut self.syn_acks);
            opening.unanswered_syn_acks += passed;
            opening.damaged_syn_acks += damaged;
        }
        let asks = flags.has(Flags::ECE.with(Flags::CWR));
        opening.ecn = match opening.ecn {
            _ if me == 0 => asks.then_some(EcnAnswer::Declined),
            // Flags returned as they were sent are an echo, not an answer (RFC 3168, section 6.1.1).
            Some(_) if !asks && flags.has_any(Flags::ECE.with(Flags::CWR).with(Flags::AE)) => {
                Some(EcnAnswer::Accepted)
            }
            answer => answer,
        };
        let first = if me == 0 { &mut opening.syn } else { &mut opening.syn_ack };
        if first.is_some() {
            opening.retransmitted += 1;
            if let Some(stamps) = segment.timestamps {
                self.ends[me].lateness.repeats(stamps.val, at);
            }
        } else {
            *first = Some(at);
        }
        // The part that was cut off may have held any option.
        self.ends[me].options = (!segment.options_cut).then(|| SynOptions::of(segment));
        // RFC 7323, section 2.2: scaling is on only if both SYNs carried the option.
        if let [Some(a), Some(b)] = [self.ends[0].options, self.ends[1].options] {
            let mss = effective_mss(a, b);
            for (end, (own, peer)) in self.ends.iter_mut().zip([(a, b), (b, a)]) {
                end.set_mss(mss);
                end.mss_allowed = peer.mss.map_or(ETHERNET_MSS, u32::from);
                let both = a.window_scale.is_some() && b.window_scale.is_some();
                let shift = own.window_scale.filter(|_| both).unwrap_or(0).min(ScaleKnown::MOST);
                end.scale = ScaleKnown::Agreed(shift);
            }
        }
    }

    /// Whether the handshake is over, and the responder sent nothing since; but for one whose ACKs pass elsewhere.
    fn awaits_answer(&self) -> bool {
        let [initiator, responder] = &self.ends;
        self.opening.established.is_some()
            && responder.packets <= u64::from(self.opening.retransmitted) + 1
            && initiator.data_packets < MOST_UNANSWERED
    }

    /// Notes a SYN-ACK that is repeated after the handshake, and what ends that; or that data had to be repeated until the
    /// responder answered at all. Called before `segment` is processed.
    fn note_acceptance(&mut self, at: Instant, segment: &Segment) {
        let Some(established) = self.opening.established else { return };
        if segment.from == End::A || self.opening.accepted.is_some() {
            return;
        }
        let acknowledges = !segment.flags.has(Flags::RST) && segment.ack.is_some_and(|ack| ack.0 > 1);
        let had_no_effect = acknowledges && self.awaits_answer() && self.data_had_no_effect(at);
        let data = u32::try_from(self.ends[0].data_packets).unwrap_or(u32::MAX);
        let opening = &mut self.opening;
        // The ACK and what the responder sent meanwhile take as long as the SYN and its answer did, or less.
        let to_responder =
            opening.syn.zip(opening.syn_ack).map_or(0, |(syn, answer)| answer.nanos_since(syn));
        if !segment.flags.has(Flags::SYN) {
            opening.accepted = (opening.unaccepted > 0 || had_no_effect).then_some(at);
            if had_no_effect {
                opening.unaccepted_data = data;
            }
        } else if at.nanos_since(established) > SYN_ACK_TIMER + to_responder {
            opening.unaccepted += 1;
            opening.unaccepted_data = data;
        }
    }

    /// Whether the initiator's first data came so often and for so long that neither chance nor a late answer is the
    /// reason; nor its size, which matters if it may have been lost behind the tap.
    fn data_had_no_effect(&self, at: Instant) -> bool {
        let end = &self.ends[0];
        let again = end.labels.retransmission + end.labels.spurious;
        let lasted = end.first_data.map_or(0, |first| at.nanos_since(first));
        again >= thresholds::LEAST_TRIES.into()
            && (end.mss_seen <= thresholds::DEFAULT_MSS || self.is_next_to_responder())
            && lasted > thresholds::NO_EFFECT_NS
    }

    /// Whether the responder did not accept the connection though the handshake's last ACK had arrived: this shows next
    /// to the responder, by several SYN-ACKs, or if data of the initiator had no effect.
    fn was_not_accepted(&self) -> bool {
        let opening = &self.opening;
        opening.unaccepted_data > 0
            || opening.unaccepted > 1
            || opening.unaccepted > 0 && self.is_next_to_responder()
    }

    /// The cause of the time until the connection was open.
    pub fn opening_cause(&self) -> Cause {
        let opening = &self.opening;
        if opening.syn.is_none() {
            Cause::SenderIdle
        } else if opening.challenges > 0 {
            Cause::OldConnection
        } else if opening.syn_ack.is_none() {
            self.failed_opening_cause()
        } else if self.was_not_accepted() {
            Cause::AcceptQueueFull
        } else if opening.retransmitted == 0 || opening.came_late && self.is_always_that_late() {
            Cause::Handshake
        } else if opening.came_late {
            Cause::DelaySpike
        } else {
            self.lost_syn_cause()
        }
    }

    /// Notes whether a SYN or its answer was late, as what came later shows, and whether SYN-ACKs reached the initiator. Called at
    /// the end.
    pub fn settle_opening(&mut self) {
        if !self.is_next_to(End::A) {
            (self.opening.unanswered_syn_acks, self.opening.damaged_syn_acks) = (0, 0);
        }
        let was_late = |end: &EndState| end.lateness.syn_was_later().is_some_and(|by| by * 1000 > SYN_TIMER);
        self.opening.came_late |= self.ends.iter().any(was_late);
    }

    /// Whether the RTT is as long as the handshake took, or nearly: then the timer of the SYN was too short for the path.
    fn is_always_that_late(&self) -> bool {
        let Some((syn, end)) = self.opening.syn.zip(self.opening.established) else { return false };
        let [a, b] = self.ends.each_ref().map(|end| end.distance.answering().min());
        a.zip(b).is_some_and(|(a, b)| (a + b) * 2 > end.nanos_since(syn))
    }

    /// Why no SYN-ACK came.
    fn failed_opening_cause(&self) -> Cause {
        let [initiator, responder] = &self.ends;
        let icmp = initiator.unusual.as_ref().and_then(|unusual| unusual.icmp_kind);
        let only_syns = initiator.packets == u64::from(self.opening.unanswered) && responder.packets == 0;
        if self.opening.refused {
            Cause::Refused
        } else if icmp.is_some_and(|kind| !matches!(kind, IcmpKind::PacketTooBig { .. })) {
            Cause::Unreachable
        } else if self.has_reached_the_responder() {
            Cause::NotAnswered
        } else if only_syns {
            Cause::NoAnswer
        } else {
            Cause::SynLost
        }
    }

    /// Why a SYN or SYN-ACK was sent more than once.
    fn lost_syn_cause(&self) -> Cause {
        let lost = self.opening.lost_syns();
        if self.opening.unanswered_syn_acks > 0 || lost > 0 && self.has_reached_the_responder() {
            Cause::NotAnswered
        } else if lost > 0 && lost == self.opening.unanswered_with_data {
            Cause::FastOpenLost
        } else {
            Cause::SynLost
        }
    }

    /// Whether each unanswered SYN had arrived: it passed next to the responder, or it is damaged so that no host
    /// accepts it. In a capture at the sender, offload leaves wrong checksums too, but then on the answered SYN as
    /// well.
    fn has_reached_the_responder(&self) -> bool {
        let judged = self.opening.syn_ack.is_some() || self.has_travelled();
        let damaged = judged && self.opening.lost_syns() == self.opening.unanswered_wrong_checksum;
        self.is_next_to_responder() || self.is_responder_here || damaged
    }

    /// Notes the hosts that answered next to the tap, in any flow.
    pub fn note_hosts_here(&mut self, hosts: &BTreeSet<IpAddr>) {
        self.is_responder_here = hosts.contains(&self.key.b.address);
    }

    /// Whether the initiator's packets have passed a router: hosts start with these TTLs.
    const fn has_travelled(&self) -> bool {
        !matches!(self.ends[0].ttl_max, 0 | 32 | 64 | 128 | 255)
    }

    /// Whether the tap was at the responder, so that each SYN in the capture had arrived: the responder answers far
    /// sooner than the initiator.
    pub fn is_next_to_responder(&self) -> bool {
        // Of no distance to either end, if the user says so.
        let is_said = self.ends.iter().all(|end| end.distance.answering().min() == Some(0));
        is_said && self.ends[1].distance.answering().is_here() || self.is_next_to(End::B)
    }

    /// Whether `end` answers at the tap, far sooner than the other.
    fn is_next_to(&self, end: End) -> bool {
        let [near, far] = [end, !end].map(|end| self.ends[end.index()].distance.answering());
        let is_nearer = near.min().zip(far.min()).is_some_and(|(near, far)| is_far_nearer(near, far));
        near.is_here() && is_nearer
    }

    /// Notes the handshake's last segment. Called before it is processed.
    fn note_handshake(&mut self, at: Instant, segment: &Segment) {
        let opening = &mut self.opening;
        if opening.established.is_some() {
            return;
        }
        let (Some(syn), Some(syn_ack)) = (opening.syn, opening.syn_ack) else { return };
        let answers = segment.from == End::A
            && !segment.flags.has_any(Flags::SYN.with(Flags::RST))
            && segment.ack.is_some_and(|ack| ack.0 >= 1);
        if !answers {
            return;
        }
        opening.established = Some(at);
        // The initiator repeated its SYN, and then took the answer that had passed before: that was late.
        let repeated = self.ends[0].lateness.repeated_at();
        let echoes = segment.timestamps.is_some_and(|stamps| self.ends[1].lateness.is_of_first(stamps.ecr));
        opening.came_late |=
            echoes && repeated.is_some_and(|again| again > syn_ack && again.nanos_since(syn) > SYN_TIMER);
        if opening.retransmitted == 0 {
            let part = |to: Instant, from: Instant| to.nanos_since(from).max(0);
            let [a, b] = &mut self.ends;
            note_distance(part(syn_ack, syn), &mut b.distance, &mut a.distance);
            note_distance(part(at, syn_ack), &mut a.distance, &mut b.distance);
            opening.round_trip = Some(Duration::from_nanos(part(at, syn).unsigned_abs()));
        }
    }
}

/// The MSS that both ends keep to, less the timestamps (RFC 6691).
fn effective_mss(a: SynOptions, b: SynOptions) -> Option<u32> {
    let stamped = a.timestamps && b.timestamps;
    let mss = u32::from(a.mss.unwrap_or(536).min(b.mss.unwrap_or(536)));
    mss.checked_sub(if stamped { 12 } else { 0 }).filter(|mss| *mss > 0)
}
