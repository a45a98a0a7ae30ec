//! The JSON of `slowpath doctor`.

use super::Aim;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_doctor::{Finding, Host, Role, Taken, bound};

/// What was found on this host (schema slowpath/doctor/1).
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document<'a> {
    /// Version of this layout.
    schema: &'static str,
    /// The transfer that is to be.
    goal: GoalDocument,
    /// The rate beyond which it does not go on this host, in bit/s; null where nothing limits it.
    limit: Option<u64>,
    /// What it would suffer from, what limits most first.
    findings: &'a [Finding],
    /// What was seen, and what could not be.
    host: &'a Host,
}

/// The transfer that is to be.
#[derive(Debug, Serialize, JsonSchema)]
struct GoalDocument {
    /// Of all connections together, in bit/s.
    rate: u64,
    /// Where the rate is from.
    rate_from: Taken,
    /// The round trip, in nanoseconds.
    rtt_ns: u64,
    /// Where the round trip is from.
    rtt_from: Taken,
    /// Connections side by side.
    streams: u32,
    /// What this host does.
    role: Role,
    /// Rate times round trip, in bytes.
    window: u64,
}

impl<'a> Document<'a> {
    pub fn new(host: &'a Host, aim: &Aim, findings: &'a [Finding]) -> Self {
        let goal = &aim.goal;
        let goal = GoalDocument {
            rate: goal.rate.get(),
            rate_from: aim.rate_from,
            rtt_ns: u64::try_from(goal.rtt.as_nanos()).unwrap_or(u64::MAX),
            rtt_from: aim.rtt_from,
            streams: goal.streams,
            role: goal.role,
            window: goal.window().get(),
        };
        let limit = bound(findings).map(|(rate, _)| rate.get());
        Self { schema: "slowpath/doctor/1", goal, limit, findings, host }
    }
}
