//! How long something waited, as text and as JSON.

use crate::quantity::{count, duration, share};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::waits::Spread;
use slowpath_model::{Bytes, Wait, nanos};

/// What stands above the cells of [`row`].
pub const HEADING: [&str; 7] =
    ["where it waited", "how often", "median", "99 %", "longest", "over 10 ms", "over 200 ms"];

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
    /// Half of them no longer than this, in nanoseconds.
    median_ns: u64,
    /// 99 of 100 no longer than this.
    p99_ns: u64,
    /// The longest.
    longest_ns: u64,
    /// How many waited less than 1 ms, then 10 ms, 100 ms, 200 ms, 1 s, and longer.
    classes: [u64; 6],
}

impl WaitTimes {
    /// From the spread of waits in one place.
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

/// A row of a table, its first cell what is before the colon and the place.
pub fn row(before: &str, spread: &Spread) -> Vec<String> {
    let of = if spread.on == Wait::ReceiveQueue {
        Bytes::new(spread.count).to_string()
    } else {
        count(spread.count)
    };
    let times = [spread.median, spread.p99, spread.longest].map(duration);
    let over = |class: usize| share(spread.classes[class..].iter().sum::<u64>() as f64 / spread.count as f64);
    [format!("{before}: {}", words(spread.on)), of]
        .into_iter()
        .chain(times)
        .chain([over(2), over(4)])
        .collect()
}

fn words(on: Wait) -> &'static str {
    match on {
        Wait::Ring => "receive ring",
        Wait::CpuBacklog => "CPU's backlog",
        Wait::Prequeue => "prequeue",
        Wait::SocketBacklog => "socket's backlog",
        Wait::HolderOffCpu => "socket's backlog, locked by a process off the CPU",
        Wait::ReceiveQueue => "receive queue",
        Wait::RunQueue => "process without a CPU",
    }
}
