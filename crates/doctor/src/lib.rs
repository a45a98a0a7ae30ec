//! What of this host would limit a TCP transfer of a given rate and round trip, and what would mend it.
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

pub mod finding;
pub mod goal;
pub mod host;
mod judge;
mod read;

pub use finding::{Finding, Fix, NAMES, Severity};
pub use goal::{Goal, Role, Taken};
pub use host::Host;
pub use judge::{bound, judge};
pub use read::{Asked, Files, ReadError, read};
