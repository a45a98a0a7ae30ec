//! `slowpath scenario check`: the errors of scenario files, as JSON and as text.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::shown;
use slowpath_scenario::{Checked, Estimate, Rejected};
use std::io::{self, Write};

/// The errors of scenario files (schema slowpath/scenario-check/1).
#[derive(Serialize, JsonSchema)]
pub struct ScenarioCheckDocument<'a> {
    /// `slowpath/scenario-check/1`.
    schema: &'static str,
    /// The files, in the order in which they were given.
    files: Vec<File<'a>>,
}

/// A scenario file.
#[derive(Serialize, JsonSchema)]
struct File<'a> {
    /// Its name.
    file: &'a str,
    /// What a run needs at most; absent if the file has errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<Needs>,
    /// Its errors, in the order of the file.
    errors: Vec<Diagnostic<'a>>,
}

/// The upper bound of a run's needs.
#[derive(Serialize, JsonSchema)]
pub(super) struct Needs {
    /// Packets with data, and those of cross traffic.
    packets: u64,
    /// Events of the simulator.
    events: u64,
    /// Memory, in bytes.
    memory_bytes: u64,
}

/// An error of a scenario file.
#[derive(Serialize, JsonSchema)]
struct Diagnostic<'a> {
    /// The file, or `--set`.
    file: &'a str,
    /// The line, from 1.
    line: usize,
    /// The character, from 1.
    column: usize,
    /// What is wrong.
    message: &'a str,
    /// How to fix it; absent if the message says it.
    #[serde(skip_serializing_if = "str::is_empty")]
    hint: &'a str,
}

impl From<Estimate> for Needs {
    fn from(Estimate { packets, events, memory_bytes }: Estimate) -> Self {
        Self { packets, events, memory_bytes }
    }
}

impl<'a> ScenarioCheckDocument<'a> {
    /// The document of files by name.
    pub fn new(results: &'a [(String, Result<Checked, Rejected>)]) -> Self {
        Self { schema: "slowpath/scenario-check/1", files: results.iter().map(File::new).collect() }
    }
}

impl<'a> File<'a> {
    fn new((file, checked): &'a (String, Result<Checked, Rejected>)) -> Self {
        let errors = checked.as_ref().err().map(Rejected::findings).unwrap_or_default();
        let errors = errors.into_iter().map(|finding| Diagnostic {
            file: finding.file,
            line: finding.line,
            column: finding.column,
            message: finding.message,
            hint: finding.hint,
        });
        let estimate = checked.as_ref().ok().map(|checked| Estimate::of(&checked.scenario));
        Self { file, estimate: estimate.map(Needs::from), errors: errors.collect() }
    }
}

/// Prints to `out` which files are correct, with what their runs need, and to `errors` what is wrong with the others.
///
/// # Errors
/// The errors of `out` and `errors`.
pub fn print_check(
    results: &[(String, Result<Checked, Rejected>)],
    out: &mut impl Write,
    errors: &mut impl Write,
) -> io::Result<()> {
    results.iter().try_for_each(|(name, checked)| match checked {
        Ok(checked) => {
            writeln!(out, "{}: correct; it needs {}", shown::line(name), Estimate::of(&checked.scenario))
        }
        Err(rejected) => {
            out.flush()?;
            write!(errors, "{rejected}")
        }
    })
}
