//! Ranks flows by lost time, and groups those not shown in full.

use crate::headline::main_finding;
use crate::quantity::{counted, duration};
use crate::words;
use slowpath_analyses::Cause;
use slowpath_analyses::report::{FlowReport, Rank};
use slowpath_model::statistics::lower_median;
use slowpath_model::{Bytes, End, Endpoint, FlowId};
use std::cmp::Reverse;
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
    /// Whether `flow` is selected.
    pub fn takes(&self, flow: &FlowReport) -> bool {
        self.flow.is_none_or(|id| id == flow.id) && flow.main().measures.unique_bytes >= self.min_bytes
    }
}

/// Flows ranked by lost time.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    /// Flows shown in full, those that lost most first.
    pub full: Vec<FlowReport>,
    /// Groups of the other flows, those that lost most first.
    pub groups: Vec<Group>,
    /// The number of all flows.
    pub flows: u64,
    /// The number of flows that the selection left out.
    pub left_out: u64,
}

impl Ranking {
    /// The number of selected flows.
    pub const fn taken(&self) -> u64 {
        self.flows - self.left_out
    }

    /// This ranking with at most `top` flows in full.
    #[must_use]
    pub fn narrowed(self, top: usize) -> Self {
        let Self { mut full, groups, flows, left_out } = self;
        let mut groups =
            Groups(groups.into_iter().map(|group| ((group.server, group.cause), group)).collect());
        for flow in full.drain(top.min(full.len())..) {
            groups.add(&flow);
        }
        Self { full, groups: groups.sorted(), flows, left_out }
    }
}

/// Flows to the same server that have the same main cause.
#[derive(Clone, Debug)]
pub struct Group {
    /// The end that accepted the connections.
    pub server: Endpoint,
    /// Their longest cause; `None` for flows without data.
    pub cause: Option<Cause>,
    /// The number of flows.
    pub flows: u64,
    /// Data in their main directions.
    pub bytes: Bytes,
    /// Their lost time in total.
    pub lost: Duration,
    /// Three of them.
    pub examples: Vec<FlowId>,
    /// The verdict on its first flow, used for a group of one.
    pub first: String,
    lasted: Vec<Duration>,
}

impl Group {
    /// The median of their lifetimes.
    pub fn median_lasted(&self) -> Duration {
        lower_median(&self.lasted).unwrap_or_default()
    }

    /// The group in a line: number, server, data and cause.
    pub fn in_a_line(&self) -> String {
        if self.flows == 1 {
            return self.first.clone();
        }
        let cause = match self.cause {
            Some(cause) => format!("mostly {}", cause.title()),
            None => "without data".to_owned(),
        };
        let ids: Vec<_> = self.examples.iter().map(ToString::to_string).collect();
        format!(
            "{} to {}: {} in all, {} each (median), {cause} (flows {}{})",
            counted(self.flows, "flow"),
            self.server,
            self.bytes,
            duration(self.median_lasted()),
            ids.join(", "),
            if self.flows > ids.len() as u64 { ", …" } else { "" }
        )
    }
}

#[derive(Debug, Default)]
struct Groups(BTreeMap<(Endpoint, Option<Cause>), Group>);

impl Groups {
    fn add(&mut self, flow: &FlowReport) {
        let (server, cause) = (flow.key.endpoint(End::B), main_finding(flow).map(|finding| finding.cause));
        let group = self.0.entry((server, cause)).or_insert_with(|| Group {
            server,
            cause,
            flows: 0,
            bytes: Bytes::ZERO,
            lost: Duration::ZERO,
            examples: Vec::new(),
            first: words::in_a_line(flow),
            lasted: Vec::new(),
        });
        group.flows += 1;
        group.bytes += flow.main().measures.unique_bytes;
        group.lost += flow.time_lost();
        if group.examples.len() < 3 {
            group.examples.push(flow.id);
        }
        group.lasted.push(flow.lasted());
    }

    fn sorted(self) -> Vec<Group> {
        let mut groups: Vec<_> = self.0.into_values().collect();
        groups.sort_by_key(|group| Reverse((group.lost, group.bytes)));
        groups
    }
}

/// Ranks flows as their reports arrive, and keeps only as many reports as are shown in full, since a recording can have
/// hundreds of thousands of flows.
#[derive(Debug)]
pub struct Ranker {
    selection: Selection,
    candidates: Vec<(Rank, Box<FlowReport>)>,
    groups: Groups,
    flows: u64,
    left_out: u64,
}

impl Ranker {
    /// Starts a ranking.
    pub fn new(selection: Selection) -> Self {
        Self { selection, candidates: Vec::new(), groups: Groups::default(), flows: 0, left_out: 0 }
    }

    /// Adds a flow.
    pub fn add(&mut self, flow: FlowReport) {
        self.flows += 1;
        if !self.selection.takes(&flow) {
            self.left_out += 1;
            return;
        }
        let rank = flow.rank();
        self.candidates.push((rank, Box::new(flow)));
        // Twice as many as wanted, so that sorting is rare.
        if self.candidates.len() > self.selection.top.saturating_mul(2).saturating_add(64) {
            self.reduce();
        }
    }

    fn reduce(&mut self) {
        self.candidates.sort_unstable_by_key(|(rank, _)| *rank);
        for (_, flow) in self.candidates.drain(self.selection.top.min(self.candidates.len())..) {
            self.groups.add(&flow);
        }
    }

    /// Finishes the ranking.
    pub fn finish(mut self) -> Ranking {
        self.reduce();
        Ranking {
            full: self.candidates.into_iter().map(|(_, flow)| *flow).collect(),
            groups: self.groups.sorted(),
            flows: self.flows,
            left_out: self.left_out,
        }
    }
}
