//! The TCP connections of this host as a source of events: what the kernel's tracepoints tell of them.
//!
//! The probe (`bpf/`) adds up beside each socket how long packets waited for TCP, data for its reader and the reader
//! for a CPU, and what held the sender. [`Probe`] loads and reads it; [`Live`] makes events of the differences.

mod error;
mod own;
mod probe;
pub mod record;
mod said;
mod source;
mod stamps;
mod table;
mod tcp_info;

pub use error::LiveError;
pub use own::{Own, UNSEEN};
pub use probe::{Filter, Probe};
pub use source::{Check, Decoder, Live};
pub use table::Owner;
pub use tcp_info::TcpInfo;
