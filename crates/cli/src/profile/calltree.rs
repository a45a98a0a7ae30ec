//! `slowpath profile calltree`: lavoie's Calltree.

use super::{Source, load};
use crate::Outcome;
use crate::console::{self, Console};
use anyhow::bail;
use clap::Args;
use slowpath_runs::values::share;
use slowpath_views::profile::{calltree::Climbed, help};

/// Arguments of `profile calltree`.
#[derive(Args)]
#[command(after_long_help = help::CALLTREE)]
pub struct Calltree {
    #[command(flatten)]
    source: Source,
    /// The functions to start from: names of functions, or of operations such as "sk buffer clone"
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',', required = true)]
    of: Vec<String>,
    /// The functions to stop at, and whose shares to show
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',')]
    until: Vec<String>,
    /// Follow a caller only if it has more than this share of a function's cost
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share)]
    threshold: f64,
    /// Print JSON (schema slowpath/profile-calltree/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Calltree, console: &Console) -> anyhow::Result<Outcome> {
    let mut loaded = load::open(&args.source, console)?;
    let (functions, until) = (loaded.all_named(&args.of)?, loaded.all_named(&args.until)?);
    if functions.iter().all(|function| loaded.edges.ways(*function).total() == 0) {
        bail!("{}: no call graph; record with -g", args.source.file.display());
    }
    let climbed = Climbed::new(&loaded, &functions, until, args.threshold);
    console::print_result(args.json, || climbed.document(), |out| climbed.print(out))?;
    Ok(load::outcome(&loaded))
}
