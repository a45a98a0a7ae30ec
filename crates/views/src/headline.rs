//! The finding in a flow's headline.

use slowpath_analyses::report::{Finding, FlowReport};
use slowpath_analyses::{Cause, Confidence, Limit};
use std::cmp::Reverse;
use std::time::Duration;

/// The finding in a flow's headline: a reset that no program asked for, else the longest one.
pub fn main_finding(flow: &FlowReport) -> Option<&Finding> {
    let is_failure = |finding: &&Finding| match finding.cause {
        Cause::ResetOnPath => true,
        // Otherwise a program may have closed the connection.
        Cause::ResetUnknown => finding.confidence == Confidence::High,
        _ => false,
    };
    let failed = flow.main().findings.iter().find(is_failure);
    failed.or_else(|| longest_finding(flow))
}

/// The largest cause of the limit with most of the transfer's time. Several causes of one limit together may take
/// longer than the largest single cause. Idle time before the first and after the last data does not count, unless it
/// was nearly all of the time.
pub fn longest_finding(flow: &FlowReport) -> Option<&Finding> {
    let findings = &flow.main().findings;
    let outside = Some(flow.idle_outside()).filter(|outside| *outside < flow.lasted() * 9 / 10);
    let weight = |finding: &Finding| {
        let outside = outside.filter(|_| finding.cause == Cause::SenderIdle);
        finding.lasted.saturating_sub(outside.unwrap_or_default())
    };
    let under = |limit: Limit| -> Duration {
        findings.iter().filter(|finding| finding.cause.limit() == limit).map(weight).sum()
    };
    let most = Limit::ALL.into_iter().max_by_key(|limit| (under(*limit), Reverse(*limit)))?;
    let of_it = findings.iter().filter(|finding| finding.cause.limit() == most);
    of_it.max_by_key(|finding| weight(finding))
}
