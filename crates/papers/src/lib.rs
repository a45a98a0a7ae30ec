//! Published experiments, reproduced: a paper's results, next to ours.
//!
//! A [`Paper`] is a list of [`PaperCase`]s, each a scenario with some keys set, and a function that makes a [`Report`]
//! of the [measurements](mod@measure) of their runs: [tables and claims](report), and [figures](figure), some over the
//! time of a run that was [traced](trace). The costs of some testbeds are not published. They are fitted to one cell of
//! the paper, which is marked; all other cells must follow from the scenario and the mechanism.
//!
//! - [`ubik`]: Ubik and Cimbal 2003, Debugging end-to-end performance in commodity operating systems.
//! - [`lavoie`]: LaVoie, Nahum and Flynn, Profiling TCP: measured on a real kernel instead, and passed in as profiles.
//! - [`leith`]: Leith 2004, Linux TCP implementation issues in high-speed networks.
//! - [`weigle`]: Weigle 2002, A Comparison of TCP Automatic Tuning Techniques for Distributed Computing.
//! - [`wu`]: Wu and Crawford 2007, Potential performance bottleneck in Linux TCP.
//!
//! # Decisions
//!
//! **An experiment is a scenario with some keys set**, in the form of `--set`. The crate is pure; `runs` makes the runs
//! on all CPUs. Figures are numbers in the report, bounded however long the run is, and the views draw them: the JSON
//! and the page have the same values.
//!
//! **One factor of one cost table is fitted, to one marked cell.** A test fails when that cell is no longer reproduced
//! (`tests/wu.rs`).
//!
//! **Processes that ran before the measurement run in the simulation too.** The O(1) scheduler remembers for seconds
//! who slept. Only one process of a make job runs at a time, so a chain of them is one task, for which the scheduler
//! keeps the parents that wait for a child (`O1::begin_child`, `reap`).

pub mod comparison;
pub mod figure;
pub mod graph;
pub mod lavoie;
pub mod leith;
pub mod measure;
pub mod report;
pub mod trace;
pub mod tunings;
pub mod ubik;
pub mod weigle;
pub mod wu;

pub use comparison::{Compared, Comparison};
pub use figure::{Axis, Course, Drawn, Figure, Series};
pub use graph::Graph;
pub use measure::FlowMeasures;
pub use report::{Cell, Claim, Judged, Report, Table};
pub use trace::Trace;

use slowpath_scenario::{Rejected, Scenario};

/// A paper whose experiments are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// See [`wu`].
    Wu,
    /// See [`weigle`].
    Weigle,
    /// See [`leith`].
    Leith,
    /// See [`ubik`].
    Ubik,
}

impl Paper {
    /// Runs per experiment that its report needs, each with another seed.
    pub const fn seeds(self) -> u64 {
        match self {
            Self::Wu | Self::Ubik => 5,
            Self::Weigle => 3,
            Self::Leith => 7,
        }
    }

    /// Its experiments.
    pub fn cases(self) -> Vec<PaperCase> {
        match self {
            Self::Wu => wu::cases(),
            Self::Weigle => weigle::cases(),
            Self::Leith => leith::cases(),
            Self::Ubik => ubik::cases(),
        }
    }

    /// The number of experiments, from the first, that are traced for the paper's figures.
    pub const fn traced(self) -> usize {
        match self {
            Self::Wu => wu::TRACED,
            Self::Leith => leith::TRACED,
            Self::Weigle | Self::Ubik => 0,
        }
    }

    /// Compares the runs of each experiment, and the traces, with the paper.
    pub fn report(self, runs: &[Vec<FlowMeasures>], traces: &[Trace]) -> Report {
        match self {
            Self::Wu => wu::report(runs, traces),
            Self::Weigle => weigle::report(runs),
            Self::Leith => leith::report(runs, traces),
            Self::Ubik => ubik::report(runs),
        }
    }
}

/// One of a paper's experiments: a scenario, and the keys that are set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaperCase {
    /// The paper's name for it.
    pub name: String,
    /// The scenario file in the repository.
    pub file: &'static str,
    /// Its text.
    pub text: &'static str,
    /// Overrides, as for `--set`.
    pub sets: Vec<String>,
    /// The index of the scenario's flow that is measured.
    pub flow: usize,
}

impl PaperCase {
    /// Its scenario; without a seed, with the file's.
    ///
    /// # Errors
    ///
    /// If it is invalid.
    pub fn scenario(&self, seed: Option<u64>) -> Result<Scenario, Rejected> {
        let sets = self.sets.iter().map(|set| set.parse().expect("a case's keys are written KEY=VALUE"));
        let sets: Vec<_> = sets.collect();
        Ok(slowpath_scenario::check(self.file, self.text, &sets, seed)?.scenario)
    }

    /// Limits every buffer of a host to `most` bytes; if TCP has its own sysctls, `first` are the initial sizes of
    /// receive and send buffers.
    fn bound_buffers(&mut self, host: &str, most: u64, first: Option<[u64; 2]>) {
        for (sysctl, first) in ["tcp_rmem", "tcp_wmem"].into_iter().zip(first.into_iter().flatten()) {
            self.sets.push(format!("hosts.{host}.sysctl.{sysctl}=4096 {} {most}", first.min(most)));
        }
        for sysctl in ["rmem_max", "wmem_max"] {
            self.sets.push(format!("hosts.{host}.sysctl.{sysctl}={most}"));
        }
    }

    /// Makes the processes set both of their buffers.
    fn set_buffers(&mut self, size: u64) {
        self.sets.push(format!("flows.sender.socket.SO_SNDBUF={size}B"));
        self.sets.push(format!("flows.receiver.socket.SO_RCVBUF={size}B"));
    }

    /// The command that runs it.
    pub fn command(&self) -> String {
        let sets: String = self.sets.iter().map(|set| format!(" --set '{set}'")).collect();
        format!("slowpath run {}{sets}", self.file)
    }
}
