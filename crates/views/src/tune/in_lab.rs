//! `slowpath tune apply --in-lab`: what a plan does to a scenario on this machine's kernel, as JSON and as text.

use super::gain::Interval;
use super::json::Change;
use super::predicted::{Predicted, error};
use super::verify::{MeasuredRun, Summary, helped, prediction, sides, slug};
use crate::quantity::duration;
use crate::terminal::Look;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::statistics::median;
use slowpath_model::{nanos, shown};
use slowpath_runs::in_lab::Tried;
use slowpath_tune::gain::{Measure, Verdict};
use slowpath_tune::journal::{Changed, Side};
use std::io::{self, Write};
use std::time::Duration;

/// What was measured in the lab (schema slowpath/tune-lab/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/tune-lab/1")]
pub struct TuneLabDocument {
    /// `slowpath/tune-lab/1`.
    schema: &'static str,
    /// The changes that were tried, as the plan has them.
    tried: Vec<Change>,
    /// The changes that the lab cannot try.
    not_tried: Vec<NotTried>,
    /// The rate of all flows together in each run, in bit/s, in the order of the runs. Two in a row are a pair.
    runs: Vec<MeasuredRun>,
    /// How long the flows of each run took.
    times_ns: Vec<u64>,
    /// The runs with the values that the plan expects, in bit/s.
    old: Summary,
    /// The runs with the values of the plan, in bit/s.
    new: Summary,
    /// By how much the plan helped, as a share of the old rate. Negative if it harmed.
    gain: Interval,
    /// What was predicted of the plan; null for a plan without predictions, or if not all of it was tried.
    predicted: Option<Predicted>,
    /// How far the estimate lies outside of the predicted gains, as a share of the nearer one's rate: 0 within them, negative
    /// below; null if nothing was predicted.
    prediction_error: Option<f64>,
    /// The gain that was asked for, as a share.
    wanted: f64,
    /// `helped`, `too-little`, `harmed` or `cannot-tell`.
    verdict: &'static str,
}

/// A change that the lab cannot try.
#[derive(Serialize, JsonSchema)]
struct NotTried {
    /// The setting, as in the plan.
    setting: String,
    /// Why not.
    why: String,
}

/// The changes that were tried.
fn tried_changes(tried: &Tried) -> impl Iterator<Item = Changed> {
    tried.rehearsal.tried.iter().map(|planned| Changed {
        setting: planned.setting.to_string(),
        old: planned.now.clone(),
        new: planned.then.clone(),
    })
}

impl TuneLabDocument {
    /// The document of a plan that was tried.
    pub fn of(tried: &Tried) -> Self {
        let not_tried = tried.rehearsal.not_tried.iter().cloned();
        Self {
            schema: "slowpath/tune-lab/1",
            tried: tried_changes(tried).map(|changed| Change::of(&changed)).collect(),
            not_tried: not_tried.map(|(setting, why)| NotTried { setting, why }).collect(),
            runs: tried.runs.iter().map(MeasuredRun::of).collect(),
            times_ns: tried.times.iter().copied().map(nanos).collect(),
            old: Summary::of(&tried.runs, Side::Old),
            new: Summary::of(&tried.runs, Side::New),
            gain: Interval::of(&tried.gain),
            predicted: tried.predicted.as_ref().map(Predicted::of),
            prediction_error: error(tried.predicted.as_ref(), Measure::Rate, &tried.gain),
            wanted: tried.wanted,
            verdict: slug(tried.verdict),
        }
    }
}

/// Prints whether the plan helped, rates and times of both sides, and what was tried.
///
/// # Errors
/// The errors of `out`.
pub fn tried(tried: &Tried, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let why = helped(&tried.gain, tried.verdict, Measure::Rate, tried.wanted);
    look.strong_paragraph(out, &format!("In the lab, {why}"))?;
    sides(&tried.runs, out)?;
    prediction(tried.predicted.as_ref(), Measure::Rate, &tried.runs, &tried.gain, look, out)?;
    let [old, new] = [Side::Old, Side::New].map(|side| time(tried, side));
    writeln!(out, "  time of all flows: median {old} before, {new} after")?;
    for Changed { setting, old, new } in tried_changes(tried) {
        writeln!(out, "  tried: {setting}: {old} → {new}")?;
    }
    for (setting, why) in &tried.rehearsal.not_tried {
        look.paragraph(out, "  ", &format!("not tried in the lab: {}: {}", setting, shown::line(why)))?;
    }
    look.paragraph(out, "", "Nothing on this host was changed.")
}

fn time(tried: &Tried, side: Side) -> String {
    let of_side = tried.runs.iter().zip(&tried.times).filter(|(run, _)| run.side == side);
    let median = median(of_side.map(|(_, time)| time.as_secs_f64()));
    median.and_then(|s| Duration::try_from_secs_f64(s).ok()).map_or_else(|| "-".to_owned(), duration)
}

/// Whether the plan helped.
pub fn has_helped(tried: &Tried) -> bool {
    tried.verdict == Verdict::Helped
}
