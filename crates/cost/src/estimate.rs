//! The attribution of costs estimated from a call graph, as in lavoie (section 3.1.3).
//!
//! OProfile's graph has pairs, not stacks. It does not record on behalf of which of *its* callers a caller called a
//! function, so the paper assumes that every function divides its cost in the same way, whatever it called: the share
//! of a root in a function is the sum over its callers of the caller's share in its samples times the root's share in
//! the caller. Stacks show how wrong that is ([`attribution`](crate::attribution) has both). There are two reasons: a
//! caller that is called for several roots may call the function for only one of them; and an edge's weight includes
//! the callee's callees, so that a function's own cost is divided like its cost with callees.

use crate::edges::{Edges, Ways};
use crate::functions::Function;
use crate::reduction::{Ends, Walk};
use crate::roots::{Root, Roots};

/// The division of a function's cost, by its call graph, as shares of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// To each root, if it is the first on the way up. With `elsewhere` and `cannot_tell` they sum to one.
    pub innermost: Vec<f64>,
    /// The share below each root, whatever other roots are between.
    pub overlapping: Vec<f64>,
    /// The way up ends without a root.
    pub elsewhere: f64,
    /// The way up ends where stacks were cut off, or stays in a cycle.
    pub cannot_tell: f64,
}

impl Estimate {
    /// The part that belongs to a root as the innermost.
    pub fn share(&self, root: Root) -> Option<f64> {
        self.innermost.get(usize::from(root.0)).copied()
    }

    /// The part below a root.
    pub fn overlapping_share(&self, root: Root) -> Option<f64> {
        self.overlapping.get(usize::from(root.0)).copied()
    }
}

impl Edges {
    /// The attribution of each function's cost, by function number.
    ///
    /// Cycles are followed without limit: the result is the probability of finally reaching a root, which equals the
    /// sum of the products along all paths if there are no cycles.
    pub fn attribute(&self, roots: &Roots) -> Vec<Estimate> {
        let named = Named::of(self, roots);
        let first = self.first_named(&named);
        let above = named.above(self, &first);
        let of_function = |at: usize| {
            let ends = first.of(at);
            let mut estimate = Estimate {
                innermost: vec![0.0; roots.len()],
                overlapping: vec![0.0; roots.len()],
                elsewhere: ends[named.elsewhere()],
                cannot_tell: ends[named.cut()] + ends[named.for_ever()],
            };
            for (place, share) in
                ends[..named.functions.len()].iter().enumerate().filter(|(_, share)| **share > 0.0)
            {
                estimate.innermost[usize::from(named.functions[place].1.0)] += share;
                let above = above.iter().zip(&mut estimate.overlapping);
                above.for_each(|(root, sum)| *sum += share * root[place]);
            }
            estimate
        };
        (0..self.functions()).map(of_function).collect()
    }

    /// Walks from every function to callers, by their shares, to the first named one.
    fn first_named(&self, named: &Named) -> Ends {
        let mut walk = Walk::new(self.functions(), named.ends());
        for at in 0..self.functions() {
            let function = Function(at as u32);
            if let Some(place) = named.place[at] {
                walk.end(at, place, 1.0);
                continue;
            }
            let ways = self.ways(function);
            for (caller, weight) in ways.callers() {
                walk.step(at, caller.0 as usize, weight as f64);
            }
            let (nobody, hidden) = named.ends_of(ways);
            walk.end(at, named.elsewhere(), nobody);
            walk.end(at, named.cut(), hidden);
            if ways.total() == 0 {
                walk.end(at, named.elsewhere(), 1.0);
            }
        }
        walk.solve()
    }
}

/// The functions of all roots. A walk ends at the first of them; the other ends are a function that nobody called, a
/// stack that was cut off, and never.
struct Named {
    functions: Vec<(Function, Root)>,
    /// The root index of each function that belongs to one.
    place: Vec<Option<usize>>,
    roots: usize,
    /// Whether none of them is part of a program.
    in_kernel: bool,
}

impl Named {
    fn of(edges: &Edges, roots: &Roots) -> Self {
        let mut named = Self {
            functions: Vec::new(),
            place: vec![None; edges.functions()],
            roots: roots.len(),
            in_kernel: true,
        };
        for (at, place) in named.place.iter_mut().enumerate() {
            let function = Function(at as u32);
            if let Some(root) = roots.of(function) {
                *place = Some(named.functions.len());
                named.functions.push((function, root));
                named.in_kernel &= !edges.is_in_program(function);
            }
        }
        named
    }

    fn elsewhere(&self) -> usize {
        self.functions.len()
    }

    fn cut(&self) -> usize {
        self.functions.len() + 1
    }

    /// How much of a function nobody called, and for how much that is unknown.
    fn ends_of(&self, ways: Ways<'_>) -> (f64, f64) {
        let whole = if self.in_kernel { ways.cut_in_program } else { 0 };
        (ways.outermost.saturating_add(whole) as f64, ways.cut.saturating_sub(whole) as f64)
    }

    fn for_ever(&self) -> usize {
        self.functions.len() + 2
    }

    fn ends(&self) -> usize {
        self.functions.len() + 2
    }

    /// For each root, the probability of reaching it from each named function: one if it is the root's, otherwise by
    /// walking on from its callers, from one named function to the next.
    fn above(&self, edges: &Edges, first: &Ends) -> Vec<Vec<f64>> {
        let next: Vec<Vec<f64>> =
            self.functions.iter().map(|(function, _)| self.next(edges, *function, first)).collect();
        (0..self.roots)
            .map(|root| {
                let mut walk = Walk::new(self.functions.len(), 2);
                for (at, (_, of)) in self.functions.iter().enumerate() {
                    if usize::from(of.0) == root {
                        walk.end(at, 0, 1.0);
                        continue;
                    }
                    for (to, weight) in next[at].iter().enumerate() {
                        if to < self.functions.len() {
                            walk.step(at, to, *weight)
                        } else {
                            walk.end(at, 1, *weight)
                        }
                    }
                }
                let ends = walk.solve();
                (0..self.functions.len()).map(|at| ends.of(at)[0]).collect()
            })
            .collect()
    }

    /// Where the walk from a named function's callers ends.
    fn next(&self, edges: &Edges, function: Function, first: &Ends) -> Vec<f64> {
        let ways = edges.ways(function);
        let mut next = vec![0.0; self.ends() + 1];
        for (caller, weight) in ways.callers() {
            let ends = first.of(caller.0 as usize);
            next.iter_mut().zip(ends).for_each(|(sum, share)| *sum += weight as f64 * share);
        }
        let (nobody, hidden) = self.ends_of(ways);
        next[self.elsewhere()] += nobody;
        next[self.cut()] += hidden;
        if ways.total() == 0 {
            next[self.elsewhere()] += 1.0;
        }
        next
    }
}
