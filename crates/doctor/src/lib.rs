//! Which settings of this host would limit a TCP transfer of a given rate and RTT, and what fixes them.
//!
//! The debugging procedure of Ubik and Cimbal (sections V and IX) over one host, before a transfer is made:
//! buffers against the bandwidth-delay product, the queue before the card, the parameter cache, the card and
//! its CPUs, and what the kernel has counted. Two halves that meet in plain data:
//!
//! - [`read()`] asks the system and writes down what it said: a [`Host`], with what could not be seen and why.
//! - [`judge()`] holds a [`Host`] against a [`Goal`] and says what is wrong: [`Finding`]s. It is pure, so that
//!   each rule is tested on hosts written by hand.
//!
//! Nothing is changed on the host, and nothing is sent but questions to its own kernel.
//!
//! # Decisions
//!
//! A rule says nothing where it does not know, and names a rate only where one follows. The kernel decides whether a
//! rule is right: in a namespace each wrong setting gives its own finding and no other, the command fixes it, and its
//! undo restores it (`tests/namespace.rs`). A count since boot is never more than a hint. It is reported only above
//! the loss that CUBIC tolerates at the goal.

pub mod finding;
pub mod goal;
pub mod host;
mod judge;
mod read;

pub use finding::{Check, Finding, Severity};
pub use goal::{Aim, Goal, Origin, Role};
pub use host::Host;
pub use judge::{bound, judge};
pub use read::{Asked, Files, ReadError, read};
