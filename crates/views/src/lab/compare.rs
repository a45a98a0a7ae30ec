//! `slowpath lab compare`: the simulator next to the kernel, as JSON and as text.

use crate::table::Table;
use crate::terminal::Look;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::Cause;
use slowpath_model::Rate;
use slowpath_runs::Measured;
use slowpath_scenario::Scenario;
use slowpath_simulator::report::Total;
use std::io::{self, Write};
use std::time::Duration;

/// A scenario in the simulator and on the kernel (schema slowpath/lab-compare/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/lab-compare/1")]
pub struct LabComparisonDocument<'a> {
    /// `slowpath/lab-compare/1`.
    schema: &'static str,
    /// The scenario's title.
    title: &'a str,
    /// The seed of the random numbers.
    seed: u64,
    /// The release of the kernel.
    kernel: &'a str,
    /// Why the kernel's run does not count; empty if it does.
    invalid: &'a [String],
    /// The numbers that both have.
    numbers: Vec<Number<'a>>,
}

/// A number that both have; `null` where there was nothing to measure.
#[derive(Serialize, JsonSchema)]
struct Number<'a> {
    /// The flow; `null` for what is of all flows together.
    flow: Option<&'a str>,
    /// What it measures; of a share, the cause.
    what: String,
    /// Its unit.
    unit: &'static str,
    /// The simulator's.
    model: Option<f64>,
    /// The kernel's.
    kernel: Option<f64>,
}

impl Number<'_> {
    /// The simulator's error: in percent of the kernel's number; for shares, in percentage points.
    fn error(&self) -> Option<String> {
        let (model, kernel) = (self.model?, self.kernel?);
        match self.unit {
            "%" => Some(format!("{:+.1}", model - kernel)),
            _ if model == kernel => Some("0 %".to_owned()),
            _ if kernel == 0.0 => None,
            _ => Some(format!("{:+.1} %", (model / kernel - 1.0) * 100.0)),
        }
    }
}

/// Shares below this are not shown.
const WORTH_A_LINE: f64 = 0.01;

fn of_flow<'a>(flow: &'a str, model: &Total, kernel: &Total) -> Vec<Number<'a>> {
    let millis = |time: Option<Duration>| time.map(|time| time.as_secs_f64() * 1e3);
    let number = |what: &str, unit, of: &dyn Fn(&Total) -> Option<f64>| Number {
        flow: Some(flow),
        what: what.to_owned(),
        unit,
        model: of(model),
        kernel: of(kernel),
    };
    vec![
        number("data", "MiB", &|total| Some(total.bytes.get() as f64 / f64::from(1 << 20))),
        number("time", "s", &|total| Some(total.lasted().as_secs_f64())),
        number("rate", "Mbit/s", &|total| total.rate().map(|rate: Rate| rate.get() as f64 / 1e6)),
        number("retransmitted", "segments", &|total| Some(total.retransmits as f64)),
        number("timeouts", "", &|total| Some(total.timeouts as f64)),
        number("RTT", "ms", &|total| millis(total.smoothed_rtt)),
        number("min RTT", "ms", &|total| millis(total.least_rtt)),
    ]
}

impl<'a> LabComparisonDocument<'a> {
    /// The document of the two runs of `scenario`.
    pub fn new(scenario: &'a Scenario, model: &Measured, kernel: &'a Measured) -> Self {
        let mut numbers: Vec<Number<'_>> = Vec::new();
        for (index, flow) in scenario.flows.iter().enumerate() {
            numbers.extend(of_flow(&flow.name, &model.totals[index], &kernel.totals[index]));
        }
        let share = |measured: &Measured, cause| measured.shares.of(cause);
        let worth = |cause: &&Cause| share(model, **cause).max(share(kernel, **cause)) >= WORTH_A_LINE;
        numbers.extend(Cause::ALL.iter().filter(worth).map(|cause| Number {
            flow: None,
            what: cause.to_string(),
            unit: "%",
            model: Some(share(model, *cause) * 100.0),
            kernel: Some(share(kernel, *cause) * 100.0),
        }));
        Self {
            schema: "slowpath/lab-compare/1",
            title: &scenario.title,
            seed: scenario.seed,
            kernel: kernel.release.as_deref().unwrap_or_default(),
            invalid: &kernel.invalid,
            numbers,
        }
    }

    /// Prints a row for each number.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn print(&self, heading: &str, look: &Look, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", heading)?;
        writeln!(out, "the simulator compared with Linux {}, seed {}\n", self.kernel, self.seed)?;
        let text =
            |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| format!("{number:.1}"));
        let mut table = Table::new(1, ["", "unit", "model", "kernel", "error"]);
        for number in &self.numbers {
            let what = match number.flow {
                Some(flow) => format!("{flow}: {}", number.what),
                None => format!("share of {}", number.what),
            };
            let error = number.error().unwrap_or_else(|| "-".to_owned());
            table.row(vec![what, number.unit.to_owned(), text(number.model), text(number.kernel), error]);
        }
        table.print(look, out)?;
        for why in self.invalid {
            writeln!(out)?;
            look.paragraph(out, "the kernel's run does not count: ", why)?;
        }
        Ok(())
    }
}
