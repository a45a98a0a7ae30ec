//! The time–sequence picture of a flow, as tcptrace and xplot draw it (Shepard, *TCP packet trace analysis*,
//! MIT/LCS/TR-494, 1991), in bounded memory.
//!
//! Each mark is exact until there are too many; then marks of the same kind in the same stretch of time are merged into
//! one that keeps the extremes and the count. Labels that were wrong at first are corrected. Retransmitted, reordered
//! and duplicated data is kept apart from new data, so that the rare does not drown in the many.

mod direction;
mod thinned;

use crate::analysis::Labels;
use crate::label::{Judged, Label};
use crate::outstanding::SpuriousRetransmission;
use direction::Direction;
use slowpath_model::{End, Event, EventKind, Flags, FlowId, Instant, Segment, StreamOffset};
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;
use thinned::thin;

/// A mark of the picture: one event, or several of the same kind merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark<S> {
    /// The first one's time.
    pub from: Instant,
    /// The last one's time.
    pub to: Instant,
    /// How many.
    pub count: u32,
    /// What it shows: of several, the extremes.
    pub shows: S,
}

impl<S> Mark<S> {
    /// A mark for one thing.
    pub const fn at(at: Instant, shows: S) -> Self {
        Self { from: at, to: at, count: 1, shows }
    }
}

/// What a frame's TCP header says, besides its sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The frame's number in the recording, from 1.
    pub frame: u64,
    /// Control bits.
    pub flags: Flags,
    /// The acknowledgment number; `None` without the ACK bit.
    pub ack: Option<StreamOffset>,
    /// The window field as on the wire, unscaled.
    pub window: u16,
}

impl Packet {
    const fn of(segment: &Segment) -> Self {
        Self { frame: segment.frame, flags: segment.flags, ack: segment.ack, window: segment.window }
    }
}

/// A segment of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// The lowest byte.
    pub low: StreamOffset,
    /// The byte after the highest.
    pub high: StreamOffset,
    /// Its label, as far as the whole recording shows it.
    pub label: Label,
    /// Its frame: of several, the first one's; `None` if it is not known which that was.
    pub packet: Option<Packet>,
}

/// An answer of the receiver: an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The first acknowledgment.
    pub first: StreamOffset,
    /// The highest acknowledgment.
    pub highest: StreamOffset,
    /// The last window, as on the wire, unscaled.
    pub window: u32,
    /// The smallest window.
    pub window_min: u32,
    /// The largest window.
    pub window_max: u32,
    /// Whether the windows are not to be scaled, being those of a SYN (RFC 7323, section 2.2).
    pub unscaled: bool,
    /// The first one's frame.
    pub frame: u64,
    /// The first one's control bits.
    pub flags: Flags,
}

/// Selectively acknowledged data: the first SACK block of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sacked {
    /// The lowest byte.
    pub low: StreamOffset,
    /// The byte after the highest.
    pub high: StreamOffset,
    /// Whether it says that data came twice (RFC 2883).
    pub twice: bool,
}

/// An RTT from the tap to the receiver and back; its time is when it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// The shortest.
    pub min: Duration,
    /// The longest.
    pub max: Duration,
}

/// What was in flight around an ACK that acknowledged something new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The most that was sent and not acknowledged, just before.
    pub most: u64,
}

/// The picture of one direction of a flow: each kind of mark in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// New data.
    pub fresh: Vec<Mark<Data>>,
    /// Data with any other label.
    pub again: Vec<Mark<Data>>,
    /// The receiver's answers.
    pub answers: Vec<Mark<Answer>>,
    /// Selective acknowledgments.
    pub sacks: Vec<Mark<Sacked>>,
    /// RTTs.
    pub round_trips: Vec<Mark<RoundTrip>>,
    /// Data in flight.
    pub flights: Vec<Mark<Flight>>,
}

impl Picture {
    /// How many marks it has.
    pub fn marks(&self) -> usize {
        let Self { fresh, again, answers, sacks, round_trips, flights } = self;
        fresh.len() + again.len() + answers.len() + sacks.len() + round_trips.len() + flights.len()
    }

    /// How many marks stand for more than one event.
    pub fn merged(&self) -> usize {
        fn merged<S>(marks: &[Mark<S>]) -> usize {
            marks.iter().filter(|mark| mark.count > 1).count()
        }
        let Self { fresh, again, answers, sacks, round_trips, flights } = self;
        merged(fresh)
            + merged(again)
            + merged(answers)
            + merged(sacks)
            + merged(round_trips)
            + merged(flights)
    }

    /// This picture with at most `most` marks of each kind.
    #[must_use]
    pub fn thinned(&self, most: usize) -> Self {
        Self {
            fresh: thin(&self.fresh, most),
            again: thin(&self.again, most),
            answers: thin(&self.answers, most),
            sacks: thin(&self.sacks, most),
            round_trips: thin(&self.round_trips, most),
            flights: thin(&self.flights, most),
        }
    }
}

/// How much to keep.
#[derive(Clone, Debug)]
pub struct PictureOptions {
    /// Pictures kept at once. Beyond that the flow whose data spans the shortest time loses its picture.
    pub most_flows: usize,
    /// Marks of one kind kept for all flows together; each flow may have an equal part, but at least
    /// [`LEAST_MARKS`] and at most [`MOST_MARKS`].
    pub most_marks: usize,
    /// Only these flows, however many they are.
    pub only: Option<BTreeSet<FlowId>>,
}

impl PictureOptions {
    /// Only of `flows`, or of all.
    pub fn only(flows: Option<BTreeSet<FlowId>>) -> Self {
        Self { only: flows, ..Self::default() }
    }
}

impl Default for PictureOptions {
    fn default() -> Self {
        Self { most_flows: 128, most_marks: 400_000, only: None }
    }
}

/// Marks of one kind that a flow may always have: more than a screen has columns.
pub const LEAST_MARKS: usize = 3_000;
/// Marks of one kind that a flow may have at most.
pub const MOST_MARKS: usize = 65_536;

/// Collects the pictures of a recording's flows, as the labels of an [`Analysis`](crate::Analysis).
#[derive(Debug)]
pub struct Pictures {
    options: PictureOptions,
    flows: HashMap<FlowId, [Direction; 2]>,
    /// One bit per flow seen, so that one whose picture was dropped does not start anew.
    met: Vec<u64>,
    dropped: u64,
}

impl Pictures {
    /// No pictures yet.
    pub fn new(options: PictureOptions) -> Self {
        Self { options, flows: HashMap::new(), met: Vec::new(), dropped: 0 }
    }

    /// How many flows lost their picture for lack of memory.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The picture of what `from` sent in `flow`; `None` if it was not kept.
    pub fn picture(&self, flow: FlowId, from: End) -> Option<Picture> {
        self.flows.get(&flow).map(|directions| directions[from.index()].picture())
    }

    /// Whether `flow` has a picture, giving it one if it is new.
    fn admits(&mut self, flow: FlowId) -> bool {
        if self.flows.contains_key(&flow) {
            return true;
        }
        let (word, bit) = (flow.0 as usize / 64, 1u64 << (flow.0 % 64));
        if word >= self.met.len() {
            self.met.resize(word + 1, 0);
        }
        if self.met[word] & bit != 0 || self.options.only.as_ref().is_some_and(|only| !only.contains(&flow)) {
            return false;
        }
        self.met[word] |= bit;
        if self.flows.len() >= self.options.most_flows && self.options.only.is_none() {
            let span =
                |directions: &[Direction; 2]| directions.each_ref().map(Direction::span).into_iter().max();
            let shortest = self.flows.iter().min_by_key(|(id, directions)| (span(directions), **id));
            if let Some(id) = shortest.map(|(id, _)| *id) {
                self.flows.remove(&id);
                self.dropped += 1;
            }
        }
        self.flows.insert(flow, [Direction::default(), Direction::default()]);
        true
    }
}

impl Pictures {
    /// Marks of one kind that a flow may have now.
    fn most(&self) -> usize {
        (self.options.most_marks / self.flows.len().max(1)).clamp(LEAST_MARKS, MOST_MARKS)
    }
}

impl Labels for Pictures {
    fn judged(&mut self, flow: FlowId, event: &Event, judged: Judged) {
        let EventKind::Seen(segment) = &event.kind else { return };
        if !self.admits(flow) {
            return;
        }
        let most = self.most();
        let Some(directions) = self.flows.get_mut(&flow) else { return };
        let from = segment.from.index();
        if segment.len > 0 {
            directions[from].on_data_segment(event.at, segment, judged.label.unwrap_or(Label::New), most);
        }
        // A frame captured twice adds nothing.
        if judged.label != Some(Label::Duplicate) {
            directions[1 - from].answered(event.at, segment, most);
        }
    }

    fn found_spurious(&mut self, flow: FlowId, from: End, spurious: &SpuriousRetransmission) {
        let most = self.most();
        if let Some(directions) = self.flows.get_mut(&flow) {
            directions[from.index()].found_spurious(spurious, most);
        }
    }
}

/// Pictures where they are wanted.
impl Labels for Option<Pictures> {
    fn judged(&mut self, flow: FlowId, event: &Event, judged: Judged) {
        if let Some(pictures) = self {
            pictures.judged(flow, event, judged);
        }
    }

    fn found_spurious(&mut self, flow: FlowId, from: End, spurious: &SpuriousRetransmission) {
        if let Some(pictures) = self {
            pictures.found_spurious(flow, from, spurious);
        }
    }
}

#[cfg(test)]
mod tests;
