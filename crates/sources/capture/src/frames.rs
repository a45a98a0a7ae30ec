//! The path of every frame: it is numbered, timestamped, decoded, assigned to its flow, and passed on as an event.

use crate::connection;
use crate::decode::{self, Decoded, Whole};
use crate::flows::{Flows, LiveFlow, Pair};
use crate::fragments::{Beginning, Fragments};
use crate::layer::{Fragment, Quote, Skip};
use crate::link_type::LinkType;
use crate::oddity::Oddity;
use crate::packet::Packet;
use crate::protocol::Protocol;
use crate::short::{self, Body, Datagram, Ip};
use crate::summary::{Notes, StepsBack};
use slowpath_model::{Checksum, Event, EventKind, Flags, FlowEnd, FlowId, IcmpError, Instant, Sink};
use slowpath_wire::ip::{TCP, V4, V6};
use std::collections::BTreeMap;

/// A frame in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) link: LinkType,
    /// Nanoseconds since 1970; `None` if the format has no timestamp for it.
    pub(crate) stamp: Option<i64>,
    /// The captured bytes, as far as they are examined.
    pub(crate) data: &'a [u8],
    /// The number of captured bytes.
    pub(crate) captured: u32,
    /// Its length on the wire, according to the file.
    pub(crate) wire: u32,
    /// The offset of its record.
    pub(crate) offset: u64,
}

/// Counters.
#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) frames: u64,
    pub(crate) segments: u64,
    pub(crate) icmp_errors: u64,
    pub(crate) flows: u32,
    pub(crate) evicted: u64,
    pub(crate) captured_bytes: u64,
    pub(crate) wire_bytes: u64,
    pub(crate) epoch: Option<i64>,
    pub(crate) earliest: i64,
    pub(crate) latest: i64,
    pub(crate) steps_back: StepsBack,
    pub(crate) other_protocols: BTreeMap<Protocol, u64>,
    pub(crate) notes: Notes,
}

/// Turns frames into events of flows.
pub(crate) struct Frames<'s, S> {
    sink: &'s mut S,
    flows: Flows,
    fragments: Fragments,
    /// The last timestamp, since 1970.
    last: i64,
    counts: Counts,
    /// Is shown every frame, if anyone wants that.
    shown_to: Option<&'s mut (dyn FnMut(&Frame<'_>) + 's)>,
}

impl<'s, S: Sink> Frames<'s, S> {
    pub(crate) fn new(
        sink: &'s mut S,
        most_flows: usize,
        shown_to: Option<&'s mut (dyn FnMut(&Frame<'_>) + 's)>,
    ) -> Self {
        let counts = Counts {
            frames: 0,
            segments: 0,
            icmp_errors: 0,
            flows: 0,
            evicted: 0,
            captured_bytes: 0,
            wire_bytes: 0,
            epoch: None,
            earliest: i64::MAX,
            latest: i64::MIN,
            steps_back: StepsBack::default(),
            other_protocols: BTreeMap::new(),
            notes: Notes::new(),
        };
        Self {
            sink,
            flows: Flows::new(most_flows),
            fragments: Fragments::default(),
            last: 0,
            counts,
            shown_to,
        }
    }

    /// The number of frames so far.
    pub(crate) fn count(&self) -> u64 {
        self.counts.frames
    }

    /// Takes the next frame.
    #[inline(always)]
    pub(crate) fn accept(&mut self, mut frame: Frame<'_>) {
        self.counts.frames += 1;
        self.counts.captured_bytes += u64::from(frame.captured);
        self.counts.wire_bytes += u64::from(frame.wire);
        let at = self.date(frame.stamp);
        if frame.captured > frame.wire {
            self.note(Oddity::CapturedBeyondWire, frame.offset);
            frame.wire = frame.captured;
        }
        if let Some(shown_to) = &mut self.shown_to {
            shown_to(&frame);
        }
        let is_taken = frame.link == LinkType::ETHERNET
            && match Datagram::of_ethernet(frame.data, frame.wire) {
                Some(Datagram::V4(Body { captured, wire })) => {
                    self.accept_short::<V4<'_>>(at, captured, wire, &frame)
                }
                Some(Datagram::V6(Body { captured, wire })) => {
                    self.accept_short::<V6<'_>>(at, captured, wire, &frame)
                }
                None => false,
            };
        if !is_taken {
            self.accept_any(at, &frame);
        }
    }

    /// The fast path of most frames; returns whether this one took it. One function takes a packet from its bytes to
    /// its flow, so that its headers are not written to memory in between. For the same reason it takes the parts of a
    /// [`Body`].
    #[inline(never)]
    fn accept_short<'a, I: Ip<'a>>(
        &mut self,
        at: Instant,
        captured: &'a [u8],
        wire: usize,
        frame: &Frame<'a>,
    ) -> bool {
        let Some(packet) = short::packet::<I>(Body { captured, wire }) else { return false };
        self.deliver(at, &packet, frame, whole);
        true
    }

    /// The general path for other frames.
    #[inline(never)]
    fn accept_any(&mut self, at: Instant, frame: &Frame<'_>) {
        match decode::decode(frame.link, frame.data, frame.wire) {
            Ok(Decoded { packet, first: Some(first), .. })
                if self.fragments.are_recorded(&first.fragment) =>
            {
                let others = packet.oddities.iter().filter(|oddity| *oddity != Oddity::FirstFragment);
                others.for_each(|oddity| self.note(oddity, frame.offset));
                let beginning = Beginning::new(&packet, &first, self.counts.frames, frame.offset);
                self.take_fragment(at, &first.fragment, Some(beginning), frame);
            }
            Ok(Decoded { packet, whole, .. }) => {
                for oddity in packet.oddities.iter() {
                    self.note(oddity, frame.offset);
                }
                self.deliver(at, &packet, frame, |_| whole);
            }
            Err(Skip::IcmpError(quote)) if self.deliver_error(at, &quote) => {}
            Err(skip) => {
                if let Skip::LaterFragment(fragment) = &skip {
                    self.take_fragment(at, fragment, None, frame);
                }
                self.skip(skip, frame.offset);
            }
        }
    }

    /// Takes a fragment of a datagram, and delivers the segment that it completes.
    #[cold]
    fn take_fragment(
        &mut self,
        at: Instant,
        fragment: &Fragment,
        first: Option<Beginning>,
        frame: &Frame<'_>,
    ) {
        let whole = self.fragments.take(at, fragment, first);
        while let Some(given_up) = self.fragments.give_up(at) {
            given_up.iter().for_each(|beginning| self.note_missing_fragments(beginning));
        }
        if let Some(packet) = whole.as_ref().and_then(Beginning::packet) {
            self.deliver(at, &packet, frame, |_| None);
        }
    }

    #[cold]
    fn note_missing_fragments(&mut self, Beginning { frame, offset, .. }: &Beginning) {
        self.counts.notes.note(Oddity::MissingFragments, *frame, *offset);
    }

    /// Counts an unusable frame.
    #[cold]
    pub(crate) fn reject(&mut self, oddity: Oddity, offset: u64) {
        self.counts.frames += 1;
        self.note(oddity, offset);
    }

    #[cold]
    pub(crate) fn note(&mut self, oddity: Oddity, offset: u64) {
        self.counts.notes.note(oddity, self.counts.frames, offset);
    }

    /// The instant of a timestamp. A frame without one gets the previous frame's.
    #[inline]
    fn date(&mut self, stamp: Option<i64>) -> Instant {
        let Some(epoch) = self.counts.epoch else { return self.first_date(stamp) };
        let stamp = stamp.unwrap_or(self.last);
        if stamp < self.last {
            self.steps_back(stamp);
        }
        self.last = stamp;
        Instant::from_nanos(stamp.saturating_sub(epoch))
    }

    #[cold]
    fn steps_back(&mut self, stamp: i64) {
        let counts = &mut self.counts;
        counts.steps_back.count += 1;
        counts.steps_back.largest_ns = counts.steps_back.largest_ns.max(stamp.abs_diff(self.last));
        counts.earliest = counts.earliest.min(stamp);
        counts.latest = counts.latest.max(self.last);
    }

    #[cold]
    fn first_date(&mut self, stamp: Option<i64>) -> Instant {
        if let Some(stamp) = stamp {
            self.counts.epoch = Some(stamp);
            (self.counts.earliest, self.counts.latest, self.last) = (stamp, stamp, stamp);
        }
        Instant::START
    }

    /// Passes a segment to its flow. Few need their checksum verified; only for those is `whole` called.
    #[inline(always)]
    fn deliver<'a>(
        &mut self,
        at: Instant,
        packet: &Packet<'a>,
        frame: &Frame<'a>,
        whole: impl FnOnce(&Frame<'a>) -> Option<Whole<'a>>,
    ) {
        let tcp = &packet.tcp;
        // Written before its flow is looked up: less is left to keep in registers.
        let segment = connection::unplaced(tcp, packet.ip, self.counts.frames);
        let mut event = Event { at, kind: EventKind::Seen(segment) };
        let (pair, second) = Pair::of(packet.addresses, tcp.source, tcp.destination);
        let flow = match self.flows.find(&pair) {
            Some(flow) if !flow.connection.is_replaced_by(flow.sender(second), tcp) => flow,
            _ => {
                if !self.open(pair, second, tcp.flags) {
                    self.note(Oddity::TooManyFlows, frame.offset);
                    return;
                }
                match self.flows.peek(&pair) {
                    Some(flow) => flow,
                    None => return,
                }
            }
        };
        if let EventKind::Seen(segment) = &mut event.kind {
            segment.from = flow.sender(second);
            let is_below = flow.connection.place(tcp, segment);
            flow.connection.add_seldom(tcp, segment);
            if is_below | tcp.flags.has(Flags::SYN) {
                segment.checksum = whole(frame).map_or(Checksum::Unknown, Whole::verify);
            }
        }
        self.counts.segments += 1;
        self.sink.accept(flow.id, &event);
    }

    /// Passes an ICMP error to the flow that it quotes; returns whether that is known.
    #[cold]
    fn deliver_error(&mut self, at: Instant, quote: &Quote) -> bool {
        let (pair, second) = Pair::of(quote.addresses, quote.ports.0, quote.ports.1);
        let Some(flow) = self.flows.peek(&pair) else { return false };
        let about = flow.sender(second);
        let error = IcmpError {
            about,
            seq: flow.connection.locate(about, quote.seq),
            kind: quote.kind,
            from: Some(quote.from),
            frame: self.counts.frames,
        };
        self.counts.icmp_errors += 1;
        self.sink.accept(flow.id, &Event { at, kind: EventKind::IcmpError(error) });
        true
    }

    /// Opens a flow whose first segment was sent by the pair's `second` end or its first.
    #[cold]
    fn open(&mut self, pair: Pair, second: bool, flags: Flags) -> bool {
        let Some(number) = self.counts.flows.checked_add(1) else { return false };
        self.counts.flows = number;
        let id = FlowId(number);
        // The end that answers a SYN is not the initiator.
        let a_is_second = second ^ flags.has(Flags::SYN.with(Flags::ACK));
        let occurrence = match self.flows.peek(&pair) {
            Some(flow) => {
                let replaced = flow.id;
                let occurrence = flow.occurrence.saturating_add(1);
                *flow = LiveFlow::new(id, occurrence, a_is_second);
                self.sink.close(replaced, FlowEnd::Replaced);
                occurrence
            }
            None => {
                let evicted = self.flows.insert(pair, LiveFlow::new(id, 0, a_is_second));
                if let Some(evicted) = evicted {
                    self.counts.evicted += 1;
                    self.sink.close(evicted, FlowEnd::Evicted);
                }
                0
            }
        };
        self.sink.open(id, &pair.key(a_is_second, occurrence));
        true
    }

    #[cold]
    fn skip(&mut self, skip: Skip, offset: u64) {
        let (oddity, protocol) = match skip {
            Skip::NotIp(protocol) => (Oddity::NotIp, Some(protocol)),
            Skip::NotTcp(number) | Skip::IcmpError(Quote { protocol: number, .. }) => {
                (Oddity::NotTcp, Some(Protocol::Ip(number)))
            }
            Skip::UnsupportedLink(link) => (Oddity::UnsupportedLink, Some(Protocol::Link(link))),
            Skip::LaterFragment(Fragment { protocol: TCP, .. }) => (Oddity::LaterFragment, None),
            Skip::LaterFragment(Fragment { protocol, .. }) => (Oddity::NotTcp, Some(Protocol::Ip(protocol))),
            Skip::Truncated => (Oddity::TruncatedHeader, None),
            Skip::Malformed => (Oddity::MalformedHeader, None),
            Skip::TooDeep => (Oddity::TooDeep, None),
        };
        if let Some(protocol) = protocol {
            *self.counts.other_protocols.entry(protocol).or_default() += 1;
        }
        self.note(oddity, offset);
    }

    /// Closes every flow.
    pub(crate) fn finish(mut self) -> Counts {
        if self.counts.epoch.is_some() {
            self.counts.latest = self.counts.latest.max(self.last);
        }
        for beginning in std::mem::take(&mut self.fragments).into_unfinished() {
            self.note_missing_fragments(&beginning);
        }
        for id in self.flows.into_ids() {
            self.sink.close(id, FlowEnd::EndOfRecording);
        }
        self.counts
    }
}

/// The data to verify the checksum of the segment in `frame`.
#[cold]
fn whole<'a>(frame: &Frame<'a>) -> Option<Whole<'a>> {
    decode::whole(frame.link, frame.data, frame.wire)
}
