//! One flow while it is watched: both directions, fed segment by segment.

mod closing;
mod opening;
mod reset;

pub use opening::{ETHERNET_MSS, SYN_TIMER};

use crate::end::{self, EndState};
use crate::label::Judged;
use crate::options::VantageOverride;
use crate::outstanding::{Outstanding, SpuriousRetransmission};
use crate::report::{Closing, Opening};
use crate::stalls;
use closing::Fin;
use slowpath_model::{Ecn, End, Flags, FlowKey, IcmpError, IcmpKind, Instant, Segment};

/// Times are cut off 36 years after, or before, a recording's start.
pub const LATEST: Instant = Instant::from_nanos(1 << 60);
const EARLIEST: Instant = Instant::from_nanos(-1 << 60);

/// One flow.
#[derive(Clone, Debug)]
pub struct FlowState {
    pub key: FlowKey,
    pub first: Instant,
    pub last: Instant,
    /// When the accounted time begins: at the end of the handshake, if that was seen.
    begin: Instant,
    /// Each segment is examined: the connection is opening or closing, or a RST has passed.
    is_watched: bool,
    pub opening: Opening,
    pub closing: Closing,
    /// The FIN of each end.
    pub fins: [Option<Fin>; 2],
    pub ends: [EndState; 2],
    pub started: bool,
    /// Another flow shows that the tap is next to the responder's host.
    is_responder_here: bool,
    /// SYN-ACKs that passed since the last SYN, and those of them with a wrong checksum.
    syn_acks: (u32, u32),
    /// It has closed.
    over: bool,
}

/// The end with this index, and the other.
fn end_and_peer(ends: &mut [EndState; 2], me: usize) -> (&mut EndState, &mut EndState) {
    let [a, b] = ends;
    if me == 0 { (a, b) } else { (b, a) }
}

impl FlowState {
    /// A flow without segments so far. `given` is the user's location of the tap.
    pub fn new(key: FlowKey, given: Option<VantageOverride>) -> Self {
        Self {
            key,
            first: Instant::START,
            last: Instant::START,
            begin: Instant::START,
            is_watched: false,
            opening: Opening::default(),
            closing: Closing::default(),
            fins: [None; 2],
            ends: [EndState::new(given), EndState::new(given)],
            started: false,
            is_responder_here: false,
            syn_acks: (0, 0),
            over: false,
        }
    }

    /// Frees what grew with a finished flow. If it were kept for other flows, each would soon be as large as the
    /// largest ever was.
    pub fn empty(&mut self) {
        for end in &mut self.ends {
            end.outstanding = Outstanding::default();
            if let Some(track) = &mut end.track {
                track.empty();
            }
        }
    }

    /// Turns a finished flow into a new one, in the same memory.
    pub fn renew(&mut self, key: FlowKey, given: Option<VantageOverride>) {
        let tracks = self.ends.each_mut().map(|end| end.track.take().or(end.spare_track.take()));
        *self = Self::new(key, given);
        for (end, track) in self.ends.iter_mut().zip(tracks) {
            end.spare_track = track;
        }
    }

    /// Takes a segment, in the order of observation.
    pub fn segment(&mut self, at: Instant, segment: &Segment) -> Judged {
        if !self.started {
            self.start(at);
        }
        // A clock that steps back must not make time negative, and one that jumps must not overflow it.
        let is_back = at < self.last;
        let at = at.min(LATEST).max(self.last);
        let me = segment.from.index();
        let (end, peer) = end_and_peer(&mut self.ends, me);
        if is_back && segment.len > 0 {
            end.note_step_back(segment);
        }
        let has_passed = || {
            let acknowledged = segment.ack.is_none_or(|ack| ack <= peer.outstanding.una());
            acknowledged && segment.end() <= end.outstanding.nxt()
        };
        if end.copies.is_copy(at, segment, &end.order, || peer.is_captured_twice(), has_passed) {
            return end.repeats(at, segment);
        }
        if self.is_closed_to_data() && self.is_of_old_connection(segment) {
            self.opening.challenges += u32::from(!segment.flags.has(Flags::RST));
            self.last = at;
            self.ends[me].packets += 1;
            return Judged::default();
        }
        let control = segment.flags.has_any(Flags::SYN.with(Flags::FIN).with(Flags::RST));
        if control || self.is_watched {
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
        let (me, peer) = end_and_peer(&mut self.ends, me);
        me.packets += 1;
        if !segment.flags.has(Flags::RST) {
            peer.hears(segment, me);
            me.shows_that_it_heard(segment, peer);
        }
        let mss = me.full_size();
        let missing = segment.ip.id.map_or(0, |id| {
            let packets = if segment.len > mss { segment.len.div_ceil(mss) } else { 1 };
            me.order.saw(id, u16::try_from(packets).unwrap_or(u16::MAX))
        });
        if segment.ip.ecn == Ecn::Ce || segment.flags.has_any(Flags::ECE.with(Flags::CWR)) {
            me.count_congestion(segment);
        }
        me.ecn_capable |= segment.ip.ecn != Ecn::NotEct;
        me.note_ttl(segment.ip.ttl);
        let takes = segment.sequence_len();
        end::measure_distance(at, segment, takes, me, peer);
        let held = stalls::is_one(silence, &me.rto, &peer.rto).then(|| [me.holding(), peer.holding()]);
        let mut judged = Judged::default();
        if takes > 0 {
            judged = me.on_sequence_segment(at, segment, missing, peer, begin);
        } else if segment.ack.is_some() {
            judged.label = me.on_pure_ack(at, segment, peer);
        }
        if let Some(ack) = segment.ack
            && !segment.flags.has(Flags::RST)
        {
            judged.spurious += peer.is_answered(at, ack, segment, me);
        }
        if takes > 0 || judged.label.is_some() {
            me.tries(at, silence, segment, judged.label);
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

    /// The retransmissions found spurious since the last call, with the end that sent them.
    pub fn take_spurious(&mut self) -> impl Iterator<Item = (End, SpuriousRetransmission)> {
        let ends = End::BOTH.into_iter().zip(&mut self.ends);
        ends.flat_map(|(end, state)| state.outstanding.take_spurious().map(move |spurious| (end, spurious)))
    }

    /// An ICMP error about a segment of this flow passes.
    #[cold]
    pub fn icmp_error(&mut self, at: Instant, error: &IcmpError) {
        let ip_header = if self.key.a.address.is_ipv6() { 40 } else { 20 };
        let end = &mut self.ends[error.about.index()];
        let unusual = end.unusual.get_or_insert_default();
        unusual.icmp_errors += 1;
        unusual.icmp_kind = Some(error.kind);
        if let IcmpKind::PacketTooBig { mtu: Some(mtu) } = error.kind {
            end.packets_too_big(mtu, ip_header);
        }
        if self.started && self.is_closed_to_data() {
            self.last = at.min(LATEST).max(self.last);
        }
    }

    /// Whether the connection has closed since the last call.
    #[inline]
    pub fn has_closed(&mut self) -> bool {
        let closing = &self.closing;
        let may = closing.rst[0] | closing.rst[1] | (closing.fin[0] & closing.fin[1]);
        if !may || self.over {
            return false;
        }
        self.over = self.is_over();
        self.over
    }

    /// Whether RTTs were measured, and none was longer than `most` nanoseconds.
    pub fn has_short_rtts(&self, most: i64) -> bool {
        let longest = self.ends.iter().filter_map(|end| end.rtt_by_ack.longest()).max();
        longest.is_some_and(|longest| longest <= most)
    }

    /// Whether it had closed at that call, and did not turn out to continue.
    pub const fn is_closed(&self) -> bool {
        self.over
    }

    /// Whether the connection is closed: both FINs acknowledged, or a reset.
    fn is_over(&self) -> bool {
        let acknowledged = |end: &EndState| end.outstanding.una() >= end.outstanding.nxt();
        self.closing.rst != [false; 2]
            || (self.closing.fin == [true; 2] && self.ends.iter().all(acknowledged))
    }
}
