//! A run in the simulator, seen as its sending host would capture it.

use crate::seen::Seen;
use crate::trace::Traces;
use slowpath_analyses::{Analysis, AnalysisOptions, VantageOverride};
use slowpath_scenario::Scenario;
use slowpath_simulator::{Progress, Simulation, Tap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Simulated time between two looks at `stop`.
const STRETCH: Duration = Duration::from_millis(20);

/// Runs a scenario of one transfer; `None` if `stop` became true, or if nothing was transferred.
pub fn simulate(scenario: &Scenario, stop: &AtomicBool) -> Option<Seen> {
    let options = AnalysisOptions { vantage: Some(VantageOverride::Sender), ..AnalysisOptions::default() };
    let analysis = Analysis::with_labels(options, Traces::new(None));
    let mut tap = Tap::new(scenario.vantage(), analysis);
    let mut simulation = Simulation::new(scenario);
    while simulation.run_until(simulation.now() + STRETCH, &mut tap) == Progress::Running {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
    }
    Seen::of_largest(tap.finish())
}
