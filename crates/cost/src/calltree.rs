//! Calltree (lavoie, section 3.1.3): from given functions up, through the callers that matter.
//!
//! A caller matters if its share of a function's calls is above a threshold. The result is a small graph that shows who
//! caused a cost, and how much of it: the product of shares along a path, summed over all paths. Shares are relative to
//! all callers, omitted or not, so a threshold lowers attributions and never shifts them to the remaining callers.

use crate::edges::Edges;
use crate::functions::Function;
use crate::reduction::Walk;
use std::collections::HashMap;

/// The given functions and their ancestors that matter.
#[derive(Clone, Debug, PartialEq)]
pub struct CallTree {
    /// The given functions in order, then their ancestors as they were reached.
    pub nodes: Vec<Node>,
    /// The calls among them, each node's greatest caller first.
    pub calls: Vec<Call>,
}

/// A function of a [`CallTree`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// The function.
    pub function: Function,
    /// Its own cost.
    pub own: u64,
    /// The minimum number of calls between it and a given function.
    pub height: u32,
    /// The share of its omitted callers, each below the threshold, and of its outermost places and cut stacks.
    pub left_out: f64,
}

/// A caller and its share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// The caller.
    pub caller: Function,
    /// The callee.
    pub callee: Function,
    /// The edge's weight.
    pub weight: u64,
    /// The share of the callee's calls from this caller.
    pub share: f64,
}

/// How much of a node belongs to one of its ancestors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cumulative {
    /// The node's function.
    pub function: Function,
    /// The part of its cost for the ancestor.
    pub share: f64,
    /// That part of its own cost.
    pub cost: f64,
}

impl Edges {
    /// The call tree above `functions`, with callers whose share exceeds `threshold` (0 to 1). It ends at `until`, for
    /// high-level functions whose own callers do not matter.
    pub fn call_tree(&self, functions: &[Function], until: &[Function], threshold: f64) -> CallTree {
        let mut tree = CallTree { nodes: Vec::new(), calls: Vec::new() };
        let mut known = vec![false; self.functions()];
        for &function in functions {
            self.climb(&mut tree, &mut known, function, 0);
        }
        let mut next = 0;
        while let Some(&Node { function, height, .. }) = tree.nodes.get(next) {
            if !until.contains(&function) {
                let calls = self.greatest_callers(function, threshold);
                for call in &calls {
                    self.climb(&mut tree, &mut known, call.caller, height + 1);
                }
                tree.nodes[next].left_out = self.left_out(function, &calls);
                tree.calls.extend(calls);
            }
            next += 1;
        }
        tree
    }

    fn climb(&self, tree: &mut CallTree, known: &mut [bool], function: Function, height: u32) {
        if let Some(known @ false) = known.get_mut(function.0 as usize) {
            *known = true;
            tree.nodes.push(Node { function, own: self.own(function), height, left_out: 0.0 });
        }
    }

    fn left_out(&self, function: Function, calls: &[Call]) -> f64 {
        let total = self.ways(function).total();
        let kept = calls.iter().map(|call| call.weight).fold(0, u64::saturating_add);
        if total == 0 { 1.0 } else { total.saturating_sub(kept) as f64 / total as f64 }
    }

    fn greatest_callers(&self, callee: Function, threshold: f64) -> Vec<Call> {
        let ways = self.ways(callee);
        let total = ways.total() as f64;
        let mut calls: Vec<Call> = ways
            .callers()
            .map(|(caller, weight)| Call { caller, callee, weight, share: weight as f64 / total })
            .filter(|call| call.share > threshold)
            .collect();
        calls.sort_unstable_by_key(|call| (std::cmp::Reverse(call.weight), call.caller));
        calls
    }
}

impl CallTree {
    /// How much of each node's cost belongs to `ancestor`, over all paths; in node order. All of the ancestor's own
    /// cost belongs to it.
    ///
    /// In a cycle this is the probability of ever reaching the ancestor, so that no share exceeds one: see
    /// [`Edges::attribute`].
    pub fn cumulative(&self, ancestor: Function) -> Vec<Cumulative> {
        let places: HashMap<Function, usize> =
            self.nodes.iter().enumerate().map(|(at, node)| (node.function, at)).collect();
        let mut walk = Walk::new(self.nodes.len(), 2);
        for (at, node) in self.nodes.iter().enumerate() {
            if node.function == ancestor {
                walk.end(at, 0, 1.0);
            } else {
                walk.end(at, 1, node.left_out);
            }
        }
        for call in self.calls.iter().filter(|call| call.callee != ancestor) {
            walk.step(places[&call.callee], places[&call.caller], call.share);
        }
        let ends = walk.solve();
        let of = |(at, node): (usize, &Node)| {
            let share = ends.of(at)[0];
            Cumulative { function: node.function, share, cost: share * node.own as f64 }
        };
        self.nodes.iter().enumerate().map(of).collect()
    }
}
