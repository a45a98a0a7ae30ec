//! Runs of scenarios: one run, in the simulator or on this machine's kernel, with its results; many runs as a sweep.
//!
//! - [`mod@file`]: a scenario file with the changes that the command line asks for.
//! - [`simulated`]: one run in the simulator, with the recordings that it writes.
//! - [`kernel`]: one run on this machine's kernel, in the lab.
//! - [`measured`]: the results that both have in common.
//! - [`waits`]: how long packets, data and processes waited, by flow and host.
//! - [`sweep`]: many runs: planned, made on all CPUs, stored as a data set and read back.
//! - [`parallel`]: independent jobs on all CPUs.

mod error;
pub mod file;
pub mod kernel;
pub mod measured;
pub mod parallel;
pub mod simulated;
pub mod sweep;
pub mod waits;

pub use error::Error;
pub use measured::{Measured, Shares};
