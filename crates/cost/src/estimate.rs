//! The high-level functions that a function's cost belongs to, estimated from a call graph: attribution as lavoie has it (section 3.1.3).
//!
//! OProfile's graph has pairs, not stacks. Which of a function's callers called it in which of *its* callers' name is lost, and so the
//! paper takes it that every function divides what it was called for in the same way, whatever it called in turn: the share of a
//! root in a function is the sum over its callers of the caller's share in its samples times the root's share in the caller.
//! Stacks say how wrong that is ([`attribution`](crate::attribution) has both). Two things make it so: a caller that is called
//! for several roots may call the function for one of them only; and an edge's weight has what the callee called in it, so that
//! a function's own cost is divided as its cost with callees.

use crate::edges::{Edges, Ways};
use crate::functions::Function;
use crate::reduction::{Ends, Walk};
use crate::roots::{Root, Roots};

/// Which part of a function's cost belongs to whom, by its call graph. Parts, of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// To each root, where that is the first on the way up. With `elsewhere` and `cannot_tell` they sum to one.
    pub innermost: Vec<f64>,
    /// What each root stands above, whatever other roots are between.
    pub overlapping: Vec<f64>,
    /// The way up ends without a root.
    pub elsewhere: f64,
    /// It leads where stacks were cut off, or round a cycle that nothing leads into, or round one for so long that nobody followed.
    pub cannot_tell: f64,
}

impl Estimate {
    /// The part that belongs to a root, where that is the innermost.
    pub fn share(&self, root: Root) -> Option<f64> {
        self.innermost.get(usize::from(root.0)).copied()
    }

    /// The part that a root stands above.
    pub fn overlapping_share(&self, root: Root) -> Option<f64> {
        self.overlapping.get(usize::from(root.0)).copied()
    }
}

impl Edges {
    /// The high-level functions that the cost of each function belongs to, by the functions' numbers.
    ///
    /// What leads back to where it was is followed for ever: the probability to come to a root in the end is what is told, which
    /// is what the products along all paths sum to where there are no cycles.
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

    /// Walks from every function to callers, by their shares, to the first that is named.
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

/// The functions of all roots. A walk ends at the first of them; after these ends come a function that nobody called, a stack that was cut
/// off, and going on for ever.
struct Named {
    functions: Vec<(Function, Root)>,
    /// The place among the roots of each function that belongs to one.
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

    /// For each root, the probability of reaching it from each named function: it is the root's, or walks on from its callers, from one named
    /// function to the next.
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
