//! `slowpath profile top`: what costs most itself, and of what kind it is.

use super::{Source, load};
use crate::Outcome;
use crate::console::{self, Console};
use clap::Args;
use slowpath_views::profile::top;

const HELP: &str = "\
A function's cost is its own: what it called is theirs. Categories are those of lavoie's figure 1 and some more; a kernel's \
function is in one by its name, as Linux 2.4, 2.6 and 6.x have it, and what fits nowhere is shown as such.

Examples:
  slowpath profile top perf.data
  slowpath profile top perf.data --functions 40 --json";

/// Arguments of `profile top`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Top {
    #[command(flatten)]
    source: Source,
    /// How many functions to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    functions: usize,
    /// Print JSON (schema slowpath/profile-top/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Top, console: &Console) -> anyhow::Result<Outcome> {
    let loaded = load::open(&args.source, console)?;
    let document = top::document(&loaded, args.functions);
    console::tell(args.json, || &document, |out| top::print(&loaded, &document, out))?;
    Ok(load::outcome(&loaded))
}
