//! What came of a run, simulated or real, as far as both tell it.

use crate::console::Console;
use crate::interrupt::Interrupt;
use crate::on_kernel::{self, How};
use crate::run::Watchers;
use crate::waits::{Waited, Waiting};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::waits::Spread;
use slowpath_analyses::{Analysis, Cause, Options, VantageOverride};
use slowpath_recording::Ending;
use slowpath_scenario::Scenario;
use slowpath_simulator::report::Total;
use slowpath_simulator::{Progress, Simulation, Tap};
use std::collections::BTreeMap;
use std::time::Duration;

/// What came of a run.
pub struct Measured {
    /// What came of each flow of the scenario.
    pub totals: Vec<Total>,
    /// Where packets, data and processes waited, at each end of each flow.
    pub waits: Vec<Waited>,
    /// The same at the hosts that receive, of all flows together.
    pub at_receivers: Vec<Spread>,
    /// What bound the flows, as their sending host sees it.
    pub shares: Shares,
    /// What all chance was drawn from.
    pub seed: u64,
    /// The real kernel's release; `None` of a simulated run.
    pub release: Option<String>,
    /// Timeouts that the real sender found needless and undid (`TCPLossUndo`).
    pub undone: Option<u64>,
    /// What makes the run not count; nothing if it does.
    pub invalid: Vec<String>,
}

/// For how large a share of their lives the flows were bound by what, on average.
#[derive(Debug, Default)]
pub struct Shares {
    sums: BTreeMap<Cause, f64>,
    flows: u32,
}

impl Shares {
    fn add(&mut self, flow: &FlowReport) {
        self.flows += 1;
        for finding in &flow.main().findings {
            *self.sums.entry(finding.cause).or_default() += finding.share;
        }
    }

    pub fn of(&self, cause: Cause) -> f64 {
        self.sums.get(&cause).copied().unwrap_or(0.0) / f64::from(self.flows.max(1))
    }

    /// As [`each`](Self::each) has told them.
    pub fn told(shares: impl IntoIterator<Item = (Cause, f64)>) -> Self {
        Self { sums: shares.into_iter().collect(), flows: 1 }
    }

    /// Every cause that there was, with its share.
    pub fn each(&self) -> impl Iterator<Item = (Cause, f64)> {
        self.sums.keys().map(|cause| (*cause, self.of(*cause)))
    }

    /// The cause of most of it, with its share.
    pub fn most(&self) -> Option<(Cause, f64)> {
        let (cause, _) = self.sums.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some((*cause, self.of(*cause)))
    }
}

/// How much is simulated between two looks at whether somebody wants it to stop.
const STRETCH: Duration = Duration::from_millis(100);

impl Measured {
    /// In the simulator.
    pub fn of_model(scenario: &Scenario) -> anyhow::Result<Self> {
        Self::of_run(scenario, |simulation, watchers| simulation.run(watchers))
    }

    /// The same; `None` if somebody wanted it to stop before it was over.
    pub fn of_model_unless(interrupt: &Interrupt, scenario: &Scenario) -> anyhow::Result<Option<Self>> {
        let mut progress = Progress::Running;
        let measured = Self::of_run(scenario, |simulation, watchers| {
            while progress == Progress::Running && !interrupt.has_come() {
                progress = simulation.run_until(simulation.now() + STRETCH, watchers);
            }
        })?;
        Ok((progress == Progress::Finished).then_some(measured))
    }

    fn of_run(scenario: &Scenario, run: impl FnOnce(&mut Simulation, &mut Watchers)) -> anyhow::Result<Self> {
        let vantage = scenario.vantage();
        let options = Options { vantage: Some(VantageOverride::Sender), ..Options::default() };
        let mut watchers = Watchers::new(Tap::new(vantage, Analysis::new(options)), Waiting::new(scenario));
        let mut simulation = Simulation::new(scenario);
        run(&mut simulation, &mut watchers);
        let (analysis, waiting) = watchers.finish(Ending::Complete)?;
        let mut shares = Shares::default();
        analysis.finish_each(|flow| shares.add(&flow));
        Ok(Self {
            totals: (0..scenario.flows.len()).map(|flow| simulation.total(flow)).collect(),
            waits: waiting.waited().collect(),
            at_receivers: waiting.of_receivers(scenario).spreads().collect(),
            shares,
            seed: scenario.seed,
            release: None,
            undone: None,
            invalid: Vec::new(),
        })
    }

    /// On this machine's kernel.
    pub fn of_kernel(scenario: &Scenario, how: How<'_>, console: &Console) -> anyhow::Result<Self> {
        let mut shares = Shares::default();
        let live = on_kernel::run(scenario, how, console, |flow| shares.add(&flow))?;
        let undone = live.truth.counters.sender.get("TcpExtTCPLossUndo").copied().unwrap_or(0);
        Ok(Self {
            totals: live.totals,
            waits: live.waiting.waited().collect(),
            at_receivers: live.waiting.of_receivers(scenario).spreads().collect(),
            shares,
            seed: scenario.seed,
            release: Some(live.truth.kernel),
            undone: Some(undone),
            invalid: live.invalid,
        })
    }
}
