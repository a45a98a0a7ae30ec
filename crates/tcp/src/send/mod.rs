//! The sending half of a connection: from the application's write to segments, their acknowledgment and recovery.
//!
//! - `sender`: the state.
//! - `queue`, `skb`: unsent and unacknowledged buffers.
//! - `opening`, `fast_open`: the SYN, and data in it.
//! - `write`: `sendmsg`, and send memory.
//! - `output`: which segment may be sent now (Nagle, windows, super-packets), and how it is built.
//! - `ack`: processing of ACKs (`tcp_ack`); `acking`: state passed between its steps.
//! - `sack`: SACK blocks, and the search for their buffers: `holes`, `hints`, `batch`; `shift`: merges SACKed buffers.
//! - `control`: the calls into the congestion control.
//! - `recovery`: the congestion state machine (`tcp_fastretrans_alert`), `undo`, `reduction`, `rack`, `counting`.
//! - `rtt`: RTT and RTO.
//! - `mtu_probe`: path MTU probing.
//! - `timer`: timeouts, tail loss probes, zero-window probes.
//! - `validation`: the window of an application-limited sender.
//! - `rate`: delivery rate; `chrono`: what limits the sender; `pacing`; `device`: small queues; `metrics`: the
//!   parameter cache.

pub(crate) mod ack;
pub(crate) mod acking;
mod batch;
mod chrono;
mod control;
mod counting;
mod device;
mod fast_open;
mod forward;
mod hints;
mod holes;
mod info;
mod metrics;
mod mtu_probe;
mod opening;
mod output;
mod pacing;
pub(crate) mod queue;
mod rack;
mod rate;
mod recovery;
mod reduction;
mod retransmit;
mod rtt;
mod sack;
pub(crate) mod sender;
mod shift;
pub(crate) mod skb;
pub(crate) mod timer;
mod tso;
mod undo;
mod validation;
pub(crate) mod write;
