//! `slowpath lab`: scenarios on this machine's kernel.

mod check;
mod compare;
mod hosts;
mod programs;
mod run;

#[cfg(test)]
pub use compare::Document as CompareDocument;
#[cfg(test)]
pub use run::Document as RunDocument;

use crate::Outcome;
use crate::console::Console;
use crate::on_kernel::{CarrierArgument, How};
use crate::scenario::{self, Changes};
use clap::{Args, Subcommand, ValueHint};
use programs::Programs;
use slowpath_lab::privilege;
use slowpath_scenario::Scenario;
use std::path::PathBuf;

const HELP: &str = "\
The lab runs a scenario file with real packets, real sockets and this machine's kernel: two network namespaces are the \
hosts, a third holds the path, which delays, queues and drops packets as the scenario says. Nothing else on the \
machine is touched, and nothing stays behind; what a killed run left, the next one removes. Without root it runs in a \
user namespace of its own, where the kernel allows that, and says what is lost.

Examples:
  slowpath lab check
  sudo slowpath lab run scenarios/slow-reader.toml
  sudo slowpath lab run scenarios/slow-reader.toml --carrier tap
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
    Run(AskedOfRun),
    /// Run a scenario in the simulator and on this machine's kernel, number beside number
    #[command(after_help = EXIT_CODES)]
    Compare(Asked),
}

const EXIT_CODES: &str = "\
Exit codes:
  0  there is a result
  1  there is a result, but the machine was too busy for it to count
  2  nothing could be done: neither root nor user namespaces, no such file, a scenario that the lab cannot run";

const RUN_HELP: &str = "\
Programs of your own run on the hosts with their sysctls, offloads, loads and CPUs, as whoever runs slowpath and with \
nothing on standard input; their processes, those in the background too, end with the run, however that ends. The \
verdict is over all of their connections.

Examples:
  sudo slowpath lab run scenarios/bulk-wan.toml
  sudo slowpath lab run scenarios/bulk-wan.toml --server 'iperf3 -s -1' --client 'iperf3 -c {server} -t 5'
  sudo slowpath lab run scenarios/bulk-wan.toml --server-at sender --server 'python3 -m http.server' \\
    --client 'curl -so /dev/null http://{server}:8000/file'

Exit codes:
  0  there is a result
  1  there is a result, but the machine was too busy for it to count, or a program of yours failed
  2  nothing could be done: neither root nor user namespaces, no such file, a scenario that the lab cannot run, a server \
that does not listen";

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
    /// What carries the packets from one host to the other
    #[arg(long, value_name = "KIND", default_value = "veth")]
    carrier: CarrierArgument,
    /// How many flows of the verdict to show in full
    #[arg(long, value_name = "N", default_value_t = 3)]
    top: usize,
    /// Print JSON (schema slowpath/lab-run/1 or slowpath/lab-compare/1) instead of text
    #[arg(long)]
    json: bool,
}

/// The same, and what runs in it.
#[derive(Args)]
#[command(after_long_help = RUN_HELP)]
struct AskedOfRun {
    #[command(flatten)]
    asked: Asked,
    #[command(flatten)]
    programs: Programs,
}

impl Asked {
    fn scenario(&self) -> anyhow::Result<Scenario> {
        scenario::load(&self.file, &self.changes)
    }

    fn how(&self) -> How<'_> {
        How { instead: None, carrier: self.carrier.carrier(), keep: self.keep.as_deref() }
    }
}

pub fn run(args: &Lab, console: &Console) -> anyhow::Result<Outcome> {
    // While there is one thread only.
    if !matches!(args.command, What::Check { .. }) {
        privilege::obtain()?;
    }
    match &args.command {
        What::Check { json } => check::run(*json),
        What::Run(asked) => run::run(asked, console),
        What::Compare(asked) => compare::run(asked, console),
    }
}
