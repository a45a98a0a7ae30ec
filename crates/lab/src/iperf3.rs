//! iperf3 between two hosts.

use crate::error::LabError;
use crate::host::Host;
use crate::namespaces::{Namespaces, Place};
use crate::settings::Family;
use crate::testbed;
use std::io::{BufRead, BufReader, ErrorKind};
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// A server, which ends with this value at the latest.
struct Server {
    child: Child,
    /// Open for as long as it may write.
    _output: BufReader<ChildStdout>,
}

impl Server {
    /// Starts it, and waits until it listens.
    fn start(namespaces: &Namespaces, host: Host) -> Result<Self, LabError> {
        const COMMAND: [&str; 4] = ["iperf3", "--server", "--one-off", "--forceflush"];
        let failed = |source| LabError::Start { command: COMMAND.join(" "), source };
        let mut command = namespaces.command(host.into(), COMMAND[0]);
        let mut child = command.args(&COMMAND[1..]).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let mut output =
            BufReader::new(child.stdout.take().ok_or_else(|| failed(ErrorKind::BrokenPipe.into()))?);
        let mut line = String::new();
        while !line.contains("listening") {
            line.clear();
            if output.read_line(&mut line).map_err(failed)? == 0 {
                return Err(failed(ErrorKind::UnexpectedEof.into()));
            }
        }
        Ok(Self { child, _output: output })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends by itself after its one client, unless that failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How long a client takes, from its start to its end, to send so many bytes to the other host over IPv4. `options` are more
/// words of its command.
///
/// # Errors
/// If iperf3 is not installed, or fails.
pub fn send(namespaces: &Namespaces, from: Host, bytes: u64, options: &[&str]) -> Result<Duration, LabError> {
    let _server = Server::start(namespaces, from.other())?;
    let (to, bytes) = (testbed::address(Family::V4, from.other()).to_string(), bytes.to_string());
    let mut command = vec!["iperf3", "--client", &to, "--bytes", &bytes];
    command.extend(options);
    let began = Instant::now();
    namespaces.output(Place::from(from), &command)?;
    Ok(began.elapsed())
}
