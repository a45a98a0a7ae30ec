//! Where packets, data and processes waited in a run, by flow and host.

use crate::waits;
use slowpath_analyses::waits::{Spread, Waits};
use slowpath_model::{End, EventKind};
use slowpath_scenario::Scenario;
use slowpath_simulator::Occurrence;
use std::time::Duration;

/// What was waited at both ends of each of the scenario's flows.
pub struct Waiting {
    /// The flow of each stream.
    flows: Vec<usize>,
    ends: Vec<[Waits; 2]>,
}

/// How long something waited in a place.
pub struct Row<'a> {
    pub flow: &'a str,
    pub host: &'a str,
    pub spread: Spread,
}

impl Waiting {
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            flows: scenario.flow_of_streams(),
            ends: scenario.flows.iter().map(|_| Default::default()).collect(),
        }
    }

    pub fn happened(&mut self, occurrence: &Occurrence<'_>) {
        if let EventKind::Waited { end, on, lasted, amount, times } = occurrence.kind
            && let Some(flow) = self.flows.get(occurrence.link.stream)
        {
            self.ends[*flow][end.index()].add(on, lasted, amount, times);
        }
    }

    pub fn rows<'a>(&'a self, scenario: &'a Scenario) -> impl Iterator<Item = Row<'a>> {
        scenario.flows.iter().zip(&self.ends).flat_map(move |(flow, ends)| {
            End::BOTH.into_iter().flat_map(move |end| {
                let host = if end == End::A { flow.client } else { flow.server };
                let host = &scenario.host(host).name;
                ends[end.index()].spreads().map(move |spread| Row { flow: &flow.name, host, spread })
            })
        })
    }

    /// The table's rows, with a heading; none where nothing waited for any time.
    pub fn table(&self, scenario: &Scenario) -> Vec<Vec<String>> {
        let waited = self.rows(scenario).filter(|row| row.spread.longest > Duration::ZERO);
        let rows = waited.map(|Row { flow, host, spread }| waits::row(&format!("{flow}, {host}"), &spread));
        let rows: Vec<Vec<String>> = rows.collect();
        if rows.is_empty() {
            rows
        } else {
            [waits::HEADING.map(str::to_owned).to_vec()].into_iter().chain(rows).collect()
        }
    }
}
