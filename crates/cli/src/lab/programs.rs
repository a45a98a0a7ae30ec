//! Programs of the user's own in place of a scenario's flows: how they are asked for, and what became of them.

use clap::{Args, ValueEnum, ValueHint};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_lab::host::Host;
use slowpath_lab::scenario::Instead;
use slowpath_lab::truth::Truth;
use slowpath_lab::workload::programs::ProgramRecord;
use slowpath_model::Bytes;
use slowpath_scenario::Scenario;
use slowpath_views::quantity::duration;
use std::io::{self, Write};
use std::time::Duration;

/// What runs instead of the scenario's flows.
#[derive(Args)]
#[command(next_help_heading = "Your own programs in place of the scenario's flows")]
pub struct Programs {
    /// A server, as a command for the shell; it has to listen on a TCP port within ten seconds. {server} and {client} stand
    /// for the addresses of the hosts
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString, requires = "client")]
    server: Option<String>,
    /// A client, likewise: started when the server listens, on the other host. The run is over when it ends, and with the
    /// scenario's duration at the latest
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString, requires = "server")]
    client: Option<String>,
    /// The host of the server, if not the one that receives in the scenario
    #[arg(long, value_name = "HOST", requires = "server")]
    server_at: Option<At>,
}

/// A host by what it does in the scenario's first flow.
#[derive(Clone, Copy, ValueEnum)]
enum At {
    /// The one that sends
    Sender,
    /// The one that receives
    Receiver,
}

impl Programs {
    /// What is asked for, if anything is.
    pub fn instead(&self) -> Option<Instead> {
        let (server, client) = (self.server.clone()?, self.client.clone()?);
        let server_at = match self.server_at {
            Some(At::Sender) => Host::Sender,
            Some(At::Receiver) | None => Host::Receiver,
        };
        Some(Instead { server_at, server, client })
    }
}

/// What became of a program.
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
    /// Those of a run.
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

    /// A line of what became of it, and what it said.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let ended = match self.exit_code {
            Some(code) => format!("ended with exit code {code}"),
            None => "was ended with the run".to_owned(),
        };
        let ran = duration(Duration::from_secs_f64(self.ran_s));
        writeln!(out, "{} on {}, `{}`: used {ran} of CPU and {ended}", self.role, self.host, self.command)?;
        for line in self.output.lines() {
            writeln!(out, "  | {line}")?;
        }
        let more = self.output_bytes.saturating_sub(self.output.len() as u64);
        if more > 0 { writeln!(out, "  | and {} more", Bytes::new(more)) } else { Ok(()) }
    }
}
