//! `slowpath profile descendants`: lavoie's Greatest n Descendants.

use super::{Source, load};
use crate::Outcome;
use crate::console::{self, Console};
use clap::Args;
use slowpath_views::profile::{descendants as view, help};

/// Arguments of `profile descendants`.
#[derive(Args)]
#[command(after_long_help = help::DESCENDANTS)]
pub struct Descendants {
    #[command(flatten)]
    source: Source,
    /// How many functions to start from, the most expensive first
    #[arg(long, value_name = "M", default_value_t = 10)]
    top: usize,
    /// The functions to start from: names of functions, or of operations such as "TCP receive"
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',', conflicts_with = "top")]
    of: Vec<String>,
    /// How many descendants to list per function
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
    let print = |out: &mut _| view::print(&loaded, &families, out);
    console::print_result(args.json, || view::document(&loaded, &families), print)?;
    Ok(load::outcome(&loaded))
}
