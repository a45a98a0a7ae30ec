//! The vocabulary that every source and analysis of slowpath shares.
//!
//! A *source* (a capture file, the live kernel, the simulator) turns its observations into [`Event`]s of numbered flows
//! and pushes them into a [`Sink`]. Nothing here reads a clock, draws a random number or does I/O.
//!
//! - [`units`]: amounts of data and rates, combined only in named methods.
//! - [`time`]: instants on a recording's own clock.
//! - [`sequence`]: 32-bit sequence numbers, and the 64-bit stream offsets they become at the edge.
//! - [`flow`]: flows, their two ends, and the vantage point.
//! - [`segment`]: one TCP segment as it passed the vantage point.
//! - [`icmp`]: errors about a segment that was not delivered.
//! - [`socket`]: a socket's state and events, as reported by its host.
//! - [`histogram`]: distributions of times, in bounded memory.
//! - [`statistics`]: medians, quantiles and means of values in memory.
//! - [`event`]: the events of a source, and the sink that receives them.
//! - [`notation`]: one text line per event, in packetdrill's notation.
//! - [`shown`]: how text that somebody else wrote is shown, without control characters.
//!
//! # Decisions
//!
//! A captured segment is one event, [`EventKind::Seen`]. A capture does not know whether a packet was being sent or
//! received where it was captured: the [`Vantage`] says that, and it is inferred from the whole flow. A source that
//! knows more sets its vantage. Events that only a host can report (a call, a wait, a drop, a sample) name the end that
//! they concern.

pub mod event;
pub mod flow;
pub mod histogram;
pub mod icmp;
pub mod notation;
pub mod segment;
pub mod sequence;
pub mod shown;
pub mod socket;
pub mod statistics;
pub mod time;
pub mod units;

pub use event::{Event, EventKind, FlowEnd, Sink};
pub use flow::{End, Endpoint, FlowId, FlowKey, Vantage};
pub use histogram::Histogram;
pub use icmp::{IcmpError, IcmpKind};
pub use segment::{Checksum, Ecn, Flags, IpFacts, SackBlock, SackBlocks, Segment, Timestamps};
pub use sequence::{SeqNr, StreamOffset, Unwrapper};
pub use socket::{CaState, DropReason, Hold, Mark, SocketSample, Wait, measured};
pub use time::{Instant, nanos};
pub use units::{Bytes, Rate};
