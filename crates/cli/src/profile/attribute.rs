//! `slowpath profile attribute`: for which high-level functions others ran.

use super::{Source, load};
use crate::Outcome;
use crate::console::{self, Console};
use crate::output::Force;
use clap::{Args, ValueHint};
use slowpath_cost::{Attribution, Count};
use slowpath_runs::values::share;
use slowpath_views::profile::graph;
use slowpath_views::profile::{
    attribute::{self as view, Shown},
    help,
};
use std::path::PathBuf;
use std::slice;

/// Arguments of `profile attribute`.
#[derive(Args)]
#[command(after_long_help = help::ATTRIBUTE)]
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
