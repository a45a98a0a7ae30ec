//! One flow while it is watched: both directions, fed segment by segment.

use crate::cause::Cause;
use crate::end::{self, EndState};
use crate::label::{Judged, Label};
use crate::limits::track::Track;
use crate::options::VantageOverride;
use crate::outstanding::{Needless, Outstanding};
use crate::report::{Closing, Opening, ScaleKnown, SynOptions, Unheard};
use crate::stalls;
use slowpath_model::{
    Checksum, Ecn, End, Flags, FlowKey, IcmpError, IcmpKind, Instant, Segment, StreamOffset,
};
use std::time::Duration;

/// Time stands still 36 years after, or before, a recording's start.
pub const LATEST: Instant = Instant::from_nanos(1 << 60);
const EARLIEST: Instant = Instant::from_nanos(-1 << 60);

/// The most that an end sends whose peer names no MSS, though RFC 9293, section 3.7.1 allows it 536 only.
const ETHERNET_MSS: u32 = 1460;

/// One flow.
#[derive(Clone, Debug)]
pub struct Flow {
    pub key: FlowKey,
    pub first: Instant,
    pub last: Instant,
    /// When the time to account for begins: when the handshake is over, as far as it was seen.
    begin: Instant,
    /// A SYN-ACK passed, and the handshake's last segment is still to come.
    is_opening: bool,
    pub opening: Opening,
    pub closing: Closing,
    pub ends: [EndState; 2],
    pub started: bool,
    /// It closed.
    over: bool,
}

impl Flow {
    /// A flow of which nothing was seen. `given` is where the user says that the tap is.
    pub fn new(key: FlowKey, given: Option<VantageOverride>) -> Self {
        Self {
            key,
            first: Instant::START,
            last: Instant::START,
            begin: Instant::START,
            is_opening: false,
            opening: Opening::default(),
            closing: Closing::default(),
            ends: [EndState::new(given), EndState::new(given)],
            started: false,
            over: false,
        }
    }

    /// Lets go of what grew with a flow that is over. Kept for other flows, it would soon be as large everywhere as it
    /// ever was anywhere.
    pub fn empty(&mut self) {
        for end in &mut self.ends {
            end.outstanding = Outstanding::default();
            if let Some(track) = &mut end.track {
                **track = Track::new(Instant::START, StreamOffset::default());
            }
        }
    }

    /// Makes a new flow of one that is over, in its memory.
    pub fn renew(&mut self, key: FlowKey, given: Option<VantageOverride>) {
        let ended = std::mem::replace(self, Self::new(key, given)).ends;
        for (end, ended) in self.ends.iter_mut().zip(ended) {
            end.spare_track = ended.track.or(ended.spare_track);
        }
    }

    /// Takes a segment in the order of observation.
    pub fn segment(&mut self, at: Instant, segment: &Segment) -> Judged {
        if !self.started {
            self.start(at);
        }
        // A clock that steps back must not make time negative, nor one that leaps make it overflow.
        let at = at.min(LATEST).max(self.last);
        let me = segment.from.index();
        let twice = self.ends[1 - me].is_captured_twice();
        let end = &mut self.ends[me];
        if end.copies.is_copy(at, segment, &end.order, twice) {
            return end.repeats(segment);
        }
        if self.is_closed_to_data() && self.is_of_old_connection(segment) {
            self.opening.challenges += u32::from(!segment.flags.has(Flags::RST));
            self.last = at;
            self.ends[me].packets += 1;
            return Judged::default();
        }
        let control = segment.flags.has_any(Flags::SYN.with(Flags::FIN).with(Flags::RST));
        if control || self.is_opening {
            if self.is_other_syn(segment) {
                self.last = at;
                self.ends[me].packets += 1;
                return Judged::default();
            }
            self.control(at, segment);
        }
        let silence = at.nanos_since(self.last);
        self.last = at;
        let begin = self.begin;
        let [a, b] = &mut self.ends;
        let (me, peer) = if me == 0 { (a, b) } else { (b, a) };
        me.packets += 1;
        peer.unheard = None;
        let mss = me.full_size();
        let missing = segment.ip.id.map_or(0, |id| {
            let packets = if segment.len > mss { segment.len.div_ceil(mss) } else { 1 };
            me.order.saw(id, u16::try_from(packets).unwrap_or(u16::MAX))
        });
        if segment.ip.ecn == Ecn::Ce || segment.flags.has_any(Flags::ECE.with(Flags::CWR)) {
            me.count_congestion(segment);
        }
        me.ttl_max = me.ttl_max.max(segment.ip.ttl);
        let takes = segment.sequence_len();
        end::measure_distance(at, segment, takes, me, peer);
        let held = stalls::is_one(silence, &me.rto, &peer.rto).then(|| [me.holding(), peer.holding()]);
        let mut judged = Judged::default();
        if takes > 0 {
            judged = me.on_sequence_segment(at, segment, missing, peer, begin);
        } else if segment.ack.is_some() {
            judged.label = me.on_pure_ack(segment, peer);
        }
        if let Some(ack) = segment.ack
            && !segment.flags.has(Flags::RST)
        {
            judged.spurious += peer.is_answered(at, ack, segment, me);
        }
        if takes > 0 || judged.label.is_some() {
            let unheard = me.unheard.get_or_insert_with(|| {
                let pause = Duration::from_nanos(silence.max(0).unsigned_abs());
                Unheard { since: at, pause, tries: 0 }
            });
            unheard.tries += u32::from(judged.label.is_some_and(|label| label != Label::New));
        }
        if let Some([mine, theirs]) = held {
            let ended = stalls::Ended { at, silence, segment, label: judged.label };
            me.stalls.note(&ended, mine, true, &me.rto);
            peer.stalls.note(&ended, theirs, false, &peer.rto);
        }
        judged
    }

    /// The first segment passes.
    #[cold]
    fn start(&mut self, at: Instant) {
        self.started = true;
        self.first = at.clamp(EARLIEST, LATEST);
        (self.last, self.begin) = (self.first, self.first);
    }

    /// The retransmissions found needless since this was last asked, with the end that sent them.
    pub fn take_needless(&mut self) -> impl Iterator<Item = (End, Needless)> {
        let ends = End::BOTH.into_iter().zip(&mut self.ends);
        ends.flat_map(|(end, state)| state.outstanding.take_needless().map(move |needless| (end, needless)))
    }

    /// An error about a segment of this flow passes.
    #[cold]
    pub fn icmp_error(&mut self, error: &IcmpError) {
        let ip_header = if self.key.a.address.is_ipv6() { 40 } else { 20 };
        let end = &mut self.ends[error.about.index()];
        end.icmp_errors += 1;
        if let IcmpKind::PacketTooBig { mtu: Some(mtu) } = error.kind {
            end.packets_too_big(mtu, ip_header);
        }
    }

    /// Whether a SYN was seen, and nothing that answers it.
    #[inline]
    const fn is_closed_to_data(&self) -> bool {
        self.opening.syn.is_some() && self.opening.syn_ack.is_none()
    }

    /// Whether `segment` belongs to an earlier connection between the same ports: the other end's challenge ACK to a SYN
    /// (RFC 5961, section 4), or the reset that answers it.
    #[cold]
    fn is_of_old_connection(&self, segment: &Segment) -> bool {
        if segment.flags.has(Flags::SYN) {
            return false;
        }
        let initiator = &self.ends[0].outstanding;
        match segment.from {
            End::A => segment.flags.has(Flags::RST) && self.opening.challenges > 0,
            End::B => segment.ack.is_some_and(|ack| ack < StreamOffset(1) || ack > initiator.nxt()),
        }
    }

    /// Whether `segment` is a SYN of another connection: two hosts answered one SYN, and this one's answer was not
    /// taken.
    fn is_other_syn(&self, segment: &Segment) -> bool {
        segment.flags.has(Flags::SYN)
            && self.opening.established.is_some()
            && segment.seq != StreamOffset::default()
    }

    /// What belongs to the opening of the connection or to its end.
    #[cold]
    fn control(&mut self, at: Instant, segment: &Segment) {
        self.note_handshake(at, segment);
        self.note_control(at, segment);
        let opening = &self.opening;
        self.is_opening = opening.established.is_none() && opening.syn_ack.is_some();
        self.begin = opening.established.or(opening.syn_ack).unwrap_or(self.first);
    }

    /// SYN, FIN and RST.
    fn note_control(&mut self, at: Instant, segment: &Segment) {
        let me = segment.from.index();
        let flags = segment.flags;
        self.closing.fin[me] |= flags.has(Flags::FIN);
        self.closing.rst[me] |= flags.has(Flags::RST);
        if !flags.has(Flags::SYN) || flags.has(Flags::RST) {
            return;
        }
        let opening = &mut self.opening;
        if me == 0 && opening.syn_ack.is_none() {
            opening.unanswered += 1;
            opening.unanswered_with_data += u32::from(segment.len > 0);
            opening.unanswered_wrong_checksum += u32::from(segment.checksum == Checksum::Wrong);
        }
        let first = if me == 0 { &mut opening.syn } else { &mut opening.syn_ack };
        if first.is_some() {
            opening.retransmitted += 1;
        } else {
            *first = Some(at);
        }
        self.ends[me].options = Some(SynOptions {
            mss: segment.mss,
            window_scale: segment.window_scale,
            sack_permitted: segment.sack_permitted,
            timestamps: segment.timestamps.is_some(),
        });
        // RFC 7323, section 2.2: scaling is on only if both SYNs carried the option.
        if let [Some(a), Some(b)] = [self.ends[0].options, self.ends[1].options] {
            let mss = effective_mss(a, b);
            for (end, (own, peer)) in self.ends.iter_mut().zip([(a, b), (b, a)]) {
                end.mss = mss;
                end.mss_allowed = peer.mss.map_or(ETHERNET_MSS, u32::from);
                let both = a.window_scale.is_some() && b.window_scale.is_some();
                let shift = own.window_scale.filter(|_| both).unwrap_or(0).min(14);
                end.scale = ScaleKnown::Agreed(shift);
            }
        }
    }

    /// What the time until the connection was open went into.
    pub fn opening_cause(&self) -> Cause {
        let opening = &self.opening;
        let lost = opening.lost_syns();
        // Offload leaves checksums wrong in a capture at the sender, but then on the SYN that was answered as well.
        let judged = opening.syn_ack.is_some() || self.has_travelled();
        let damaged = judged && lost == opening.unanswered_wrong_checksum;
        if opening.syn.is_none() {
            Cause::SenderIdle
        } else if opening.challenges > 0 {
            Cause::OldConnection
        } else if opening.retransmitted == 0 {
            Cause::Handshake
        } else if lost > 0 && (self.is_next_to_responder() || damaged) {
            Cause::NotAnswered
        } else if lost > 0 && lost == opening.unanswered_with_data && opening.syn_ack.is_some() {
            Cause::FastOpenLost
        } else {
            Cause::SynLost
        }
    }

    /// Whether the initiator's packets have passed a router: hosts start with these TTLs.
    const fn has_travelled(&self) -> bool {
        !matches!(self.ends[0].ttl_max, 0 | 32 | 64 | 128 | 255)
    }

    /// Whether the tap was at the responder, so that each SYN in the capture had arrived: it answers far sooner than the
    /// initiator.
    fn is_next_to_responder(&self) -> bool {
        let [initiator, responder] = &self.ends;
        let far = initiator.distance.answering().min().unwrap_or(0);
        responder.distance.answering().is_here()
            && responder.distance.answering().min().is_some_and(|near| near * 5 < far)
    }

    /// Whether the connection has closed since this was last asked.
    #[inline]
    pub fn has_closed(&mut self) -> bool {
        let closing = self.closing;
        let may = closing.rst[0] | closing.rst[1] | (closing.fin[0] & closing.fin[1]);
        if !may || self.over {
            return false;
        }
        self.over = self.is_over();
        self.over
    }

    /// Whether the connection is closed: both FINs acknowledged, or a reset.
    fn is_over(&self) -> bool {
        let acknowledged = |end: &EndState| end.outstanding.una() >= end.outstanding.nxt();
        self.closing.rst != [false; 2]
            || (self.closing.fin == [true; 2] && self.ends.iter().all(acknowledged))
    }

    /// Notes the handshake's last segment. Called before it is taken in.
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
        if opening.retransmitted == 0 {
            let part = |to: Instant, from: Instant| to.nanos_since(from).max(0);
            self.ends[1].distance.sample(part(syn_ack, syn));
            self.ends[0].distance.sample(part(at, syn_ack));
            opening.round_trip = Some(Duration::from_nanos(part(at, syn).unsigned_abs()));
        }
    }
}

/// The MSS that both ends keep to, less the room timestamps take (RFC 6691).
fn effective_mss(a: SynOptions, b: SynOptions) -> Option<u32> {
    let stamped = a.timestamps && b.timestamps;
    let mss = u32::from(a.mss.unwrap_or(536).min(b.mss.unwrap_or(536)));
    mss.checked_sub(if stamped { 12 } else { 0 }).filter(|mss| *mss > 0)
}
