//! Fewer marks that show the same.

use super::{Answer, Flight, RoundTrip, SackMark, Stroke};
use slowpath_model::Instant;

/// Something in a picture that can become one with another of its kind.
pub(super) trait Mark: Copy {
    /// Its start.
    fn from(&self) -> Instant;
    /// How many things it stands for.
    fn count(&self) -> u32;
    /// Whether it may become one with `later`, being of the same kind.
    fn is_like(&self, later: &Self) -> bool;
    /// Becomes one with `later`, keeping the extremes.
    fn join(&mut self, later: &Self);
}

/// How many marks back one of the same kind is looked for: more than there are kinds.
const KINDS: usize = 8;

/// Marks in order of time, at most a given number of them.
#[derive(Clone, Debug)]
pub(super) struct Thinned<M> {
    marks: Vec<M>,
    /// Marks that start in the same stretch of this many nanoseconds become one; none do where it is 0.
    stretch: i64,
}

impl<M> Default for Thinned<M> {
    fn default() -> Self {
        Self { marks: Vec::new(), stretch: 0 }
    }
}

impl<M: Mark> Thinned<M> {
    pub fn marks(&self) -> &[M] {
        &self.marks
    }

    /// Adds a mark; there are at most `most` afterwards, which is at least 2.
    pub fn push(&mut self, mark: M, most: usize) {
        add(&mut self.marks, mark, self.stretch);
        while self.marks.len() > most.max(2 * KINDS) {
            self.coarsen(most);
        }
    }

    fn coarsen(&mut self, most: usize) {
        let span = match (self.marks.first(), self.marks.last()) {
            (Some(first), Some(last)) => last.from().nanos_since(first.from()).max(1),
            _ => return,
        };
        // Half the marks wanted, so that this is not needed again at once.
        let wanted = span / (most as i64 / 2).max(1) + 1;
        self.stretch = wanted.max(self.stretch.saturating_mul(2)).max(1);
        let mut fewer = Vec::with_capacity(most / 2);
        for mark in &self.marks {
            add(&mut fewer, *mark, self.stretch);
        }
        self.marks = fewer;
    }
}

fn add<M: Mark>(marks: &mut Vec<M>, mark: M, stretch: i64) {
    if stretch > 0 {
        let number = |mark: &M| mark.from().nanos().div_euclid(stretch);
        let here = number(&mark);
        let before = marks.iter_mut().rev().take(KINDS).take_while(|other| number(other) == here);
        if let Some(other) = before.into_iter().find(|other| other.is_like(&mark)) {
            other.join(&mark);
            return;
        }
    }
    marks.push(mark);
}

/// `marks` as at most `most`, which counts as at least 16.
pub(super) fn thin<M: Mark>(marks: &[M], most: usize) -> Vec<M> {
    let mut thinned = Thinned { marks: marks.to_vec(), stretch: 0 };
    while thinned.marks.len() > most.max(2 * KINDS) {
        thinned.coarsen(most);
    }
    thinned.marks
}

impl Mark for Stroke {
    fn from(&self) -> Instant {
        self.from
    }
    fn count(&self) -> u32 {
        self.count
    }
    fn is_like(&self, later: &Self) -> bool {
        self.label == later.label
    }
    fn join(&mut self, later: &Self) {
        self.to = self.to.max(later.to);
        self.low = self.low.min(later.low);
        self.high = self.high.max(later.high);
        self.count = self.count.saturating_add(later.count);
    }
}

impl Mark for Answer {
    fn from(&self) -> Instant {
        self.from
    }
    fn count(&self) -> u32 {
        self.count
    }
    fn is_like(&self, later: &Self) -> bool {
        self.unscaled == later.unscaled
    }
    fn join(&mut self, later: &Self) {
        self.to = self.to.max(later.to);
        self.highest = self.highest.max(later.highest);
        self.window = later.window;
        self.window_min = self.window_min.min(later.window_min);
        self.window_max = self.window_max.max(later.window_max);
        self.count = self.count.saturating_add(later.count);
    }
}

impl Mark for SackMark {
    fn from(&self) -> Instant {
        self.from
    }
    fn count(&self) -> u32 {
        self.count
    }
    fn is_like(&self, later: &Self) -> bool {
        self.twice == later.twice
    }
    fn join(&mut self, later: &Self) {
        self.to = self.to.max(later.to);
        self.low = self.low.min(later.low);
        self.high = self.high.max(later.high);
        self.count = self.count.saturating_add(later.count);
    }
}

impl Mark for RoundTrip {
    fn from(&self) -> Instant {
        self.from
    }
    fn count(&self) -> u32 {
        self.count
    }
    fn is_like(&self, _: &Self) -> bool {
        true
    }
    fn join(&mut self, later: &Self) {
        self.to = self.to.max(later.to);
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
        self.count = self.count.saturating_add(later.count);
    }
}

impl Mark for Flight {
    fn from(&self) -> Instant {
        self.from
    }
    fn count(&self) -> u32 {
        self.count
    }
    fn is_like(&self, _: &Self) -> bool {
        true
    }
    fn join(&mut self, later: &Self) {
        self.to = self.to.max(later.to);
        self.most = self.most.max(later.most);
        self.count = self.count.saturating_add(later.count);
    }
}
