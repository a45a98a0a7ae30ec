//! What bound each TCP flow, when and for how long: pure analyses over slowpath events.
//!
//! Nothing here names a source, reads a clock or does I/O. An analysis is a [`slowpath_model::Sink`] whose memory
//! per flow is bounded, so that a 100 GB capture and an endless live watch are the same to it.
//!
//! # Decisions
//!
//! **Most segments take a fast path.** Nearly every segment is the next data or a plain ACK (`Outstanding::is_next`,
//! `is_plain`), as in Linux's header prediction (`tcp_rcv_established`). The steps that follow are the same functions
//! for all segments, compiled a second time for these, with most conditions known. Nothing is allocated per packet, and
//! the storage of a closed flow is reused.
//!
//! **Evidence is computed late**, and only for flows that are shown.

pub mod analysis;
pub mod cause;
pub mod clock_steps;
mod copies;
mod end;
pub mod evidence;
mod findings;
mod flow;
pub mod hosts;
pub mod in_order;
pub mod label;
mod lateness;
mod limits;
pub mod loss_pattern;
mod nearest;
mod options;
mod order;
mod outstanding;
mod overview;
pub mod pairing;
pub mod picture;
mod ranges;
pub mod report;
mod rtt;
pub mod settled;
mod spells;
mod stalls;
mod summary;
pub mod token_bucket;
mod vantage;
pub mod waits;

pub use analysis::{Analysis, AnalysisReport, Labels};
pub use cause::{Cause, Confidence, Limit, ReportedBy};
pub use evidence::Evidence;
pub use label::{Judged, Label};
pub use options::{AnalysisOptions, VantageOverride};
pub use outstanding::SpuriousRetransmission;
