//! `slowpath profile calltree`: the callers of given functions, through those that matter (lavoie's Calltree).

use super::{About, Named, about, head, named, percent, spelt_in};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_cost::{CallTree, Function};
use slowpath_profile::Loaded;
use std::io::{self, Write};

/// The callers of given functions (schema slowpath/profile-calltree/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/profile-calltree/1")]
pub struct CalltreeDocument<'a> {
    /// `slowpath/profile-calltree/1`.
    schema: &'static str,
    /// The profile.
    profile: About<'a>,
    /// The given functions, and those of their ancestors that matter.
    functions: Vec<NodeLine<'a>>,
    /// The calls among them.
    calls: Vec<CallLine<'a>>,
}

/// A function of the tree.
#[derive(Serialize, JsonSchema)]
struct NodeLine<'a> {
    #[serde(flatten)]
    function: Named<'a>,
    /// Its own part of all, 0 to 1.
    share: f64,
    /// The minimum number of calls from it to a given function.
    height: u32,
    /// The part of its callers that is left out, 0 to 1.
    left_out: f64,
    /// How much of its cost belongs to each function of `--until`, 0 to 1, in their order.
    belongs: Vec<f64>,
}

/// A call.
#[derive(Serialize, JsonSchema)]
struct CallLine<'a> {
    /// The caller.
    caller: Named<'a>,
    /// The callee.
    callee: Named<'a>,
    /// The share of the callee's cost that came through this caller, 0 to 1.
    share: f64,
}

/// The call tree, and the roots whose shares are summed in it.
pub struct Climbed<'a> {
    loaded: &'a Loaded,
    tree: CallTree,
    given: usize,
    until: Vec<Function>,
    /// Shares, by the functions of `until`, then by the tree's nodes.
    belongs: Vec<Vec<f64>>,
}

impl<'a> Climbed<'a> {
    /// The tree of the callers of `given` functions, up to those of `until`.
    pub fn new(loaded: &'a Loaded, given: &[Function], until: Vec<Function>, threshold: f64) -> Self {
        let tree = loaded.edges.call_tree(given, &until, threshold);
        let shares =
            |ancestor: &Function| tree.cumulative(*ancestor).into_iter().map(|of| of.share).collect();
        let belongs = until.iter().map(shares).collect();
        Self { loaded, given: given.len(), until, belongs, tree }
    }

    fn part(&self, weight: u64) -> f64 {
        weight as f64 / self.loaded.weight() as f64
    }

    /// The tree as a document.
    pub fn document(&self) -> CalltreeDocument<'_> {
        let node = |(at, node): (usize, &slowpath_cost::calltree::Node)| NodeLine {
            function: named(self.loaded, node.function),
            share: self.part(node.own),
            height: node.height,
            left_out: node.left_out,
            belongs: self.belongs.iter().map(|shares| shares[at]).collect(),
        };
        let call = |call: &slowpath_cost::calltree::Call| CallLine {
            caller: named(self.loaded, call.caller),
            callee: named(self.loaded, call.callee),
            share: call.share,
        };
        CalltreeDocument {
            schema: "slowpath/profile-calltree/1",
            profile: about(self.loaded),
            functions: self.tree.nodes.iter().enumerate().map(node).collect(),
            calls: self.tree.calls.iter().map(call).collect(),
        }
    }

    /// Prints the given functions with their callers below.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        head(self.loaded, out)?;
        let mut shown = vec![false; self.tree.nodes.len()];
        for node in &self.tree.nodes[..self.given.min(self.tree.nodes.len())] {
            writeln!(out, "{:>6}  {}", percent(self.part(node.own)), spelt_in(self.loaded, node.function))?;
            self.belonging(node.function, out)?;
            self.callers(node.function, 1, &mut shown, out)?;
        }
        Ok(())
    }

    fn place(&self, function: Function) -> Option<usize> {
        self.tree.nodes.iter().position(|node| node.function == function)
    }

    /// Prints the shares of a given function's cost.
    fn belonging(&self, function: Function, out: &mut impl Write) -> io::Result<()> {
        let Some(at) = self.place(function) else { return Ok(()) };
        for (ancestor, shares) in self.until.iter().zip(&self.belongs) {
            writeln!(
                out,
                "        {} of it belongs to {}",
                percent(shares[at]),
                spelt_in(self.loaded, *ancestor)
            )?;
        }
        Ok(())
    }

    /// Prints the callers of a function, indented; callers that were already printed are not expanded again.
    fn callers(
        &self,
        callee: Function,
        depth: usize,
        shown: &mut [bool],
        out: &mut impl Write,
    ) -> io::Result<()> {
        // As deep as kernel stacks, and as deep as one can read.
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
                spelt_in(self.loaded, call.caller),
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
