//! The call graph below a high-level function: the graphs of figures 14 to 19 of the paper, counted from stacks.
//!
//! Each place on a stack belongs to a root or does not; in a profile it does if that root is the innermost at it or
//! above it (see [`exact`](crate::exact), with callees). Places of the root are joined, each caller to its callees.
//! Functions that are too small are omitted, and their callers are joined directly to their callees, so that every node
//! is connected.

use crate::calls::Calls;
use crate::functions::Function;
use crate::own::add;
use crate::profile::Frame;
use crate::roots::{Root, Roots};
use std::collections::BTreeMap;

/// The functions below a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subgraph {
    /// The root first, then by samples for it, in descending order.
    pub nodes: Vec<Node>,
    /// The calls, the heaviest first.
    pub edges: Vec<Edge>,
    /// How many functions below the root were too small.
    pub left_out: usize,
}

/// A function below a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The function; `None` for the root, which may have several.
    pub function: Option<Function>,
    /// Its own cost, for any operation.
    pub own: u64,
    /// The part of that which belongs to the root.
    pub own_here: u64,
    /// Its cost with callees, for any operation; if a function is on a stack several times, its innermost place counts.
    /// For the root: on stacks with it, or with a place that belongs to it.
    pub all: u64,
    /// The part of that which belongs to the root; for the root itself, all that does.
    pub here: u64,
}

/// A call, for a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The caller, by its index among the nodes.
    pub from: usize,
    /// The callee.
    pub to: usize,
    /// The cost of the callee and below, on stacks with both.
    pub weight: u64,
    /// The part of that without another function between.
    pub direct: u64,
}

/// A stack, with the places that belong to a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Its places, innermost first.
    pub places: Vec<Place>,
    /// Its weight.
    pub weight: u64,
}

/// A place on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The function; `None` for the root.
    pub function: Option<Function>,
    /// Whether it belongs to the root.
    pub is_here: bool,
}

impl Calls {
    /// The subgraph below a root in an event: at most `most` functions, with at least `least` in them or below, for
    /// this root.
    pub fn below(&self, event: u16, roots: &Roots, root: Root, least: u64, most: usize) -> Subgraph {
        let profile = self.profile();
        let ways: Vec<Way> = profile
            .weighed(event)
            .map(|(stack, weight)| Way { places: places(profile.stacks.frames(stack), roots, root), weight })
            .collect();
        Subgraph::of(&ways, least, most)
    }
}

/// For each frame, whether the root is the innermost at it or above it.
fn places(frames: &[Frame], roots: &Roots, root: Root) -> Vec<Place> {
    let mut on = Vec::new();
    roots.on(frames, &mut on);
    let mut on = on.into_iter().peekable();
    let place = |(at, frame): (usize, &Frame)| {
        while on.next_if(|(named, _)| *named < at).is_some() {}
        let function = (roots.of(frame.function) != Some(root)).then_some(frame.function);
        Place { function, is_here: on.peek().is_some_and(|(_, of)| *of == root) }
    };
    frames.iter().enumerate().map(place).collect()
}

impl Subgraph {
    /// From stacks: at most `most` functions, with at least `least` in them or below, for the root.
    pub fn of(ways: &[Way], least: u64, most: usize) -> Self {
        let mut sums = Sums::default();
        for way in ways {
            sums.add(way);
        }
        let (nodes, left_out) = sums.nodes(least, most);
        let mut joins = Joins::of(&nodes);
        for way in ways {
            joins.add(way);
        }
        let mut edges: Vec<Edge> = joins.edges.into_values().collect();
        edges.sort_unstable_by_key(|edge| (std::cmp::Reverse(edge.weight), edge.from, edge.to));
        Self { nodes, edges, left_out }
    }
}

/// The index of counts: a profile's functions are numbered from 0, and the root comes first.
fn number(function: Option<Function>) -> usize {
    function.map_or(0, |function| function.0 as usize + 1)
}

/// Sums by function.
#[derive(Default)]
struct Sums {
    /// The number of stacks so far.
    stacks: usize,
    /// Each function, by number, with the last stack on which it was seen.
    of: Vec<(Node, usize)>,
    /// The total below the root, and of the root with everything that belongs to it.
    root: (u64, u64),
}

impl Sums {
    fn add(&mut self, way: &Way) {
        self.stacks += 1;
        for (at, place) in way.places.iter().enumerate() {
            let number = number(place.function);
            if self.of.len() <= number {
                self.of.resize_with(number + 1, Default::default);
            }
            let (node, last) = &mut self.of[number];
            node.function = place.function;
            if std::mem::replace(last, self.stacks) == self.stacks {
                continue;
            }
            let is_own = at == 0;
            for (sum, counts) in [
                (&mut node.own, is_own),
                (&mut node.own_here, is_own && place.is_here),
                (&mut node.all, true),
                (&mut node.here, place.is_here),
            ] {
                add(sum, if counts { way.weight } else { 0 });
            }
        }
        if way.places.first().is_some_and(|innermost| innermost.is_here) {
            add(&mut self.root.0, way.weight);
        }
        if way.places.iter().any(|place| place.is_here || place.function.is_none()) {
            add(&mut self.root.1, way.weight);
        }
    }

    /// The root and the functions large enough, and the number of the others.
    fn nodes(self, least: u64, most: usize) -> (Vec<Node>, usize) {
        let (here, all) = self.root;
        let mut counted = self.of.into_iter().map(|(node, _)| node);
        let root = counted.next().unwrap_or_default();
        let mut nodes = vec![Node { here, all, ..root }];
        let mut below: Vec<Node> = counted.filter(|node| node.here > 0).collect();
        let functions = below.len();
        below.retain(|node| node.here >= least);
        below.sort_unstable_by_key(|node| (std::cmp::Reverse(node.here), node.function));
        below.truncate(most);
        let left_out = functions - below.len();
        nodes.extend(below);
        (nodes, left_out)
    }
}

/// The calls among the functions shown.
struct Joins {
    /// The node of each function shown, by function number.
    shown: Vec<Option<usize>>,
    edges: BTreeMap<(usize, usize), Edge>,
    /// The number of stacks so far.
    stacks: usize,
    /// For each function shown, the last stack that has it, and whether its share there is the root's.
    last: Vec<(usize, bool)>,
}

impl Joins {
    fn of(nodes: &[Node]) -> Self {
        let last = nodes.iter().map(|node| number(node.function)).max().unwrap_or(0);
        let mut shown = vec![None; last + 1];
        for (at, node) in nodes.iter().enumerate() {
            shown[number(node.function)] = Some(at);
        }
        Self { shown, edges: BTreeMap::new(), stacks: 0, last: vec![(0, false); nodes.len()] }
    }

    /// Joins the functions shown of a stack, each pair once.
    fn add(&mut self, way: &Way) {
        self.stacks += 1;
        let node = |place: &Place| self.shown.get(number(place.function)).copied().flatten();
        let shown: Vec<Option<usize>> = way.places.iter().map(node).collect();
        for (node, place) in shown.iter().zip(&way.places) {
            if let Some(node) = node.filter(|node| self.last[*node].0 != self.stacks) {
                self.last[node] = (self.stacks, place.is_here);
            }
        }
        // For each pair, whether it was seen without another function between.
        let mut seen = BTreeMap::new();
        // A stack that does not begin with the root was called for it elsewhere.
        let root = (0, usize::MAX);
        let mut caller = root;
        for (at, (node, place)) in shown.into_iter().zip(&way.places).enumerate().rev() {
            if !place.is_here {
                caller = root;
                continue;
            }
            let Some(node) = node.filter(|node| *node == 0 || self.last[*node].1) else { continue };
            let (from, was_at) = caller;
            if from != node {
                *seen.entry((from, node)).or_insert(false) |= was_at == at + 1;
            }
            caller = (node, at);
        }
        for ((from, to), is_direct) in seen {
            let edge = self.edges.entry((from, to)).or_insert(Edge { from, to, weight: 0, direct: 0 });
            add(&mut edge.weight, way.weight);
            if is_direct {
                add(&mut edge.direct, way.weight);
            }
        }
    }
}
