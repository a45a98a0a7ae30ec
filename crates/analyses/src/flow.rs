//! One flow while it is watched: both directions, fed segment by segment.

use crate::copies::Copies;
use crate::label::Label;
use crate::limits::stretch::Marks;
use crate::limits::track::{Answer, Track};
use crate::options::VantageOverride;
use crate::order::SendOrder;
use crate::outstanding::{Acked, Missing, Needless, Outstanding};
use crate::report::{Closing, LabelCounts, Opening, ScaleKnown, SynOptions};
use crate::rtt::{Distance, EchoWatch, LinuxRto, RttStats, TimestampClock};
use crate::stalls::{self, Holding, Stalls};
use slowpath_model::{End, Flags, FlowKey, Instant, Segment};
use std::time::Duration;

/// How much later than the segment before it one must arrive to be late, in nanoseconds: beyond what a tick of the
/// timestamp clock and a moderate queue explain.
const LATE_ARRIVAL: i64 = 30_000_000;

/// Time stands still 36 years after, or before, a recording's start.
pub const LATEST: Instant = Instant::from_nanos(1 << 60);
const EARLIEST: Instant = Instant::from_nanos(-1 << 60);

/// What one end sent, what of it is outstanding, and how far the end is from the tap.
#[derive(Clone, Debug, Default)]
pub struct EndState {
    pub packets: u64,
    pub data_packets: u64,
    pub pure_acks: u64,
    pub bytes: u64,
    pub unique_bytes: u64,
    pub labels: LabelCounts,
    pub window_full: u64,
    pub unseen_bytes: u64,
    pub unseen_gaps: u64,
    pub holes: u64,
    pub duplicate_acks: u64,
    pub sack_blocks: u64,
    pub dsack_blocks: u64,
    pub super_packets: u64,
    pub mss_seen: u32,
    pub first_data: Option<i64>,
    pub last_data: Option<i64>,
    /// When this end's data was last acknowledged.
    pub last_acked: Option<i64>,
    pub idle_longest: i64,
    pub ttl_max: u8,

    pub options: Option<SynOptions>,
    pub scale: ScaleKnown,
    pub window: WindowStats,

    /// From this end's data at the tap to its ACK.
    pub rtt_by_ack: RttStats,
    /// From this end's timestamps at the tap to their echo.
    pub rtt_by_timestamp: RttStats,
    pub rto: LinuxRto,
    /// From the other end's timestamps to this end's echo.
    pub echo: EchoWatch,
    pub distance: Distance,
    /// Where the user says that the tap is.
    given: Option<VantageOverride>,
    pub clock: TimestampClock,

    pub order: SendOrder,
    pub copies: Copies,
    pub outstanding: Outstanding,
    pub track: Option<Box<Track>>,
    /// A track of a flow that is over, for its memory.
    spare_track: Option<Box<Track>>,
    pub stalls: Stalls,
    last_ack: Option<(i64, u16)>,
}

/// The windows one end advertised.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowStats {
    pub current: u32,
    pub min: Option<u32>,
    pub max: u32,
    pub sum: u64,
    pub count: u64,
    pub zero_count: u64,
    pub zero_time: i64,
    zero_since: Option<i64>,
}

impl WindowStats {
    fn saw(&mut self, now: i64, window: u32) {
        self.current = window;
        if window > 0 {
            self.min = Some(self.min.map_or(window, |min| min.min(window)));
            self.close(now);
        } else if self.zero_since.is_none() {
            self.zero_since = Some(now);
            self.zero_count += 1;
        }
        self.max = self.max.max(window);
        self.sum += u64::from(window);
        self.count += 1;
    }

    /// Ends a time of zero window, if one is going on.
    pub fn close(&mut self, now: i64) {
        if let Some(since) = self.zero_since.take() {
            self.zero_time += now - since;
        }
    }
}

/// One flow.
#[derive(Clone, Debug)]
pub struct Flow {
    pub key: FlowKey,
    pub first: Instant,
    pub last: Instant,
    pub opening: Opening,
    pub closing: Closing,
    pub ends: [EndState; 2],
    pub started: bool,
    mss: Option<u32>,
    /// It closed.
    over: bool,
}

/// What a segment turned out to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Its label, where it had payload or was a probe.
    pub label: Option<Label>,
    /// Earlier retransmissions that it shows to have been needless.
    pub spurious: u32,
}

impl Flow {
    /// A flow of which nothing was seen. `given` is where the user says that the tap is.
    pub fn new(key: FlowKey, given: Option<VantageOverride>) -> Self {
        let end = || EndState { given, ..EndState::default() };
        Self {
            key,
            first: Instant::START,
            last: Instant::START,
            opening: Opening::default(),
            closing: Closing::default(),
            ends: [end(), end()],
            started: false,
            mss: None,
            over: false,
        }
    }

    /// Lets go of what grew with a flow that is over. Kept for other flows, it would soon be as large everywhere as it
    /// ever was anywhere.
    pub fn empty(&mut self) {
        for end in &mut self.ends {
            end.outstanding = Outstanding::default();
            if let Some(track) = &mut end.track {
                **track = Track::new(0, 0);
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
            self.started = true;
            self.first = at.clamp(EARLIEST, LATEST);
            self.last = self.first;
        }
        // A clock that steps back must not make time negative, nor one that leaps make it overflow.
        let at = at.min(LATEST).max(self.last);
        let me = segment.from.index();
        let mut judged = Judged::default();
        if self.ends[me].copies.is_copy(at.nanos(), segment, &self.ends[me].order) {
            if segment.len > 0 {
                let end = &mut self.ends[me];
                end.packets += 1;
                end.data_packets += 1;
                end.bytes += u64::from(segment.len);
                end.labels.duplicate += 1;
                judged.label = Some(Label::Duplicate);
            }
            return judged;
        }
        self.note_handshake(at, segment);
        if segment.flags.has_any(Flags::SYN.with(Flags::FIN).with(Flags::RST)) {
            self.control(at, segment);
        }
        let silence = at.nanos_since(self.last);
        self.last = at;
        let begin = self.opening.established.or(self.opening.syn_ack).unwrap_or(self.first);
        let [a, b] = &mut self.ends;
        let (me, peer) = if me == 0 { (a, b) } else { (b, a) };
        me.packets += 1;
        let agreed = self.mss;
        let mss = agreed.unwrap_or(me.mss_seen).max(1);
        let missing = segment.ip.id.map_or(0, |id| {
            let packets = if segment.len > mss { segment.len.div_ceil(mss) } else { 1 };
            me.order.saw(id, u16::try_from(packets).unwrap_or(u16::MAX))
        });
        me.ttl_max = me.ttl_max.max(segment.ip.ttl);
        let now = at.nanos();
        measure_distance(now, segment, me, peer);
        let held = stalls::is_one(silence, &me.rto, &peer.rto).then(|| [me.holding(), peer.holding()]);
        if segment.sequence_len() > 0 {
            judged = me.sends(at, segment, missing, agreed, peer, begin);
        } else if segment.ack.is_some() {
            judged.label = me.sends_nothing(segment, peer);
        }
        if segment.len > 0
            && let Some(track) = &mut peer.track
        {
            track.peer_spoke(now, &peer.rto);
        }
        if let Some(ack) = segment.ack
            && !segment.flags.has(Flags::RST)
        {
            judged.spurious += peer.is_answered(at, ack.0, segment, me);
        }
        if let Some([mine, theirs]) = held {
            let ended = stalls::Ended { at, silence, segment, label: judged.label };
            me.stalls.note(&ended, mine, true, &me.rto);
            peer.stalls.note(&ended, theirs, false, &peer.rto);
        }
        judged
    }

    /// The retransmissions found needless since this was last asked, with the end that sent them.
    pub fn take_needless(&mut self) -> impl Iterator<Item = (End, Needless)> {
        let ends = End::BOTH.into_iter().zip(&mut self.ends);
        ends.flat_map(|(end, state)| state.outstanding.take_needless().map(move |needless| (end, needless)))
    }

    /// SYN, FIN and RST.
    fn control(&mut self, at: Instant, segment: &Segment) {
        let me = segment.from.index();
        let flags = segment.flags;
        self.closing.fin[me] |= flags.has(Flags::FIN);
        self.closing.rst[me] |= flags.has(Flags::RST);
        if !flags.has(Flags::SYN) || flags.has(Flags::RST) {
            return;
        }
        let opening = &mut self.opening;
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
            self.mss = effective_mss(a, b);
            for (end, own) in self.ends.iter_mut().zip([a, b]) {
                let both = a.window_scale.is_some() && b.window_scale.is_some();
                let shift = own.window_scale.filter(|_| both).unwrap_or(0).min(14);
                end.scale = ScaleKnown::Agreed(shift);
            }
        }
    }
    /// The MSS that both ends keep to, less the room timestamps take (RFC 6691).
    pub const fn mss(&self) -> Option<u32> {
        self.mss
    }
}

fn effective_mss(a: SynOptions, b: SynOptions) -> Option<u32> {
    let stamped = a.timestamps && b.timestamps;
    let mss = u32::from(a.mss.unwrap_or(536).min(b.mss.unwrap_or(536)));
    mss.checked_sub(if stamped { 12 } else { 0 }).filter(|mss| *mss > 0)
}

/// How far `me` is from the tap, by what it echoes; starts the watch for `peer`'s echo.
fn measure_distance(now: i64, segment: &Segment, me: &mut EndState, peer: &mut EndState) {
    let Some(stamps) = segment.timestamps else { return };
    let at = Instant::from_nanos(now);
    if segment.ack.is_some()
        && let Some(nanos) = me.echo.echoed(stamps.ecr, at)
    {
        me.distance.sample(nanos);
        peer.rtt_by_timestamp.sample(nanos);
    }
    // A pure ACK is answered at once only by an end that has more to send.
    if segment.sequence_len() > 0 || peer.outstanding.flight() > 0 {
        peer.echo.sent(stamps.val, at);
    }
}

impl EndState {
    /// This end sends a segment that takes sequence space. `missing` packets before it did not pass; the time to
    /// account for began at `begin`.
    fn sends(
        &mut self,
        at: Instant,
        segment: &Segment,
        missing: u16,
        agreed: Option<u32>,
        peer: &EndState,
        begin: Instant,
    ) -> Judged {
        let now = at.nanos();
        if let Some(probe) = self.probe(segment, peer) {
            self.data_packets += u64::from(segment.len > 0);
            self.bytes += u64::from(segment.len);
            *self.labels.of(probe) += 1;
            return Judged { label: Some(probe), spurious: 0 };
        }
        let silence = now - self.last_data.unwrap_or(now);
        let missing = Missing {
            packets: missing,
            mss: agreed.unwrap_or(self.mss_seen).max(1),
            only_data: self.pure_acks * 20 < self.data_packets,
            after_silence: missing > 0
                && silence > self.rto.srtt_nanos().map_or(10_000_000, |srtt| srtt.max(10_000_000)),
        };
        let near = self.sending();
        let placed = self.outstanding.data(at, segment, missing, &self.order, near.min());
        if segment.len == 0 {
            return Judged { label: None, spurious: u32::from(placed.needless) };
        }
        self.data_packets += 1;
        self.bytes += u64::from(segment.len);
        self.unique_bytes += u64::from(placed.unique.min(segment.len));
        self.holes += u64::from(placed.left_hole);
        *self.labels.of(placed.label) += 1;
        if placed.needless {
            self.found_needless(1);
        }
        let judged = Judged { label: Some(placed.label), spurious: u32::from(placed.needless) };
        if placed.label == Label::Duplicate {
            return judged;
        }
        if self.first_data.is_none() {
            self.first_data = Some(now);
        }
        if let Some(last) = self.last_data {
            self.idle_longest = self.idle_longest.max(now - last);
        }
        self.last_data = Some(now);
        if agreed.is_some_and(|mss| segment.len > mss) {
            self.super_packets += 1;
        } else {
            // RFC 9293, section 3.2: the option has 16 bits.
            self.mss_seen = self.mss_seen.max(segment.len.min(65_535));
        }
        let mss = agreed.unwrap_or(self.mss_seen);
        let track = self.track.get_or_insert_with(|| {
            let (from, una) = (begin.nanos(), segment.seq.0);
            let fresh = Track::new(from, una);
            let mut track = match self.spare_track.take() {
                Some(mut spare) => {
                    *spare = fresh;
                    spare
                }
                None => Box::new(fresh),
            };
            track.seed(peer.window.current, peer.window.count > 0);
            track
        });
        track.set_mss(mss);
        // Far from the sender, silence is not idleness if what ends it was sent long ago.
        let late = match segment.timestamps {
            Some(stamps) if !near.is_here() => self.clock.saw(stamps.val, now).unwrap_or(0),
            _ => 0,
        };
        if late > LATE_ARRIVAL {
            track.was_under_way(now, late.min(silence), &self.rto);
        }
        if placed.left_hole && near.is_here() {
            track.mark(Marks::GAP);
        }
        track.sent(now, segment, &placed, &near, &self.rto);
        if placed.label == Label::New {
            let edge = self.outstanding.una() + i64::from(peer.window.current);
            self.window_full +=
                u64::from(peer.window.count > 0 && self.outstanding.nxt() + i64::from(mss) > edge);
        }
        judged
    }

    /// How far this end is from the tap where it sends data: as measured, but for what the user says.
    pub fn sending(&self) -> Distance {
        self.placed(VantageOverride::Sender)
    }

    /// The same where it receives and answers.
    pub fn answering(&self) -> Distance {
        self.placed(VantageOverride::Receiver)
    }

    fn placed(&self, role: VantageOverride) -> Distance {
        match self.given {
            None => self.distance,
            Some(given) if given == role => Distance::HERE,
            Some(_) => self.distance.elsewhere(),
        }
    }

    /// What holds this end's sending, and with how little outstanding.
    fn holding(&self) -> Option<Holding> {
        let track = self.track.as_ref()?;
        Some(Holding {
            hold: track.holding(),
            asked: track.was_asked(),
            flight: self.outstanding.flight(),
            room: track.window(),
            mss: i64::from(self.mss_seen.max(1)),
            again: self.outstanding.oldest_again(),
            sacked: self.outstanding.has_sacked(),
        })
    }

    /// This end sends an ACK alone: perhaps a probe.
    fn sends_nothing(&mut self, segment: &Segment, peer: &EndState) -> Option<Label> {
        if segment.flags.has(Flags::RST) {
            return None;
        }
        self.pure_acks += 1;
        let probe = self.probe(segment, peer)?;
        *self.labels.of(probe) += 1;
        Some(probe)
    }

    /// Whether a segment asks only whether the peer is still there, or its window still closed: nothing
    /// outstanding, and at most the byte below what is next.
    fn probe(&self, segment: &Segment, peer: &EndState) -> Option<Label> {
        if segment.len > 1 {
            return None;
        }
        let una = self.outstanding.una();
        let below = self.outstanding.started() && segment.seq.0 + 1 == una;
        let idle = self.outstanding.nxt() == una;
        let control = segment.flags.has_any(Flags::SYN.with(Flags::FIN).with(Flags::RST));
        let established = self.first_data.is_some() || peer.first_data.is_some() || segment.seq.0 > 0;
        if !below || !idle || control || !established {
            return None;
        }
        Some(if peer.window.count > 0 && peer.window.current == 0 {
            Label::WindowProbe
        } else {
            Label::KeepAlive
        })
    }

    /// The peer acknowledges this end's data with `segment`, which `me` sent.
    fn is_answered(&mut self, at: Instant, ack: i64, segment: &Segment, me: &mut EndState) -> u32 {
        let now = at.nanos();
        if self.track.is_none() && self.outstanding.has_nothing_for(ack, segment) {
            // Nearly every segment of an end that only sends.
            self.take_window(now, ack, segment, me);
            me.note_duplicate_ack(ack, segment, &Acked::default(), self.outstanding.flight());
            return 0;
        }
        let before = self.outstanding.una() + self.outstanding.sacked_total();
        let acked = self.outstanding.ack(at, ack, segment);
        let after = self.outstanding.una() + self.outstanding.sacked_total();
        me.sack_blocks += segment.sack.as_slice().len() as u64;
        me.dsack_blocks += u64::from(acked.dsacks);
        let window = self.take_window(now, ack, segment, me);
        me.note_duplicate_ack(ack, segment, &acked, self.outstanding.flight());
        if acked.unseen > 0 {
            self.unseen_bytes += acked.unseen as u64;
            self.unseen_gaps += 1;
        }
        if acked.spurious > 0 {
            self.found_needless(acked.spurious);
        }
        if acked.advanced > 0 && self.first_data.is_some() {
            self.last_acked = Some(now);
        }
        let near = self.sending();
        let round_trip = acked.round_trip.map(|nanos| {
            self.rtt_by_ack.sample(nanos);
            me.distance.sample(nanos);
            let whole = nanos + if near.is_here() { 0 } else { near.recent() };
            self.rto.sample(whole, self.outstanding.una(), self.outstanding.nxt());
            whole
        });
        let Some(track) = &mut self.track else { return acked.spurious };
        if acked.reneged {
            track.reneged();
        }
        let mut marks = Marks::default();
        if acked.unseen > 0 {
            marks.set(Marks::GAP);
        }
        let mut late_since = None;
        // Beside the receiver, an ACK later than any delayed ACK of several segments was held back there.
        const LATE: i64 = 10_000_000;
        if me.answering().is_here()
            && acked.unseen == 0
            && acked.round_trip.is_some()
            && acked.waited.is_some_and(|waited| waited > LATE)
            && acked.advanced > 4 * i64::from(self.mss_seen.max(1))
        {
            marks.set(Marks::HELD_BACK);
            late_since = acked.waited.map(|waited| now - waited);
        }
        let answer = Answer {
            at: now,
            tsval: segment.timestamps.map(|stamps| stamps.val),
            una: self.outstanding.una(),
            edge: window.map(|window| ack + i64::from(window)),
            window: window.unwrap_or(0),
            field_full: segment.window >= 64_000,
            sacked: self.outstanding.sacked_total(),
            delivered: after - before,
            round_trip,
            marks,
            late_since,
        };
        track.answered(&answer, &near, &self.rto);
        acked.spurious
    }

    /// Retransmissions of this end turned out to be needless.
    fn found_needless(&mut self, count: u32) {
        let moved = u64::from(count).min(self.labels.retransmission);
        self.labels.retransmission -= moved;
        self.labels.spurious += moved;
        if let Some(track) = &mut self.track {
            track.needless(count);
            self.stalls.last_was_needless();
        }
    }

    /// The window that `segment` of `me` opens to this end, scaled as far as known.
    fn take_window(&self, now: i64, ack: i64, segment: &Segment, me: &mut EndState) -> Option<u32> {
        let raw = u32::from(segment.window);
        let window = if segment.flags.has(Flags::SYN) {
            raw
        } else {
            // Without the handshake: no window was smaller than what was sent into it.
            if let ScaleKnown::Unknown | ScaleKnown::AtLeast(_) = me.scale {
                let (before, used) = me.last_ack.unwrap_or((ack, segment.window));
                let outstanding = self.outstanding.nxt() - before;
                let mut shift = me.scale.shift();
                while used > 0 && shift < 14 && i64::from(used) << shift < outstanding {
                    shift += 1;
                    me.scale = ScaleKnown::AtLeast(shift);
                }
            }
            raw << me.scale.shift()
        };
        me.window.saw(now, window);
        (me.scale != ScaleKnown::Unknown || segment.flags.has(Flags::SYN)).then_some(window)
    }

    /// RFC 5681, section 2: the same ACK and window, no data, with data outstanding.
    fn note_duplicate_ack(&mut self, ack: i64, segment: &Segment, acked: &Acked, outstanding: i64) {
        let same = self.last_ack == Some((ack, segment.window)) || !segment.sack.is_empty();
        if same && acked.advanced == 0 && segment.sequence_len() == 0 && outstanding > 0 {
            self.duplicate_acks += 1;
        }
        self.last_ack = Some((ack, segment.window));
    }
}

impl Flow {
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
    pub fn note_handshake(&mut self, at: Instant, segment: &Segment) {
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
