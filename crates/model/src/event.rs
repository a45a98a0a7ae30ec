//! What a source can say, and who listens.

use crate::flow::{End, FlowId, FlowKey};
use crate::icmp::IcmpError;
use crate::segment::Segment;
use crate::socket::{DropReason, Hold, Mark, SocketSample, Wait};
use crate::time::Instant;
use crate::units::Bytes;
use std::time::Duration;

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
    /// An ICMP error about a segment of the flow passed the place of observation.
    IcmpError(IcmpError),
    /// The host of one end dropped a segment, its own or the other's. One that the ring had no room for was never
    /// seen, and has no frame.
    Dropped(Segment, DropReason),
    /// The application of one end handed data to its socket: a call has returned.
    Written {
        /// Which end's.
        end: End,
        /// How much.
        amount: Bytes,
    },
    /// The application of one end took data: a call has returned.
    Read {
        /// Which end's.
        end: End,
        /// How much; nothing at the end of the stream.
        amount: Bytes,
    },
    /// A wait on the host of one end is over.
    Waited {
        /// On which end's.
        end: End,
        /// Where.
        on: Wait,
        /// How long.
        lasted: Duration,
        /// The payload that waited; nothing for a packet without data, or where a process waited.
        amount: Bytes,
        /// How many packets waited so long, or times a process did: 1 where each wait is an event of its own.
        times: u64,
    },
    /// Until then something held the sender at one end, since the last such event.
    Held {
        /// At which end.
        end: End,
        /// What.
        by: Hold,
        /// For how long.
        lasted: Duration,
    },
    /// The state of a socket, by interval.
    Sampled(SocketSample),
    /// A socket took a turn.
    Marked {
        /// Which end's.
        end: End,
        /// What it was.
        mark: Mark,
    },
    /// The source lost events of this flow here.
    Missed {
        /// How many.
        events: u64,
    },
}

impl EventKind {
    /// The name of its kind.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Seen(_) => "packet",
            Self::IcmpError(_) => "icmp-error",
            Self::Dropped(..) => "dropped",
            Self::Written { .. } => "written",
            Self::Read { .. } => "read",
            Self::Waited { .. } => "waited",
            Self::Held { .. } => "held",
            Self::Sampled(_) => "sampled",
            Self::Marked { .. } => "marked",
            Self::Missed { .. } => "missed",
        }
    }

    /// The end on whose host it happened; `None` where the source's vantage says that.
    pub const fn end(&self) -> Option<End> {
        match self {
            Self::Written { end, .. }
            | Self::Read { end, .. }
            | Self::Waited { end, .. }
            | Self::Held { end, .. }
            | Self::Marked { end, .. } => Some(*end),
            Self::Sampled(sample) => Some(sample.end),
            Self::Seen(_) | Self::IcmpError(_) | Self::Dropped(..) | Self::Missed { .. } => None,
        }
    }

    /// The segment that it is about.
    pub const fn segment(&self) -> Option<&Segment> {
        match self {
            Self::Seen(segment) | Self::Dropped(segment, _) => Some(segment),
            _ => None,
        }
    }
}

/// Why a source says no more of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// The recording is over.
    EndOfRecording,
    /// A new connection between the same endpoints took its place.
    Replaced,
    /// Its socket is gone.
    Gone,
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

/// Nobody listens.
impl Sink for () {
    fn open(&mut self, _flow: FlowId, _key: &FlowKey) {}
    fn accept(&mut self, _flow: FlowId, _event: &Event) {}
    fn close(&mut self, _flow: FlowId, _end: FlowEnd) {}
}
