//! `slowpath drill`: the result of a script, as JSON and as text.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_drill::{Failure, Outcome, ScriptReport};
use slowpath_model::shown;
use std::io::{self, Write};

/// The result of a script (schema slowpath/drill/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Document")]
pub struct DrillDocument<'a> {
    /// `slowpath/drill/1`.
    schema: &'static str,
    /// The script.
    script: &'a str,
    /// Whether everything happened as the script expects.
    passed: bool,
    /// Where it failed; `null` if it passed.
    failure: Option<FailureResult<'a>>,
    /// What was not checked.
    notes: Vec<Note<'a>>,
}

/// Where a script failed.
#[derive(Serialize, JsonSchema)]
struct FailureResult<'a> {
    /// The line of the script, from 1.
    line: u32,
    /// Its text.
    text: &'a str,
    /// What differs.
    what: &'a str,
    /// What the script expects; `null` if nothing was expected.
    expected: Option<&'a str>,
    /// What happened; `null` if nothing did.
    actual: Option<&'a str>,
    /// How far from its time the event could be, in seconds; `null` if it failed for another reason.
    tolerance_s: Option<f64>,
}

/// Something that was not checked.
#[derive(Serialize, JsonSchema)]
struct Note<'a> {
    /// The line of the script, from 1.
    line: u32,
    /// What was not checked.
    text: &'a str,
}

impl<'a> DrillDocument<'a> {
    /// Builds the document of a script's report.
    pub fn new(script: &'a str, report: &'a ScriptReport) -> Self {
        let failure = failure(report).map(|failure| FailureResult {
            line: failure.line,
            text: &failure.text,
            what: &failure.what,
            expected: failure.expected.as_deref(),
            actual: failure.actual.as_deref(),
            tolerance_s: failure.tolerance.map(|tolerance| tolerance.as_secs_f64()),
        });
        let notes = report.notes.iter().map(|note| Note { line: note.line, text: &note.text }).collect();
        Self { schema: "slowpath/drill/1", script, passed: report.passed(), failure, notes }
    }
}

fn failure(report: &ScriptReport) -> Option<&Failure> {
    match &report.outcome {
        Outcome::Passed => None,
        Outcome::Failed(failure) => Some(failure),
    }
}

/// Prints whether a script passed, and where it failed; with `verbose`, also what happened.
///
/// # Errors
///
/// The errors of `out`.
pub fn print(script: &str, report: &ScriptReport, verbose: bool, out: &mut impl Write) -> io::Result<()> {
    if verbose {
        report.trace.iter().try_for_each(|event| writeln!(out, "{event}"))?;
    }
    match failure(report) {
        None => writeln!(out, "ok      {}", shown::line(script))?,
        Some(failure) => writeln!(out, "FAILED  {failure}")?,
    }
    report.notes.iter().try_for_each(|note| writeln!(out, "  note      {note}"))
}
