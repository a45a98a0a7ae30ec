//! `slowpath tune apply --verify`: what was measured with the old and the new values, as JSON and as text.

use super::gain::{Interval, interval, percent, reading, unit_name};
use super::json::{Change, Taken, Watch};
use super::predicted::{Predicted, error, held_against};
use super::text::{fates, in_force};
use crate::terminal::Look;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::units::counted;
use slowpath_tune::gain::{Gain, Measure, Verdict};
use slowpath_tune::journal::{Measured, Side};
use slowpath_tune::{Ended, Forecast, Run, Verified, spread, unit_of};
use std::io::{self, Write};

/// What was measured, and what became of the plan (schema slowpath/tune-verify/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/tune-verify/1")]
pub struct VerifyDocument {
    /// `slowpath/tune-verify/1`.
    schema: &'static str,
    /// The plan's number in the journal.
    id: u32,
    /// The shell command that measured.
    command: String,
    /// What it measured: `time`, of which less is better, or `rate`, of which more is better.
    measure: &'static str,
    /// The unit of all measurements: `s`, `bit/s`, or null for a number without a unit.
    unit: Option<&'static str>,
    /// The runs in their order. Two in a row are a pair.
    runs: Vec<MeasuredRun>,
    /// The runs with the values from before.
    old: Summary,
    /// The runs with the values of the plan.
    new: Summary,
    /// By how much the plan helped, as a share of the old value: of time saved, or of rate gained. Negative if it harmed.
    gain: Interval,
    /// What was predicted of the plan; null for a plan without predictions.
    predicted: Option<Predicted>,
    /// How far the estimate lies outside of the predicted gains, as a share of the nearer one's rate: 0 within them, negative
    /// below; null if nothing was predicted.
    prediction_error: Option<f64>,
    /// The gain that was asked for, as a share.
    wanted: f64,
    /// `helped`, `too-little`, `harmed` or `cannot-tell`.
    verdict: &'static str,
    /// Whether the plan is in force. If not, all of it was taken back.
    kept: bool,
    /// The changes that are in force; empty if the plan was taken back.
    changes: Vec<Change>,
    /// When it reverts by itself, in seconds since 1970; null if it does not, or was taken back.
    ends: Option<u64>,
    /// What reverts it by itself; null if nothing does.
    timer: Option<Watch>,
    /// The files that keep them over a reboot.
    persisted: Vec<String>,
    /// If they were to be kept, the settings that are not.
    not_persisted: Vec<String>,
    /// What became of the settings that were taken back; empty if the plan is in force.
    taken_back: Vec<Taken>,
}

/// A run of the command.
#[derive(Serialize, JsonSchema)]
pub(super) struct MeasuredRun {
    /// The values that the settings had: `old` or `new`.
    side: &'static str,
    /// The measurement.
    value: f64,
}

/// The measurements of a side.
#[derive(Serialize, JsonSchema)]
pub(super) struct Summary {
    /// The number of runs.
    runs: usize,
    /// The median.
    median: f64,
    /// The smallest.
    smallest: f64,
    /// The largest.
    largest: f64,
}

impl VerifyDocument {
    /// The document of a plan that was verified.
    pub fn of(verified: &Verified) -> Self {
        let (kept, taken_back) = match &verified.ended {
            Ended::Kept(applied) => (Some(applied), None),
            Ended::TakenBack(reverted) => (None, Some(reverted)),
        };
        let id = kept.map(|kept| kept.id).or(taken_back.map(|taken| taken.id)).unwrap_or_default();
        Self {
            schema: "slowpath/tune-verify/1",
            id,
            command: verified.command.clone(),
            measure: verified.measure.name(),
            unit: unit_name(verified.unit()),
            runs: verified.runs.iter().map(MeasuredRun::of).collect(),
            old: Summary::of(&verified.runs, Side::Old),
            new: Summary::of(&verified.runs, Side::New),
            gain: Interval::of(&verified.gain),
            predicted: verified.predicted.as_ref().map(Predicted::of),
            prediction_error: error(verified.predicted.as_ref(), verified.measure, &verified.gain),
            wanted: verified.wanted,
            verdict: slug(verified.verdict),
            kept: kept.is_some(),
            changes: kept.map_or_else(Vec::new, |kept| kept.changes.iter().map(Change::of).collect()),
            ends: kept.and_then(|kept| kept.ends),
            timer: kept.and_then(|kept| kept.timer.as_ref()).map(Watch::of),
            persisted: kept.map_or_else(Vec::new, |kept| {
                kept.persisted.iter().map(|file| file.display().to_string()).collect()
            }),
            not_persisted: kept.map_or_else(Vec::new, |kept| kept.not_persisted.clone()),
            taken_back: taken_back.map_or_else(Vec::new, |back| back.taken.iter().map(Taken::of).collect()),
        }
    }
}

impl MeasuredRun {
    pub(super) fn of(run: &Run) -> Self {
        Self { side: name(run.side), value: run.reading.value }
    }
}

impl Summary {
    pub(super) fn of(all: &[Run], side: Side) -> Self {
        let runs = all.iter().filter(|run| run.side == side).count();
        let [median, smallest, largest] = spread(all, side).unwrap_or_default();
        Self { runs, median, smallest, largest }
    }
}

/// The name of a verdict in JSON.
pub(super) const fn slug(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Helped => "helped",
        Verdict::TooLittle => "too-little",
        Verdict::Harmed => "harmed",
        Verdict::CannotTell => "cannot-tell",
    }
}

const fn name(side: Side) -> &'static str {
    match side {
        Side::Old => "old",
        Side::New => "new",
    }
}

/// Prints the verdict with its reason, both sides with their spread, and what became of the settings.
///
/// # Errors
/// The errors of `out`.
pub fn verified(verified: &Verified, look: &Look, out: &mut impl Write) -> io::Result<()> {
    look.strong_paragraph(out, &verdict(verified))?;
    sides(&verified.runs, out)?;
    prediction(verified.predicted.as_ref(), verified.measure, &verified.runs, &verified.gain, look, out)?;
    match &verified.ended {
        Ended::Kept(applied) => in_force(applied, look, out),
        Ended::TakenBack(reverted) => fates(reverted, look, out),
    }
}

/// Prints each side with its spread.
pub(super) fn sides(runs: &[Run], out: &mut impl Write) -> io::Result<()> {
    for side in [Side::Old, Side::New] {
        let Some(spread) = spread(runs, side) else { continue };
        let unit = unit_of(runs);
        let [median, smallest, largest] = spread.map(|value| reading(value, unit));
        let runs = runs.iter().filter(|run| run.side == side).count();
        let runs = counted(runs as u64, "run");
        writeln!(out, "  {}: median {median}, from {smallest} to {largest} in {runs}", name(side))?;
    }
    Ok(())
}

/// Prints the prediction of a plan that has one, next to what was measured.
pub(super) fn prediction(
    said: Option<&Result<Forecast, String>>,
    measure: Measure,
    runs: &[Run],
    gain: &Gain,
    look: &Look,
    out: &mut impl Write,
) -> io::Result<()> {
    let Some(said) = said else { return Ok(()) };
    look.paragraph(out, "  ", &held_against(said, &Measured::of(measure, runs, *gain)))
}

/// Whether it helped, and by how much.
pub(super) fn helped(gain: &Gain, verdict: Verdict, measure: Measure, wanted: f64) -> String {
    let measured = interval(gain, measure);
    match verdict {
        Verdict::Helped => format!("it helped: {measured}."),
        Verdict::Harmed => format!("it made things worse: {measured}."),
        Verdict::TooLittle if wanted > 0.0 => {
            format!("it helped less than the {} that are wanted: {measured}.", percent(wanted))
        }
        Verdict::TooLittle => format!("it did not help: {measured}."),
        Verdict::CannotTell => format!(
            "the runs differ too much to tell whether it helps: {measured}. More runs show smaller differences (--runs)."
        ),
    }
}

/// The verdict in a sentence or two.
fn verdict(verified: &Verified) -> String {
    let (id, kept) = match &verified.ended {
        Ended::Kept(applied) => (applied.id, "is kept"),
        Ended::TakenBack(reverted) if reverted.is_whole() => (reverted.id, "is taken back"),
        Ended::TakenBack(reverted) => (reverted.id, "is taken back, except for what is named below"),
    };
    let why = helped(&verified.gain, verified.verdict, verified.measure, verified.wanted);
    format!("Plan {id} {kept}: {why}")
}
