//! The same transfer with other settings: which runs to make, and what they say together.
//!
//! A prediction is a range. It covers the seeds where losses are drawn by chance, the ends of the fitted ranges of rate, queue
//! and loss, every congestion control that reproduces the capture, and the part by which the checked run was off.

use crate::fitted::{Fitted, LossProcess};
use crate::remedy::{Remedy, suggested};
use crate::reproduce::{FIRST_SEED, Reproduced};
use crate::scenario::{Setting, scenario, settings};
use crate::seen::Seen;
use crate::simulate::simulate;
use slowpath_analyses::{Cause, Limit};
use slowpath_model::{Bytes, Rate};
use std::cmp::Reverse;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Seeds where losses are drawn by chance.
const SEEDS: u64 = 8;

/// Pairs are made of this many of the best single remedies.
const PAIRED: usize = 4;

/// A prediction is no narrower than this part on either side: two runs of one transfer on a quiet kernel differ by as much
/// (docs/src/what-if.md).
pub const LEAST_MARGIN: f64 = 0.03;

/// Segments that all runs of one command simulate, at most: some seconds of work. Larger transfers have fewer variants.
const MOST_SEGMENTS: u64 = 4_000_000;

/// One run to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Which of the trials it is of.
    pub trial: usize,
    settings: Vec<Setting>,
    seed: u64,
}

impl Job {
    /// Makes the run; `None` if `stop` became true or nothing was transferred.
    pub fn run(&self, stop: &AtomicBool) -> Option<Seen> {
        simulate(&scenario(&self.settings, self.seed).ok()?, stop)
    }
}

/// What is tried together, one remedy or two.
pub type Trial = Vec<Remedy>;

/// The single remedies to try: those that are asked for, or those that the verdict suggests.
pub fn singles(captured: &Seen, found: &Reproduced, asked: &[Remedy]) -> Vec<Trial> {
    let remedies = if asked.is_empty() { suggested(captured, &found.models[0]) } else { asked.to_vec() };
    remedies.into_iter().map(|remedy| vec![remedy]).collect()
}

/// Pairs of the best singles, of different kinds.
pub fn pairs(singles: &[Predicted]) -> Vec<Trial> {
    let best: Vec<Remedy> = singles.iter().take(PAIRED).flat_map(|single| single.remedies.clone()).collect();
    let mut pairs = Vec::new();
    for (place, one) in best.iter().enumerate() {
        for other in best[place + 1..].iter().filter(|other| other.name() != one.name()) {
            pairs.push(vec![*one, *other]);
        }
    }
    pairs
}

/// The runs for some trials, of which there are `all` in the whole command.
pub fn jobs(captured: &Seen, found: &Reproduced, trials: &[Trial], all: usize) -> Vec<Job> {
    let most = MOST_SEGMENTS / captured.segments.max(1) / all.max(1) as u64;
    let most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
    let mut jobs: Vec<Job> = Vec::new();
    for (trial, remedies) in trials.iter().enumerate() {
        let mut own: Vec<Job> = Vec::new();
        for (mut settings, seed) in variants(found) {
            remedies.iter().for_each(|remedy| remedy.apply(&mut settings));
            let job = Job { trial, settings, seed };
            // A remedy may replace what variants differ in.
            let is_new = !own
                .iter()
                .any(|other| other.settings == job.settings && is_random(&job) <= (other.seed == job.seed));
            if is_new {
                own.push(job);
            }
        }
        own.truncate(most);
        jobs.extend(own);
    }
    jobs
}

/// Whether its seed matters: whether losses are drawn by chance.
fn is_random(job: &Job) -> bool {
    let mut losses = job.settings.iter().filter(|setting| setting.key == crate::scenario::keys::LOSS);
    losses.any(|setting| setting.value != "0 ppm")
}

/// The settings and seeds that stand for all that fits, the most telling first.
fn variants(found: &Reproduced) -> Vec<(Vec<Setting>, u64)> {
    let first = &found.models[0];
    let mut variants: Vec<(Vec<Setting>, u64)> =
        found.models.iter().map(|model| (settings(&model.fitted, model.control), FIRST_SEED)).collect();
    let mut with = |change: &dyn Fn(&mut Fitted), seed: u64| {
        let mut fitted = first.fitted.clone();
        change(&mut fitted);
        variants.push((settings(&fitted, first.control), seed));
    };
    with(&|fitted| fitted.rate.value = fitted.rate.low, FIRST_SEED);
    with(&|fitted| fitted.rate.value = fitted.rate.high, FIRST_SEED);
    with(&|fitted| fitted.queue.value = fitted.queue.low, FIRST_SEED);
    with(&|fitted| fitted.queue.value = fitted.queue.high, FIRST_SEED);
    if let LossProcess::Policer { burst, .. } = first.fitted.loss {
        // Its size shows by the first losses only.
        for factor in [0.5, 2.0] {
            let scaled = Bytes::new((burst.value.get() as f64 * factor) as u64);
            let change = move |fitted: &mut Fitted| {
                if let LossProcess::Policer { burst, .. } = &mut fitted.loss {
                    burst.value = scaled;
                }
            };
            with(&change, FIRST_SEED);
        }
    }
    if let LossProcess::Chance(ppm) = first.fitted.loss {
        let chance = |value: f64| {
            move |fitted: &mut Fitted| {
                if let LossProcess::Chance(known) = &mut fitted.loss {
                    known.value = value;
                }
            }
        };
        for seed in FIRST_SEED + 1..FIRST_SEED + SEEDS {
            with(&|_| (), seed);
        }
        with(&chance(ppm.low), FIRST_SEED);
        with(&chance(ppm.high), FIRST_SEED);
    }
    variants
}

/// A prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// What was tried.
    pub remedies: Trial,
    /// The lowest, the middle and the highest rate.
    pub rates: [Rate; 3],
    /// The mean RTT of the run with the middle rate.
    pub mean_rtt: Option<Duration>,
    /// The limit that took most of the time of that run, its largest cause, and its share.
    pub next: Option<(Limit, Cause, f64)>,
    /// How many runs it rests on.
    pub runs: usize,
}

impl Predicted {
    /// The change of the middle rate, as a part of the captured one: 0.5 is half as much again.
    pub fn gain(&self, captured: Rate) -> f64 {
        self.rates[1].get() as f64 / captured.get().max(1) as f64 - 1.0
    }
}

/// What the runs of each trial say, the best first. Trials without a run are left out.
pub fn predictions(
    found: &Reproduced,
    trials: &[Trial],
    jobs: &[Job],
    runs: &[Option<Seen>],
) -> Vec<Predicted> {
    let margin = found.models.iter().map(|model| model.off).fold(LEAST_MARGIN, f64::max);
    let mut all = Vec::new();
    for (trial, remedies) in trials.iter().enumerate() {
        let own = jobs.iter().zip(runs).filter(|(job, _)| job.trial == trial);
        let mut own: Vec<&Seen> = own.filter_map(|(_, run)| run.as_ref()).collect();
        own.sort_by_key(|run| run.rate);
        let (Some(low), Some(high)) = (own.first(), own.last()) else { continue };
        let middle = own[own.len() / 2];
        let scaled = |rate: Rate, factor: f64| Rate::bits_per_second((rate.get() as f64 * factor) as u64);
        all.push(Predicted {
            remedies: remedies.clone(),
            rates: [scaled(low.rate, 1.0 - margin), middle.rate, scaled(high.rate, 1.0 + margin)],
            mean_rtt: middle.mean_rtt,
            next: middle.main_limit(),
            runs: own.len(),
        });
    }
    best_first(&mut all);
    all
}

/// Sorts by the middle rate; of the same, fewer remedies come first.
pub fn best_first(predictions: &mut [Predicted]) {
    predictions.sort_by_key(|predicted| (Reverse(predicted.rates[1]), predicted.remedies.len()));
}
