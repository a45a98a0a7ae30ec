//! What a row has of a case's runs.

use super::Planned;
use crate::measured::Measured;
use slowpath_analyses::waits::Spread;
use slowpath_model::{Rate, Wait, nanos};
use slowpath_scenario::Scenario;
use slowpath_views::quantity::{count, duration, share};
use std::time::Duration;

/// A number: its heading, how to write it, and what it is of a run.
pub struct Number {
    pub heading: &'static str,
    pub write: fn(f64) -> String,
    pub of: fn(&Scenario, &Measured) -> Option<f64>,
}

/// Classes of waits from here on are of 10 ms and more, and of 200 ms and more.
const OVER_10_MS: usize = 2;
const OVER_200_MS: usize = 4;

pub static RATE: Number = Number {
    heading: "rate",
    write: |rate| Rate::bits_per_second(rate as u64).to_string(),
    of: |_, run| {
        let rates = run.totals.iter().filter_map(|total| total.rate());
        rates.map(|rate| rate.get() as f64).reduce(|a, b| a + b)
    },
};

pub static SENT_AGAIN: Number = Number {
    heading: "sent again",
    write: whole,
    of: |_, run| Some(run.totals.iter().map(|total| total.retransmits).sum::<u64>() as f64),
};

/// The others.
pub static OTHERS: [Number; 6] = [
    Number {
        heading: "timeouts",
        write: whole,
        of: |_, run| Some(run.totals.iter().map(|total| total.timeouts).sum::<u64>() as f64),
    },
    Number { heading: "undone", write: whole, of: |_, run| run.undone.map(|undone| undone as f64) },
    Number { heading: "over 10 ms", write: share, of: |scenario, run| waited(scenario, run, OVER_10_MS) },
    Number { heading: "over 200 ms", write: share, of: |scenario, run| waited(scenario, run, OVER_200_MS) },
    Number {
        heading: "off the CPU",
        write: time,
        of: |scenario, run| Some(nanos(off_the_cpu(scenario, run)?.median) as f64),
    },
    Number {
        heading: "longest",
        write: time,
        of: |scenario, run| Some(nanos(off_the_cpu(scenario, run)?.longest) as f64),
    },
];

/// What some of them say.
pub const EXPLAINED: &str = "\
over 10 ms, over 200 ms: of the packets that came to the receiving hosts, those that waited so long until TCP had them.
off the CPU, longest: how long receiving processes that could run waited for a CPU, each time; the median.";

impl Number {
    /// The middle of what the runs that count have; of all, if none does.
    pub fn median(&self, planned: &Planned, runs: &[Measured]) -> Option<f64> {
        let none_counts = runs.iter().all(|run| !run.invalid.is_empty());
        let runs = runs.iter().filter(|run| none_counts || run.invalid.is_empty());
        let numbers = runs.filter_map(|run| (self.of)(planned.scenarios.first()?, run));
        quantile(numbers.collect(), 0.5)
    }

    /// The same as text.
    pub fn text(&self, planned: &Planned, runs: &[Measured]) -> String {
        self.median(planned, runs).map_or_else(|| "-".to_owned(), self.write)
    }
}

/// The number below which, or at which, such a share of some is.
pub fn quantile(mut numbers: Vec<f64>, share: f64) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers.get((numbers.len().checked_sub(1)? as f64 * share) as usize).copied()
}

/// What bound the flows of the first of some runs.
pub fn bound_by(runs: &[Measured]) -> String {
    let most = runs.first().and_then(|run| run.shares.most());
    most.map_or_else(|| "-".to_owned(), |(cause, part)| format!("{cause} {}", share(part)))
}

/// How many of a case's runs on the kernel count.
pub fn counting(planned: &Planned, kernel: &[Measured]) -> String {
    let count = kernel.iter().filter(|run| run.invalid.is_empty()).count();
    format!("{count} of {}", planned.scenarios.len())
}

fn whole(number: f64) -> String {
    count(number as u64)
}

fn time(nanos: f64) -> String {
    duration(Duration::from_nanos(nanos as u64))
}

/// What waited at the hosts that receive.
fn at_receivers(scenario: &Scenario, run: &Measured) -> Vec<Spread> {
    run.waiting.of_receivers(scenario).spreads().collect()
}

/// The share of packets that waited so long until TCP had them.
fn waited(scenario: &Scenario, run: &Measured, class: usize) -> Option<f64> {
    let mut spreads = at_receivers(scenario, run);
    spreads.retain(|spread| !matches!(spread.on, Wait::ReceiveQueue | Wait::RunQueue));
    let packets = spreads.iter().map(|spread| spread.count).max()?;
    let long: u64 = spreads.iter().flat_map(|spread| &spread.classes[class..]).sum();
    Some(long as f64 / packets as f64)
}

fn off_the_cpu(scenario: &Scenario, run: &Measured) -> Option<Spread> {
    at_receivers(scenario, run).into_iter().find(|spread| spread.on == Wait::RunQueue)
}
