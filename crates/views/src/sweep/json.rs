//! The JSON of `slowpath sweep`.

use crate::transfers::FlowResult;
use crate::waits::WaitResult;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_runs::Measured;
use slowpath_runs::sweep::Row;
use slowpath_scenario::{Override, Scenario};

/// The runs of a sweep (schema slowpath/sweep/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/sweep/1")]
pub struct SweepDocument<'a> {
    /// `slowpath/sweep/1`.
    schema: &'static str,
    /// The scenario's title.
    title: &'a str,
    /// The release of the kernel; `null` if all runs were simulated.
    kernel: Option<&'a str>,
    /// The runs, in the order of the sweep; within a case, those in the simulator first.
    runs: Vec<RunResult<'a>>,
}

/// A run.
#[derive(Serialize, JsonSchema)]
struct RunResult<'a> {
    /// What was tried; `null` for a run of the grid.
    name: Option<&'a str>,
    /// The values that it changes, each as `--set` takes it.
    set: Vec<&'a str>,
    /// Whether it was simulated.
    simulated: bool,
    /// The seed of the random numbers.
    seed: u64,
    /// Why it does not count; empty if it does.
    invalid: &'a [String],
    /// The scenario's flows.
    flows: Vec<FlowResult<'a>>,
    /// Where packets, data and processes waited, at each end of each flow.
    waits: Vec<WaitResult<'a>>,
    /// Timeouts that the sender found spurious and undid; `null` if the runs were simulated.
    timeouts_undone: Option<u64>,
    /// The cause that limited the flows for most of the time; `null` if there is none.
    bound_by: Option<Bound>,
}

/// What limited the flows.
#[derive(Serialize, JsonSchema)]
struct Bound {
    /// The cause.
    cause: String,
    /// Its share of the time.
    share: f64,
}

impl<'a> SweepDocument<'a> {
    /// The document of a sweep of `base`, with its runs by case.
    pub fn new(base: &'a Scenario, rows: &'a [Row<'a>]) -> Self {
        let runs = || rows.iter().flat_map(|row| row.runs().map(move |run| (row, run)));
        Self {
            schema: "slowpath/sweep/1",
            title: &base.title,
            kernel: runs().find_map(|(_, run)| run.release.as_deref()),
            runs: runs().map(|(row, run)| RunResult::new(row, run)).collect(),
        }
    }
}

impl<'a> RunResult<'a> {
    fn new(row: &'a Row<'a>, run: &'a Measured) -> Self {
        let scenario = &row.planned.scenarios[0];
        let flows = scenario.flows.iter().zip(&run.totals);
        Self {
            name: row.planned.case.name.as_deref(),
            set: row.planned.case.set.iter().map(Override::text).collect(),
            simulated: run.release.is_none(),
            seed: run.seed,
            invalid: &run.invalid,
            flows: flows.map(|(flow, total)| FlowResult::new(&flow.name, total)).collect(),
            waits: run.waits.iter().filter_map(|waited| WaitResult::new(waited, scenario)).collect(),
            timeouts_undone: run.undone,
            bound_by: run.shares.most().map(|(cause, share)| Bound { cause: cause.to_string(), share }),
        }
    }
}
