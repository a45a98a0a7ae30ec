//! Which high-level function each function's cost belongs to: by whole stacks, by the call graph alone as in lavoie,
//! and the difference between the two.

use crate::calls::Calls;
use crate::edges::Edges;
use crate::estimate::Estimate;
use crate::exact::{Count, Exact};
use crate::functions::Function;
use crate::roots::{Root, Roots};

/// The attribution of functions' costs to high-level functions.
#[derive(Clone, Debug)]
pub struct Attribution {
    /// The high-level functions.
    pub roots: Roots,
    /// Functions that cost something, in descending order; equal ones by number.
    pub functions: Vec<Attributed>,
}

/// The attribution of one function's cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Attributed {
    /// The function.
    pub function: Function,
    /// Its cost.
    pub weight: u64,
    /// By its stacks; `None` without stacks.
    pub exact: Option<Exact>,
    /// By the call graph alone.
    pub estimate: Estimate,
}

impl Attributed {
    /// The part that belongs to a root as the innermost: exact if there are stacks.
    pub fn share(&self, root: Root) -> Option<f64> {
        match &self.exact {
            Some(exact) => exact.share(root),
            None => self.estimate.share(root),
        }
    }

    /// By how much the estimate for this root exceeds the exact part, as a share of the cost. `None` without stacks.
    pub fn difference(&self, root: Root) -> Option<f64> {
        Some(self.estimate.share(root)? - self.exact.as_ref()?.share(root)?)
    }

    /// The share of its cost that the estimate attributes wrongly: half the sum of the differences among the roots,
    /// elsewhere, and undecided. `None` without stacks.
    pub fn misplaced(&self) -> Option<f64> {
        let exact = self.exact.as_ref()?;
        let part = |weight: u64| weight as f64 / exact.weight.max(1) as f64;
        let roots = exact.innermost.iter().zip(&self.estimate.innermost);
        let apart: f64 = roots.map(|(exact, estimate)| (part(*exact) - estimate).abs()).sum();
        let elsewhere = (part(exact.elsewhere) - self.estimate.elsewhere).abs();
        let cannot_tell = (part(exact.cannot_tell) - self.estimate.cannot_tell).abs();
        Some((apart + elsewhere + cannot_tell) / 2.0)
    }
}

impl Attribution {
    /// For an event of a profile with stacks. Both methods use the same calls, so that their difference is the error of
    /// the paper's multiplication, and not of interrupted code.
    pub fn of(calls: &Calls, event: u16, roots: Roots, count: Count) -> Self {
        let (profile, exact) = (calls.profile(), calls.attribute(event, &roots, count));
        let mut functions: Vec<Attributed> = exact
            .into_iter()
            .zip(profile.edges(event).attribute(&roots))
            .zip(profile.functions.iter())
            .filter_map(|((exact, estimate), function)| {
                let exact = exact?;
                Some(Attributed { function, weight: exact.weight, exact: Some(exact), estimate })
            })
            .collect();
        sort(&mut functions);
        Self { roots, functions }
    }

    /// For a call graph: the functions' own costs, by estimate.
    pub fn of_edges(edges: &Edges, roots: Roots) -> Self {
        let mut functions: Vec<Attributed> = edges
            .attribute(&roots)
            .into_iter()
            .zip(0..)
            .map(|(estimate, number)| (Function(number), estimate))
            .map(|(function, estimate)| Attributed {
                function,
                weight: edges.own(function),
                exact: None,
                estimate,
            })
            .filter(|attributed| attributed.weight > 0)
            .collect();
        sort(&mut functions);
        Self { roots, functions }
    }

    /// The cost that belongs to a root as the innermost, in the weights' unit.
    pub fn cost(&self, root: Root) -> f64 {
        self.functions
            .iter()
            .filter_map(|attributed| Some(attributed.share(root)? * attributed.weight as f64))
            .sum()
    }
}

fn sort(functions: &mut [Attributed]) {
    functions.sort_unstable_by_key(|attributed| (std::cmp::Reverse(attributed.weight), attributed.function));
}
