//! `slowpath tune apply --verify`: what was measured with the old and the new values, as JSON and as text.

use super::json::{Change, Taken, Watch};
use super::predicted::{Predicted, error, held_against};
use super::text::{fates, in_force};
use crate::quantity::{count, duration};
use crate::terminal::Look;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::Rate;
use slowpath_model::units::counted;
use slowpath_tune::gain::{CONFIDENCE, Gain, Measure, Verdict};
use slowpath_tune::journal::{Measured, Side};
use slowpath_tune::{Ended, Forecast, ReadingUnit, Run, Verified, spread};
use std::io::{self, Write};
use std::time::Duration;

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
    /// The file that keeps the sysctls over a reboot; null without one.
    persisted: Option<String>,
    /// The settings that this file does not keep.
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

/// A gain with its interval of confidence.
#[derive(Serialize, JsonSchema)]
pub(super) struct Interval {
    /// The estimate (Hodges and Lehmann).
    estimate: f64,
    /// The lower end; null with too few runs.
    lower: Option<f64>,
    /// The upper end; null with too few runs.
    upper: Option<f64>,
    /// The confidence of the interval, as a share.
    confidence: f64,
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
            persisted: kept.and_then(|kept| kept.persisted.as_ref()).map(|file| file.display().to_string()),
            not_persisted: kept.map_or_else(Vec::new, |kept| kept.not_persisted.clone()),
            taken_back: taken_back.map_or_else(Vec::new, |back| back.taken.iter().map(Taken::of).collect()),
        }
    }
}

/// The unit of measurements in JSON.
pub(super) const fn unit_name(unit: ReadingUnit) -> Option<&'static str> {
    match unit {
        ReadingUnit::Seconds => Some("s"),
        ReadingUnit::BitsPerSecond => Some("bit/s"),
        ReadingUnit::Plain => None,
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

impl Interval {
    pub(super) fn of(gain: &Gain) -> Self {
        Self { estimate: gain.estimate, lower: gain.lower, upper: gain.upper, confidence: CONFIDENCE }
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
        let unit = runs.first().map_or(ReadingUnit::Seconds, |run| run.reading.unit);
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
    let medians = [Side::Old, Side::New].map(|side| spread(runs, side).unwrap_or_default()[0]);
    let unit = runs.first().map_or(ReadingUnit::Seconds, |run| run.reading.unit);
    look.paragraph(out, "  ", &held_against(said, measure, unit, medians, gain))
}

/// By how much a plan that is kept helped.
pub(super) fn gained(measured: &Measured) -> String {
    let [old, new] = [measured.old, measured.new].map(|value| reading(value, measured.unit));
    format!("{}; medians {old} before, {new} after", interval(&measured.gain, measured.measure))
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

/// A gain with its interval.
fn interval(gain: &Gain, measure: Measure) -> String {
    let between = match gain.lower.zip(gain.upper) {
        Some((lower, upper)) => {
            let ends = [lower, upper].map(|end| change(end, measure));
            format!("{:.0} % confidence: {} to {}", CONFIDENCE * 100.0, ends[0], ends[1])
        }
        None => "too few runs for an interval".to_owned(),
    };
    format!("{} ({between})", change(gain.estimate, measure))
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

/// A gain in words: `12 % less time`.
pub(super) fn change(gain: f64, measure: Measure) -> String {
    let (better, worse) = match measure {
        Measure::Time => ("less time", "more time"),
        Measure::Rate => ("more", "less"),
    };
    let number = percent(gain.abs());
    if number == percent(0.0) {
        return "no change".to_owned();
    }
    format!("{number} {}", if gain > 0.0 { better } else { worse })
}

/// A share to a tenth of a percent where it is small.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = usize::from(percent < 9.95);
    format!("{percent:.decimals$} %").replace(".0 %", " %")
}

/// A measurement in its unit.
pub(super) fn reading(value: f64, unit: ReadingUnit) -> String {
    match unit {
        ReadingUnit::Seconds => Duration::try_from_secs_f64(value).map_or_else(|_| "-".to_owned(), duration),
        ReadingUnit::BitsPerSecond => Rate::bits_per_second(value as u64).to_string(),
        ReadingUnit::Plain if (0.001..1e6).contains(&value) => {
            let decimals = (3 - value.log10().floor() as i32).clamp(0, 6) as usize;
            let text = format!("{value:.decimals$}");
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        }
        // The digits that say nothing are zero.
        ReadingUnit::Plain if (1e6..1e15).contains(&value) => {
            let last = 10_u64.pow((value.log10().floor() as u32).saturating_sub(3));
            count((value / last as f64).round() as u64 * last)
        }
        ReadingUnit::Plain => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_words() {
        assert_eq!(change(0.1234, Measure::Time), "12 % less time");
        assert_eq!(change(-0.0312, Measure::Time), "3.1 % more time");
        assert_eq!(change(0.02, Measure::Rate), "2 % more");
        assert_eq!(change(3.2, Measure::Rate), "320 % more");
        assert_eq!(change(0.000_04, Measure::Rate), "no change");
    }

    #[test]
    fn measurements_have_four_figures() {
        let plain = |value| reading(value, ReadingUnit::Plain);
        assert_eq!(
            [plain(941.53), plain(5.0), plain(0.012_345), plain(941_234_567.0)],
            ["941.5", "5", "0.01235", "941,200,000"]
        );
        assert_eq!(reading(1.234_56, ReadingUnit::Seconds), "1.23 s");
        assert_eq!(reading(9.41e8, ReadingUnit::BitsPerSecond), "941 Mbit/s");
    }
}
