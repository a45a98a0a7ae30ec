//! Two profiles compared: which functions take a larger share of the CPU in one, or more of it for the same work.
//!
//! Functions are matched by name across the kernels' renames ([`names`](crate::names)), as lavoie's figures 20 to 22
//! match those of 2.4 and 2.6. Each difference has its probability by chance, from the sample counts. That applies to
//! these two runs: sample counts cannot show that they did the same work, or that other runs would give the same.

use crate::categories::Category;
use crate::functions::{Function, Functions};
use crate::names::{Known, known};
use crate::own::Cost;
use crate::profile::{Event, Profile};
use crate::significance::{among_all, by_chance};
use std::collections::BTreeMap;

/// A profile to compare: its functions' own costs.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The functions.
    pub functions: &'a Functions,
    /// The own cost of each, by function number.
    pub own: Vec<Cost>,
    /// The event counted, if known.
    pub event: Option<&'a Event>,
    /// The work done meanwhile, if known: requests, bytes, packets. Both runs have the same unit.
    pub work: Option<f64>,
}

impl<'a> Run<'a> {
    /// An event of a profile, by its index in [`Profile::events`].
    pub fn of(profile: &'a Profile, event: u16) -> Self {
        Self {
            functions: &profile.functions,
            own: profile.own(event),
            event: profile.events.get(usize::from(event)),
            work: None,
        }
    }

    /// A list of functions and their samples, which is all that some profilers report.
    pub fn of_samples(functions: &'a Functions, samples: &[u64]) -> Self {
        let own = samples.iter().map(|samples| Cost { samples: *samples, weight: *samples }).collect();
        Self { functions, own, event: None, work: None }
    }

    /// With the work done meanwhile.
    pub fn with_work(self, work: f64) -> Self {
        Self { work: Some(work), ..self }
    }

    /// Functions that cost something.
    fn costs(&self) -> impl Iterator<Item = (Function, Cost)> {
        self.functions.iter().zip(self.own.iter().copied()).filter(|(_, cost)| *cost != Cost::default())
    }
}

/// Two profiles, part by part.
#[derive(Clone, Debug)]
pub struct Comparison<K> {
    /// The total cost before and after.
    pub total: Pair<Cost>,
    /// The work done, if known.
    pub work: Pair<Option<f64>>,
    /// Whether both are known to count the same event: only then are costs comparable, while shares are if both stand
    /// for time.
    pub is_same_event: bool,
    /// The parts, the one with the largest difference of shares first; equal ones by identity.
    pub parts: Vec<Part<K>>,
}

/// Totals of both profiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair<T> {
    /// The first's.
    pub before: T,
    /// The second's.
    pub after: T,
}

/// A function or a category in two profiles.
#[derive(Clone, Debug)]
pub struct Part<K> {
    /// The function or category.
    pub of: K,
    /// Its functions in each: of several names if a profile has a wrapper, or parts that the compiler made.
    pub functions: Pair<Vec<Function>>,
    /// Its own cost; zero in a profile without it.
    pub cost: Pair<Cost>,
    /// Its share of the total. `None` if nothing cost anything.
    pub share: Pair<Option<f64>>,
    /// Its cost per unit of work, in the event's unit. `None` if the work is not known.
    pub each: Pair<Option<f64>>,
    /// The probability of such a difference by chance, for this part alone.
    pub by_chance: Option<f64>,
    /// The probability of such a difference by chance among all parts (Holm): below 0.05, the probability that any part
    /// below it is due to chance is at most one in twenty.
    pub among_all: Option<f64>,
}

impl<K> Part<K> {
    /// By how much its share is larger after than before.
    pub fn difference(&self) -> Option<f64> {
        Some(self.share.after? - self.share.before?)
    }

    /// The ratio of its costs for the same work. `None` if that is not known or it cost nothing before.
    pub fn times(&self) -> Option<f64> {
        let before = self.each.before.filter(|before| *before > 0.0)?;
        Some(self.each.after? / before)
    }
}

impl<K> Comparison<K> {
    /// The total cost per unit of work, in the event's unit.
    pub fn each(&self) -> Pair<Option<f64>> {
        Pair {
            before: each(self.total.before, self.work.before),
            after: each(self.total.after, self.work.after),
        }
    }
}

/// Function by function.
pub fn functions(before: &Run<'_>, after: &Run<'_>) -> Comparison<Known> {
    compare(before, after, known)
}

/// Category by category; `None` for functions without one.
pub fn categories(before: &Run<'_>, after: &Run<'_>) -> Comparison<Option<Category>> {
    compare(before, after, |functions| {
        functions.iter().map(|function| Category::of(functions, function)).collect()
    })
}

fn compare<K: Ord>(before: &Run<'_>, after: &Run<'_>, of: impl Fn(&Functions) -> Vec<K>) -> Comparison<K> {
    let first = Parts::of(before, of(before.functions));
    let mut second = Parts::of(after, of(after.functions));
    let total = Pair { before: first.total, after: second.total };
    let work = Pair { before: before.work, after: after.work };
    let mut parts = Vec::new();
    for (of, before) in first.parts {
        let after = second.parts.remove(&of).unwrap_or_default();
        parts.push(part(of, Pair { before, after }, total, work));
    }
    for (of, after) in second.parts {
        parts.push(part(of, Pair { before: Default::default(), after }, total, work));
    }
    put_among_all(&mut parts);
    let difference = |part: &Part<K>| part.difference().map_or(0.0, f64::abs);
    parts.sort_by(|a, b| difference(b).total_cmp(&difference(a)).then_with(|| a.of.cmp(&b.of)));
    let is_same_event = before.event.is_some() && before.event == after.event;
    Comparison { total, work, is_same_event, parts }
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

/// A profile's functions that cost something, grouped by identity.
struct Parts<K> {
    parts: BTreeMap<K, (Vec<Function>, Cost)>,
    total: Cost,
}

impl<K: Ord> Parts<K> {
    fn of(run: &Run<'_>, keys: Vec<K>) -> Self {
        let mut keys: Vec<Option<K>> = keys.into_iter().map(Some).collect();
        let mut parts = Self { parts: BTreeMap::new(), total: Cost::default() };
        for (function, cost) in run.costs() {
            let Some(key) = keys[function.0 as usize].take() else { continue };
            parts.total += cost;
            let (functions, sum) = parts.parts.entry(key).or_default();
            functions.push(function);
            *sum += cost;
        }
        parts
    }
}
