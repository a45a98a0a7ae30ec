//! wrk: the case's number of connections, with one request after the other on each.

use super::server::{SCRIPT, program, url};
use super::{Requested, WebCase, pair};
use crate::error::LabError;
use crate::host::Host;
use crate::namespaces::Namespaces;
use crate::scratch::Scratch;
use crate::workload::programs::{ProgramRecord, Role, child};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Its final output, for its whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LoadSummary {
    /// The command.
    pub command: String,
    /// Complete answers.
    pub requests: u64,
    /// Connections that were refused, broken or timed out, and answers that were no success.
    pub errors: u64,
}

/// Requests the case's files until `stop` is set; or for `most`, in whole seconds, if it never is. The calling thread
/// cannot be used for anything else afterwards.
///
/// # Errors
/// If wrk cannot be started.
pub fn ask(
    namespaces: &Namespaces,
    scratch: &Scratch,
    case: WebCase,
    cpu: u32,
    most: Duration,
    stop: &AtomicBool,
) -> Result<ProgramRecord, LabError> {
    // With more requests on a connection, the server decides when to close it (`keepalive_requests`).
    let close = if case.requests == 1 { " -H 'Connection: close'" } else { "" };
    let script = match case.requested {
        Requested::FileKib(_) => String::new(),
        Requested::Mixed => format!(" --script '{}'", scratch.file(SCRIPT).display()),
    };
    // It prints its results when interrupted, and would end without output on SIGTERM.
    let command = format!(
        "(trap '' TERM; exec wrk --threads 1 --connections {} --duration {}s{script}{close} {}) & trap \"kill -INT $!\" TERM; wait $!; wait $!",
        pair::connections(case),
        most.as_secs(),
        url(case.requested)
    );
    child::watch(namespaces, (Role::Client, &program(Host::Receiver, &command, cpu)), &command, stop)
}

impl LoadSummary {
    /// Parses its output.
    ///
    /// # Errors
    /// If it failed before it was stopped, or no answer came.
    pub fn read(record: &ProgramRecord) -> Result<Self, LabError> {
        if !matches!(record.exit_code, None | Some(0)) {
            return Err(record.failure("without a result"));
        }
        let requests = record.said.lines().find_map(requests).filter(|requests| *requests > 0);
        let requests = requests.ok_or_else(|| record.failure("without a single answer"))?;
        let errors = record.said.lines().map(errors).sum();
        Ok(Self { command: record.command.clone(), requests, errors })
    }
}

/// `21057 requests in 2.00s, 21.02MB read`
fn requests(line: &str) -> Option<u64> {
    line.trim().split_once(" requests in ")?.0.parse().ok()
}

/// `Socket errors: connect 0, read 3, write 0, timeout 1`, `Non-2xx or 3xx responses: 7`
fn errors(line: &str) -> u64 {
    let line = line.trim();
    let Some(counts) =
        line.strip_prefix("Socket errors:").or_else(|| line.strip_prefix("Non-2xx or 3xx responses:"))
    else {
        return 0;
    };
    counts.split([' ', ',']).filter_map(|word| word.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "Running 2s test @ http://192.0.2.1/1k\n  1 threads and 64 connections\n  Thread Stats   Avg      Stdev     \
                        Max   +/- Stdev\n    Latency    10.02ms    5.00ms  40.00ms   70.00%\n  21057 requests in 2.00s, 26.02MB \
                        read\n  Socket errors: connect 0, read 3, write 0, timeout 1\n  Non-2xx or 3xx responses: 7\n\
                        Requests/sec:  10528.86\nTransfer/sec:     13.01MB\n";

    fn record(exit_code: Option<i32>, said: &str) -> ProgramRecord {
        ProgramRecord {
            role: Role::Client,
            host: Host::Receiver,
            command: "exec wrk".to_owned(),
            exit_code,
            ran_ns: 0,
            said: said.to_owned(),
            said_bytes: said.len() as u64,
        }
    }

    #[test]
    fn wrk_output_is_parsed() {
        // It was stopped, and its exit code is then not reported.
        for exit_code in [Some(0), None] {
            let summary = LoadSummary::read(&record(exit_code, SAID)).expect("a result");
            assert_eq!((summary.requests, summary.errors), (21057, 3 + 1 + 7));
        }
    }

    #[test]
    fn wrk_failure_keeps_its_output() {
        for (exit_code, said) in [
            (Some(1), "unable to connect to 192.0.2.1:80 Connection refused"),
            (None, ""),
            (Some(1), SAID),
            (Some(0), "  0 requests in 2.00s, 0B read"),
        ] {
            let error = LoadSummary::read(&record(exit_code, said)).expect_err("no result").to_string();
            assert!(error.contains(said.trim()), "{error}");
        }
    }
}
