//! The two ends on real hosts: files, sockets and ssh.
//!
//! - [`near`]: the end that the user runs; [`far`]: the other one, over ssh or serving.
//! - `sender`, `receiver`: what the end does that has the source, and the one that has the destination.
//! - `source`, `destination`: their files; `tree`: files by descriptor.
//! - `link`: what both have of each other.
//! - [`sockets`]: socket options and the clock.
//! - `control`: the control channel; `stream`: the data connections; `crypt`: keys and records.

mod control;
mod crypt;
mod destination;
pub mod far;
mod link;
pub mod near;
mod receiver;
mod sender;
pub mod sockets;
mod source;
mod stream;
mod threads;
mod tree;

use crate::account::Bound;
use std::time::Duration;

/// Whether a stop is requested; checked several times a second.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// How far a copy has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is going on.
    pub phase: Phase,
    /// Bytes that the destination has, of all.
    pub done: u64,
    /// All bytes.
    pub total: u64,
    /// Bytes per second of the last interval.
    pub rate: u64,
    /// What bound most of it.
    pub bound: Option<Bound>,
    /// Data connections.
    pub streams: u16,
}

/// The steps of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Files are listed, and what an interrupted copy left is compared.
    Begins,
    /// Blocks move.
    Moves,
    /// The disk writes the rest (fsync).
    Syncs,
}

/// The time of one interval between two reports of progress.
pub(crate) const INTERVAL: Duration = Duration::from_millis(200);
