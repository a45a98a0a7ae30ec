//! Which settings of this host would limit a TCP transfer with a given rate and RTT, and how to fix them.
//!
//! The debugging procedure of Ubik and Cimbal (sections V and IX) on one host, before a transfer: buffers compared with
//! the bandwidth-delay product, the qdisc, the parameter cache, the NIC and its CPUs, and the kernel's counters. Two
//! halves that share plain data:
//!
//! - [`read()`] queries the system and records its answers: a [`Host`], with what could not be read and why.
//! - [`judge()`] checks a [`Host`] against a [`Goal`] and reports what is wrong: [`Finding`]s. It is pure, so each rule
//!   is tested on hand-written hosts.
//!
//! Nothing is changed on the host, and nothing is sent except queries to its own kernel.
//!
//! # Decisions
//!
//! A rule reports nothing if data is missing, and states a rate only if one follows. The kernel decides whether a rule
//! is right: in a namespace each wrong setting gives its own finding and no other, the command fixes it, and its undo
//! restores it (`tests/namespace.rs`). A counter since boot is never more than a hint. It is reported only above the
//! loss rate that CUBIC tolerates at the goal.

pub mod finding;
pub mod goal;
pub mod host;
mod judge;
mod read;

pub use finding::{Check, Finding, Severity};
pub use goal::{Aim, Goal, Origin, Role};
pub use host::Host;
pub use judge::{bound, judge};
pub use read::{Asked, Files, ReadError, read, read_interface, read_root_options};
