//! `slowpath profile descendants`: lavoie's Greatest n Descendants.

use super::{Source, load};
use crate::Outcome;
use crate::console::{self, Console};
use clap::Args;
use slowpath_views::profile::descendants as view;

const HELP: &str = "\
For each of the functions that cost most themselves it lists what costs most of all that they called, however deep (lavoie, section \
3.1.2). A descendant's cost is all of its own, whoever called it: how much of it was for whom says `slowpath profile attribute`. What \
interrupts and softirqs do on top of a function it has not called.

Examples:
  slowpath profile descendants perf.data
  slowpath profile descendants perf.data --of tcp_v4_rcv --greatest 20";

/// Arguments of `profile descendants`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Descendants {
    #[command(flatten)]
    source: Source,
    /// Of how many of the functions that cost most themselves
    #[arg(long, value_name = "M", default_value_t = 10)]
    top: usize,
    /// Of these functions, in place of those that cost most; names of functions, or of operations such as "TCP receive"
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',', conflicts_with = "top")]
    of: Vec<String>,
    /// How many descendants of each
    #[arg(long, value_name = "N", default_value_t = 8)]
    greatest: usize,
    /// Print JSON (schema slowpath/profile-descendants/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Descendants, console: &Console) -> anyhow::Result<Outcome> {
    let mut loaded = load::open(&args.source, console)?;
    let families = if args.of.is_empty() {
        loaded.edges.greatest_descendants(args.top, args.greatest)
    } else {
        let functions = loaded.all_named(&args.of)?;
        loaded.edges.greatest_descendants_of(&functions, args.greatest)
    };
    console::tell(
        args.json,
        || view::document(&loaded, &families),
        |out| view::print(&loaded, &families, out),
    )?;
    Ok(load::outcome(&loaded))
}
