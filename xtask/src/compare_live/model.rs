//! A scenario in the simulator, watched at both hosts.

use super::seen::{Collector, Seen};
use slowpath_scenario::Scenario;
use slowpath_simulator::{Observer, Sight, Simulation, Tap};

struct BothHosts([Tap<Collector>; 2]);

impl Observer for BothHosts {
    fn packet(&mut self, sight: &Sight<'_>) {
        for tap in &mut self.0 {
            tap.packet(sight);
        }
    }
}

/// Runs it to its end.
pub fn run(scenario: &Scenario) -> Seen {
    let flow = &scenario.flows[0];
    let tap = |host| Tap::new(host, Collector::new());
    let mut both = BothHosts([tap(flow.sender_host()), tap(flow.receiver_host())]);
    Simulation::new(scenario).run(&mut both);
    let [sender, receiver] = both.0.map(|tap| tap.finish().finish());
    Seen { sender: sender.0, receiver: receiver.0, verdict: sender.1.expect("every scenario has a flow") }
}
