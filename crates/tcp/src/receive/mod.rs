//! From segments to the application's read: what arrives is checked, queued, acknowledged and charged.
//!
//! - [`receiver`]: the state.
//! - [`incoming`]: what happens to a segment, state by state (`tcp_v4_do_rcv`); `syn_sent`, `closing` and
//!   `time_wait` hold the states that are a subject of their own.
//! - [`validate`]: whether it belongs to this connection (PAWS, windows, resets; RFC 5961, RFC 7323).
//! - [`data`], [`ofo`], [`sack`] with [`sack_blocks`], [`urgent`]: where its payload goes, and what is said about it.
//! - [`memory`], [`charge`]: what it costs, and what is dropped when that is too much.
//! - [`initial_window`], [`window`], [`tuning`]: how much the peer may send, and how the buffer finds its size.
//! - [`acks`]: when an acknowledgment goes out.

mod acks;
mod charge;
pub(crate) mod closing;
mod data;
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
