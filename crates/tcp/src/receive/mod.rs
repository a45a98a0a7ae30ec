//! From segments to the application's read: segments are checked, queued, acknowledged and charged.
//!
//! - [`receiver`]: the state.
//! - [`incoming`]: processing of a segment, state by state (`tcp_v4_do_rcv`); `syn_sent`, `closing` and `time_wait`
//!   hold the larger states.
//! - [`validate`]: whether a segment belongs to this connection (PAWS, windows, RSTs; RFC 5961, RFC 7323).
//! - [`data`], [`ofo`], [`sack`] with [`sack_blocks`], [`urgent`]: queueing of payload, and SACK.
//! - [`memory`], [`charge`]: memory accounting, and drops when it is exceeded.
//! - [`initial_window`], [`window`], [`tuning`]: the advertised window, and autotuning of the buffer.
//! - [`acks`]: when ACKs are sent.
//! - [`ecn_field`], [`accurate_ecn`], [`ecn_option`]: the ECN fields, and the counters of marks at both ends.

pub(crate) mod accurate_ecn;
mod acks;
mod charge;
pub(crate) mod closing;
mod data;
pub(crate) mod ecn_field;
pub(crate) mod ecn_option;
mod incoming;
pub(crate) mod initial_window;
pub(crate) mod memory;
mod ofo;
pub(crate) mod receiver;
mod sack;
mod sack_blocks;
mod syn_sent;
#[cfg(test)]
mod tests;
mod time_wait;
mod tuning;
mod urgent;
mod validate;
mod window;

pub use memory::PacketMemory;
pub use receiver::Counters;
