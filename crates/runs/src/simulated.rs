//! A run in the simulator, with the recordings that it writes.

mod files;
mod watch;

use crate::Error;
use crate::waits::Waiting;
use slowpath_analyses::picture::{PictureOptions, Pictures};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, AnalysisOptions, VantageOverride};
use slowpath_files::Existing;
use slowpath_model::Instant;
use slowpath_recording::Ending;
use slowpath_scenario::Scenario;
use slowpath_simulator::report::Total;
use slowpath_simulator::{Progress, Simulation, Tap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use watch::Watchers;

/// What is kept of a run: the folders that its recordings are written to, and pictures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Folders<'a> {
    /// The events of every host as Parquet.
    pub record: Option<&'a Path>,
    /// The packets of every host as pcapng.
    pub pcap: Option<&'a Path>,
    /// What to do if a packet file exists.
    pub existing: Existing,
    /// Whether to keep pictures of the flows.
    pub pictures: bool,
}

/// A run that has ended or was stopped.
pub struct Run {
    /// The simulation in its last state.
    pub simulation: Simulation,
    /// Waits on the hosts.
    pub waiting: Waiting,
    /// Packets that the scenario's vantage host saw.
    pub frames: u64,
    /// Flows among them that were not kept because of the memory limit.
    pub not_kept: u64,
    /// Whether it ran to its end.
    pub whole: bool,
    /// The pictures of the flows, if they were asked for.
    pub pictures: Option<Pictures>,
}

impl Run {
    /// The scenario's flows by name, each summed over its connections.
    pub fn flows<'a>(&self, scenario: &'a Scenario) -> Vec<(&'a str, Total)> {
        let flows = scenario.flows.iter().enumerate();
        flows.map(|(index, flow)| (flow.name.as_str(), self.simulation.total(index))).collect()
    }
}

/// Simulated time between two checks of `stop`.
const STRETCH: Duration = Duration::from_millis(20);

/// Simulates `scenario` until it ends or `stop` is true, and passes every flow that the scenario's vantage host saw to
/// `each`. `at` is called with the simulated time as it advances.
///
/// # Errors
///
/// If a recording cannot be written.
pub fn run(
    scenario: &Scenario,
    folders: Folders<'_>,
    stop: &AtomicBool,
    at: impl FnMut(Instant),
    each: impl FnMut(FlowReport),
) -> Result<Run, Error> {
    let side = files::side(scenario, scenario.vantage()).map(|_| VantageOverride::Sender);
    run_seen(scenario, side, folders, stop, at, each)
}

/// Like [`run`], with a given vantage point for the analysis.
pub(crate) fn run_seen(
    scenario: &Scenario,
    vantage: Option<VantageOverride>,
    folders: Folders<'_>,
    stop: &AtomicBool,
    mut at: impl FnMut(Instant),
    each: impl FnMut(FlowReport),
) -> Result<Run, Error> {
    let options = AnalysisOptions { vantage, ..AnalysisOptions::default() };
    let pictures = folders.pictures.then(|| Pictures::new(PictureOptions::default()));
    let analysis = Analysis::with_labels(options, pictures);
    let mut watchers = Watchers::new(Tap::new(scenario.vantage(), analysis), Waiting::new(scenario));
    if let Some(folder) = folders.pcap {
        watchers.pcaps = files::captures(folder, scenario, folders.existing)?;
    }
    if let Some(folder) = folders.record {
        watchers.records = files::records(folder, scenario)?;
    }
    let mut simulation = Simulation::new(scenario);
    let mut progress = Progress::Running;
    while progress == Progress::Running && !stop.load(Ordering::Relaxed) {
        progress = simulation.run_until(simulation.now() + STRETCH, &mut watchers);
        watchers.flush()?;
        at(simulation.now());
    }
    let whole = progress == Progress::Finished;
    let frames = watchers.analysis.frames();
    let (analysis, waiting) = watchers.finish(if whole { Ending::Complete } else { Ending::Interrupted })?;
    let (not_kept, pictures) = analysis.finish_each(each);
    Ok(Run { simulation, waiting, frames, not_kept: not_kept.flows, whole, pictures })
}
