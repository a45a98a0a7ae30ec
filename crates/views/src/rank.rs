//! Which flow lost most time, and what becomes of the many that are not shown one by one.

use slowpath_analyses::report::{Finding, FlowReport};
use slowpath_analyses::{Cause, Limit};
use slowpath_model::{Bytes, End, Endpoint, FlowId};
use std::collections::BTreeMap;
use std::time::Duration;

/// Which flows to show, and how many of them in full.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Only this one.
    pub flow: Option<FlowId>,
    /// Only those that carried at least this much in their main direction.
    pub min_bytes: Bytes,
    /// How many to show in full.
    pub top: usize,
}

impl Default for Selection {
    fn default() -> Self {
        Self { flow: None, min_bytes: Bytes::ZERO, top: 10 }
    }
}

impl Selection {
    /// Whether `flow` is one of those asked for.
    pub fn takes(&self, flow: &FlowReport) -> bool {
        self.flow.is_none_or(|id| id == flow.id) && flow.main().measures.unique_bytes >= self.min_bytes
    }
}

/// The flows in the order of what they lost.
pub struct Ranking<'a> {
    /// Shown in full, the slowest first.
    pub full: Vec<&'a FlowReport>,
    /// The others, alike ones together, those that lost most first.
    pub groups: Vec<Group<'a>>,
    /// How many flows the selection did not take.
    pub left_out: u64,
}

/// Flows to the same server that have the same main cause.
pub struct Group<'a> {
    /// The end that was called.
    pub server: Endpoint,
    /// What bound most of them for most of their time; `None` for those that carried no data.
    pub cause: Option<Cause>,
    /// The flows, the slowest first.
    pub flows: Vec<&'a FlowReport>,
}

impl Group<'_> {
    /// What they carried, in their main directions.
    pub fn bytes(&self) -> Bytes {
        self.flows.iter().map(|flow| flow.main().measures.unique_bytes).sum()
    }

    /// What they lost, all together.
    pub fn lost(&self) -> Duration {
        self.flows.iter().map(|flow| time_lost(flow)).sum()
    }

    /// How long the one in the middle lasted.
    pub fn median_lasted(&self) -> Duration {
        let mut all: Vec<_> = self.flows.iter().map(|flow| flow.lasted()).collect();
        let middle = all.len() / 2;
        if all.is_empty() { Duration::ZERO } else { *all.select_nth_unstable(middle).1 }
    }
}

/// Whether time under this cause could be had back from the transport: not where the application had nothing to
/// send or the path gave what it has, and not where nothing is known.
pub fn is_loss(cause: Cause) -> bool {
    !matches!(cause.limit(), Limit::Application | Limit::Unknown) && cause != Cause::BottleneckFull
}

/// The time of a flow's main direction that could be had back.
pub fn time_lost(flow: &FlowReport) -> Duration {
    flow.main().findings.iter().filter(|finding| is_loss(finding.cause)).map(|finding| finding.lasted).sum()
}

/// What bound a flow's main direction for most of its time.
pub fn main_finding(flow: &FlowReport) -> Option<&Finding> {
    flow.main().findings.iter().max_by_key(|finding| finding.lasted)
}

/// The flows that `selection` takes, those that lost most time first, then the larger, then the earlier.
pub fn in_order<'a>(flows: &'a [FlowReport], selection: &Selection) -> Vec<&'a FlowReport> {
    let mut taken: Vec<_> = flows.iter().filter(|flow| selection.takes(flow)).collect();
    taken.sort_by_cached_key(|flow| {
        use std::cmp::Reverse;
        (Reverse(time_lost(flow)), Reverse(flow.main().measures.unique_bytes), flow.id)
    });
    taken
}

/// Splits the flows into those shown in full and groups of the others.
pub fn rank<'a>(flows: &'a [FlowReport], selection: &Selection) -> Ranking<'a> {
    let mut full = in_order(flows, selection);
    let left_out = (flows.len() - full.len()) as u64;
    let rest = full.split_off(selection.top.min(full.len()));
    let mut groups: BTreeMap<(Endpoint, Option<Cause>), Group<'a>> = BTreeMap::new();
    for flow in rest {
        let (server, cause) = (flow.key.endpoint(End::B), main_finding(flow).map(|finding| finding.cause));
        groups
            .entry((server, cause))
            .or_insert_with(|| Group { server, cause, flows: Vec::new() })
            .flows
            .push(flow);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_cached_key(|group| std::cmp::Reverse((group.lost(), group.bytes())));
    Ranking { full, groups, left_out }
}
