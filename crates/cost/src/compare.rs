//! Two profiles beside each other: what takes a larger part of the CPU in one, or more of it for the same work.
//!
//! Functions are matched by name across the kernels' renames ([`names`](crate::names)), as lavoie's figures 20 to 22 match those of 2.4
//! and 2.6. Beside each difference is how likely chance is to make one as large, from the counts of samples. That speaks of these
//! two runs: that they did the same work, and that other runs would do the same, no count of samples can say.

use crate::categories::Category;
use crate::functions::Function;
use crate::names::{Known, known};
use crate::own::Cost;
use crate::profile::{Event, Profile};
use crate::significance::{among_all, by_chance};
use std::collections::BTreeMap;

/// A profile to compare.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// Of which event, by its place in [`Profile::events`].
    pub event: u16,
    /// How much work was done meanwhile, if that is known: requests, bytes, packets. The same unit for both.
    pub work: Option<f64>,
}

/// Two profiles, part by part.
#[derive(Clone, Debug)]
pub struct Comparison<K> {
    /// What all cost before and after.
    pub total: Pair<Cost>,
    /// How much work was done, if that is known.
    pub work: Pair<Option<f64>>,
    /// Whether both count the same event: only then do costs mean the same, while shares do if both stand for time.
    pub is_same_event: bool,
    /// The parts, the one with the largest difference of shares first; equals by what they are.
    pub parts: Vec<Part<K>>,
}

/// Of both profiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair<T> {
    /// Of the first.
    pub before: T,
    /// Of the second.
    pub after: T,
}

/// A function or a category in two profiles.
#[derive(Clone, Debug)]
pub struct Part<K> {
    /// What it is.
    pub of: K,
    /// Its functions in each: of several names where one profile has a wrapper, or parts that the compiler made.
    pub functions: Pair<Vec<Function>>,
    /// What it cost itself. In a profile that does not have it, nothing.
    pub cost: Pair<Cost>,
    /// Its part of all. `None` where nothing cost anything.
    pub share: Pair<Option<f64>>,
    /// What it cost for each unit of work, in the event's unit. `None` where the work is not known.
    pub each: Pair<Option<f64>>,
    /// How likely chance is to make a difference as large, by itself.
    pub by_chance: Option<f64>,
    /// The same among all that are compared (Holm): below 0.05 there is at most one chance in twenty that any that is below it is chance.
    pub among_all: Option<f64>,
}

impl<K> Part<K> {
    /// By how much its share is larger after than before.
    pub fn difference(&self) -> Option<f64> {
        Some(self.share.after? - self.share.before?)
    }

    /// How many times as much it costs for the same work. `None` where that is not known or it cost nothing before.
    pub fn times(&self) -> Option<f64> {
        let before = self.each.before.filter(|before| *before > 0.0)?;
        Some(self.each.after? / before)
    }
}

impl<K> Comparison<K> {
    /// How many differences of this probability or less chance alone would make among so many.
    pub fn expected_by_chance(&self, probability: f64) -> f64 {
        self.parts.iter().filter(|part| part.by_chance.is_some()).count() as f64 * probability
    }

    /// How much the whole costs for each unit of work, in the event's unit.
    pub fn each(&self) -> Pair<Option<f64>> {
        Pair {
            before: each(self.total.before, self.work.before),
            after: each(self.total.after, self.work.after),
        }
    }
}

/// Function by function.
pub fn functions(before: Run<'_>, after: Run<'_>) -> Comparison<Known> {
    compare(before, after, |profile| known(&profile.functions))
}

/// Category by category; `None` is what is in no category.
pub fn categories(before: Run<'_>, after: Run<'_>) -> Comparison<Option<Category>> {
    compare(before, after, |profile| {
        profile.functions.iter().map(|function| Category::of(&profile.functions, function)).collect()
    })
}

fn compare<K: Ord + Clone>(
    before: Run<'_>,
    after: Run<'_>,
    of: impl Fn(&Profile) -> Vec<K>,
) -> Comparison<K> {
    let first = Parts::of(before, of(before.profile));
    let mut second = Parts::of(after, of(after.profile));
    let total = Pair { before: first.total, after: second.total };
    let work = Pair { before: before.work, after: after.work };
    let mut pairs = Vec::new();
    for (key, part) in first.parts {
        let other = second.parts.remove(&key).unwrap_or_default();
        pairs.push((key, Pair { before: part, after: other }));
    }
    let only_after = second
        .parts
        .into_iter()
        .map(|(key, part)| (key, Pair { before: (Vec::new(), Cost::default()), after: part }));
    pairs.extend(only_after);
    let mut parts: Vec<Part<K>> = pairs.into_iter().map(|(of, pair)| part(of, pair, total, work)).collect();
    put_among_all(&mut parts);
    let difference = |part: &Part<K>| part.difference().map_or(0.0, f64::abs);
    parts.sort_by(|a, b| difference(b).total_cmp(&difference(a)).then_with(|| a.of.cmp(&b.of)));
    Comparison { total, work, is_same_event: same_event(before, after), parts }
}

fn part<K>(of: K, pair: Pair<(Vec<Function>, Cost)>, total: Pair<Cost>, work: Pair<Option<f64>>) -> Part<K> {
    let Pair { before: (before_functions, before), after: (after_functions, after) } = pair;
    Part {
        of,
        functions: Pair { before: before_functions, after: after_functions },
        cost: Pair { before, after },
        share: Pair { before: share(before, total.before), after: share(after, total.after) },
        each: Pair { before: each(before, work.before), after: each(after, work.after) },
        by_chance: by_chance((before.samples, total.before.samples), (after.samples, total.after.samples)),
        among_all: None,
    }
}

fn put_among_all<K>(parts: &mut [Part<K>]) {
    let tested: Vec<f64> = parts.iter().filter_map(|part| part.by_chance).collect();
    let mut raised = among_all(&tested).into_iter();
    for part in parts.iter_mut().filter(|part| part.by_chance.is_some()) {
        part.among_all = raised.next();
    }
}

fn share(cost: Cost, total: Cost) -> Option<f64> {
    (total.weight > 0).then(|| cost.weight as f64 / total.weight as f64)
}

fn each(cost: Cost, work: Option<f64>) -> Option<f64> {
    work.filter(|work| *work > 0.0).map(|work| cost.weight as f64 / work)
}

fn same_event(before: Run<'_>, after: Run<'_>) -> bool {
    let event = |run: Run<'_>| -> Option<Event> { run.profile.events.get(usize::from(run.event)).cloned() };
    event(before).is_some_and(|before| Some(before) == event(after))
}

/// A profile's functions that cost something, put together by what they are.
struct Parts<K> {
    parts: BTreeMap<K, (Vec<Function>, Cost)>,
    total: Cost,
}

impl<K: Ord> Parts<K> {
    fn of(run: Run<'_>, keys: Vec<K>) -> Self {
        let mut parts = Self { parts: BTreeMap::new(), total: Cost::default() };
        let own = run.profile.own(run.event);
        for ((function, cost), key) in run.profile.functions.iter().zip(own).zip(keys) {
            if cost == Cost::default() {
                continue;
            }
            parts.total += cost;
            let (functions, sum) = parts.parts.entry(key).or_default();
            functions.push(function);
            *sum += cost;
        }
        parts
    }
}
