//! `slowpath profile`: where the CPU went, by what a profiler saw.

pub mod attribute;
pub mod calltree;
pub mod compare;
pub mod costs;
pub mod descendants;
mod export;
mod flame;
mod load;
pub mod record;
pub mod top;

use crate::Outcome;
use crate::console::Console;
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

const HELP: &str = "\
It reads what a profiler has recorded and says where the CPU went, and for whom: perf.data (of `perf record -g`), the text of \
`perf script`, folded stacks, pprof, and the text of `opreport --callgraph`. Which of these a file is, it sees by itself.

Record, on the host in question while it is busy; perf is underneath:
  slowpath profile record --system 10s

Then ask what costs most, and for whom it was done:
  slowpath profile top perf.data
  slowpath profile attribute perf.data";

/// Arguments of `profile`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Profile {
    #[command(subcommand)]
    what: What,
}

/// What to say of a profile.
#[derive(Subcommand)]
enum What {
    /// Record a profile, of this host for some time or of a command
    Record(record::Record),
    /// List the functions that cost most themselves, and the categories that they are of
    Top(top::Top),
    /// List what costs most of all that the top functions called, however deep (Greatest n Descendants)
    Descendants(descendants::Descendants),
    /// Show who called for given functions, through the callers that matter (Calltree)
    Calltree(calltree::Calltree),
    /// Divide the cost of functions among those that they worked for
    Attribute(attribute::Attribute),
    /// Say what a packet, a byte and an ACK cost on this host, also as a scenario's cost table
    Costs(costs::Costs),
    /// Set two profiles beside each other, function by function
    Compare(compare::Compare),
    /// Draw a profile's stacks as a flame graph
    Flame(flame::Flame),
    /// Write a profile's stacks in a format that other tools read
    Export(export::Export),
}

/// Which part of which profile.
#[derive(Args)]
struct Source {
    /// The profile: perf.data, the text of perf script, folded stacks, pprof (packed or not), or the text of opreport --callgraph
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    names: Names,
}

/// How to name what is in a profile.
#[derive(Args)]
struct Names {
    /// Of several events in a profile, the one to look at; without it, the one with the most samples
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// The /proc/kallsyms of the profiled host, as its root read it; without it, this host's if it runs the same kernel
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    kallsyms: Option<PathBuf>,
    /// The profiled kernel with its symbols
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "kallsyms")]
    vmlinux: Option<PathBuf>,
    /// The folder under which the profiled host's programs and libraries are, such as /mnt/host
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    root: Option<PathBuf>,
    /// Show functions of programs that the compiler has put into their callers, where debug information of them is there
    #[arg(long)]
    inline: bool,
}

pub fn run(args: &Profile, console: &Console) -> anyhow::Result<Outcome> {
    match &args.what {
        What::Record(args) => record::run(args, console),
        What::Top(args) => top::run(args, console),
        What::Descendants(args) => descendants::run(args, console),
        What::Calltree(args) => calltree::run(args, console),
        What::Attribute(args) => attribute::run(args, console),
        What::Costs(args) => costs::run(args, console),
        What::Compare(args) => compare::run(args, console),
        What::Flame(args) => flame::run(args, console),
        What::Export(args) => export::run(args, console),
    }
}
