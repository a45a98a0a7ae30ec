//! How long something waited, as text and as JSON.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::waits::{Spread, Waits};
use slowpath_model::{End, EventKind};
use slowpath_scenario::Scenario;
use slowpath_views::waits::{HEADING, WaitTimes, row};
use std::time::Duration;

/// How long something waited in a place, at one end of a flow.
#[derive(Serialize, JsonSchema)]
pub struct WaitResult<'a> {
    /// The flow.
    flow: &'a str,
    /// The host.
    host: &'a str,
    /// How long.
    #[serde(flatten)]
    times: WaitTimes,
}

/// What was waited at both ends of each of the scenario's flows.
pub struct Waiting {
    /// The flow of each stream.
    flows: Vec<usize>,
    ends: Vec<[Waits; 2]>,
}

/// How long something waited in a place, at one end of a flow.
#[derive(Clone, Copy)]
pub struct Waited {
    /// The flow's place in the scenario.
    pub flow: usize,
    pub end: End,
    pub spread: Spread,
}

impl Waited {
    /// With the names of its flow and its host; `None` if the scenario has no such flow.
    fn row<'a>(&self, scenario: &'a Scenario) -> Option<Row<'a>> {
        let flow = scenario.flows.get(self.flow)?;
        let host = if self.end == End::A { flow.client } else { flow.server };
        Some(Row { flow: &flow.name, host: &scenario.host(host).name, spread: self.spread })
    }

    /// The same for a document.
    pub fn result<'a>(&self, scenario: &'a Scenario) -> Option<WaitResult<'a>> {
        let Row { flow, host, spread } = self.row(scenario)?;
        Some(WaitResult { flow, host, times: WaitTimes::of(&spread) })
    }
}

/// The same with names.
struct Row<'a> {
    flow: &'a str,
    host: &'a str,
    spread: Spread,
}

impl Waiting {
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            flows: scenario.flow_of_streams(),
            ends: scenario.flows.iter().map(|_| Default::default()).collect(),
        }
    }

    /// Something happened at one end of a connection of this stream.
    pub fn happened(&mut self, stream: usize, kind: &EventKind) {
        if let EventKind::Waited { end, on, lasted, amount, times } = *kind
            && let Some(flow) = self.flows.get(stream)
        {
            self.ends[*flow][end.index()].add(on, lasted, amount, times);
        }
    }

    /// What waited at one end of a connection of this flow.
    pub fn join(&mut self, flow: usize, end: End, waits: &Waits) {
        if let Some(ends) = self.ends.get_mut(flow) {
            ends[end.index()].join(waits);
        }
    }

    /// What waited at the hosts that receive, of all flows together.
    pub fn of_receivers(&self, scenario: &Scenario) -> Waits {
        let mut all = Waits::default();
        for (flow, ends) in scenario.flows.iter().zip(&self.ends) {
            let end = if flow.receiver_host() == flow.client { End::A } else { End::B };
            all.join(&ends[end.index()]);
        }
        all
    }

    /// What waited, by flow, end and place.
    pub fn waited(&self) -> impl Iterator<Item = Waited> {
        self.ends.iter().enumerate().flat_map(|(flow, ends)| {
            let of =
                move |end: End| ends[end.index()].spreads().map(move |spread| Waited { flow, end, spread });
            End::BOTH.into_iter().flat_map(of)
        })
    }

    fn rows<'a>(&self, scenario: &'a Scenario) -> impl Iterator<Item = Row<'a>> {
        self.waited().filter_map(|waited| waited.row(scenario))
    }

    /// The same for a document.
    pub fn results<'a>(&self, scenario: &'a Scenario) -> Vec<WaitResult<'a>> {
        self.waited().filter_map(|waited| waited.result(scenario)).collect()
    }

    /// The table's rows, with a heading; none where nothing waited for any time.
    pub fn table(&self, scenario: &Scenario) -> Vec<Vec<String>> {
        let waited = self.rows(scenario).filter(|row| row.spread.longest > Duration::ZERO);
        let rows = waited.map(|Row { flow, host, spread }| row(&format!("{flow}, {host}"), &spread));
        let rows: Vec<Vec<String>> = rows.collect();
        if rows.is_empty() {
            rows
        } else {
            [HEADING.map(str::to_owned).to_vec()].into_iter().chain(rows).collect()
        }
    }
}
