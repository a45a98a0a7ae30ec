//! `slowpath lab compare`: the simulator beside this machine's kernel.

use super::Asked;
use crate::Outcome;
use crate::console::{self, Console};
use crate::measured::Measured;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::Cause;
use slowpath_model::Rate;
use slowpath_scenario::Scenario;
use slowpath_simulator::report::Total;
use slowpath_views::columns::align;
use std::io::{self, Write};
use std::time::Duration;

/// A scenario in the simulator and on a real kernel.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/lab-compare/1")]
pub struct Document<'a> {
    /// `slowpath/lab-compare/1`.
    schema: &'static str,
    /// The scenario's title.
    title: &'a str,
    /// The seed of all that was left to chance.
    seed: u64,
    /// The release of the kernel.
    kernel: &'a str,
    /// Why the kernel's run does not count; empty if it does.
    invalid: &'a [String],
    /// What both have, number beside number.
    numbers: Vec<Number<'a>>,
}

/// A number that both have; `null` where there was nothing to measure.
#[derive(Serialize, JsonSchema)]
struct Number<'a> {
    /// The flow; `null` for what is of all flows together.
    flow: Option<&'a str>,
    /// What it is; of a share, the cause.
    what: String,
    /// Its unit.
    unit: &'static str,
    /// The simulator's.
    model: Option<f64>,
    /// The kernel's.
    kernel: Option<f64>,
}

impl Number<'_> {
    /// The model's number less the kernel's: in percent of the kernel's, of shares in points.
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

pub fn run(asked: &Asked, console: &Console) -> anyhow::Result<Outcome> {
    let scenario = asked.scenario()?;
    let kernel = Measured::of_kernel(&scenario, asked.how(), console)?;
    let model = Measured::of_model(&scenario)?;
    let mut numbers: Vec<Number<'_>> = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        numbers.extend(of_flow(&flow.name, &model.totals[index], &kernel.totals[index]));
    }
    let share = |measured: &Measured, cause| measured.shares.of(cause);
    let worth = |cause: &&Cause| share(&model, **cause).max(share(&kernel, **cause)) >= WORTH_A_LINE;
    numbers.extend(Cause::ALL.iter().filter(worth).map(|cause| Number {
        flow: None,
        what: cause.to_string(),
        unit: "%",
        model: Some(share(&model, *cause) * 100.0),
        kernel: Some(share(&kernel, *cause) * 100.0),
    }));
    let document = Document {
        schema: "slowpath/lab-compare/1",
        title: &scenario.title,
        seed: scenario.seed,
        kernel: kernel.release.as_deref().unwrap_or_default(),
        invalid: &kernel.invalid,
        numbers,
    };
    console::tell(asked.json, || &document, |out| print(&scenario, &document, out))?;
    Ok(if kernel.invalid.is_empty() { Outcome::Whole } else { Outcome::Partial })
}

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
        number("sent again", "segments", &|total| Some(total.retransmits as f64)),
        number("timeouts", "", &|total| Some(total.timeouts as f64)),
        number("RTT", "ms", &|total| millis(total.smoothed_rtt)),
        number("least RTT", "ms", &|total| millis(total.least_rtt)),
    ]
}

fn print(scenario: &Scenario, document: &Document<'_>, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", scenario.heading())?;
    writeln!(out, "the simulator beside Linux {}, seed {}\n", document.kernel, document.seed)?;
    let text = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| format!("{number:.1}"));
    let mut rows = vec![["", "unit", "model", "kernel", "error"].map(str::to_owned).to_vec()];
    for number in &document.numbers {
        let what = match number.flow {
            Some(flow) => format!("{flow}: {}", number.what),
            None => format!("share of {}", number.what),
        };
        let error = number.error().unwrap_or_else(|| "-".to_owned());
        rows.push(vec![what, number.unit.to_owned(), text(number.model), text(number.kernel), error]);
    }
    align(&rows, out)?;
    for why in document.invalid {
        writeln!(out, "\nthe kernel's run does not count: {why}")?;
    }
    Ok(())
}
