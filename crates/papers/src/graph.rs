//! The call graph below a high-level function, as data.

use slowpath_cost::subgraph::{Edge, Node, Subgraph};
use slowpath_cost::{Function, Functions};

/// A call graph.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Its name in the paper.
    pub name: &'static str,
    /// Its subject.
    pub about: &'static str,
    /// What the paper says about it, in our words.
    pub says: &'static str,
    /// The high-level function at the top.
    pub root: &'static str,
    /// All samples.
    pub samples: u64,
    /// Functions with fewer samples in them and below, for the root, are omitted.
    pub least: u64,
    /// How many are omitted.
    pub left_out: usize,
    /// The functions: the root first, then by samples for the root, in descending order.
    pub nodes: Vec<Worker>,
    /// The calls, the heaviest first.
    pub edges: Vec<Call>,
}

/// A function below the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The paper's name for its work, or its own name.
    pub name: String,
    /// Samples in the function itself, for any operation.
    pub own: u64,
    /// The part of these that belongs to the root.
    pub own_here: u64,
    /// Samples in the function or its callees, for any operation; for the root, also those that belong to it.
    pub all: u64,
    /// The part of these that belongs to the root; for the root, all that do.
    pub here: u64,
}

/// A call, for the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The caller's index among the nodes.
    pub from: usize,
    /// The callee.
    pub to: usize,
    /// Samples in the callee and below, on stacks with both.
    pub samples: u64,
    /// The part of these without an omitted function in between.
    pub direct: u64,
}

/// The texts of a graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    pub name: &'static str,
    pub about: &'static str,
    pub says: &'static str,
    pub root: &'static str,
}

impl Graph {
    pub(crate) fn new(
        about: About,
        below: &Subgraph,
        functions: &Functions,
        [samples, least]: [u64; 2],
    ) -> Self {
        let About { name, about, says, root } = about;
        let node = |node: &Node| Worker {
            name: node.function.map_or(root, |function| functions.name(function)).to_owned(),
            own: node.own,
            own_here: node.own_here,
            all: node.all,
            here: node.here,
        };
        let edge =
            |edge: &Edge| Call { from: edge.from, to: edge.to, samples: edge.weight, direct: edge.direct };
        Self {
            name,
            about,
            says,
            root,
            samples,
            least,
            left_out: below.left_out,
            nodes: below.nodes.iter().map(node).collect(),
            edges: below.edges.iter().map(edge).collect(),
        }
    }

    /// The subgraph as counted: except for the root, a function's number is its index among the nodes.
    pub fn below(&self) -> Subgraph {
        let node = |(at, node): (usize, &Worker)| Node {
            function: u32::try_from(at).ok().filter(|at| *at > 0).map(Function),
            own: node.own,
            own_here: node.own_here,
            all: node.all,
            here: node.here,
        };
        let edge =
            |call: &Call| Edge { from: call.from, to: call.to, weight: call.samples, direct: call.direct };
        Subgraph {
            nodes: self.nodes.iter().enumerate().map(node).collect(),
            edges: self.edges.iter().map(edge).collect(),
            left_out: self.left_out,
        }
    }
}
