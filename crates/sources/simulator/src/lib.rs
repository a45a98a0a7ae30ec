//! Hosts, their kernels and the paths between them, simulated event by event.
//!
//! A [`Simulation`] is built from a [`Scenario`](slowpath_scenario::Scenario) and run; an [`Observer`] sees what passes
//! the hosts' network cards. Nothing here reads a clock, draws from anything but the scenario's seed, or does I/O.
//!
//! - [`agenda`]: what happens next.
//! - [`wire`]: one direction of a path, with the packets on it.
//! - [`host`]: a host, from its card to its processes.
//! - [`program`]: what processes do.
//! - [`simulation`]: all of it together.
//! - [`report`]: what came of it.
//! - [`tap`], [`pcapng`]: a host's wire as events, and as a capture file.

pub mod agenda;
pub mod host;
pub mod links;
pub mod outside;
pub mod pcapng;
pub mod program;
pub mod report;
pub mod simulation;
pub mod tap;
pub mod wire;

pub use outside::{Nobody, Observer, Occurrence, Sight, Wants};
pub use simulation::{Progress, Simulation};
pub use tap::Tap;
