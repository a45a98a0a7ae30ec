//! The result of a script.

use super::time::Late;
use crate::call::Difference;
use crate::source::Source;
use slowpath_model::Instant;
use slowpath_model::shown::line;
use std::fmt;
use std::time::Duration;

/// The result of running a script.
#[derive(Clone, Debug)]
pub struct ScriptReport {
    /// Whether the script passed.
    pub outcome: Outcome,
    /// Notes: unsupported commands, unexpected packets.
    pub notes: Vec<Note>,
    /// What happened, as lines of a script.
    pub trace: Vec<TraceLine>,
    /// When it ended.
    pub ended: Instant,
}

/// Whether the script passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything happened as expected.
    Passed,
    /// Something did not.
    Failed(Box<Failure>),
}

/// What did not happen as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The script's name.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The line's text.
    pub text: String,
    /// What is wrong.
    pub what: String,
    /// The expected value.
    pub expected: Option<String>,
    /// The actual value.
    pub actual: Option<String>,
    /// The tolerance of its time.
    pub tolerance: Option<Duration>,
    /// Whether the runner was late, not the kernel: the result is invalid, and the script may be run again.
    pub runner_late: bool,
}

/// A note about a line; line 0 is the whole script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The line, from 1; 0 for the whole script.
    pub line: u32,
    /// The remark.
    pub text: String,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLine {
    /// When.
    pub at: Instant,
    /// The event, in script syntax.
    pub text: String,
}

impl ScriptReport {
    /// Whether the script passed.
    pub fn passed(&self) -> bool {
        self.outcome == Outcome::Passed
    }
}

impl Failure {
    pub(super) fn new(source: &Source, line: u32, what: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            file: source.name().to_owned(),
            line,
            text: source.line(line).trim().to_owned(),
            what: what.into(),
            expected: None,
            actual: None,
            tolerance: None,
            runner_late: false,
        })
    }

    /// Adds the expected and the actual value.
    #[must_use]
    pub(super) fn between(
        mut self: Box<Self>,
        expected: impl Into<String>,
        actual: impl Into<String>,
    ) -> Box<Self> {
        self.expected = Some(expected.into());
        self.actual = Some(actual.into());
        self
    }

    pub(super) fn of_time(self: Box<Self>, late: Late) -> Box<Self> {
        let mut failure = self.between(late.expected, late.actual);
        failure.tolerance = Some(late.tolerance);
        failure
    }

    /// Marks that the runner was late, not the kernel.
    pub(super) fn of_runner(mut self: Box<Self>) -> Box<Self> {
        self.runner_late = true;
        self
    }

    pub(super) fn of_difference(self: Box<Self>, difference: Difference) -> Box<Self> {
        let mut failure = self.between(difference.expected, difference.actual);
        failure.tolerance = difference.tolerance;
        failure
    }
}

impl fmt::Display for Failure {
    /// Several lines: place and reason, the line itself, expected, actual, tolerance.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", line(&self.file), self.line, line(&self.what))?;
        if !self.text.is_empty() {
            write!(f, "\n  line      {}", line(&self.text))?;
        }
        for (name, value) in [("expected", &self.expected), ("actual", &self.actual)] {
            if let Some(value) = value {
                write!(f, "\n  {name:<9} {}", line(value))?;
            }
        }
        match self.tolerance {
            Some(tolerance) => write!(f, "\n  tolerance {:.6} s", tolerance.as_secs_f64()),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line != 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&line(&self.text))
    }
}

impl fmt::Display for TraceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>10.6} {}", self.at.seconds(), line(&self.text))
    }
}
