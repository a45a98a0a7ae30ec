//! `slowpath profile flame`: a profile's stacks as a picture.

use super::Source;
use super::load::{Loaded, percent};
use crate::Outcome;
use crate::console::Console;
use crate::diagnose::refuse_input;
use anyhow::Context;
use clap::{Args, ValueHint};
use slowpath_cost::tree::Node;
use slowpath_cost::{Function, Image};
use slowpath_views::flame::{self, Box, Kind};
use slowpath_views::quantity::counted;
use std::fs;
use std::path::PathBuf;
use std::slice;

const HELP: &str = "\
Each function has a box on each way to it, as wide as the part of all samples in which it was there, upon the box of its caller; what the \
box has no room for its tooltip says. Orange is the kernel's, blue a program's.

Examples:
  slowpath profile flame perf.data --out flame.svg
  slowpath profile flame perf.data --of tcp_v4_rcv --icicle --out receive.svg";

/// Arguments of `profile flame`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Flame {
    #[command(flatten)]
    source: Source,
    /// The SVG file to write
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// Of stacks with one of these functions, the part from there inwards; names of functions, or of operations such as "TCP receive"
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',')]
    of: Vec<String>,
    /// Let callees hang below their callers
    #[arg(long)]
    icicle: bool,
}

pub fn run(args: &Flame, console: &Console) -> anyhow::Result<Outcome> {
    refuse_input(&args.out, slice::from_ref(&args.source.file))?;
    let mut loaded = Loaded::open(&args.source.file, &args.source.names, console)?;
    let (named, of): (Vec<&str>, Vec<_>) = loaded.named(&args.of)?.into_iter().unzip();
    let (profile, event) = loaded.whole_stacks()?;
    let tree = profile.tree(event, &of.concat());
    let about = if named.is_empty() { String::new() } else { format!(", of {}", named.join(", ")) };
    let whole = loaded.weight() as f64;
    let part = percent(tree[0].weight as f64 / whole);
    let picture = flame::Flame {
        title: format!("{}{about}", args.source.file.display()),
        remarks: vec![format!("{}, of which {part} are here", counted(loaded.samples(), "sample"))],
        boxes: boxes(&loaded, &tree),
        is_icicle: args.icicle,
    };
    fs::write(&args.out, flame::svg(&picture))
        .with_context(|| format!("{}: cannot be written", args.out.display()))?;
    Ok(loaded.outcome())
}

/// The tree's nodes side by side, by their names, so that two pictures of the same load can be laid upon each other.
fn boxes<'a>(loaded: &'a Loaded, tree: &[Node]) -> Vec<Box<'a>> {
    let (functions, all) = (loaded.functions(), (tree[0].weight as f64).max(1.0));
    let name = |function: Option<Function>| function.map_or("all", |function| functions.name(function));
    let mut boxes = Vec::new();
    // Node, depth, and where it begins.
    let mut next = vec![(0, 0, 0.0)];
    while let Some((at, depth, from)) = next.pop() {
        let Node { function, weight, callees } = &tree[at];
        let share = *weight as f64 / all;
        let kind = match function.map(|function| functions.image(function)) {
            None => Kind::All,
            Some(Image::Kernel(_)) => Kind::Kernel,
            Some(Image::User(_)) => Kind::Program,
            Some(Image::Unknown) => Kind::Unknown,
        };
        let spelt = function.map_or_else(|| "all".to_owned(), |function| loaded.spelt(function));
        let of_all = percent(*weight as f64 / loaded.weight() as f64);
        let about = format!("{spelt}: {of_all} of all");
        boxes.push(Box { depth, from, share, name: name(*function), about, kind });
        let mut callees = callees.clone();
        callees.sort_by_key(|callee| (name(tree[*callee].function), *callee));
        let mut from = from;
        for callee in callees {
            next.push((callee, depth + 1, from));
            from += tree[callee].weight as f64 / all;
        }
    }
    boxes
}
