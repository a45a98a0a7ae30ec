//! What a source can say, and who listens.

use crate::flow::{FlowId, FlowKey};
use crate::segment::Segment;
use crate::time::Instant;

/// Something that happened to one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, on the recording's clock.
    pub at: Instant,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// A segment passed the place of observation. Whether it was being sent or received there is the
    /// [`Vantage`](crate::Vantage)'s to say, not the event's.
    Seen(Segment),
    /// The source lost events of this flow here.
    Missed {
        /// How many.
        events: u64,
    },
}

/// Why a source says no more of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// The recording is over.
    EndOfRecording,
    /// A new connection between the same endpoints took its place.
    Replaced,
    /// The source watched as many flows as it can at once and let go of the one silent for longest.
    Evicted,
}

/// Listens to a source.
///
/// For each flow a source calls `open` once, `accept` any number of times in the order of observation, and
/// `close` once. Flow numbers are never used again.
pub trait Sink {
    /// A flow appears.
    fn open(&mut self, flow: FlowId, key: &FlowKey);
    /// Something happened to it.
    fn accept(&mut self, flow: FlowId, event: &Event);
    /// The source says no more of it.
    fn close(&mut self, flow: FlowId, end: FlowEnd);
}
