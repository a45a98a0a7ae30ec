//! Programs that ran instead of a scenario's flows.

use crate::quantity::duration;
use crate::terminal::Look;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_lab::host::Host;
use slowpath_lab::truth::Truth;
use slowpath_lab::workload::programs::ProgramRecord;
use slowpath_model::Bytes;
use slowpath_scenario::Scenario;
use std::io::{self, Write};
use std::time::Duration;

/// A program.
#[derive(Serialize, JsonSchema)]
pub struct ProgramResult<'a> {
    /// `server` or `client`.
    role: &'static str,
    /// The host that it ran on.
    host: &'a str,
    /// The command, with the addresses in it.
    command: &'a str,
    /// Its exit code (128 and the number of a signal that ended it); `null` if it was still running when its time was over.
    exit_code: Option<i32>,
    /// CPU time of its processes, in seconds.
    ran_s: f64,
    /// What it wrote to standard output and standard error: the first 64 KiB.
    output: &'a str,
    /// How many bytes that was in all.
    output_bytes: u64,
}

impl<'a> ProgramResult<'a> {
    /// The programs of a run.
    pub fn all(scenario: &'a Scenario, truth: &'a Truth) -> Vec<Self> {
        let first = &scenario.flows[0];
        let of = |record: &'a ProgramRecord| Self {
            role: record.role.name(),
            host: match record.host {
                Host::Sender => &scenario.host(first.sender_host()).name,
                Host::Receiver => &scenario.host(first.receiver_host()).name,
            },
            command: &record.command,
            exit_code: record.exit_code,
            ran_s: record.ran_ns as f64 / 1e9,
            output: &record.said,
            output_bytes: record.said_bytes,
        };
        truth.programs.iter().map(of).collect()
    }

    /// Prints how the program ended, and its output.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn print(&self, look: &Look, out: &mut impl Write) -> io::Result<()> {
        let ended = match self.exit_code {
            Some(code) => format!("ended with exit code {code}"),
            None => "was ended with the run".to_owned(),
        };
        let ran = duration(Duration::from_secs_f64(self.ran_s));
        let text =
            format!("{} on {}, `{}`: used {ran} of CPU and {ended}", self.role, self.host, self.command);
        look.paragraph(out, "", &text)?;
        for line in self.output.lines() {
            writeln!(out, "  | {line}")?;
        }
        let more = self.output_bytes.saturating_sub(self.output.len() as u64);
        if more > 0 { writeln!(out, "  | and {} more", Bytes::new(more)) } else { Ok(()) }
    }
}
