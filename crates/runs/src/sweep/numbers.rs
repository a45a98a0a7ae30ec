//! The measured values of a run, for tables, the data set and plots.

use crate::Measured;
use slowpath_analyses::waits::Spread;
use slowpath_model::Wait;
use slowpath_model::statistics::median;
use slowpath_recording::results::{Holds, Value};
use slowpath_simulator::report::Total;

/// A measured value.
pub struct Number {
    /// Its column in the data set, including the unit.
    pub column: &'static str,
    /// Its heading in a table.
    pub heading: &'static str,
    /// The title of its axis in a plot.
    pub meaning: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// Its value; `None` if unknown.
    of: fn(&Measured) -> Option<f64>,
}

/// The unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// In bit/s.
    Rate,
    /// A count.
    Count,
    /// In bytes.
    Data,
    /// A share, from 0 to 1.
    Share,
    /// In seconds.
    Time,
}

/// Indices of the first wait classes of at least 10 ms and at least 200 ms.
const OVER_10_MS: usize = 2;
const OVER_200_MS: usize = 4;

const fn number(
    column: &'static str,
    heading: &'static str,
    meaning: &'static str,
    unit: Unit,
    of: fn(&Measured) -> Option<f64>,
) -> Number {
    Number { column, heading, meaning, unit, of }
}

/// The throughput of all flows.
pub static RATE: &Number = &NUMBERS[0];
/// Retransmitted segments of all flows.
pub static RETRANSMITS: &Number = &NUMBERS[1];

/// All values, in the order of the data set's columns.
pub static NUMBERS: [Number; 12] = [
    number("rate_bit_per_s", "rate", "throughput", Unit::Rate, |run| {
        let rates = run.totals.iter().filter_map(Total::rate);
        rates.map(|rate| rate.get() as f64).reduce(|a, b| a + b)
    }),
    number("retransmits", "retrans", "retransmitted segments", Unit::Count, |run| {
        Some(sum(run, |total| total.retransmits))
    }),
    number("time_s", "time", "time until the last byte was read", Unit::Time, |run| {
        let spans = run.totals.iter().filter_map(|total| total.span);
        let (begin, end) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        Some(end.since(begin)?.as_secs_f64())
    }),
    number("data_bytes", "data", "data that was read", Unit::Data, |run| {
        Some(sum(run, |total| total.bytes.get()))
    }),
    number("rtt_s", "RTT", "smoothed RTT at the end", Unit::Time, |run| {
        let times = run.totals.iter().filter_map(|total| total.smoothed_rtt);
        median(times.map(|time| time.as_secs_f64()))
    }),
    number("least_rtt_s", "min RTT", "minimum RTT", Unit::Time, |run| {
        Some(run.totals.iter().filter_map(|total| total.least_rtt).min()?.as_secs_f64())
    }),
    number("timeouts", "RTOs", "retransmission timeouts", Unit::Count, |run| {
        Some(sum(run, |total| total.timeouts))
    }),
    number("timeouts_undone", "undone", "timeouts that were undone", Unit::Count, |run| {
        run.undone.map(|undone| undone as f64)
    }),
    number("over_10_ms", "> 10 ms", "share of packets that waited over 10 ms", Unit::Share, |run| {
        waited(run, OVER_10_MS)
    }),
    number("over_200_ms", "> 200 ms", "share of packets that waited over 200 ms", Unit::Share, |run| {
        waited(run, OVER_200_MS)
    }),
    number("off_cpu_s", "CPU wait", "readers' wait for a CPU, median", Unit::Time, |run| {
        Some(off_the_cpu(run)?.median.as_secs_f64())
    }),
    number("off_cpu_longest_s", "longest", "readers' longest wait for a CPU", Unit::Time, |run| {
        Some(off_the_cpu(run)?.longest.as_secs_f64())
    }),
];

/// The values in tables; the data set and plots have all.
pub fn of_tables() -> impl Iterator<Item = &'static Number> {
    NUMBERS[..2].iter().chain(&NUMBERS[6..])
}

impl Number {
    /// The median over the runs that count, or over all if none does.
    pub fn median(&self, runs: &[Measured]) -> Option<f64> {
        median(self.each(runs))
    }

    /// The values of the runs that count, or of all if none does.
    pub fn each<'a>(&'a self, runs: &'a [Measured]) -> impl Iterator<Item = f64> + 'a {
        let none_counts = runs.iter().all(|run| !run.invalid.is_empty());
        let runs = runs.iter().filter(move |run| none_counts || run.invalid.is_empty());
        runs.filter_map(self.of)
    }

    fn is_whole(&self) -> bool {
        matches!(self.unit, Unit::Count | Unit::Data)
    }

    /// The type of its column.
    pub(super) fn holds(&self) -> Holds {
        if self.is_whole() { Holds::Count } else { Holds::Number }
    }

    /// Its value in the data set.
    pub(super) fn value(&self, run: &Measured) -> Option<Value> {
        let number = (self.of)(run)?;
        Some(if self.is_whole() { Value::Count(number as u64) } else { Value::Number(number) })
    }
}

fn sum(run: &Measured, of: impl Fn(&Total) -> u64) -> f64 {
    run.totals.iter().map(of).sum::<u64>() as f64
}

/// The share of packets that waited in this class or longer until TCP received them.
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
