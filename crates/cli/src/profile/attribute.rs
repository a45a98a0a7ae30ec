//! `slowpath profile attribute`: for which high-level functions others ran.

use super::{Source, load};
use crate::Outcome;
use crate::console::{self, Console};
use crate::output::Force;
use clap::{Args, ValueHint};
use slowpath_cost::{Attribution, Count};
use slowpath_runs::values::share;
use slowpath_views::profile::attribute::{self as view, Shown};
use slowpath_views::profile::graph;
use std::path::PathBuf;
use std::slice;

const HELP: &str = "\
A function such as kmem_cache_free works for several others. For each function, shows which share of its cost belongs to each of the \
high-level functions given by --to (lavoie, section 3.1.3, and figures 14 to 19): a sample belongs to the innermost of them on its stack. \
A stack starts anew at an interrupt or a softirq, because the interrupted function did not call it.

With whole stacks, samples are counted. The paper knew only who calls whom, and multiplied shares along the calls; that estimate is shown \
next to the count, with its error. A truncated stack without any of these functions is not attributed.

Names are those of functions, or of the paper's operations in any kernel: \"TCP receive\", \"TCP send message\", \"TCP send pages\", \
\"interrupt\" and \"softirq\", which are the default.

--svg draws the call graph below each of these functions, as the paper does: who calls whom, each function's share of all CPU time, and \
how much of it belongs to the function at the top.

Examples:
  slowpath profile attribute perf.data
  slowpath profile attribute perf.data --to tcp_v4_rcv,tcp_sendmsg_locked --top 40
  slowpath profile attribute perf.data --to \"TCP receive\" --svg receive.svg --threshold 2%";

/// Arguments of `profile attribute`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Attribute {
    #[command(flatten)]
    source: Source,
    /// The functions among which cost is divided
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',')]
    to: Vec<String>,
    /// How many functions to list, the greatest first
    #[arg(long, value_name = "N", default_value_t = 25)]
    top: usize,
    /// Include the cost of callees
    #[arg(long)]
    with_callees: bool,
    /// Also draw the call graph below each function of --to as an SVG file; default: below the three TCP operations
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    svg: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// With --svg: leave out functions with less than this share of all CPU time, callees included
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "1%", requires = "svg")]
    threshold: f64,
    /// Print JSON (schema slowpath/profile-attribution/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Attribute, console: &Console) -> anyhow::Result<Outcome> {
    args.force.check(args.svg.as_deref(), slice::from_ref(&args.source.file), "--svg")?;
    let mut loaded = load::open(&args.source, console)?;
    let roots = loaded.roots(&args.to)?;
    let count = if args.with_callees { Count::WithCallees } else { Count::Own };
    // What was called cannot be counted without stacks, functions themselves can be estimated.
    let calls = if args.with_callees { Some(loaded.whole_calls()?) } else { loaded.calls() };
    let attribution = match calls {
        Some((calls, event)) => Attribution::of(calls, event, roots, count),
        None => Attribution::of_edges(&loaded.edges, roots),
    };
    if let Some(svg) = &args.svg {
        let drawn = graph::picture(&loaded, &attribution.roots, &args.to, args.threshold)?;
        args.force.write(svg, drawn)?;
    }
    let shown = &Shown { top: args.top, with_callees: args.with_callees };
    let print = |out: &mut _| view::print(&loaded, &attribution, shown, out);
    console::print_result(args.json, || view::document(&loaded, &attribution, shown), print)?;
    Ok(load::outcome(&loaded))
}
