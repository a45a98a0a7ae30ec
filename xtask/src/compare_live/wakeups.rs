//! How long a task that wakes waits for a CPU that others want.

use super::rows::{Row, Tolerance};
use super::seen::Seen;
use super::timers::delays;
use anyhow::{Result, ensure};
use slowpath_model::statistics::{mean, median, quantile};
use slowpath_scenario::Scenario;

/// From the arrival of each message at the reader's host to its ACK, which is when it is read.
pub fn readers(_: &Scenario, model: &Seen, kernel: &[Seen]) -> Result<Vec<Row>> {
    let of = |seen: &Seen| seen.receiver.iter().flat_map(delays).collect::<Vec<_>>();
    let (model, kernel) = (of(model), kernel.iter().flat_map(of).collect::<Vec<_>>());
    ensure!(model.len() > 100, "the model did not do what the scenario is about");
    let row = |what: &str, of: &dyn Fn(Vec<f64>) -> Option<f64>, tolerance| Row {
        what: what.to_owned(),
        unit: "ms",
        model: of(model.clone()).unwrap_or(f64::NAN),
        live: of(kernel.clone()).unwrap_or(f64::NAN),
        tolerance,
    };
    Ok(vec![
        row("from a message to its ACK, mean", &mean, Tolerance::Within(0.5)),
        row("median", &median, Tolerance::Within(1.0)),
        row("90 %", &|waits| quantile(waits, 900), Tolerance::Within(1.0)),
        row("99 %", &|waits| quantile(waits, 990), Tolerance::Late { early: 4.0, late: 8.0 }),
    ])
}
