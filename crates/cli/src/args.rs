//! The commands: `--help`, the man pages and the completions are made from them. The arguments of each are in its file.

use crate::anonymize::Anonymize;
use crate::causes::Causes;
use crate::console::{self, Output};
use crate::cookbook::Cookbook;
use crate::copy::Copy;
use crate::diagnose::Diagnose;
use crate::diff::Compare;
use crate::doctor::Doctor;
use crate::drill::Drill;
use crate::explain::Explain;
use crate::flows::Flows;
use crate::ftp::Ftp;
use crate::kernels::Kernels;
use crate::lab::Lab;
use crate::man::Manual;
use crate::papers::Papers;
use crate::paths::Paths;
use crate::probe::Probe;
use crate::profile::Profile;
use crate::run::Run;
use crate::scenario::Scenario;
use crate::show::Show;
use crate::sweep::Sweep;
use crate::tune::Tune;
use crate::tunings::CompareTunings;
use crate::watch::Watch;
use crate::what_if::WhatIf;
use clap::builder::Styles;
use clap::{CommandFactory, Parser, Subcommand};
use slowpath_model::shown;
use slowpath_views::help;
use std::ffi::OsString;
use std::io::Write;
use std::{env, process};

/// Reports where a TCP transfer loses its time, and how to recover it.
#[derive(Parser)]
#[command(
    name = "slowpath",
    version,
    about = "Where does a TCP transfer lose its time, and what would give it back?",
    long_about = help::LONG_ABOUT,
    after_long_help = help::AFTER_HELP,
    max_term_width = 100
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub output: Output,
}

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Show what limited each flow, the slowest first, and how to fix it
    Diagnose(Diagnose),
    /// Compare two captures: what changed, and what it did
    Diff(Compare),
    /// Watch what limits this host's transfers now, on a full screen
    Watch(Watch),
    /// Print the packets of a capture, one per line
    Show(Show),
    /// List the flows of a capture with their measures
    Flows(Flows),
    /// Explain the causes that a verdict can name
    Causes(Causes),
    /// Copy a capture without addresses, names and payload, with the same verdict
    Anonymize(Anonymize),
    /// Write or check cases: anonymised recordings, their verdicts, and what helped
    Cookbook(Cookbook),
    /// Show the arithmetic behind a cause, step by step
    Explain(Explain),
    /// Simulate a scenario, and show what limited its flows
    Run(Run),
    /// Run a scenario with many values, one row per run
    Sweep(Sweep),
    /// Run scenarios on this machine's kernel, in network namespaces
    Lab(Lab),
    /// Reproduce a paper's experiments, and compare its tables with the results
    Papers(Papers),
    /// Compare buffer-tuning techniques on a path: throughput, and memory
    CompareTunings(CompareTunings),
    /// Predict what a captured transfer would get with other settings, or with another kernel
    WhatIf(WhatIf),
    /// Check which host settings would limit a transfer, and how to fix them
    Doctor(Doctor),
    /// Apply what doctor advises, verified and journaled, and take it back
    Tune(Tune),
    /// Keep what is known of paths, and answer which buffers and rate a transfer needs
    Paths(Paths),
    /// Measure a path: RTT, capacity, available bandwidth, where loss begins
    Probe(Probe),
    /// Copy files to or from another host, fast, and show what limited it
    Copy(Copy),
    /// Transfer a file from or to an FTP server, with buffers that fit the path
    Ftp(Ftp),
    /// Show where CPU time went, and for whom, from a profile
    Profile(Profile),
    /// Run packetdrill scripts, on the model or on this kernel
    Drill(Drill),
    /// Check, explain or create a scenario file
    Scenario(Scenario),
    /// Show the kernels that a scenario can name, and how they differ
    Kernels(Kernels),
    /// Print completions for a shell
    #[command(after_help = help::COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a man page, or write all of them to a folder
    Man(Manual),
}

/// Prints the help, or why the command line is refused, and ends.
pub fn refuse(error: &clap::Error) -> ! {
    let is_shown = |argument: &OsString| argument.to_str().is_some_and(|text| shown::line(text) == text);
    if env::args_os().all(|argument| is_shown(&argument)) {
        error.exit();
    }
    // What is said quotes arguments as they are. Without styles, all of it can be escaped.
    let plain = Cli::command().styles(Styles::plain()).try_get_matches().err();
    let text = plain.as_ref().unwrap_or(error).render().ansi().to_string();
    let text = env::args_os()
        .fold(text, |text, argument| shown::without_breaks_of(&text, &argument.to_string_lossy()));
    // Where nobody reads it, there is nobody to tell.
    let _ = if error.use_stderr() {
        console::stderr().write_all(text.as_bytes()).map_err(anyhow::Error::from)
    } else {
        console::print(text.as_bytes()).map(|_| ())
    };
    process::exit(error.exit_code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
