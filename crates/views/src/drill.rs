//! `slowpath drill`: the result of a script, as JSON and as text.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_drill::{Failure, Outcome, ScriptReport};
use slowpath_model::shown;
use std::io::{self, Write};

/// What `--help` teaches about the command.
pub const HELP: &str = "\
A script gives, at exact times, the packets that arrive from the network (<), the system calls that an application makes, \
and the packets that the kernel must send (>):
  0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
  +0  bind(3, ..., ...) = 0
  +0  listen(3, 1) = 0
  +0  < S 0:0(0) win 32792 <mss 1000,nop,wscale 7>
  +0  > S. 0:0(0) ack 1 <mss 1460,nop,wscale 10>
  +.1 < . 1:1(0) ack 1 win 257
  +0  accept(3, ..., ...) = 4

A time is absolute (.1), relative (+.1), a range (+.1~+.2) or any (*); a call that blocks has the time at which it \
returns (+0...0.2). An event may be 4 ms from its time, or an eighth of the time since the one before. The handbook's \
page on scripts has the rest.

Examples:
  slowpath drill handshake.pkt
  slowpath drill scripts/ --kernel linux-2.6.14
  slowpath drill slow-start.pkt --verbose
  sudo slowpath drill scripts/ --lab

Exit codes:
  0  every script passed
  1  a script failed
  2  a script cannot be read, or --lab cannot be done here";

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
