//! What came of a run, simulated or real, as far as both tell it.

use crate::console::Console;
use crate::on_kernel::{self, How};
use crate::run::Watchers;
use crate::waits::Waiting;
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, Cause, Options, VantageOverride};
use slowpath_recording::Ending;
use slowpath_scenario::Scenario;
use slowpath_simulator::report::Total;
use slowpath_simulator::{Simulation, Tap};
use std::collections::BTreeMap;

/// What came of a run.
pub struct Measured {
    /// What came of each flow of the scenario.
    pub totals: Vec<Total>,
    /// Where packets, data and processes waited on the hosts.
    pub waiting: Waiting,
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

    /// The cause of most of it, with its share.
    pub fn most(&self) -> Option<(Cause, f64)> {
        let (cause, _) = self.sums.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some((*cause, self.of(*cause)))
    }
}

impl Measured {
    /// In the simulator.
    pub fn of_model(scenario: &Scenario) -> anyhow::Result<Self> {
        let vantage = scenario.flows[0].sender_host();
        let options = Options { vantage: Some(VantageOverride::Sender), ..Options::default() };
        let mut watchers = Watchers::new(Tap::new(vantage, Analysis::new(options)), Waiting::new(scenario));
        let mut simulation = Simulation::new(scenario);
        simulation.run(&mut watchers);
        let (analysis, waiting) = watchers.finish(Ending::Complete)?;
        let mut shares = Shares::default();
        analysis.finish_each(|flow| shares.add(&flow));
        Ok(Self {
            totals: (0..scenario.flows.len()).map(|flow| simulation.total(flow)).collect(),
            waiting,
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
            waiting: live.waiting,
            shares,
            seed: scenario.seed,
            release: Some(live.truth.kernel),
            undone: Some(undone),
            invalid: live.invalid,
        })
    }
}
