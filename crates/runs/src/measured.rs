//! The results common to simulated runs and runs on the kernel.

use crate::Error;
use crate::kernel::{self, How};
use crate::simulated::{self, Folders};
use crate::waits::Waited;
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::waits::Spread;
use slowpath_analyses::{Cause, VantageOverride};
use slowpath_scenario::Scenario;
use slowpath_simulator::report::Total;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// The results of a run.
pub struct Measured {
    /// Each flow of the scenario, summed over its connections.
    pub totals: Vec<Total>,
    /// Waits of packets, data and processes, at each end of each flow.
    pub waits: Vec<Waited>,
    /// Waits at the receiving hosts, summed over all flows.
    pub at_receivers: Vec<Spread>,
    /// What limited the flows, as seen from their sending host.
    pub shares: Shares,
    /// The seed.
    pub seed: u64,
    /// The kernel's release; `None` for a simulated run.
    pub release: Option<String>,
    /// Spurious timeouts that the kernel's sender undid (`TCPLossUndo`).
    pub undone: Option<u64>,
    /// Why the run does not count; empty if it does.
    pub invalid: Vec<String>,
}

/// The share of the flows' lifetimes that each cause limited, averaged over the flows.
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

    /// The share of one cause, 0 to 1.
    pub fn of(&self, cause: Cause) -> f64 {
        self.sums.get(&cause).copied().unwrap_or(0.0) / f64::from(self.flows.max(1))
    }

    /// From the pairs that [`each`](Self::each) gives.
    pub fn of_each(shares: impl IntoIterator<Item = (Cause, f64)>) -> Self {
        Self { sums: shares.into_iter().collect(), flows: 1 }
    }

    /// Every cause that limited a flow, with its share.
    pub fn each(&self) -> impl Iterator<Item = (Cause, f64)> {
        self.sums.keys().map(|cause| (*cause, self.of(*cause)))
    }

    /// The cause with the largest share, and that share.
    pub fn most(&self) -> Option<(Cause, f64)> {
        let (cause, _) = self.sums.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some((*cause, self.of(*cause)))
    }
}

impl Measured {
    /// Runs `scenario` in the simulator; `None` if `stop` became true before the end.
    ///
    /// # Errors
    ///
    /// A run without recordings has no errors.
    pub fn in_simulator(scenario: &Scenario, stop: &AtomicBool) -> Result<Option<Self>, Error> {
        let mut shares = Shares::default();
        let vantage = Some(VantageOverride::Sender);
        let run = simulated::run_seen(
            scenario,
            vantage,
            Folders::default(),
            stop,
            |_| (),
            |flow| shares.add(&flow),
        )?;
        Ok(run.whole.then(|| Self {
            totals: run.flows(scenario).into_iter().map(|(_, total)| total).collect(),
            waits: run.waiting.waited().collect(),
            at_receivers: run.waiting.of_receivers(scenario).spreads().collect(),
            shares,
            seed: scenario.seed,
            release: None,
            undone: None,
            invalid: Vec::new(),
        }))
    }

    /// Runs `scenario` on this machine's kernel.
    ///
    /// # Errors
    ///
    /// The errors of [`kernel::run`].
    pub fn on_kernel(scenario: &Scenario, how: How<'_>) -> Result<Self, Error> {
        let mut shares = Shares::default();
        let live = kernel::run(scenario, how, |flow| shares.add(&flow))?;
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
