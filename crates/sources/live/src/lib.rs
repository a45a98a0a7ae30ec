//! The TCP connections of this host as a source of events: what the kernel's tracepoints tell of them.
//!
//! The probe (`bpf/`) adds up beside each socket how long packets waited for TCP, data for its reader and the reader
//! for a CPU, and what held the sender. [`Probe`] loads and reads it; [`Live`] makes events of the differences.

mod error;
mod probe;
pub mod record;
mod said;
mod source;
mod stamps;

pub use error::LiveError;
pub use probe::{Filter, Probe};
pub use source::{Check, Decoder, Live, Owner};
