//! `slowpath profile top`: the most expensive functions, and cost by category.

use super::{Source, load};
use crate::Outcome;
use crate::console::{self, Console};
use clap::Args;
use slowpath_views::profile::{help, top};

/// Arguments of `profile top`.
#[derive(Args)]
#[command(after_long_help = help::TOP)]
pub struct Top {
    #[command(flatten)]
    source: Source,
    /// How many functions to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Print JSON (schema slowpath/profile-top/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Top, console: &Console) -> anyhow::Result<Outcome> {
    let loaded = load::open(&args.source, console)?;
    let document = top::document(&loaded, args.top);
    console::print_result(args.json, || &document, |out| top::print(&loaded, &document, out))?;
    Ok(load::outcome(&loaded))
}
