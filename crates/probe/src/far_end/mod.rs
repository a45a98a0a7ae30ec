//! The state of a far end: who may have what, until when. Pure: `now` is a parameter, and what is to be sent is returned.
//!
//! - [`Room`]: the clients, from their connection on. Those that have not asked for a train or a transfer cost no
//!   thread.
//! - [`Places`]: the few sessions that may measure at a time, and the budgets of the addresses.
//! - [`Session`]: what a client with a token asks, and its deadlines.
//! - [`budget`]: token buckets.
//!
//! `real/server.rs` and `real/session.rs` do the I/O; the fuzz target `far_end` drives the same types in virtual time.

pub mod budget;
mod places;
mod room;
mod session;

pub use budget::Caps;
pub use places::{MOST_PLACES, Places};
pub use room::{Begun, MOST_CLIENTS, One, Room};
pub use session::{Act, IDLE, LIFE, Over, Session, report};

/// Why one end does no more for the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It has ended the session.
    Bye,
    /// It did not act in time.
    Silent,
    /// It sent another message than those that may come now.
    OutOfTurn,
    /// Its session was idle, and another client needed the place.
    GaveWay,
    /// More was asked for than is served, or the other end said so; the reason.
    Refused(String),
}
