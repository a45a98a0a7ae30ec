//! The JSON of `slowpath doctor`.

use super::host::Host;
use crate::json::Fix;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_doctor::{self as doctor, Aim, Origin, Role, bound};
use slowpath_model::nanos;

/// What was found on this host (schema slowpath/doctor/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Document")]
pub struct DoctorDocument {
    /// Version of this layout.
    schema: &'static str,
    /// The intended transfer.
    goal: Goal,
    /// The rate that a transfer does not exceed on this host, in bit/s; null where nothing limits it.
    limit: Option<u64>,
    /// The checks that failed, the lowest limit first.
    findings: Vec<Finding>,
    /// What was read, under the kernel's names, and what could not be read.
    host: Host,
}

/// The intended transfer.
#[derive(Serialize, JsonSchema)]
struct Goal {
    /// For all connections together, in bit/s.
    rate: u64,
    /// Where the rate is from: `given`, `from-link`, `from-metrics`, `assumed`.
    rate_from: &'static str,
    /// The RTT, in nanoseconds.
    rtt_ns: u64,
    /// Where the RTT is from, as with the rate.
    rtt_from: &'static str,
    /// Parallel connections.
    streams: u32,
    /// What this host does: `sender`, `receiver`, `both`.
    role: &'static str,
    /// The bandwidth-delay product, in bytes.
    window: u64,
}

/// A check that this host failed.
#[derive(Serialize, JsonSchema)]
struct Finding {
    /// The check: `receive-buffer`.
    name: &'static str,
    /// The cause that a transfer would suffer, as `slowpath causes` lists it.
    cause: String,
    /// `limits`, `costs` or `hint`.
    severity: &'static str,
    /// For `limits`: the rate that the transfer gets at most, in bit/s.
    rate: Option<u64>,
    /// What is wrong, in one line.
    title: String,
    /// Where it was seen, and its value.
    seen: String,
    /// Why it matters to this transfer, with the arithmetic.
    why: String,
    /// What fixes it, the usual fix first.
    fixes: Vec<Fix>,
    /// Where all this is documented.
    source: &'static str,
}

impl DoctorDocument {
    /// Builds the document of a host that was checked against a goal.
    pub fn new(host: &doctor::Host, aim: &Aim, findings: &[doctor::Finding]) -> Self {
        let goal = &aim.goal;
        let goal = Goal {
            rate: goal.rate.get(),
            rate_from: origin(aim.rate_from),
            rtt_ns: nanos(goal.rtt),
            rtt_from: origin(aim.rtt_from),
            streams: goal.streams,
            role: match goal.role {
                Role::Sender => "sender",
                Role::Receiver => "receiver",
                Role::Both => "both",
            },
            window: goal.window().get(),
        };
        let limit = bound(findings).map(|(rate, _)| rate.get());
        let findings = findings.iter().map(Finding::new).collect();
        Self { schema: "slowpath/doctor/1", goal, limit, findings, host: host.clone().into() }
    }
}

const fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Given => "given",
        Origin::FromLink => "from-link",
        Origin::FromMetrics => "from-metrics",
        Origin::Assumed => "assumed",
    }
}

impl Finding {
    fn new(finding: &doctor::Finding) -> Self {
        Self {
            name: finding.name(),
            cause: finding.check.cause().to_string(),
            severity: match finding.severity {
                doctor::Severity::Limits(_) => "limits",
                doctor::Severity::Costs => "costs",
                doctor::Severity::Hint => "hint",
            },
            rate: finding.severity.limit().map(slowpath_model::Rate::get),
            title: finding.title.clone(),
            seen: finding.seen.clone(),
            why: finding.why.clone(),
            fixes: finding.fixes.iter().cloned().map(Fix::of).collect(),
            source: finding.source,
        }
    }
}
