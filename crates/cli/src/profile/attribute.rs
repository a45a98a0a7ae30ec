//! `slowpath profile attribute`: for whom functions worked.

use super::load::{About, Loaded, Named, percent};
use super::{Source, graph};
use crate::Outcome;
use crate::console::{self, Console};
use crate::diagnose::refuse_input;
use anyhow::Context;
use clap::{Args, ValueHint};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_cost::{Attributed, Attribution, Count, Root};
use slowpath_views::table::align;
use std::fs;
use std::io::{self, Write};
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

/// For whom functions worked (schema slowpath/profile-attribution/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/profile-attribution/1")]
pub struct Document<'a> {
    /// `slowpath/profile-attribution/1`.
    schema: &'static str,
    /// The profile.
    profile: About<'a>,
    /// Among whom costs are divided.
    to: Vec<&'a str>,
    /// What belongs to each of them of all, 0 to 1, in their order; null if costs overlap (`--with-callees`).
    shares: Option<Vec<f64>>,
    /// The functions, the greatest first.
    functions: Vec<Line<'a>>,
}

/// A function, and to whom its cost belongs.
#[derive(Serialize, JsonSchema)]
struct Line<'a> {
    #[serde(flatten)]
    function: Named<'a>,
    /// What it cost.
    weight: u64,
    /// Its part of all, 0 to 1.
    share: f64,
    /// By whole stacks; null without them.
    exact: Option<Parts>,
    /// By the call graph alone, as in the paper.
    estimate: Parts,
    /// Which part of its cost the estimate gives to somebody to whom it does not belong, 0 to 1; null without stacks.
    misplaced: Option<f64>,
}

/// Parts of a function's cost, 0 to 1, that sum to 1.
#[derive(Serialize, JsonSchema)]
struct Parts {
    /// To each of those named, where that is the innermost; in their order.
    innermost: Vec<f64>,
    /// What each of those named stands above, whatever others are between; in their order.
    overlapping: Vec<f64>,
    /// To nobody of those.
    elsewhere: f64,
    /// Stacks that were cut off too early.
    cannot_tell: f64,
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
    let mut loaded = Loaded::open(&args.source.file, &args.source.names, console)?;
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
    console::tell(
        args.json,
        || document(&loaded, &attribution, args),
        |out| print(&loaded, &attribution, args, out),
    )?;
    Ok(loaded.outcome())
}

fn document<'a>(loaded: &'a Loaded, attribution: &'a Attribution, args: &Attribute) -> Document<'a> {
    let all = loaded.weight() as f64;
    let roots = &attribution.roots;
    let shares = || roots.iter().map(|root| attribution.cost(root) / all).collect();
    Document {
        schema: "slowpath/profile-attribution/1",
        profile: loaded.about(),
        to: roots.iter().map(|root| roots.name(root)).collect(),
        shares: (!args.with_callees).then(shares),
        functions: attribution.functions.iter().take(args.top).map(|of| line(loaded, of)).collect(),
    }
}

fn line<'a>(loaded: &'a Loaded, of: &Attributed) -> Line<'a> {
    let part = |weight: u64| weight as f64 / (of.weight as f64).max(1.0);
    let exact = of.exact.as_ref().map(|exact| Parts {
        innermost: exact.innermost.iter().map(|weight| part(*weight)).collect(),
        overlapping: exact.overlapping.iter().map(|overlap| part(overlap.weight)).collect(),
        elsewhere: part(exact.elsewhere),
        cannot_tell: part(exact.cannot_tell),
    });
    let estimate = Parts {
        innermost: of.estimate.innermost.clone(),
        overlapping: of.estimate.overlapping.clone(),
        elsewhere: of.estimate.elsewhere,
        cannot_tell: of.estimate.cannot_tell,
    };
    Line {
        function: loaded.function(of.function),
        weight: of.weight,
        share: of.weight as f64 / loaded.weight() as f64,
        exact,
        estimate,
        misplaced: of.misplaced(),
    }
}

fn print(
    loaded: &Loaded,
    attribution: &Attribution,
    args: &Attribute,
    out: &mut impl Write,
) -> io::Result<()> {
    loaded.head(out)?;
    let (roots, all) = (&attribution.roots, loaded.weight() as f64);
    let has_stacks = loaded.stacks().is_some();
    if !args.with_callees {
        let mut rows = vec![vec!["worked for".to_owned(), "share".to_owned()]];
        let mut rest = 1.0;
        for root in roots.iter() {
            let part = attribution.cost(root) / all;
            rest -= part;
            rows.push(vec![roots.name(root).to_owned(), percent(part)]);
        }
        rows.push(vec!["somebody else, or nobody".to_owned(), percent(rest.max(0.0))]);
        align(&rows, out)?;
        writeln!(out)?;
    }
    let cuts =
        attribution.functions.iter().any(|of| of.exact.as_ref().is_some_and(|exact| exact.cannot_tell > 0));
    let mut head = vec!["function".to_owned(), "share".to_owned()];
    head.extend(roots.iter().map(|root| roots.name(root).to_owned()));
    head.extend(cuts.then(|| "cannot tell".to_owned()));
    head.extend(has_stacks.then(|| "estimate off by".to_owned()));
    let mut rows = vec![head];
    for of in attribution.functions.iter().take(args.top) {
        let mut row = vec![loaded.in_table(of.function), percent(of.weight as f64 / all)];
        row.extend(roots.iter().map(|root: Root| of.share(root).map_or_else(|| "-".to_owned(), percent)));
        let cut =
            of.exact.as_ref().map_or(0.0, |exact| exact.cannot_tell as f64 / (exact.weight as f64).max(1.0));
        row.extend(cuts.then(|| percent(cut)));
        row.extend(of.misplaced().map(percent));
        rows.push(row);
    }
    align(&rows, out)?;
    if !has_stacks {
        writeln!(out, "\nBy who calls whom alone, as in lavoie: without stacks it cannot be counted.")?;
    }
    Ok(())
}
