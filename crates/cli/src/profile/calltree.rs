//! `slowpath profile calltree`: lavoie's Calltree.

use super::Source;
use super::load::{About, Loaded, Named, percent};
use crate::Outcome;
use crate::console::{self, Console};
use anyhow::bail;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_cost::{CallTree, Function};
use std::io::{self, Write};

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

/// Who called for given functions (schema slowpath/profile-calltree/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/profile-calltree/1")]
pub struct Document<'a> {
    /// `slowpath/profile-calltree/1`.
    schema: &'static str,
    /// The profile.
    profile: About<'a>,
    /// The given functions, and those of their ancestors that matter.
    functions: Vec<NodeLine<'a>>,
    /// Who called whom among them.
    calls: Vec<CallLine<'a>>,
}

/// A function of the tree.
#[derive(Serialize, JsonSchema)]
struct NodeLine<'a> {
    #[serde(flatten)]
    function: Named<'a>,
    /// Its own part of all, 0 to 1.
    share: f64,
    /// By how many calls it is above a given function, at least.
    height: u32,
    /// The part of its callers that is left out, 0 to 1.
    left_out: f64,
    /// How much of its cost belongs to each function of `--until`, 0 to 1, in their order.
    belongs: Vec<f64>,
}

/// A call.
#[derive(Serialize, JsonSchema)]
struct CallLine<'a> {
    /// Who called.
    caller: Named<'a>,
    /// Who was called.
    callee: Named<'a>,
    /// Which part of what the callee was called for came from this caller, 0 to 1.
    share: f64,
}

/// The tree, and whose shares are summed up in it.
struct Climbed<'a> {
    loaded: &'a Loaded,
    tree: CallTree,
    given: usize,
    until: Vec<Function>,
    /// By the functions of `until`, then by the tree's nodes.
    belongs: Vec<Vec<f64>>,
}

pub fn run(args: &Calltree, console: &Console) -> anyhow::Result<Outcome> {
    let mut loaded = Loaded::open(&args.source.file, &args.source.names, console)?;
    let (functions, until) = (loaded.all_named(&args.functions)?, loaded.all_named(&args.until)?);
    if functions.iter().all(|function| loaded.edges.ways(*function).total() == 0) {
        bail!("{}: no call graph; record with -g", args.source.file.display());
    }
    let tree = loaded.edges.call_tree(&functions, &until, args.threshold);
    let shares = |ancestor: &Function| tree.cumulative(*ancestor).into_iter().map(|of| of.share).collect();
    let belongs = until.iter().map(shares).collect();
    let climbed = Climbed { loaded: &loaded, given: functions.len(), until, belongs, tree };
    console::tell(args.json, || climbed.document(), |out| climbed.print(out))?;
    Ok(loaded.outcome())
}

impl Climbed<'_> {
    fn part(&self, weight: u64) -> f64 {
        weight as f64 / self.loaded.weight() as f64
    }

    fn document(&self) -> Document<'_> {
        let node = |(at, node): (usize, &slowpath_cost::calltree::Node)| NodeLine {
            function: self.loaded.function(node.function),
            share: self.part(node.own),
            height: node.height,
            left_out: node.left_out,
            belongs: self.belongs.iter().map(|shares| shares[at]).collect(),
        };
        let call = |call: &slowpath_cost::calltree::Call| CallLine {
            caller: self.loaded.function(call.caller),
            callee: self.loaded.function(call.callee),
            share: call.share,
        };
        Document {
            schema: "slowpath/profile-calltree/1",
            profile: self.loaded.about(),
            functions: self.tree.nodes.iter().enumerate().map(node).collect(),
            calls: self.tree.calls.iter().map(call).collect(),
        }
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.loaded.head(out)?;
        let mut shown = vec![false; self.tree.nodes.len()];
        for node in &self.tree.nodes[..self.given.min(self.tree.nodes.len())] {
            writeln!(out, "{:>6}  {}", percent(self.part(node.own)), self.loaded.spelt(node.function))?;
            self.belonging(node.function, out)?;
            self.callers(node.function, 1, &mut shown, out)?;
        }
        Ok(())
    }

    fn place(&self, function: Function) -> Option<usize> {
        self.tree.nodes.iter().position(|node| node.function == function)
    }

    /// Of a given function, what belongs to whom.
    fn belonging(&self, function: Function, out: &mut impl Write) -> io::Result<()> {
        let Some(at) = self.place(function) else { return Ok(()) };
        for (ancestor, shares) in self.until.iter().zip(&self.belongs) {
            writeln!(
                out,
                "        {} of it belongs to {}",
                percent(shares[at]),
                self.loaded.spelt(*ancestor)
            )?;
        }
        Ok(())
    }

    /// The callers of a function, indented; those of one that was shown already are not shown again.
    fn callers(
        &self,
        callee: Function,
        depth: usize,
        shown: &mut [bool],
        out: &mut impl Write,
    ) -> io::Result<()> {
        // As deep as the kernel's stacks go, and deep enough to read.
        const DEEPEST: usize = 64;
        let Some(at) = self.place(callee) else { return Ok(()) };
        if std::mem::replace(&mut shown[at], true) || depth > DEEPEST {
            return Ok(());
        }
        for call in self.tree.calls.iter().filter(|call| call.callee == callee) {
            let is_known = self.place(call.caller).is_some_and(|at| shown[at]);
            let goes_on = self.tree.calls.iter().any(|other| other.callee == call.caller);
            let above = if is_known && goes_on { " (above)" } else { "" };
            let indent = 2 * depth;
            writeln!(
                out,
                "{:indent$}{:>6}  by {}{above}",
                "",
                percent(call.share),
                self.loaded.spelt(call.caller),
            )?;
            self.callers(call.caller, depth + 1, shown, out)?;
        }
        let left_out = self.tree.nodes[at].left_out;
        if left_out > 0.005 && !self.until.contains(&callee) {
            writeln!(
                out,
                "{:indent$}{:>6}  by others, or by nobody",
                "",
                percent(left_out),
                indent = 2 * depth
            )?;
        }
        Ok(())
    }
}
