//! The TCP connections of this host as a source of events: what the kernel's tracepoints tell of them.
//!
//! The probe (`bpf/`) adds up beside each socket how long packets waited for TCP, data for its reader and the reader
//! for a CPU, and what held the sender. [`Probe`] loads and reads it; [`Live`] makes events of the differences, and keeps
//! what was told in a file, of which [`replay`] makes them again.

mod address;
mod counters;
mod decoder;
mod drops;
mod error;
mod own;
mod probe;
mod raw;
pub mod record;
mod said;
mod source;
mod stamps;
mod table;
mod tcp_info;

pub use counters::{Counters, counters, growth};
pub use decoder::{Check, Counted, Rest};
pub use drops::{Dropped, Drops};
pub use error::LiveError;
pub use own::{Own, UNSEEN};
pub use probe::{Cost, Filter, Probe, measure_programs};
pub use raw::{RawError, open as open_raw};
pub use record::NETNSES;
pub use source::{EVERY, Live, Replayed, replay};
pub use stamps::tick_ns;
pub use table::{Owner, Process};
pub use tcp_info::TcpInfo;
