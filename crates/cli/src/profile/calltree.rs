//! `slowpath profile calltree`: lavoie's Calltree.

use super::{Source, load};
use crate::Outcome;
use crate::console::{self, Console};
use anyhow::bail;
use clap::Args;
use slowpath_views::profile::calltree::Climbed;

const HELP: &str = "\
From the given functions it goes up through the callers that matter: those with more than the threshold of what a function was called \
for (lavoie, section 3.1.3). Shares are of all callers, those left out too. With --until it stops at these functions, and says how much \
of each function below belongs to them: the product of the shares along a path, summed over all paths. Above an interrupt or a softirq \
is no caller.

Examples:
  slowpath profile calltree perf.data --functions kmem_cache_free
  slowpath profile calltree perf.data --functions kmem_cache_free,skb_clone --until tcp_v4_rcv --threshold 2%";

/// Arguments of `profile calltree`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Calltree {
    #[command(flatten)]
    source: Source,
    /// The functions to begin with; names of functions, or of operations such as "sk buffer clone"
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',', required = true)]
    functions: Vec<String>,
    /// Where to stop, and whose shares to sum up
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',')]
    until: Vec<String>,
    /// A caller matters if more than this part of what a function was called for came from it
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = threshold)]
    threshold: f64,
    /// Print JSON (schema slowpath/profile-calltree/1) instead of text
    #[arg(long)]
    json: bool,
}

fn threshold(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    match number {
        Ok(percent) if (0.0..100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("a share is from 0% to less than 100%, such as 5%".to_owned()),
    }
}

pub fn run(args: &Calltree, console: &Console) -> anyhow::Result<Outcome> {
    let mut loaded = load::open(&args.source, console)?;
    let (functions, until) = (loaded.all_named(&args.functions)?, loaded.all_named(&args.until)?);
    if functions.iter().all(|function| loaded.edges.ways(*function).total() == 0) {
        bail!("{}: no call graph; record with -g", args.source.file.display());
    }
    let climbed = Climbed::new(&loaded, &functions, until, args.threshold);
    console::tell(args.json, || climbed.document(), |out| climbed.print(out))?;
    Ok(load::outcome(&loaded))
}
