//! Waits of packets, data and processes in a run, by flow, end and place.

use slowpath_analyses::waits::{Spread, Waits};
use slowpath_model::{End, EventKind};
use slowpath_scenario::Scenario;

/// Waits at both ends of each of the scenario's flows.
pub struct Waiting {
    /// The flow of each stream.
    flows: Vec<usize>,
    ends: Vec<[Waits; 2]>,
}

/// The waits at one place, at one end of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Waited {
    /// The flow's index in the scenario.
    pub flow: usize,
    /// The end; A is the flow's client.
    pub end: End,
    /// The place, and the waiting times.
    pub spread: Spread,
}

impl Waited {
    /// The names of its flow and its host; `None` if the scenario has no such flow.
    pub fn names<'a>(&self, scenario: &'a Scenario) -> Option<[&'a str; 2]> {
        let flow = scenario.flows.get(self.flow)?;
        let host = if self.end == End::A { flow.client } else { flow.server };
        Some([&flow.name, &scenario.host(host).name])
    }
}

impl Waiting {
    /// Starts without waits.
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            flows: scenario.flow_of_streams(),
            ends: scenario.flows.iter().map(|_| Default::default()).collect(),
        }
    }

    /// Adds an event at one end of a connection of this stream.
    pub fn happened(&mut self, stream: usize, kind: &EventKind) {
        if let EventKind::Waited { end, on, lasted, amount, times } = *kind
            && let Some(flow) = self.flows.get(stream)
        {
            self.ends[*flow][end.index()].add(on, lasted, amount, times);
        }
    }

    /// Adds the waits at one end of a connection of this flow.
    pub fn join(&mut self, flow: usize, end: End, waits: &Waits) {
        if let Some(ends) = self.ends.get_mut(flow) {
            ends[end.index()].join(waits);
        }
    }

    /// Waits at the receiving hosts, summed over all flows.
    pub fn of_receivers(&self, scenario: &Scenario) -> Waits {
        let mut all = Waits::default();
        for (flow, ends) in scenario.flows.iter().zip(&self.ends) {
            let end = if flow.receiver_host() == flow.client { End::A } else { End::B };
            all.join(&ends[end.index()]);
        }
        all
    }

    /// All waits, by flow, end and place.
    pub fn waited(&self) -> impl Iterator<Item = Waited> {
        self.ends.iter().enumerate().flat_map(|(flow, ends)| {
            let of =
                move |end: End| ends[end.index()].spreads().map(move |spread| Waited { flow, end, spread });
            End::BOTH.into_iter().flat_map(of)
        })
    }
}
