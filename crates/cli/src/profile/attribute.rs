//! `slowpath profile attribute`: for whom functions worked.

use super::{Source, load};
use crate::Outcome;
use crate::console::{self, Console};
use crate::diagnose::refuse_input;
use anyhow::Context;
use clap::{Args, ValueHint};
use slowpath_cost::{Attribution, Count};
use slowpath_views::profile::attribute::{self as view, Shown};
use slowpath_views::profile::graph;
use std::fs;
use std::path::PathBuf;
use std::slice;

const HELP: &str = "\
A function such as kmem_cache_free works for several others. Of each function it says which part of its cost belongs to each of the \
high-level functions that are named (lavoie, section 3.1.3, and figures 14 to 19): to the innermost of them that stands above it on the \
stack, or is it. An interrupt or a softirq was called for by nothing that it came upon, so that a stack begins there.

From whole stacks that is counted. The paper had only who calls whom, and multiplied shares along the calls: that estimate stands beside it, \
with how far it is off. A stack that was cut off before any of the named functions was seen cannot tell.

Names are those of functions, or of the paper's operations, which know what they are called in each kernel: \"TCP receive\", \
\"TCP send message\", \"TCP send pages\", \"interrupt\" and \"softirq\", which are the ones without --to.

With --svg it draws what works below each of those that are named, as the paper does: who calls whom for it, with what each function costs \
of all CPU time, and how much of that belongs to it.

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
    /// Among whom to divide
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',')]
    to: Vec<String>,
    /// How many functions to list, the greatest first
    #[arg(long, value_name = "N", default_value_t = 25)]
    top: usize,
    /// Count with a function what it called
    #[arg(long)]
    with_callees: bool,
    /// Draw what works below each of those named into this file; without --to, below the three of TCP
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    svg: Option<PathBuf>,
    /// In the picture, leave out functions with less than this part of all CPU time in them and below
    #[arg(long, value_name = "SHARE", value_parser = share_from_text, default_value = "1%", requires = "svg")]
    threshold: f64,
    /// Print JSON (schema slowpath/profile-attribution/1) instead of text
    #[arg(long)]
    json: bool,
}

/// A share such as `1%` or `0.5 %`, as a part of 1.
fn share_from_text(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.trim_end().parse::<f64>().ok());
    number.filter(|share| (0.0..=100.0).contains(share)).map(|share| share / 100.0).ok_or_else(|| {
        format!("\"{text}\" is no share; write a number from 0 to 100 with a per cent sign, such as \"1%\"")
    })
}

pub fn run(args: &Attribute, console: &Console) -> anyhow::Result<Outcome> {
    if let Some(svg) = &args.svg {
        refuse_input(svg, slice::from_ref(&args.source.file))?;
    }
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
        fs::write(svg, drawn).with_context(|| format!("{}: cannot be written", svg.display()))?;
    }
    let shown = &Shown { top: args.top, with_callees: args.with_callees };
    console::tell(
        args.json,
        || view::document(&loaded, &attribution, shown),
        |out| view::print(&loaded, &attribution, shown, out),
    )?;
    Ok(load::outcome(&loaded))
}
