//! What bound each TCP flow, when and for how long: pure analyses over slowpath events.
//!
//! Nothing here names a source, reads a clock or does I/O. An analysis is a [`slowpath_model::Sink`] whose memory
//! per flow is bounded, so that a 100 GB capture and an endless live watch are the same to it.

pub mod cause;
pub mod report;

pub use cause::{Cause, Confidence, Limit};
