//! Waits of packets, data and processes, as text and as JSON.

use crate::quantity::{count, duration, share};
use crate::table::Table;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::waits::Spread;
use slowpath_model::{Bytes, Wait, nanos};
use slowpath_runs::waits::Waited;
use slowpath_scenario::Scenario;
use std::time::Duration;

/// The heading above the cells of [`row`].
pub const HEADING: [&str; 7] =
    ["where it waited", "count", "median", "p99", "longest", "> 10 ms", "> 200 ms"];

/// How long something waited in a place.
#[derive(Serialize, JsonSchema)]
pub struct WaitTimes {
    /// The place.
    #[schemars(extend("enum" = Wait::ALL.iter().map(|on| on.name()).collect::<Vec<_>>()))]
    place: &'static str,
    /// What is counted: `bytes` in the receive queue, elsewhere `times`.
    unit: &'static str,
    /// How many waited.
    count: u64,
    /// The median, in nanoseconds.
    median_ns: u64,
    /// The 99th percentile, in nanoseconds.
    p99_ns: u64,
    /// The longest, in nanoseconds.
    longest_ns: u64,
    /// How many waited less than 1 ms, then 10 ms, 100 ms, 200 ms, 1 s, and longer.
    classes: [u64; 6],
}

impl WaitTimes {
    /// The waits at one place.
    pub fn of(spread: &Spread) -> Self {
        Self {
            place: spread.on.name(),
            unit: if spread.on == Wait::ReceiveQueue { "bytes" } else { "times" },
            count: spread.count,
            median_ns: nanos(spread.median),
            p99_ns: nanos(spread.p99),
            longest_ns: nanos(spread.longest),
            classes: spread.classes,
        }
    }
}

/// How long something waited in a place, at one end of a flow.
#[derive(Serialize, JsonSchema)]
pub struct WaitResult<'a> {
    /// The flow.
    flow: &'a str,
    /// The host.
    host: &'a str,
    /// How long.
    #[serde(flatten)]
    times: WaitTimes,
}

impl<'a> WaitResult<'a> {
    /// Adds the names of flow and host; `None` if the scenario has no such flow.
    pub fn new(waited: &Waited, scenario: &'a Scenario) -> Option<Self> {
        let [flow, host] = waited.names(scenario)?;
        Some(Self { flow, host, times: WaitTimes::of(&waited.spread) })
    }
}

/// A table of a run's waits by flow and host, without those that took no time.
pub fn table(scenario: &Scenario, waited: impl Iterator<Item = Waited>) -> Table {
    let mut table = Table::new(1, HEADING);
    let mut last = None;
    for waited in waited.filter(|waited| waited.spread.longest > Duration::ZERO) {
        let Some(names) = waited.names(scenario) else { continue };
        if last.replace(names) != Some(names) {
            table.title(format!("{}, {}", names[0], names[1]));
        }
        table.row(cells(format!("  {}", words(waited.spread.on)), &waited.spread));
    }
    table
}

/// The cells under [`HEADING`]; the place is preceded by `before` and a colon.
pub fn row(before: &str, spread: &Spread) -> Vec<String> {
    cells(format!("{before}: {}", words(spread.on)), spread)
}

fn cells(label: String, spread: &Spread) -> Vec<String> {
    let of = if spread.on == Wait::ReceiveQueue {
        Bytes::new(spread.count).to_string()
    } else {
        count(spread.count)
    };
    let times = [spread.median, spread.p99, spread.longest].map(duration);
    let over = |class: usize| share(spread.classes[class..].iter().sum::<u64>() as f64 / spread.count as f64);
    [label, of].into_iter().chain(times).chain([over(2), over(4)]).collect()
}

/// The place, for people.
pub(crate) const fn words(on: Wait) -> &'static str {
    match on {
        Wait::Ring => "receive ring",
        Wait::CpuBacklog => "CPU backlog",
        Wait::Prequeue => "prequeue",
        Wait::SocketBacklog => "socket backlog",
        Wait::HolderOffCpu => "lock holder off the CPU",
        Wait::ReceiveQueue => "receive queue",
        Wait::RunQueue => "waiting for a CPU",
    }
}
