//! `slowpath profile`: where CPU time went, from a profile.

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
use slowpath_views::profile::help;
use std::path::PathBuf;

/// Arguments of `profile`.
#[derive(Args)]
#[command(after_long_help = help::PROFILE)]
pub struct Profile {
    #[command(subcommand)]
    what: What,
}

/// What to do with a profile.
#[derive(Subcommand)]
enum What {
    /// Record a profile of this host, a process or a command
    Record(record::Record),
    /// List the functions with the highest cost of their own, and cost by category
    Top(top::Top),
    /// List the most expensive functions below the top functions (Greatest n Descendants)
    Descendants(descendants::Descendants),
    /// Show the callers of given functions, up to the roots (Calltree)
    Calltree(calltree::Calltree),
    /// Divide the cost of functions among the high-level functions that they ran for
    Attribute(attribute::Attribute),
    /// Show what a packet, a byte and an ACK cost, also as a scenario's cost table
    Costs(costs::Costs),
    /// Compare two profiles, function by function
    Compare(compare::Compare),
    /// Draw a flame graph
    Flame(flame::Flame),
    /// Convert a profile to a format of other tools
    Export(export::Export),
}

/// A profile to read.
#[derive(Args)]
struct Source {
    /// The profile: perf.data, output of perf script, folded stacks, pprof (gzip or not), or output of opreport --callgraph
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    names: Names,
}

/// Which event of a profile, and where its symbols are.
#[derive(Args)]
struct Names {
    /// The event to use, if the profile has several; default: the one with the most samples
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// A copy of /proc/kallsyms of the profiled host, read as root; default: this host's, if it runs the same kernel
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    kallsyms: Option<PathBuf>,
    /// The vmlinux of the profiled kernel, with symbols
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "kallsyms")]
    vmlinux: Option<PathBuf>,
    /// The root directory of the profiled host's programs and libraries, such as /mnt/host
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    root: Option<PathBuf>,
    /// Show inlined functions of programs that have debug information
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
