//! One end of a flow while it is watched: what it sends, and how that is answered.

mod counted;
mod distance;
mod held_back;
mod in_vain;
mod sack;
mod size;
mod trying;
mod window;
pub use distance::{measure_distance, note_distance};
use held_back::HeldBack;
use in_vain::InVain;
use trying::Trying;
pub use window::WindowStats;

use crate::copies::Copies;
use crate::label::{Judged, Label};
use crate::lateness::Lateness;
use crate::limits::answer::Answer;
use crate::limits::stretch::Marks;
use crate::limits::track::{Track, least_sent};
use crate::loss_pattern::Beyond;
use crate::options::VantageOverride;
use crate::order::SendOrder;
use crate::outstanding::{Acked, Missing, Outstanding, Placed, SAME_FRAME_WITHIN, Times};
use crate::overview::{NotAccepted, ScaleChanged};
use crate::report::{LabelCounts, ScaleKnown, SynOptions, Unusual};
use crate::rtt::{Distance, EchoWatch, LinuxRto, RttStats, TimestampClock};
use crate::stalls::{Holding, Stalls};
use slowpath_model::{Checksum, Ecn, Flags, Instant, Segment, StreamOffset};

/// A segment is late if it was under way for longer than the one before it by this much, in nanoseconds: more than a
/// tick of the timestamp clock and a moderate queue explain.
const LATE_ARRIVAL: i64 = 30_000_000;

/// What one end sent, what is outstanding of it, and how far the end is from the tap.
#[derive(Clone, Debug, Default)]
pub struct EndState {
    pub packets: u64,
    pub data_packets: u64,
    pub pure_acks: u64,
    /// Bytes that it sent, by its sequence numbers, and that never passed the tap.
    pub sent_unseen: u32,
    /// Allocated when first needed.
    pub not_accepted: Option<Box<NotAccepted>>,
    /// Data that it has sent without any reaction of the other end so far.
    pub unheard: Option<Trying>,
    /// Retransmissions of its oldest segment that were answered and did not help.
    in_vain: Option<InVain>,
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
    pub ecn_capable: bool,
    /// Allocated when first needed.
    pub unusual: Option<Box<Unusual>>,
    pub mss_seen: u32,
    /// New segments of exactly that size without a push flag: see [`Self::full_size`].
    largest_unpushed: u8,
    /// One of that size followed another.
    is_repeated: bool,
    /// It sets push flags.
    pushes: bool,
    /// What most segments too large for Ethernet are multiples of, and how many more of them are than are not.
    unit: u32,
    unit_votes: u8,
    /// A size smaller than that, by how many new segments of it without a push flag there are more than larger ones, and
    /// whether it is that of full segments by now.
    smaller: u32,
    smaller_count: u8,
    has_shrunk: bool,
    pub first_data: Option<Instant>,
    pub last_data: Option<Instant>,
    /// The last copy of a data segment that passed the tap before.
    last_copy: Option<Instant>,
    /// When this end's data was last acknowledged.
    pub last_acked: Option<Instant>,
    /// For how long no ACK had come before the first of the last bunch of them, in microseconds.
    ack_silence: u32,
    /// In nanoseconds.
    pub idle_longest: i64,
    pub ttl_max: u8,
    /// The smallest TTL; 0 before the first packet.
    pub ttl_min: u8,

    pub options: Option<SynOptions>,
    /// Payload of a full segment of this end: what both SYNs allow, less the timestamps (RFC 6691), unless the end was
    /// seen not to subtract these.
    pub mss: Option<u32>,
    /// See [`Self::full_size`].
    full_size: u32,
    /// What the peer's SYN allows alone.
    pub mss_allowed: u32,
    pub scale: ScaleKnown,
    /// Its first window after its SYN was far smaller than the one in the SYN.
    pub scale_changed: Option<ScaleChanged>,
    pub window: WindowStats,

    /// From this end's data at the tap to its ACK.
    pub rtt_by_ack: RttStats,
    /// From this end's timestamps at the tap to their echo.
    pub rtt_by_timestamp: RttStats,
    pub rto: LinuxRto,
    /// From the other end's timestamps to this end's echo.
    pub echo: EchoWatch,
    pub distance: Distance,
    /// When its last segment with timestamps passed.
    last_stamped: Option<Instant>,
    pub clock: TimestampClock,
    pub lateness: Lateness,

    pub order: SendOrder,
    pub copies: Copies,
    pub outstanding: Outstanding,
    pub track: Option<Box<Track>>,
    /// The track of a finished flow, reused for its memory.
    pub spare_track: Option<Box<Track>>,
    pub stalls: Stalls,
    last_ack: Option<(StreamOffset, u16)>,
    sack_edges: Option<Box<sack::Edges>>,
    /// The farthest of its ACKs so far, each with its window field.
    field_edge: Option<StreamOffset>,
}

impl EndState {
    /// An end without segments so far. `given` is the user's location of the tap.
    pub fn new(given: Option<VantageOverride>) -> Self {
        let mut end = Self { distance: Distance::new(given), ..Self::default() };
        end.find_full_size();
        end
    }

    /// A router reports that packets of this end are too large for a link with this MTU (RFC 1191, RFC 8201): full
    /// segments are smaller from now on.
    #[cold]
    pub fn packets_too_big(&mut self, mtu: u32, ip_header: u32) {
        let stamps = if self.options.is_some_and(|options| options.timestamps) { 12 } else { 0 };
        let fits = mtu.saturating_sub(ip_header + 20 + stamps);
        if (536..self.full_size()).contains(&fits) {
            self.set_mss(Some(fits));
        }
    }

    /// Counts the congestion flags of `segment` (RFC 3168); on a SYN they have another meaning.
    #[cold]
    pub fn count_congestion(&mut self, segment: &Segment) {
        let unusual = self.unusual.get_or_insert_default();
        unusual.marked += u64::from(segment.ip.ecn == Ecn::Ce);
        if !segment.flags.has(Flags::SYN) {
            unusual.mark_echoes += u64::from(segment.flags.has(Flags::ECE));
            unusual.window_reductions += u64::from(segment.flags.has(Flags::CWR));
        }
    }

    /// Whether most of its data was captured more than once, at one place.
    #[inline]
    pub const fn is_captured_twice(&self) -> bool {
        self.labels.duplicate > self.labels.new / 2 && !self.copies.has_second_tap()
    }

    /// A frame of this end is captured again.
    #[cold]
    pub fn repeats(&mut self, at: Instant, segment: &Segment) -> Judged {
        self.packets += 1;
        if segment.len == 0 {
            return Judged::default();
        }
        self.last_copy = Some(at);
        self.data_packets += 1;
        self.bytes += u64::from(segment.len);
        self.labels.duplicate += 1;
        Judged { label: Some(Label::Duplicate), spurious: 0 }
    }

    /// This end sends a segment that takes sequence space. `missing` packets before it did not pass; the time to
    /// account for began at `begin`.
    #[inline(always)]
    pub fn on_sequence_segment(
        &mut self,
        at: Instant,
        segment: &Segment,
        missing: u16,
        peer: &EndState,
        begin: Instant,
    ) -> Judged {
        self.outstanding.reaches_beyond(self.is_beyond_field(segment, peer));
        // Less may be a probe.
        if segment.len > 1 && missing == 0 && self.outstanding.is_next(segment.seq) {
            let placed = self.outstanding.next(at, segment);
            return self.count_data_segment(at, segment, &placed, 0, peer, begin);
        }
        self.on_out_of_sequence_segment(at, segment, missing, peer, begin)
    }

    /// This end sends a segment that takes sequence space, other than just the next data: a probe, a retransmission, SYN or FIN.
    #[inline(never)]
    fn on_out_of_sequence_segment(
        &mut self,
        at: Instant,
        segment: &Segment,
        missing: u16,
        peer: &EndState,
        begin: Instant,
    ) -> Judged {
        if let Some(probe) = self.probe(segment, peer) {
            if segment.len > 0 && segment.seq == self.outstanding.nxt() {
                self.outstanding.probe();
            }
            self.data_packets += u64::from(segment.len > 0);
            self.bytes += u64::from(segment.len);
            *self.labels.of(probe) += 1;
            return Judged { label: Some(probe), spurious: 0 };
        }
        let silence = at.nanos_since(self.last_data.unwrap_or(at));
        let unseen = Missing {
            packets: if self.may_count_by_connection() && self.unseen_gaps == 0 { missing } else { 0 },
            mss: self.full_size(),
            only_data: self.pure_acks * 20 < self.data_packets,
            // That nothing followed an ACK shows no idleness where packets are missing: they followed it.
            timer_ran_out: missing > 0
                && self.track.as_ref().is_some_and(|track| !track.has_sent_all())
                && silence > self.rto.srtt_nanos().map_or(10_000_000, |srtt| (srtt * 9 / 5).max(10_000_000)),
        };
        // A sender learns of a loss after an RTT, and its timers are longer.
        let soon = self.rto.srtt_nanos().map_or(0, |srtt| (srtt / 2).min(SAME_FRAME_WITHIN));
        let times = Times {
            nearest: self.distance.sending().min(),
            soon,
            alike: self.copies.alike(),
            twice: self.is_captured_twice(),
        };
        self.note_beginning(at, segment, begin);
        let placed = self.outstanding.data(at, segment, unseen, &self.order, times);
        if placed.label == Label::Retransmission
            && placed.unique == 0
            && self.outstanding.is_missing(segment.seq)
        {
            self.note_not_accepted(at, segment, peer);
        }
        if placed.label == Label::Retransmission {
            self.asks_again(at, segment, silence);
            self.fills_hole(segment, &placed, peer);
        }
        if segment.len == 0 {
            return Judged { label: None, spurious: u32::from(placed.shows_spurious) };
        }
        self.count_data_segment(at, segment, &placed, missing, peer, begin)
    }

    /// This end retransmits what passed before and what `peer` is known to miss.
    fn note_not_accepted(&mut self, at: Instant, segment: &Segment, peer: &EndState) {
        let edge = self.outstanding.una() + peer.window.current;
        let is_stale = segment.timestamps.is_some_and(|stamps| peer.echo.is_stale(stamps.val));
        let not_accepted = self.not_accepted.get_or_insert_with(|| {
            // This one is counted among the lost already.
            let lost = self.outstanding.replaced_as_lost().lost.saturating_sub(1);
            let before = (self.labels.retransmission + self.labels.spurious, lost);
            Box::new(NotAccepted { since: at, before, ..NotAccepted::default() })
        });
        not_accepted.segments += 1;
        not_accepted.damaged += u32::from(segment.checksum == Checksum::Wrong);
        not_accepted.stale += u32::from(is_stale);
        not_accepted.outside += u32::from(peer.window.count > 0 && segment.end() > edge);
    }

    /// This end sent a segment with payload, classified as `placed`. Compiled a second time for the next data, where
    /// most conditions are known.
    #[inline(always)]
    fn count_data_segment(
        &mut self,
        at: Instant,
        segment: &Segment,
        placed: &Placed,
        missing: u16,
        peer: &EndState,
        begin: Instant,
    ) -> Judged {
        self.data_packets += 1;
        self.bytes += u64::from(segment.len);
        self.unique_bytes += u64::from(placed.unique.min(segment.len));
        self.holes += u64::from(placed.left_hole);
        *self.labels.of(placed.label) += 1;
        if placed.label != Label::New {
            self.note_repeated(segment, placed);
        }
        if placed.shows_spurious {
            self.note_spurious();
        }
        let judged = Judged { label: Some(placed.label), spurious: u32::from(placed.shows_spurious) };
        if placed.label == Label::Duplicate {
            self.last_copy = Some(at);
            return judged;
        }
        if self.first_data.is_none() {
            self.first_data = Some(at);
        }
        let silence = at.nanos_since(self.last_data.unwrap_or(at));
        self.idle_longest = self.idle_longest.max(silence);
        self.last_data = Some(at);
        if self.mss.is_some_and(|mss| segment.len > mss)
            && !self.keeps_no_room_for_options(segment.len)
            && (segment.flags.has(Flags::PSH) || !self.keeps_to_the_peers_mss(segment.len))
        {
            self.super_packets += 1;
        } else {
            // RFC 9293, section 3.2: the option has 16 bits.
            let pushed = segment.flags.has(Flags::PSH);
            self.note_size(segment.len.min(65_535), pushed, placed.label, silence);
        }
        let mss = self.full_size();
        if self.track.is_none() {
            self.track = Some(self.new_track(begin, segment, peer));
        }
        let Some(track) = &mut self.track else { return judged };
        track.set_mss(mss);
        let near = self.distance.sending();
        // Far from the sender, silence is not idleness if the segment that ends it was sent long ago.
        let late = match segment.timestamps {
            Some(stamps) if !near.is_here() => self.clock.saw(stamps.val, at).unwrap_or(0),
            _ => 0,
        };
        if silence > LATE_ARRIVAL && !near.is_here() {
            // Without timestamps, the segment may have been under way all the time.
            let is_dated = segment.timestamps.is_some();
            track.is_complete(missing == 0 && is_dated && self.order.counts_nothing_else());
        }
        if placed.label != Label::New {
            track.receiver_reports(peer.reports_what_it_misses(self.options.as_ref()));
            if !near.is_here() {
                track.date_silence(silence - late);
            }
        }
        if late > LATE_ARRIVAL {
            track.was_under_way(at, late.min(silence), &self.rto);
        }
        if placed.left_hole && near.is_here() {
            track.mark(Marks::GAP);
        }
        track.on_data_segment(at, segment, placed, near, &self.rto, || self.outstanding.oldest_sent());
        // Timestamps show it better.
        if segment.timestamps.is_none()
            && let Some(reaction) = track.take_reaction(peer.distance.answering())
        {
            self.distance.sample(reaction);
        }
        if placed.label == Label::New {
            let edge = self.outstanding.una() + peer.window.current;
            let least = least_sent(mss, peer.window.max);
            // If the scale of a window is unknown, so is what fills it.
            let is_full = self.outstanding.nxt() + least > edge
                && peer.window.count > 0
                && peer.scale != ScaleKnown::Unknown;
            self.window_full += u64::from(is_full);
        }
        judged
    }

    /// Whether `segment` reaches beyond the window of `peer`, taken without scaling.
    #[inline]
    fn is_beyond_field(&self, segment: &Segment, peer: &Self) -> Beyond {
        if !matches!(peer.scale, ScaleKnown::Agreed(1..)) {
            return Beyond::default();
        }
        let end = segment.end();
        let field = peer.last_ack.is_some_and(|(ack, field)| end > ack + u32::from(field));
        // The farthest edge is that of the last ACK or beyond it.
        Beyond { field, edge: field && peer.field_edge.is_some_and(|edge| end > edge) }
    }

    /// What this end acknowledged with its last segment.
    pub fn last_acknowledged(&self) -> Option<StreamOffset> {
        self.last_ack.map(|(ack, _)| ack)
    }

    /// Whether this end may count its IP identifications for each connection, as Linux does: it starts its TTL at 64. Windows
    /// (128) and Solaris (255) count per host or per path, and their gaps mean nothing.
    const fn may_count_by_connection(&self) -> bool {
        matches!(self.initial_ttl(), None | Some(64))
    }

    /// A track for this end's data, which begins with `segment`.
    #[cold]
    fn new_track(&mut self, begin: Instant, segment: &Segment, peer: &EndState) -> Box<Track> {
        let fresh = Track::new(begin, segment.seq);
        let mut track = if let Some(mut spare) = self.spare_track.take() {
            *spare = fresh;
            spare
        } else {
            Box::new(fresh)
        };
        // A window whose scale is not known is no bound.
        track.seed(peer.window.current, peer.window.count > 0 && peer.scale != ScaleKnown::Unknown);
        if let Some(asked) = peer.last_data.filter(|asked| *asked >= begin) {
            track.was_asked_first(asked, peer.unique_bytes, &self.rto);
        }
        track
    }

    /// What holds this end back, and with how little outstanding.
    #[cold]
    pub fn holding(&self) -> Option<Holding> {
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

    /// This end sends a pure ACK, perhaps a probe.
    pub fn on_pure_ack(&mut self, at: Instant, segment: &Segment, peer: &EndState) -> Option<Label> {
        if segment.flags.has(Flags::RST) {
            return None;
        }
        if let Some(track) = &mut self.track {
            track.on_pure_ack(at);
        }
        self.pure_acks += 1;
        // The ACK's own number is the next to send (RFC 9293, section 3.10.7.4).
        self.sent_unseen =
            if segment.seq == self.outstanding.nxt() { 0 } else { self.unseen_before(segment) };
        let probe = self.probe(segment, peer)?;
        *self.labels.of(probe) += 1;
        Some(probe)
    }

    /// Bytes that this end sent before `segment`, which carries none, beyond what passed the tap.
    #[cold]
    fn unseen_before(&self, segment: &Segment) -> u32 {
        let unseen = segment.seq.distance_from(self.outstanding.nxt());
        if self.outstanding.started() { u32::try_from(unseen).unwrap_or(0) } else { 0 }
    }

    /// Whether a segment only asks whether the peer is still there or its window still closed: nothing is outstanding,
    /// and it has at most the byte below the next one, or the next one against a closed window.
    fn probe(&self, segment: &Segment, peer: &EndState) -> Option<Label> {
        if segment.len > 1 {
            return None;
        }
        let una = self.outstanding.una();
        let closed = || peer.window.count > 0 && peer.window.current == 0;
        let below = segment.seq + 1 == una && self.outstanding.started();
        // Solaris and Windows probe with the next byte (RFC 9293, section 3.8.6.1), Linux with none.
        let at_edge = segment.len == 1 && segment.seq == una && closed();
        // Nearly every ACK.
        if !(below || at_edge) {
            return None;
        }
        let idle = self.outstanding.nxt() == una;
        let control = segment.flags.has_any(Flags::SYN.with(Flags::FIN).with(Flags::RST));
        if !idle || control {
            return None;
        }
        Some(if closed() { Label::WindowProbe } else { Label::KeepAlive })
    }

    /// The peer acknowledges this end's data with `segment`, which `me` sent.
    #[inline(always)]
    pub fn is_answered(
        &mut self,
        at: Instant,
        ack: StreamOffset,
        segment: &Segment,
        me: &mut EndState,
    ) -> u32 {
        let is_empty = self.outstanding.has_nothing_for(ack, segment);
        if is_empty && self.track.is_none() {
            // Nearly every segment of an end that only sends.
            self.take_window(at, ack, segment, me);
            me.note_duplicate_ack(ack, segment, &Acked::default(), || self.outstanding.flight());
            return 0;
        }
        if is_empty || self.outstanding.is_plain(ack, segment) {
            return self.is_answered_plainly(at, ack, segment, me, is_empty);
        }
        self.is_answered_otherwise(at, ack, segment, me)
    }

    /// The peer sends a plain ACK of this end's data up to `ack`, or one that acknowledges nothing new.
    #[inline(never)]
    fn is_answered_plainly(
        &mut self,
        at: Instant,
        ack: StreamOffset,
        segment: &Segment,
        me: &mut EndState,
        is_empty: bool,
    ) -> u32 {
        let mut acked = Acked::default();
        if !is_empty {
            self.outstanding.retire(at, ack, &mut acked);
        }
        self.answered(at, ack, segment, me, &acked, acked.advanced)
    }

    /// The peer sends an ACK with SACK blocks, or one that is otherwise not plain.
    #[inline(never)]
    fn is_answered_otherwise(
        &mut self,
        at: Instant,
        ack: StreamOffset,
        segment: &Segment,
        me: &mut EndState,
    ) -> u32 {
        let full = self.full_size();
        let translated = sack::without_outside(segment, ack, &self.outstanding, full, me);
        let segment = translated.as_ref().unwrap_or(segment);
        let before = self.outstanding.una().plus(self.outstanding.sacked_total());
        let acked = self.outstanding.ack(at, ack, segment, me.distance.answering().min());
        let after = self.outstanding.una().plus(self.outstanding.sacked_total());
        self.answered(at, ack, segment, me, &acked, after.distance_from(before))
    }

    /// `acked` says what was acknowledged; `delivered` bytes, selectively or not. Compiled a second time for plain
    /// ACKs, where most conditions are known.
    #[inline(always)]
    fn answered(
        &mut self,
        at: Instant,
        ack: StreamOffset,
        segment: &Segment,
        me: &mut EndState,
        acked: &Acked,
        delivered: i64,
    ) -> u32 {
        me.sack_blocks += segment.sack.as_slice().len() as u64;
        me.dsack_blocks += u64::from(acked.dsacks);
        if segment.sack.outside() > 0 || acked.dsacks_of_copies > 0 {
            let unusual = me.unusual.get_or_insert_default();
            unusual.sack_outside += u64::from(segment.sack.outside());
            unusual.dsack_copies += u64::from(acked.dsacks_of_copies);
        }
        let window = self.take_window(at, ack, segment, me);
        me.note_duplicate_ack(ack, segment, acked, || self.outstanding.flight());
        self.unique_bytes += u64::from(acked.probed);
        if acked.unseen > 0 {
            self.unseen_bytes += acked.unseen as u64;
            self.unseen_gaps += 1;
        }
        if acked.spurious > 0 {
            self.note_spurious();
        }
        if acked.advanced > 0 || delivered > 0 {
            self.in_vain = None;
        } else if self.in_vain.is_some() {
            self.is_answered_in_vain(at, segment, me);
        }
        if acked.advanced > 0 && self.first_data.is_some() {
            self.note_acked(at);
        }
        let round_trip = acked.round_trip.map(|nanos| self.note_round_trip(nanos, me));
        let near = self.distance.sending();
        let held = HeldBack::at(at, acked, me, self);
        let Some(track) = &mut self.track else { return acked.spurious };
        if acked.reneged {
            self.not_accepted.get_or_insert_default().reneged = true;
            track.reneged();
        }
        let mut marks = Marks::default();
        if acked.unseen > 0 {
            marks.set(Marks::GAP);
        }
        let answer = Answer {
            at,
            tsval: segment.timestamps.map(|stamps| stamps.val),
            una: self.outstanding.una(),
            newest: ack >= self.outstanding.una(),
            edge: window.map(|window| ack + window),
            window: window.unwrap_or(0),
            scale: me.scale,
            field: segment.window,
            sacked: self.outstanding.sacked_total(),
            delivered,
            // Where only the receiver's part of it is measured, that is nothing.
            round_trip: round_trip.filter(|_| {
                segment.timestamps.is_some() || near.is_here() || !me.distance.answering().is_here()
            }),
            marks,
            late_since: held.since,
            read_after: if segment.len == 0 { held.read_after } else { 0 },
            delayed_ack: me.longest_delayed_ack(segment),
            payload: segment.len,
            echoes_mark: segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::SYN),
            // Next to the receiver, each segment is.
            alone: acked.alone && near.is_here(),
        };
        track.answered(answer, near, &self.rto);
        acked.spurious
    }

    /// Data of this end was answered after `nanos` at the tap; returns the RTT of the whole path.
    #[inline(always)]
    fn note_round_trip(&mut self, nanos: i64, me: &mut EndState) -> i64 {
        note_distance(nanos, &mut me.distance, &mut self.distance);
        self.rtt_by_ack.sample(nanos);
        let near = self.distance.sending();
        let whole = nanos + if near.is_here() { 0 } else { near.recent() };
        self.rto.sample(whole, self.outstanding.una(), self.outstanding.nxt());
        whole
    }

    /// Retransmissions of this end turned out to be spurious.
    fn note_spurious(&mut self) {
        let found = self.outstanding.found_spurious();
        let moved = (found.len() as u64).min(self.labels.retransmission);
        self.labels.retransmission -= moved;
        self.labels.spurious += moved;
        if let Some(track) = &mut self.track {
            track.on_spurious(found);
            self.stalls.were_spurious(found);
        }
    }

    /// The window that `segment` of `me` opens to this end, scaled as far as known.
    #[inline(always)]
    fn take_window(
        &mut self,
        at: Instant,
        ack: StreamOffset,
        segment: &Segment,
        me: &mut EndState,
    ) -> Option<u32> {
        let raw = u32::from(segment.window);
        let window = if segment.flags.has(Flags::SYN) {
            raw
        } else {
            raw << match me.scale {
                ScaleKnown::Agreed(shift) | ScaleKnown::Fits(shift) => shift,
                ScaleKnown::Unknown | ScaleKnown::AtLeast(_) => self.infer_scale(ack, segment, me),
            }
        };
        if me.window.count == 1
            && me.opens_anew(ack, segment, window)
            && let Some(track) = &mut self.track
        {
            track.opens_anew(window);
        }
        me.window.saw(at, window);
        // A closed window is closed at any scale.
        (me.scale != ScaleKnown::Unknown || segment.flags.has(Flags::SYN) || raw == 0).then_some(window)
    }

    /// Without the handshake: the scale under which segments end where the window ends, or else the smallest one under
    /// which no window was smaller than what was sent into it.
    #[inline(never)]
    fn infer_scale(&self, ack: StreamOffset, segment: &Segment, me: &mut EndState) -> u8 {
        if let Some(shift) = self.track.as_ref().and_then(|track| track.scale_found()) {
            me.scale = ScaleKnown::Fits(shift);
            return shift;
        }
        let (before, used) = me.last_ack.unwrap_or((ack, segment.window));
        let outstanding = self.outstanding.nxt().distance_from(before);
        let known = me.scale.shift();
        let mut shift = known.max(self.track.as_ref().map_or(0, |track| track.least_scale()));
        if used > 0 {
            shift = ScaleKnown::least(shift, used.into(), outstanding).unwrap_or(ScaleKnown::MOST);
        }
        if shift > known {
            me.scale = ScaleKnown::AtLeast(shift);
        }
        shift
    }

    /// Whether this end reports data that it misses by SACK blocks (RFC 2018) to the `other`, and no device removes them.
    #[cold]
    fn reports_what_it_misses(&self, other: Option<&SynOptions>) -> bool {
        let has_agreed = self.options.is_some_and(|mine| mine.sack_permitted)
            && other.is_some_and(|its| its.sack_permitted);
        self.sack_blocks > 0 || has_agreed && self.duplicate_acks == 0
    }

    /// RFC 5681, section 2: the same ACK and window, no data, with data outstanding.
    #[inline(always)]
    fn note_duplicate_ack(
        &mut self,
        ack: StreamOffset,
        segment: &Segment,
        acked: &Acked,
        outstanding: impl FnOnce() -> i64,
    ) {
        if acked.advanced == 0 && segment.sequence_len() == 0 && outstanding() > 0 {
            let same = self.last_ack == Some((ack, segment.window)) || !segment.sack.is_empty();
            self.duplicate_acks += u64::from(same);
        }
        self.last_ack = Some((ack, segment.window));
        self.field_edge = self.field_edge.max(Some(ack + u32::from(segment.window)));
    }
}
