//! The time–sequence picture of a flow, as tcptrace and xplot draw it (Shepard, *TCP packet trace analysis*,
//! MIT/LCS/TR-494, 1991), in bounded memory.
//!
//! Each mark is exact until there are too many; then marks of the same kind in the same stretch of time become one
//! that keeps the extremes and the count. What was sent again, overtaken or doubled is kept apart from new data, so
//! that the rare does not drown in the many.

mod direction;
mod thinned;

use crate::analysis::Labels;
use crate::flow::Judged;
use crate::label::Label;
use direction::Direction;
use slowpath_model::{End, Event, EventKind, FlowId, Instant, StreamOffset};
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;
use thinned::{Mark, thin};

/// Data: one segment, or several that were merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stroke {
    /// The first segment's time.
    pub from: Instant,
    /// The last segment's time.
    pub to: Instant,
    /// The lowest byte.
    pub low: StreamOffset,
    /// The byte after the highest.
    pub high: StreamOffset,
    /// How many segments.
    pub count: u32,
    /// What they were.
    pub label: Label,
}

/// Answers of the receiver: one ACK, or several that were merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The first ACK's time.
    pub from: Instant,
    /// The last ACK's time.
    pub to: Instant,
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
    /// How many ACKs.
    pub count: u32,
}

/// Selectively acknowledged data: the first SACK block of one ACK, or of several that were merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackMark {
    /// The first one's time.
    pub from: Instant,
    /// The last one's time.
    pub to: Instant,
    /// The lowest byte.
    pub low: StreamOffset,
    /// The byte after the highest.
    pub high: StreamOffset,
    /// Whether it says that data came twice (RFC 2883).
    pub twice: bool,
    /// How many blocks.
    pub count: u32,
}

/// A round trip from the place of recording to the receiver and back, or several that were merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// When the first was complete.
    pub from: Instant,
    /// When the last was complete.
    pub to: Instant,
    /// The shortest.
    pub min: Duration,
    /// The longest.
    pub max: Duration,
    /// How many.
    pub count: u32,
}

/// What was in flight around an ACK that acknowledged something new, or several that were merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The first ACK's time.
    pub from: Instant,
    /// The last ACK's time.
    pub to: Instant,
    /// The most that was sent and not acknowledged, just before.
    pub most: u64,
    /// How many ACKs.
    pub count: u32,
}

/// The picture of one direction of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// New data, in order of time.
    pub fresh: Vec<Stroke>,
    /// Data with any other label, in order of time.
    pub again: Vec<Stroke>,
    /// The receiver's answers, in order of time.
    pub answers: Vec<Answer>,
    /// Selective acknowledgments, in order of time.
    pub sacks: Vec<SackMark>,
    /// Round trips, in order of time.
    pub round_trips: Vec<RoundTrip>,
    /// Data in flight, in order of time.
    pub flights: Vec<Flight>,
    /// How many marks stand for more than one thing.
    pub merged: u64,
}

impl Picture {
    /// How many marks it has.
    pub const fn marks(&self) -> usize {
        self.fresh.len()
            + self.again.len()
            + self.answers.len()
            + self.sacks.len()
            + self.round_trips.len()
            + self.flights.len()
    }

    /// The same with at most `most` marks of each kind.
    #[must_use]
    pub fn thinned(&self, most: usize) -> Self {
        let mut picture = Self {
            fresh: thin(&self.fresh, most),
            again: thin(&self.again, most),
            answers: thin(&self.answers, most),
            sacks: thin(&self.sacks, most),
            round_trips: thin(&self.round_trips, most),
            flights: thin(&self.flights, most),
            merged: 0,
        };
        picture.count_merged();
        picture
    }

    fn count_merged(&mut self) {
        fn merged<M: Mark>(marks: &[M]) -> u64 {
            marks.iter().filter(|mark| mark.count() > 1).count() as u64
        }
        self.merged = merged(&self.fresh)
            + merged(&self.again)
            + merged(&self.answers)
            + merged(&self.sacks)
            + merged(&self.round_trips)
            + merged(&self.flights);
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
    /// One bit per flow that has been met, so that one whose picture was dropped does not start anew.
    met: Vec<u64>,
    dropped: u64,
}

impl Pictures {
    /// No pictures yet.
    pub fn new(options: PictureOptions) -> Self {
        Self { options, flows: HashMap::new(), met: Vec::new(), dropped: 0 }
    }

    /// How many flows lost their picture for want of memory.
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

impl Labels for Pictures {
    fn judged(&mut self, flow: FlowId, event: &Event, judged: Judged) {
        let EventKind::Seen(segment) = &event.kind else { return };
        if !self.admits(flow) {
            return;
        }
        let most = (self.options.most_marks / self.flows.len().max(1)).clamp(LEAST_MARKS, MOST_MARKS);
        let Some(directions) = self.flows.get_mut(&flow) else { return };
        let from = segment.from.index();
        if segment.len > 0 {
            directions[from].sent(event.at, segment, judged.label.unwrap_or(Label::New), most);
        }
        // A frame seen twice says nothing twice.
        if judged.label != Some(Label::Duplicate) {
            directions[1 - from].answered(event.at, segment, most);
        }
    }
}

#[cfg(test)]
mod tests;
