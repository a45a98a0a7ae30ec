//! What is measured of a run: columns of the tables, of the data set and of the picture.

use super::Planned;
use crate::measured::Measured;
use slowpath_analyses::waits::Spread;
use slowpath_model::{Bytes, Rate, Wait};
use slowpath_recording::results::{Holds, Value};
use slowpath_simulator::report::Total;
use slowpath_views::quantity::{count, duration, share};
use std::time::Duration;

/// A number of a run.
pub struct Number {
    /// Its column in the data set, with the unit.
    pub column: &'static str,
    /// What it is, for a picture's axis.
    pub meaning: &'static str,
    /// What stands above it in a table.
    pub heading: &'static str,
    /// How people read it.
    pub write: fn(f64) -> String,
    /// The same along an axis, where numbers lie between those that a run has.
    pub write_on_axis: fn(f64) -> String,
    /// Whether it counts something.
    whole: bool,
    /// What it is of a run; `None` where that is not known.
    pub of: fn(&Measured) -> Option<f64>,
}

/// Classes of waits from here on are of 10 ms and more, and of 200 ms and more.
const OVER_10_MS: usize = 2;
const OVER_200_MS: usize = 4;

const fn number(
    column: &'static str,
    meaning: &'static str,
    heading: &'static str,
    write: fn(f64) -> String,
    of: fn(&Measured) -> Option<f64>,
) -> Number {
    Number { column, meaning, heading, write, write_on_axis: write, whole: false, of }
}

const fn counted(
    column: &'static str,
    meaning: &'static str,
    heading: &'static str,
    of: fn(&Measured) -> Option<f64>,
) -> Number {
    Number { whole: true, write_on_axis: count_on_axis, ..number(column, meaning, heading, whole, of) }
}

const fn part(
    column: &'static str,
    meaning: &'static str,
    heading: &'static str,
    of: fn(&Measured) -> Option<f64>,
) -> Number {
    Number { write_on_axis: percent, ..number(column, meaning, heading, share, of) }
}

pub static RATE: Number = number("rate_bit_per_s", "throughput", "rate", rate, |run| {
    let rates = run.totals.iter().filter_map(Total::rate);
    rates.map(|rate| rate.get() as f64).reduce(|a, b| a + b)
});

pub static SENT_AGAIN: Number = counted("retransmits", "segments sent again", "sent again", |run| {
    Some(sum(run, |total| total.retransmits))
});

/// The others of the tables.
pub static OTHERS: [Number; 6] = [
    counted("timeouts", "retransmission timeouts", "timeouts", |run| Some(sum(run, |total| total.timeouts))),
    counted("timeouts_undone", "timeouts that were undone", "undone", |run| {
        run.undone.map(|undone| undone as f64)
    }),
    part("over_10_ms", "share of packets that waited over 10 ms", "over 10 ms", |run| {
        waited(run, OVER_10_MS)
    }),
    part("over_200_ms", "share of packets that waited over 200 ms", "over 200 ms", |run| {
        waited(run, OVER_200_MS)
    }),
    number("off_cpu_s", "readers' wait for a CPU, median", "off the CPU", time, |run| {
        Some(off_the_cpu(run)?.median.as_secs_f64())
    }),
    number("off_cpu_longest_s", "readers' longest wait for a CPU", "longest", time, |run| {
        Some(off_the_cpu(run)?.longest.as_secs_f64())
    }),
];

/// Those of the data set and of the picture alone.
static MORE: [Number; 4] = [
    number("time_s", "time until the last byte was read", "time", time, |run| {
        let spans = run.totals.iter().filter_map(|total| total.span);
        let (begin, end) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        Some(end.since(begin)?.as_secs_f64())
    }),
    Number {
        write: data,
        write_on_axis: data,
        ..counted("data_bytes", "data that was read", "data", |run| Some(sum(run, |total| total.bytes.get())))
    },
    number("rtt_s", "smoothed RTT in the end", "RTT", time, |run| {
        let times = run.totals.iter().filter_map(|total| total.smoothed_rtt);
        quantile(times.map(|time| time.as_secs_f64()).collect(), 0.5)
    }),
    number("least_rtt_s", "least RTT", "least RTT", time, |run| {
        Some(run.totals.iter().filter_map(|total| total.least_rtt).min()?.as_secs_f64())
    }),
];

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Number> {
    [&RATE, &SENT_AGAIN].into_iter().chain(&MORE).chain(&OTHERS)
}

/// What some of them say.
pub const EXPLAINED: &str = "\
over 10 ms, over 200 ms: of the packets that came to the receiving hosts, those that waited so long until TCP had them.
off the CPU, longest: how long receiving processes that could run waited for a CPU, each time; the median.";

impl Number {
    /// The middle of what the runs that count have; of all, if none does.
    pub fn median(&self, runs: &[Measured]) -> Option<f64> {
        quantile(self.each(runs).collect(), 0.5)
    }

    /// What the runs that count have, or all, if none does.
    pub fn each<'a>(&'a self, runs: &'a [Measured]) -> impl Iterator<Item = f64> + 'a {
        let none_counts = runs.iter().all(|run| !run.invalid.is_empty());
        let runs = runs.iter().filter(move |run| none_counts || run.invalid.is_empty());
        runs.filter_map(self.of)
    }

    /// The median as text.
    pub fn text(&self, runs: &[Measured]) -> String {
        self.median(runs).map_or_else(|| "-".to_owned(), self.write)
    }

    /// What its column holds.
    pub fn holds(&self) -> Holds {
        if self.whole { Holds::Count } else { Holds::Number }
    }

    /// What it is of a run, for its column.
    pub fn value(&self, run: &Measured) -> Option<Value> {
        let number = (self.of)(run)?;
        Some(if self.whole { Value::Count(number as u64) } else { Value::Number(number) })
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

/// A rate in bits a second, as people read it.
pub fn rate(rate: f64) -> String {
    Rate::bits_per_second(rate.round() as u64).to_string()
}

/// A time in seconds.
pub fn time(seconds: f64) -> String {
    duration(Duration::from_secs_f64(seconds.max(0.0)))
}

/// An amount of data in bytes.
pub fn data(bytes: f64) -> String {
    Bytes::new(bytes.round() as u64).to_string()
}

/// A part of 1 in percent, as exact as chances are written: a millionth.
pub fn percent(part: f64) -> String {
    format!("{} %", (part * 1e6).round() / 1e4)
}

/// Without the last digits, which come from reckoning.
pub fn rounded(number: f64) -> String {
    format!("{}", (number * 1e9).round() / 1e9)
}

fn count_on_axis(number: f64) -> String {
    if number.fract() == 0.0 { whole(number) } else { rounded(number) }
}

fn whole(number: f64) -> String {
    count(number as u64)
}

fn sum(run: &Measured, of: impl Fn(&Total) -> u64) -> f64 {
    run.totals.iter().map(of).sum::<u64>() as f64
}

/// The share of packets that waited so long until TCP had them.
fn waited(run: &Measured, class: usize) -> Option<f64> {
    let spreads =
        || run.at_receivers.iter().filter(|at| !matches!(at.on, Wait::ReceiveQueue | Wait::RunQueue));
    let packets = spreads().map(|spread| spread.count).max()?;
    let long: u64 = spreads().flat_map(|spread| &spread.classes[class..]).sum();
    Some(long as f64 / packets as f64)
}

fn off_the_cpu(run: &Measured) -> Option<&Spread> {
    run.at_receivers.iter().find(|spread| spread.on == Wait::RunQueue)
}
