//! Merges marks, so that fewer show the same.

use super::{Answer, Data, Flight, Mark, RoundTrip, Sacked};
use slowpath_model::Instant;

/// What a mark shows, which can be merged with another of its kind.
pub(super) trait Shown: Copy {
    /// Whether it may be merged with `later`: it is of the same kind.
    fn is_like(&self, _later: &Self) -> bool {
        true
    }
    /// Merges `later` into it, keeping the extremes.
    fn join(&mut self, later: &Self);
}

fn join<S: Shown>(mark: &mut Mark<S>, other: &Mark<S>) {
    mark.from = mark.from.min(other.from);
    mark.to = mark.to.max(other.to);
    mark.count = mark.count.saturating_add(other.count);
    mark.shows.join(&other.shows);
}

/// How many marks back one of the same kind is searched for: more than there are kinds.
const KINDS: usize = 8;

/// Marks in order of time, at most a given number of them.
#[derive(Clone, Debug)]
pub(super) struct Thinned<S> {
    marks: Vec<Mark<S>>,
    /// Marks that start in the same stretch of this many nanoseconds are merged; none are if it is 0.
    stretch: i64,
}

impl<S> Default for Thinned<S> {
    fn default() -> Self {
        Self { marks: Vec::new(), stretch: 0 }
    }
}

impl<S: Shown> Thinned<S> {
    pub fn marks(&self) -> &[Mark<S>] {
        &self.marks
    }

    /// Adds a mark; there are at most `most` afterwards, which counts as at least 16.
    pub fn push(&mut self, mark: Mark<S>, most: usize) {
        add(&mut self.marks, mark, self.stretch);
        self.keep_within(most);
    }

    /// The event drawn at `at` turned out to show `now`, which is made of what it showed where that is known; `was`
    /// recognises what it was taken for. If it was merged with others, these keep its extent.
    pub fn correct(
        &mut self,
        at: Instant,
        was: impl Fn(&S) -> bool,
        now: impl Fn(Option<&S>) -> S,
        most: usize,
    ) {
        // A mark that was merged several times spans less than two stretches.
        let earliest = at.nanos().saturating_sub(self.stretch.saturating_mul(2));
        let behind = self.marks.partition_point(|mark| mark.from <= at);
        let near = self.marks[..behind].iter().rev().take_while(|mark| mark.from.nanos() >= earliest);
        let Some(back) = near.into_iter().position(|mark| mark.to >= at && was(&mark.shows)) else { return };
        let place = behind - 1 - back;
        if self.marks[place].count == 1 {
            self.marks[place].shows = now(Some(&self.marks[place].shows));
        } else {
            self.marks[place].count -= 1;
            self.insert(Mark::at(at, now(None)));
            self.keep_within(most);
        }
    }

    /// Inserts a mark at its place in time.
    fn insert(&mut self, mut mark: Mark<S>) {
        let here = number(&mark, self.stretch);
        let first = self.marks.partition_point(|other| number(other, self.stretch) < here);
        let same = self.marks[first..].iter().take_while(|other| number(other, self.stretch) == here);
        if let Some(like) = same.into_iter().position(|other| other.shows.is_like(&mark.shows)) {
            join(&mut mark, &self.marks.remove(first + like));
        }
        let place = self.marks.partition_point(|other| other.from <= mark.from);
        self.marks.insert(place, mark);
    }

    fn keep_within(&mut self, most: usize) {
        while self.marks.len() > most.max(2 * KINDS) {
            self.coarsen(most);
        }
    }

    fn coarsen(&mut self, most: usize) {
        let span = match (self.marks.first(), self.marks.last()) {
            (Some(first), Some(last)) => last.from.nanos_since(first.from).max(1),
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

/// Which stretch of time a mark starts in.
const fn number<S>(mark: &Mark<S>, stretch: i64) -> i64 {
    if stretch == 0 { mark.from.nanos() } else { mark.from.nanos().div_euclid(stretch) }
}

fn add<S: Shown>(marks: &mut Vec<Mark<S>>, mark: Mark<S>, stretch: i64) {
    if stretch > 0 {
        let here = number(&mark, stretch);
        let before = marks.iter_mut().rev().take(KINDS).take_while(|other| number(other, stretch) == here);
        if let Some(other) = before.into_iter().find(|other| other.shows.is_like(&mark.shows)) {
            join(other, &mark);
            return;
        }
    }
    marks.push(mark);
}

/// `marks` as at most `most`, which counts as at least 16.
pub(super) fn thin<S: Shown>(marks: &[Mark<S>], most: usize) -> Vec<Mark<S>> {
    let mut thinned = Thinned { marks: marks.to_vec(), stretch: 0 };
    thinned.keep_within(most);
    thinned.marks
}

impl Shown for Data {
    fn is_like(&self, later: &Self) -> bool {
        self.label == later.label
    }
    fn join(&mut self, later: &Self) {
        self.low = self.low.min(later.low);
        self.high = self.high.max(later.high);
    }
}

impl Shown for Answer {
    fn is_like(&self, later: &Self) -> bool {
        self.unscaled == later.unscaled
    }
    fn join(&mut self, later: &Self) {
        self.highest = self.highest.max(later.highest);
        self.window = later.window;
        self.window_min = self.window_min.min(later.window_min);
        self.window_max = self.window_max.max(later.window_max);
    }
}

impl Shown for Sacked {
    fn is_like(&self, later: &Self) -> bool {
        self.twice == later.twice
    }
    fn join(&mut self, later: &Self) {
        self.low = self.low.min(later.low);
        self.high = self.high.max(later.high);
    }
}

impl Shown for RoundTrip {
    fn join(&mut self, later: &Self) {
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
    }
}

impl Shown for Flight {
    fn join(&mut self, later: &Self) {
        self.most = self.most.max(later.most);
    }
}
