//! Ranks flows by lost time, and sums up those not shown in full.

use crate::flow_line::{Line, MOST_LINES};
use crate::services::{By, Listed, Member, Services};
use slowpath_analyses::report::{FlowReport, Rank};
use slowpath_analyses::{Judged, Labels};
use slowpath_anonymize::Names;
use slowpath_model::{Bytes, Event, FlowId, Instant, Segment};
use slowpath_runs::filter::Filter;
use std::collections::HashMap;

/// Which flows to show, and how many of them in full.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only this one.
    pub flow: Option<FlowId>,
    /// Only those that carried at least this much in their main direction.
    pub min_bytes: Bytes,
    /// Only those between these ends.
    pub filter: Option<Filter>,
    /// How many to show in full; `None` for one that is the only one.
    pub top: Option<usize>,
    /// What the flows of a service have in common.
    pub by: By,
}

impl Selection {
    /// Whether `flow` is selected.
    pub fn takes(&self, flow: &FlowReport) -> bool {
        self.flow.is_none_or(|id| id == flow.id)
            && flow.main().measures.unique_bytes >= self.min_bytes
            && self.filter.as_ref().is_none_or(|filter| filter.takes(&flow.key))
    }
}

/// How many flows are named below a summary of several.
const SLOWEST: usize = 3;

/// Flows ranked by lost time.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    /// The flows of which all is known, those that lost most first.
    pub full: Vec<FlowReport>,
    /// The other flows, summed up.
    pub others: Services,
    /// The number of all flows.
    pub flows: u64,
    /// The number of flows that the selection left out.
    pub left_out: u64,
    /// A line for each selected flow, as long as there are not too many, if these were asked for.
    pub lines: Vec<Line>,
    top: Option<usize>,
}

impl Ranking {
    /// The number of selected flows.
    pub const fn taken(&self) -> u64 {
        self.flows - self.left_out
    }

    /// The flows that text shows in full, and those that it only names.
    pub fn shown(&self) -> (&[FlowReport], &[FlowReport]) {
        let in_full = self.top.unwrap_or(usize::from(self.taken() == 1)).min(self.full.len());
        let (in_full, rest) = self.full.split_at(in_full);
        (in_full, if self.top.is_none() { &rest[..SLOWEST.min(rest.len())] } else { &[] })
    }

    /// All selected flows, summed up.
    pub fn services(&self) -> Listed {
        let mut services = self.others.clone();
        self.full.iter().for_each(|flow| services.add(&Member::of(flow, 0, 0)));
        services.listed()
    }

    /// This ranking with another number of flows in full, of those that are kept.
    #[must_use]
    pub fn narrowed(self, top: Option<usize>) -> Self {
        let Self { mut full, mut others, flows, left_out, lines, .. } = self;
        for flow in full.drain(kept(top).min(full.len())..) {
            others.add(&Member::of(&flow, 0, 0));
        }
        Self { full, others, flows, left_out, lines, top }
    }
}

/// A page shows more flows in full than a terminal, since one need not scroll past them.
const FLOWS_ON_PAGE: usize = 50;

/// How many flows a page shows in full where a terminal shows `top`.
pub fn on_page(top: Option<usize>) -> Option<usize> {
    Some(top.unwrap_or(0).max(FLOWS_ON_PAGE))
}

/// How many reports are kept.
fn kept(top: Option<usize>) -> usize {
    top.unwrap_or(SLOWEST)
}

/// Ranks flows as their reports arrive, and keeps only as many reports as are shown in full, since a recording can have
/// hundreds of thousands of flows.
#[derive(Clone)]
pub struct Ranker {
    selection: Selection,
    candidates: Vec<(Rank, Box<FlowReport>)>,
    /// Where each of them is.
    places: HashMap<FlowId, usize>,
    others: Services,
    flows: u64,
    left_out: u64,
    names: Option<Names>,
    lines: Option<Vec<Line>>,
}

impl Ranker {
    /// Starts a ranking.
    pub fn new(selection: Selection) -> Self {
        let others = Services::new(selection.by);
        let (candidates, places) = Default::default();
        Self { selection, candidates, places, others, flows: 0, left_out: 0, names: None, lines: None }
    }

    /// Replaces the addresses and ports of flows, once they are selected.
    #[must_use]
    pub fn with_names(self, names: Option<Names>) -> Self {
        Self { names, ..self }
    }

    /// Also keeps what a page shows, if one is `asked` for: more flows in full, and a line for each selected flow.
    #[must_use]
    pub fn with_page(mut self, asked: bool) -> Self {
        if asked {
            self.lines = Some(Vec::new());
            self.selection.top = on_page(self.selection.top);
        }
        self
    }

    /// Adds a flow.
    pub fn add(&mut self, flow: FlowReport) {
        self.take(Box::new(flow));
    }
}

impl Labels for Ranker {
    const TAKES_REPORTS: bool = true;

    fn judged(&mut self, _: FlowId, _: &Event, _: Judged) {}

    fn take(&mut self, mut flow: Box<FlowReport>) {
        self.flows += 1;
        if !self.selection.takes(&flow) {
            self.left_out += 1;
            return;
        }
        if let Some(names) = &mut self.names {
            flow.key = names.key(&flow.key);
        }
        if let Some(lines) = self.lines.as_mut().filter(|lines| lines.len() < MOST_LINES) {
            lines.push(Line::of(&flow));
        }
        let rank = flow.rank();
        self.places.insert(flow.id, self.candidates.len());
        self.candidates.push((rank, flow));
        // Twice as many as wanted, so that sorting is rare.
        if self.candidates.len() > kept(self.selection.top).saturating_mul(2).saturating_add(64) {
            self.reduce();
        }
    }

    fn echo(&mut self, flow: FlowId, at: Instant, segment: &Segment) {
        if let Some(place) = self.places.get(&flow) {
            self.candidates[*place].1.echo(at, segment);
        }
    }
}

impl Ranker {
    fn reduce(&mut self) {
        let kept = kept(self.selection.top);
        self.candidates.sort_unstable_by_key(|(rank, _)| *rank);
        for (_, flow) in self.candidates.drain(kept.min(self.candidates.len())..) {
            self.others.add(&Member::of(&flow, 0, 0));
        }
        self.places = (0..).zip(&self.candidates).map(|(place, (_, flow))| (flow.id, place)).collect();
    }

    /// Finishes the ranking.
    pub fn finish(mut self) -> Ranking {
        self.reduce();
        Ranking {
            full: self
                .candidates
                .into_iter()
                .map(|(_, mut flow)| {
                    flow.settle();
                    *flow
                })
                .collect(),
            others: self.others,
            flows: self.flows,
            left_out: self.left_out,
            lines: self.lines.unwrap_or_default(),
            top: self.selection.top,
        }
    }
}
