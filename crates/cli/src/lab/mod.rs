//! `slowpath lab`: scenarios on this machine's kernel.

mod check;
mod compare;
mod hosts;
mod live;
mod probe;
mod run;

#[cfg(test)]
pub use compare::Document as CompareDocument;
#[cfg(test)]
pub use run::Document as RunDocument;

use crate::Outcome;
use crate::console::Console;
use crate::scenario::{self, Changes};
use clap::{Args, Subcommand, ValueHint};
use slowpath_scenario::Scenario;
use std::path::{Path, PathBuf};

const HELP: &str = "\
The lab runs a scenario file with real packets, real sockets and this machine's kernel: two network namespaces are the \
hosts, a third holds the path, which delays, queues and drops packets as the scenario says. Nothing else on the \
machine is touched, and nothing stays behind; what a killed run left, the next one removes. It needs root.

Examples:
  slowpath lab check
  sudo slowpath lab run scenarios/slow-reader.toml
  sudo slowpath lab compare scenarios/slow-reader.toml";

/// Arguments of `lab`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Lab {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Say what this machine can do, what is missing and what would mend it
    #[command(after_help = "\
Exit codes:
  0  the lab can run here
  1  something is missing; it is shown with what would mend it")]
    Check {
        /// Print JSON (schema slowpath/lab-check/1)
        #[arg(long)]
        json: bool,
    },
    /// Run a scenario on this machine's kernel, and say what bound its flows
    #[command(after_help = EXIT_CODES)]
    Run(Asked),
    /// Run a scenario in the simulator and on this machine's kernel, number beside number
    #[command(after_help = EXIT_CODES)]
    Compare(Asked),
}

const EXIT_CODES: &str = "\
Exit codes:
  0  there is a result
  1  there is a result, but the machine was too busy for it to count
  2  nothing could be done: no root, no such file, a scenario that the lab cannot run";

/// What to run.
#[derive(Args)]
struct Asked {
    /// The scenario file, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    changes: Changes,
    /// Keep the captures of both hosts, samples of the sockets and all that is known of the run in this folder, which
    /// must not exist yet
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    keep: Option<PathBuf>,
    /// How many flows of the verdict to show in full
    #[arg(long, value_name = "N", default_value_t = 3)]
    top: usize,
    /// Print JSON (schema slowpath/lab-run/1 or slowpath/lab-compare/1) instead of text
    #[arg(long)]
    json: bool,
}

impl Asked {
    fn scenario(&self) -> anyhow::Result<Scenario> {
        scenario::load(&self.file, &self.changes)
    }

    fn keep(&self) -> Option<&Path> {
        self.keep.as_deref()
    }
}

pub fn run(args: &Lab, console: &Console) -> anyhow::Result<Outcome> {
    match &args.command {
        What::Check { json } => check::run(*json),
        What::Run(asked) => run::run(asked, console),
        What::Compare(asked) => compare::run(asked, console),
    }
}
