//! A call graph as reported by OProfile: each function's own cost, and the cost of each call.
//!
//! **The weight of an edge**: the samples (or the weight they stand for, [`Entry::weight`](crate::Entry::weight)) on
//! whose stacks the callee is directly above the caller, anywhere on the stack, so that the callee's callees are
//! included. That is the same as in `opreport --callgraph`: the numbers of the lines above a function are its callers'
//! edges, of those below its callees'. A pair that occurs several times on one stack by recursion counts once here, so
//! that no edge weighs more than the profile. OProfile counts each (its daemon logs an arc for every step of a stack),
//! so its edges of recursive functions are heavier.
//!
//! An inlined function counts like any other: the profiler reported it.

use crate::functions::Function;
use crate::own::add;
use crate::profile::{Profile, Stack};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The calls, and each function's own cost.
///
/// Functions have the numbers of the profile or call graph that it was made from.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    own: Vec<u64>,
    outermost: Vec<u64>,
    cut: Vec<u64>,
    cut_in_program: Vec<u64>,
    in_program: Vec<bool>,
    callers: Links,
    callees: Links,
    nowhere: u64,
}

/// The other ends of each function's edges, function by function.
#[derive(Clone, Debug, Default)]
struct Links {
    ends: Vec<usize>,
    others: Vec<(Function, u64)>,
}

impl Links {
    /// From edges sorted by their `near` ends.
    fn of(functions: usize, edges: impl Iterator<Item = (Function, Function, u64)>) -> Self {
        let mut links = Self { ends: vec![0; functions], others: Vec::new() };
        for (near, far, weight) in edges {
            links.others.push((far, weight));
            links.ends[near.0 as usize] = links.others.len();
        }
        let mut before = 0;
        for end in &mut links.ends {
            before = before.max(*end);
            *end = before;
        }
        links
    }

    fn of_function(&self, function: Function) -> &[(Function, u64)] {
        let at = function.0 as usize;
        let Some(end) = self.ends.get(at) else { return &[] };
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.others[begin..*end]
    }
}

/// Where the samples of a function came from, one step up.
#[derive(Clone, Copy, Debug)]
pub struct Ways<'a> {
    function: Function,
    callers: &'a [(Function, u64)],
    /// Samples on whose complete stacks it is the outermost: nobody called it.
    pub outermost: u64,
    /// Samples whose stacks were cut off after it: the caller is unknown.
    pub cut: u64,
    /// The part of these whose stacks had reached a program: no kernel function is above it.
    pub cut_in_program: u64,
}

impl<'a> Ways<'a> {
    /// Its callers except itself: a call of itself does not say where it came from.
    pub fn callers(self) -> impl Iterator<Item = (Function, u64)> + 'a {
        self.callers.iter().copied().filter(move |(caller, _)| *caller != self.function)
    }

    /// The total that the shares are relative to.
    pub fn total(self) -> u64 {
        self.callers()
            .map(|(_, weight)| weight)
            .fold(self.outermost.saturating_add(self.cut), u64::saturating_add)
    }
}

impl Edges {
    /// From a call graph without stacks, such as that of `opreport --callgraph`: each function's own weight, by number,
    /// and the weights of caller and callee. Weights of a repeated pair are added.
    ///
    /// Such a graph does not say where a function was outermost, nor where a stack was cut: its shares are relative to
    /// its callers alone, as in the paper.
    pub fn new(own: Vec<u64>, arcs: impl IntoIterator<Item = (Function, Function, u64)>) -> Self {
        let mut weights = Arcs::default();
        for (caller, callee, weight) in arcs {
            let arc = weights.number(caller, callee);
            weights.add(arc, weight);
        }
        let most = weights.pairs.iter().map(|(caller, callee)| caller.0.max(callee.0) as usize + 1).max();
        let functions = most.unwrap_or(0).max(own.len());
        let mut edges = Self { own, ..Self::default() };
        edges.own.resize(functions, 0);
        edges.outermost = vec![0; functions];
        edges.cut = vec![0; functions];
        edges.link(weights);
        edges
    }

    fn link(&mut self, arcs: Arcs) {
        let mut edges: Vec<(Function, Function, u64)> = arcs
            .pairs
            .iter()
            .zip(&arcs.weights)
            .map(|(&(caller, callee), &weight)| (caller, callee, weight))
            .filter(|(.., weight)| *weight > 0)
            .collect();
        edges.sort_unstable();
        self.callees = Links::of(self.own.len(), edges.iter().copied());
        edges.sort_unstable_by_key(|&(caller, callee, _)| (callee, caller));
        let upward = edges.iter().map(|&(caller, callee, weight)| (callee, caller, weight));
        self.callers = Links::of(self.own.len(), upward);
    }

    /// The number of functions.
    pub fn functions(&self) -> usize {
        self.own.len()
    }

    /// A function's own cost: samples in which it was innermost.
    pub fn own(&self, function: Function) -> u64 {
        self.own.get(function.0 as usize).copied().unwrap_or(0)
    }

    /// The total cost. With [`Edges::nowhere`] it is the whole profile.
    pub fn total(&self) -> u64 {
        self.own.iter().copied().fold(0, u64::saturating_add)
    }

    /// Samples without any function.
    pub fn nowhere(&self) -> u64 {
        self.nowhere
    }

    /// The callers of a function, including itself if it is recursive, by number.
    pub fn callers(&self, function: Function) -> &[(Function, u64)] {
        self.callers.of_function(function)
    }

    /// The callees of a function, by number.
    pub fn callees(&self, function: Function) -> &[(Function, u64)] {
        self.callees.of_function(function)
    }

    /// Where a function's samples came from.
    pub fn ways(&self, function: Function) -> Ways<'_> {
        let at = function.0 as usize;
        Ways {
            function,
            callers: self.callers(function),
            outermost: self.outermost.get(at).copied().unwrap_or(0),
            cut: self.cut.get(at).copied().unwrap_or(0),
            cut_in_program: self.cut_in_program.get(at).copied().unwrap_or(0),
        }
    }

    /// Whether a function is part of a program or library; not used for a call graph without stacks.
    pub(crate) fn is_in_program(&self, function: Function) -> bool {
        self.in_program.get(function.0 as usize).copied().unwrap_or(false)
    }

    /// The `most` functions with the highest own costs, in descending order; equal ones by number.
    pub fn top(&self, most: usize) -> Vec<Function> {
        let all = (0..u32::try_from(self.own.len()).unwrap_or(u32::MAX)).map(Function);
        let mut top: Vec<Function> = all.filter(|function| self.own(*function) > 0).collect();
        self.sort_by_own(&mut top);
        top.truncate(most);
        top
    }

    pub(crate) fn sort_by_own(&self, functions: &mut [Function]) {
        functions.sort_unstable_by_key(|function| (std::cmp::Reverse(self.own(*function)), *function));
    }
}

impl Profile {
    /// The weight of each stack in an event, over all tasks, by stack number.
    pub fn weights(&self, event: u16) -> Vec<u64> {
        let mut weights = vec![0_u64; self.stacks.len()];
        for entry in self.entries.iter().filter(|entry| entry.event == event) {
            let weight = &mut weights[entry.stack.0 as usize];
            *weight = weight.saturating_add(entry.weight);
        }
        weights
    }

    /// Stacks sampled in an event, with their weights.
    pub(crate) fn weighed(&self, event: u16) -> impl Iterator<Item = (Stack, u64)> + use<> {
        self.stacks.all().zip(self.weights(event)).filter(|(_, weight)| *weight > 0)
    }

    /// The call graph of an event, as OProfile would report it. See [`edges`](crate::edges) for the weight of an edge.
    pub fn edges(&self, event: u16) -> Edges {
        let functions = self.functions.len();
        let mut edges = Edges {
            own: vec![0; functions],
            outermost: vec![0; functions],
            cut: vec![0; functions],
            cut_in_program: vec![0; functions],
            in_program: self
                .functions
                .iter()
                .map(|function| self.functions.is_in_program(function))
                .collect(),
            ..Edges::default()
        };
        let mut arcs = Arcs::default();
        for (stack, weight) in self.weighed(event) {
            let frames = self.stacks.frames(stack);
            let (Some(inner), Some(outer)) = (frames.first(), frames.last()) else {
                add(&mut edges.nowhere, weight);
                continue;
            };
            add_to(&mut edges.own, inner.function, weight);
            let is_cut = self.stacks.is_truncated(stack);
            add_to(if is_cut { &mut edges.cut } else { &mut edges.outermost }, outer.function, weight);
            if is_cut && self.stacks.has(stack, |function| self.functions.is_in_program(function)) {
                add_to(&mut edges.cut_in_program, outer.function, weight);
            }
            arcs.begin_stack();
            for pair in frames.windows(2) {
                arcs.add_once(pair[1].function, pair[0].function, weight);
            }
        }
        edges.link(arcs);
        edges
    }
}

fn add_to(weights: &mut [u64], function: Function, weight: u64) {
    add(&mut weights[function.0 as usize], weight);
}

/// Weights of caller and callee, each pair numbered as first seen.
#[derive(Default)]
struct Arcs {
    numbers: HashMap<u64, u32, BuildHasherDefault<PairHasher>>,
    pairs: Vec<(Function, Function)>,
    weights: Vec<u64>,
    /// The stack on which each was last seen.
    seen: Vec<u32>,
    stack: u32,
}

impl Arcs {
    fn number(&mut self, caller: Function, callee: Function) -> usize {
        let next = self.pairs.len();
        let key = u64::from(caller.0) << 32 | u64::from(callee.0);
        let number = *self.numbers.entry(key).or_insert(next as u32) as usize;
        if number == next {
            self.pairs.push((caller, callee));
            self.weights.push(0);
            self.seen.push(0);
        }
        number
    }

    fn add(&mut self, arc: usize, weight: u64) {
        add(&mut self.weights[arc], weight);
    }

    fn begin_stack(&mut self) {
        self.stack += 1;
    }

    fn add_once(&mut self, caller: Function, callee: Function, weight: u64) {
        let arc = self.number(caller, callee);
        if self.seen[arc] != self.stack {
            self.seen[arc] = self.stack;
            self.add(arc, weight);
        }
    }
}

/// Pairs of function numbers are hashed by one multiplication (Knuth, The Art of Computer Programming 3, section 6.4),
/// since each step of each stack is looked up. Deliberate collisions can only make the analysis of one's own profile
/// slow.
#[derive(Default)]
struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, pair: u64) {
        // 2⁶⁴ divided by the golden ratio. The table uses the lowest bits for the place and the highest for the tag:
        // the product's upper half, where all bits of the pair are mixed, goes into both.
        let product = u128::from(pair ^ self.0) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}
