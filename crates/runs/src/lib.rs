//! The work of a command between its arguments and its view: it reads and analyses a capture, runs a scenario in the simulator
//! or on this machine's kernel, runs many as a sweep, or makes the experiments of a paper.
//!
//! - [`input`]: what a path names, read into an analysis.
//! - [`mod@file`]: a scenario file with the changes that the command line asks for.
//! - [`simulated`]: one run in the simulator, with the recordings that it writes.
//! - [`kernel`]: one run on this machine's kernel, in the lab.
//! - [`measured`]: the results that both have in common.
//! - [`waits`]: how long packets, data and processes waited, by flow and host.
//! - [`probe`]: the path of a scenario, to be measured.
//! - [`drill`]: packetdrill scripts, on the model or on the kernel.
//! - [`watch`]: this host's connections, as its kernel reports them.
//! - [`sweep`]: many runs: planned, made on all CPUs, stored as a data set and read back.
//! - [`papers`]: the experiments of papers, in the simulator and on the kernel.
//! - [`parallel`]: independent jobs on all CPUs.

pub mod drill;
mod error;
pub mod file;
pub mod input;
pub mod kernel;
pub mod measured;
pub mod papers;
pub mod parallel;
pub mod probe;
pub mod simulated;
pub mod sweep;
pub mod waits;
pub mod watch;

pub use error::Error;
pub use measured::{Measured, Shares};
