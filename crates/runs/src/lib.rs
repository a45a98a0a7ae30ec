//! The work of a command between its arguments and its view: reading and analysing a capture, running a scenario in the
//! simulator or on this machine's kernel, sweeps of many runs, and the experiments of papers.
//!
//! - [`input`]: reads the input at a path into an analysis.
//! - [`mod@file`]: a scenario file with the changes from the command line.
//! - [`filter`]: selects flows by expressions in the language of tcpdump.
//! - [`simulated`]: a run in the simulator, with the recordings that it writes.
//! - [`kernel`]: a run on this machine's kernel, in the lab.
//! - [`in_lab`]: a plan of settings, tried with a scenario in the lab.
//! - [`measured`]: the results common to both.
//! - [`waits`]: how long packets, data and processes waited, by flow and host.
//! - [`probe`]: the path of a scenario, to be measured.
//! - [`copy`]: a copy between two hosts: its token, and the far end that serves.
//! - [`ftp`]: an FTP transfer: its login, and what a path store knows. [`interrupt`]: Ctrl-C.
//! - [`drill`]: packetdrill scripts, on the model or on the kernel.
//! - [`planning`]: the advice of a capture, to be planned for a host.
//! - [`connections`]: the connections of a control group, tuned by their destination.
//! - [`paths`]: the path store: asked, measured, and fed from captures.
//! - [`work`]: the work files next to profiles.
//! - [`watch`]: this host's connections, as its kernel reports them.
//! - [`mod@anonymize`]: copies without what identifies hosts and people.
//! - [`diff`]: two captures next to each other.
//! - [`what_if`]: a captured transfer, simulated as it was and with other settings.
//! - [`sweep`]: many runs: planned, run on all CPUs, stored as a data set and read back.
//! - [`papers`]: the experiments of papers, in the simulator and on the kernel.
//! - [`parallel`]: independent jobs on all CPUs.

pub mod anonymize;
pub mod bars;
pub mod connections;
pub mod cookbook;
pub mod copy;
pub mod diff;
pub mod drill;
mod error;
pub mod file;
pub mod filter;
pub mod ftp;
pub mod in_lab;
pub mod input;
pub mod interrupt;
pub mod kernel;
mod lines;
pub mod measured;
pub mod papers;
pub mod parallel;
pub mod paths;
pub mod planning;
pub mod probe;
pub mod simulated;
pub mod sweep;
pub mod values;
pub mod waits;
pub mod watch;
pub mod what_if;
pub mod work;

pub use error::{Error, error_text};
pub use measured::{Measured, Shares};
