//! Runs of scenarios written in the tests.

use slowpath_model::{Bytes, End, Event, EventKind, FlowEnd, FlowId, FlowKey, Segment, Sink};
use slowpath_scenario::{HostId, Scenario};
use slowpath_simulator::{Simulation, Tap};

/// A scenario from its text.
///
/// # Panics
///
/// With every error of the scenario, if there are any.
pub fn scenario(text: &str) -> Scenario {
    match slowpath_scenario::check("test", text, &[], None) {
        Ok(checked) => checked.scenario,
        Err(rejected) => panic!("{rejected}"),
    }
}

/// The segments at one host, of all flows.
#[derive(Default)]
pub struct Segments(pub Vec<(FlowId, i64, Segment)>);

impl Sink for Segments {
    fn open(&mut self, _flow: FlowId, _key: &FlowKey) {}
    fn accept(&mut self, flow: FlowId, event: &Event) {
        if let EventKind::Seen(segment) = event.kind {
            self.0.push((flow, event.at.nanos(), segment));
        }
    }
    fn close(&mut self, _flow: FlowId, _end: FlowEnd) {}
}

/// A finished run, with the segments seen at its first host, which sends.
pub struct Run {
    pub simulation: Simulation,
    pub segments: Vec<(FlowId, i64, Segment)>,
}

impl Run {
    /// Runs a scenario to its end; asserts that packets are conserved.
    pub fn of(text: &str) -> Self {
        let scenario = scenario(text);
        let sender = scenario.flows[0].sender_host();
        Self::watched(&scenario, sender)
    }

    /// Runs a scenario to its end, with the segments seen at a host.
    pub fn watched(scenario: &Scenario, host: HostId) -> Self {
        let mut simulation = Simulation::new(scenario);
        let mut tap = Tap::new(host, Segments::default());
        simulation.run(&mut tap);
        let wrong = simulation.not_conserved();
        assert!(wrong.is_empty(), "not conserved: {wrong:?}");
        Self { simulation, segments: tap.finish().0 }
    }

    /// Bytes read by all receivers.
    pub fn bytes(&self) -> Bytes {
        self.simulation.transfers().iter().map(|transfer| transfer.bytes).sum()
    }

    /// Data segments sent by the client, with their times.
    pub fn data(&self) -> impl Iterator<Item = (i64, &Segment)> {
        self.segments.iter().filter(|(_, _, s)| s.from == End::A && s.len > 0).map(|(_, at, s)| (*at, s))
    }

    /// The rate at which a flow's bytes were acknowledged between two instants, in bit/s.
    pub fn acknowledged(&self, from_s: f64, to_s: f64) -> f64 {
        let ack_at = |seconds: f64| {
            let until = (seconds * 1e9) as i64;
            let acks = self.segments.iter().filter(|(_, at, s)| s.from == End::B && *at <= until);
            acks.filter_map(|(_, _, s)| s.ack).max().map_or(0, |ack| ack.0)
        };
        (ack_at(to_s) - ack_at(from_s)) as f64 * 8.0 / (to_s - from_s)
    }
}
