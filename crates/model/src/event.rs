//! The events of a source, and their receiver.

use crate::flow::{End, FlowId, FlowKey};
use crate::icmp::IcmpError;
use crate::segment::Segment;
use crate::socket::{DropReason, Hold, Mark, SocketSample, Wait};
use crate::time::Instant;
use crate::units::Bytes;
use std::time::Duration;

/// An event of one flow.
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
    /// A segment passed the vantage point. The [`Vantage`](crate::Vantage) says whether it was being sent or received
    /// there, not the event.
    Seen(Segment),
    /// An ICMP error about a segment of the flow passed the vantage point.
    IcmpError(IcmpError),
    /// The host of one end dropped a segment, its own or the other's. A segment dropped by the ring was never captured,
    /// and has no frame.
    Dropped(Segment, DropReason),
    /// The application of one end wrote data to its socket: a call has returned.
    Written {
        /// The end.
        end: End,
        /// How much.
        amount: Bytes,
    },
    /// The application of one end read data: a call has returned.
    Read {
        /// The end.
        end: End,
        /// How much; zero at the end of the stream.
        amount: Bytes,
    },
    /// A wait on the host of one end is over.
    Waited {
        /// The end.
        end: End,
        /// Where.
        on: Wait,
        /// How long.
        lasted: Duration,
        /// The payload that waited; zero for a packet without data, or if a process waited.
        amount: Bytes,
        /// How many packets waited that long, or how often a process did: 1 if each wait is its own event.
        times: u64,
    },
    /// What limited the sender at one end, from the last such event until now.
    Held {
        /// The end.
        end: End,
        /// The limit.
        by: Hold,
        /// For how long.
        lasted: Duration,
    },
    /// The state of a socket, by interval.
    Sampled(SocketSample),
    /// A mark of a socket.
    Marked {
        /// The end.
        end: End,
        /// The mark.
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

    /// The end whose host it occurred on; `None` if the source's vantage says that.
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

    /// Its segment.
    pub const fn segment(&self) -> Option<&Segment> {
        match self {
            Self::Seen(segment) | Self::Dropped(segment, _) => Some(segment),
            _ => None,
        }
    }
}

/// Why a source reports no more of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// The recording is over.
    EndOfRecording,
    /// A new connection between the same endpoints replaced it.
    Replaced,
    /// Its socket is gone.
    Gone,
    /// The source reached its maximum number of flows, and this one was silent longest.
    Evicted,
}

/// Receives the events of a source.
///
/// For each flow a source calls `open` once, `accept` any number of times in the order of observation, and `close`
/// once. Flow numbers are never reused.
pub trait Sink {
    /// A flow appears.
    fn open(&mut self, flow: FlowId, key: &FlowKey);
    /// An event of a flow.
    fn accept(&mut self, flow: FlowId, event: &Event);
    /// The source reports no more of a flow.
    fn close(&mut self, flow: FlowId, end: FlowEnd);
}

/// Ignores everything.
impl Sink for () {
    fn open(&mut self, _flow: FlowId, _key: &FlowKey) {}
    fn accept(&mut self, _flow: FlowId, _event: &Event) {}
    fn close(&mut self, _flow: FlowId, _end: FlowEnd) {}
}
