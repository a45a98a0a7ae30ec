//! The attribution of costs counted from whole stacks.
//!
//! A sample of a function belongs to a root that is above it on the stack, or is the function itself. Of several roots
//! the innermost, which was called last, counts; so each sample belongs to at most one root and parts add up. The
//! samples below each root at any distance are counted too, and these parts overlap: TCP receive includes the cost of
//! the ACKs it sends.
//!
//! Stacks contain only calls ([`calls`](crate::calls)): an interrupt's work is not below the interrupted code.
//!
//! A stack that was cut off belongs to its innermost root if it has one. Otherwise a root may have been beyond the cut,
//! and its owner is unknown. An exception is a stack cut in a program, as in many programs compiled without frame
//! pointers: no kernel function is above it, so with kernel roots it belongs elsewhere.

use crate::calls::Calls;
use crate::own::add;
use crate::profile::Frame;
use crate::roots::{Root, Roots};

/// Which samples are a function's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Count {
    /// Those in which it ran itself.
    Own,
    /// Those in which it or its callees ran. If a function is on a stack several times, its innermost place counts: a
    /// sample is counted once, and every root above any of its places is above that.
    WithCallees,
}

/// The attribution of a function's cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    /// The total: `innermost`, `elsewhere` and `cannot_tell` together.
    pub weight: u64,
    /// To each root as the innermost.
    pub innermost: Vec<u64>,
    /// The cost below each root, whatever other roots are between.
    pub overlapping: Vec<Overlap>,
    /// No root is above it.
    pub elsewhere: u64,
    /// Its stacks were cut off before any root was seen.
    pub cannot_tell: u64,
}

/// The cost below a root, whatever other roots are between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// The certain part.
    pub weight: u64,
    /// The part whose stacks were cut off before the root was seen.
    pub cannot_tell: u64,
}

impl Exact {
    /// The part that belongs to a root as the innermost. `None` for a function without cost.
    pub fn share(&self, root: Root) -> Option<f64> {
        self.part(*self.innermost.get(usize::from(root.0))?)
    }

    /// The part below a root. `None` for a function without cost.
    pub fn overlapping_share(&self, root: Root) -> Option<f64> {
        self.part(self.overlapping.get(usize::from(root.0))?.weight)
    }

    fn part(&self, weight: u64) -> Option<f64> {
        (self.weight > 0).then(|| weight as f64 / self.weight as f64)
    }
}

impl Calls {
    /// The attribution of each function's cost in an event, by function number. `None` for functions without cost.
    pub fn attribute(&self, event: u16, roots: &Roots, count: Count) -> Vec<Option<Exact>> {
        let profile = self.profile();
        let mut tally = Tally::new(profile.functions.len(), roots, count);
        let in_program = |function| roots.of(function).is_some() && profile.functions.is_in_program(function);
        let in_kernel = !profile.functions.iter().any(in_program);
        for (stack, weight) in profile.weighed(event) {
            let is_cut = profile.stacks.is_truncated(stack) && (!in_kernel || self.hides_kernel(stack));
            tally.add(profile.stacks.frames(stack), is_cut, weight);
        }
        (0..profile.functions.len()).map(|function| tally.of_function(function)).collect()
    }
}

/// Sums by function, and by function and root, row by row; and the state of the current stack.
struct Tally<'a> {
    roots: &'a Roots,
    count: Count,
    weight: Vec<u64>,
    elsewhere: Vec<u64>,
    cannot_tell: Vec<u64>,
    innermost: Vec<u64>,
    above: Vec<u64>,
    cut: Vec<u64>,
    above_cut: Vec<u64>,
    stack: u32,
    seen: Vec<u32>,
    seen_root: Vec<u32>,
    /// The stack's frames that belong to a root, innermost first.
    named: Vec<(usize, Root)>,
    /// Its roots, each at its outermost place, outermost first.
    outermost: Vec<(usize, Root)>,
}

impl<'a> Tally<'a> {
    fn new(functions: usize, roots: &'a Roots, count: Count) -> Self {
        let zeros = || vec![0; functions];
        let table = || vec![0; functions * roots.len()];
        Self {
            roots,
            count,
            weight: zeros(),
            elsewhere: zeros(),
            cannot_tell: zeros(),
            innermost: table(),
            above: table(),
            cut: zeros(),
            above_cut: table(),
            stack: 0,
            seen: vec![0; functions],
            seen_root: vec![0; roots.len()],
            named: Vec::new(),
            outermost: Vec::new(),
        }
    }

    fn add(&mut self, frames: &[Frame], is_truncated: bool, weight: u64) {
        self.stack += 1;
        self.find_roots(frames);
        let counted = match self.count {
            Count::Own => &frames[..frames.len().min(1)],
            Count::WithCallees => frames,
        };
        let (mut innermost, mut above) = (0, self.outermost.len());
        for (at, frame) in counted.iter().enumerate() {
            while self.named.get(innermost).is_some_and(|(named, _)| *named < at) {
                innermost += 1;
            }
            while above > 0 && self.outermost[above - 1].0 < at {
                above -= 1;
            }
            let function = frame.function.0 as usize;
            if self.seen[function] != self.stack {
                self.seen[function] = self.stack;
                let root = self.named.get(innermost).map(|(_, root)| *root);
                self.count_one(function, root, above, is_truncated, weight);
            }
        }
    }

    fn find_roots(&mut self, frames: &[Frame]) {
        self.outermost.clear();
        self.roots.on(frames, &mut self.named);
        for &(at, root) in self.named.iter().rev() {
            let seen = &mut self.seen_root[usize::from(root.0)];
            if *seen != self.stack {
                *seen = self.stack;
                self.outermost.push((at, root));
            }
        }
    }

    /// Counts a function below the first `above` of the stack's outermost roots; `root` is the next.
    fn count_one(
        &mut self,
        function: usize,
        root: Option<Root>,
        above: usize,
        is_truncated: bool,
        weight: u64,
    ) {
        let row = function * self.roots.len();
        add(&mut self.weight[function], weight);
        match root {
            Some(root) => add(&mut self.innermost[row + usize::from(root.0)], weight),
            None if is_truncated => add(&mut self.cannot_tell[function], weight),
            None => add(&mut self.elsewhere[function], weight),
        }
        if is_truncated {
            add(&mut self.cut[function], weight);
        }
        for &(_, root) in &self.outermost[..above] {
            let cell = row + usize::from(root.0);
            add(&mut self.above[cell], weight);
            if is_truncated {
                add(&mut self.above_cut[cell], weight);
            }
        }
    }

    fn of_function(&self, function: usize) -> Option<Exact> {
        if self.weight[function] == 0 {
            return None;
        }
        let row = function * self.roots.len()..(function + 1) * self.roots.len();
        let overlapping = self.above[row.clone()].iter().zip(&self.above_cut[row.clone()]);
        Some(Exact {
            weight: self.weight[function],
            innermost: self.innermost[row].to_vec(),
            overlapping: overlapping
                .map(|(weight, cut)| Overlap {
                    weight: *weight,
                    cannot_tell: self.cut[function].saturating_sub(*cut),
                })
                .collect(),
            elsewhere: self.elsewhere[function],
            cannot_tell: self.cannot_tell[function],
        })
    }
}
