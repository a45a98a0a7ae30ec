//! The user's programs over the path: a server on one host, and a client on the other.
//!
//! The client is started once something listens on the server's host. The run ends when the client and everything it
//! started have ended, or when its time is over; the server may then finish what it has started.

pub(crate) mod child;

use super::end::Surroundings;
use crate::clock;
use crate::error::LabError;
use crate::host::{DEVICE, Host};
use crate::namespaces::{Namespaces, Place};
use crate::task::Scheduling;
use crate::workload::stream::Hosts;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// A command for the shell, on one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The host.
    pub host: Host,
    /// As for `sh -c`, with [`SERVER`] and [`CLIENT`] in the places of the hosts' addresses.
    pub command: String,
    /// The congestion control of its sockets unless it asks for another.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion_control: Option<String>,
    /// How it is scheduled; like the process that started the lab if `None`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scheduling: Option<Scheduling>,
}

/// Two programs that communicate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programs {
    /// The one that listens.
    pub server: Program,
    /// The one that connects to it.
    pub client: Program,
}

/// In a command, stands for the address of the server's host.
pub const SERVER: &str = "{server}";
/// In a command, stands for the address of the client's host.
pub const CLIENT: &str = "{client}";

/// Which of the two a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It listens.
    Server,
    /// It connects.
    Client,
}

impl Role {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// The result of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramRecord {
    /// Which it was.
    pub role: Role,
    /// The host that it ran on.
    pub host: Host,
    /// The command, with the addresses in it.
    pub command: String,
    /// Its exit code from the shell (128 plus the number of a signal that ended it); `None` if it was still running
    /// when its time was over, and was ended.
    pub exit_code: Option<i32>,
    /// CPU time of all of its processes that were waited for.
    pub ran_ns: u64,
    /// The beginning of its standard output and standard error.
    pub said: String,
    /// Bytes that it wrote there.
    pub said_bytes: u64,
}

impl ProgramRecord {
    /// Whether it ended by itself and failed.
    pub fn has_failed(&self) -> bool {
        self.exit_code.is_some_and(|code| code != 0)
    }

    /// The failure as an error.
    pub fn failure(&self, when: &'static str) -> LabError {
        LabError::Program {
            command: self.command.clone(),
            when,
            exit_code: self.exit_code.unwrap_or_default(),
            said: self.said.trim().to_owned(),
        }
    }
}

/// How long a server may take until it listens.
pub(crate) const READY_WITHIN: Duration = Duration::from_secs(10);
/// How long it may take to finish after the client has ended.
const FINISHES_WITHIN: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Tells the program to stop if its supervisor has to give up.
pub(crate) struct Stop<'a>(pub(crate) &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(crate) type Watched<'scope> = ScopedJoinHandle<'scope, Result<ProgramRecord, LabError>>;

pub(crate) fn joined(watched: Watched<'_>) -> Result<ProgramRecord, LabError> {
    watched.join().unwrap_or(Err(LabError::Panicked { role: "watches over a program" }))
}

/// Runs both, the client for at most `lasts_ns`; returns the results of the server and of the client.
///
/// # Errors
/// If the server does not listen in time or ends before, or the shell cannot be started.
pub fn run(
    namespaces: &Namespaces,
    hosts: &Hosts,
    plan: &Programs,
    lasts_ns: Option<u64>,
    around: Surroundings,
) -> Result<[ProgramRecord; 2], LabError> {
    let address = |host: Host| match host {
        Host::Sender => hosts.sender,
        Host::Receiver => hosts.receiver,
    };
    let command = |program: &Program| {
        let text = program.command.replace(SERVER, &address(plan.server.host).to_string());
        text.replace(CLIENT, &address(plan.client.host).to_string())
    };
    let (server, client) = (command(&plan.server), command(&plan.client));
    for program in [&plan.server, &plan.client] {
        if let Some(control) = &program.congestion_control {
            prefer(namespaces, program.host, control, address(program.host.other()))?;
        }
    }
    let [end_server, end_client] = [AtomicBool::new(false), AtomicBool::new(false)];
    thread::scope(|scope| {
        let (_server_stop, _client_stop) = (Stop(&end_server), Stop(&end_client));
        let place = Place::from(plan.server.host);
        let server =
            scope.spawn(|| child::watch(namespaces, (Role::Server, &plan.server), &server, &end_server));
        let listens =
            namespaces.inside(place, || Ok(until(READY_WITHIN, || listens() || server.is_finished())))?;
        if server.is_finished() {
            return Err(joined(server)?.failure("before it listened on a TCP port"));
        }
        if !listens {
            let what = format!("`{}` listening on a TCP port", plan.server.command);
            return Err(LabError::TimedOut { what, waited: READY_WITHIN });
        }
        let over_ns = lasts_ns.map_or(u64::MAX, |ns| clock::monotonic_ns().saturating_add(ns));
        let left_ns = over_ns.min(around.deadline_ns).saturating_sub(clock::monotonic_ns());
        let client =
            scope.spawn(|| child::watch(namespaces, (Role::Client, &plan.client), &client, &end_client));
        until(Duration::from_nanos(left_ns), || client.is_finished());
        end_client.store(true, Ordering::Relaxed);
        let client = joined(client)?;
        until(FINISHES_WITHIN, || server.is_finished());
        end_server.store(true, Ordering::Relaxed);
        Ok([joined(server)?, client])
    })
}

/// Sets a host's congestion control. Only those that the machine allows everybody
/// (`net.ipv4.tcp_allowed_congestion_control`) can be a namespace's own default (`tcp_set_default_congestion_control`).
/// Others can be set on the route, which takes precedence over a program's choice (`tcp_ca_dst_init`).
pub(crate) fn prefer(
    namespaces: &Namespaces,
    host: Host,
    control: &str,
    peer: IpAddr,
) -> Result<(), LabError> {
    let place = Place::from(host);
    if namespaces.sysctl(place, "net.ipv4.tcp_congestion_control", control).is_ok() {
        return Ok(());
    }
    namespaces.ip(place, &format!("route replace {peer} dev {DEVICE} congctl {control}"))
}

/// Whether a condition becomes true within a time.
pub(crate) fn until(within: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        if is_so() {
            return true;
        }
        if begun.elapsed() >= within {
            return false;
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Whether anything listens in the calling thread's namespace (proc_net_tcp in the kernel's documentation).
pub(crate) fn listens() -> bool {
    // `TCP_LISTEN` (include/net/tcp_states.h), in hexadecimal as the fourth word.
    const LISTEN: &str = "0A";
    let one = |line: &str| line.split_ascii_whitespace().nth(3) == Some(LISTEN);
    let files = ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"].map(std::fs::read_to_string);
    files.into_iter().flatten().any(|text| text.lines().any(one))
}
