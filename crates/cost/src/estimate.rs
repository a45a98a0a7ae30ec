//! To whom a function's cost belongs, estimated from a call graph: attribution as lavoie has it (section 3.1.3).
//!
//! OProfile's graph has pairs, not stacks. Which of a function's callers called it in which of *its* callers' name is lost, and so the
//! paper takes it that every function divides what it was called for in the same way, whatever it called in turn: the share of a
//! root in a function is the sum over its callers of the caller's share in its samples times the root's share in the caller.
//! Stacks say how wrong that is ([`attribution`](crate::attribution) has both). Two things make it so: a caller that is called
//! for several roots may call the function for one of them only; and an edge's weight has what the callee called in it, so that
//! a function's own cost is divided as its cost with callees.

use crate::edges::Edges;
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
    /// It leads where stacks were cut off, or round a cycle that nothing leads into.
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
    /// To whom the cost of each function belongs, by the functions' numbers.
    ///
    /// What leads back to where it was is followed for ever: the probability to come to a root in the end is what is told, which
    /// is what the products along all paths sum to where there are no cycles.
    pub fn attribute(&self, roots: &Roots) -> Vec<Estimate> {
        let innermost =
            self.upward(roots.len(), |function| roots.of(function).map(|root| usize::from(root.0)));
        let alone: Vec<Ends> = roots
            .iter()
            .map(|root| self.upward(1, |function| (roots.of(function) == Some(root)).then_some(0)))
            .collect();
        (0..self.functions())
            .map(|function| {
                let ends = innermost.of(function);
                Estimate {
                    innermost: ends[..roots.len()].to_vec(),
                    overlapping: alone.iter().map(|ends| ends.of(function)[0]).collect(),
                    elsewhere: ends[roots.len()],
                    cannot_tell: ends[roots.len() + 1] + ends[roots.len() + 2],
                }
            })
            .collect()
    }

    /// Walks from every function to callers, by their shares, until `end` says where one is. After the `ends` come: a function
    /// that nobody called; a stack that was cut off; a cycle that nothing leads into.
    fn upward(&self, ends: usize, end: impl Fn(Function) -> Option<usize>) -> Ends {
        let (elsewhere, cut) = (ends, ends + 1);
        let mut walk = Walk::new(self.functions(), ends + 2);
        for at in 0..self.functions() {
            let function = Function(at as u32);
            if let Some(end) = end(function) {
                walk.end(at, end, 1.0);
                continue;
            }
            let ways = self.ways(function);
            for (caller, weight) in ways.callers() {
                walk.step(at, caller.0 as usize, weight as f64);
            }
            walk.end(at, elsewhere, ways.outermost as f64);
            walk.end(at, cut, ways.cut as f64);
            if ways.total() == 0 {
                walk.end(at, elsewhere, 1.0);
            }
        }
        walk.solve()
    }
}
