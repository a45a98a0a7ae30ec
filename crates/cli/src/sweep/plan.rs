//! The runs of a sweep, all checked before the first one is made.

use super::keys::Key;
use crate::scenario::{self, Changes};
use anyhow::ensure;
use slowpath_scenario::sweep::MOST_CASES;
use slowpath_scenario::{Case, Scenario, Sweep, Vary};
use std::path::Path;

/// What is to be run.
pub struct Plan {
    /// The scenario as it stands, and the text that it was read from.
    pub base: Scenario,
    pub text: String,
    /// What differs from run to run, and where that is put.
    pub sweep: Sweep,
    pub keys: Vec<Key>,
    pub cases: Vec<Planned>,
    /// Every run, in the order in which results are told.
    pub jobs: Vec<Job>,
}

/// One of the sweep's cases, ready to run.
pub struct Planned {
    pub case: Case,
    /// The same scenario with one seed after the other.
    pub scenarios: Vec<Scenario>,
}

/// A run that is to be made.
pub struct Job {
    /// Its number in the sweep, from 1.
    pub number: usize,
    /// Its case, and which of that case's scenarios.
    pub case: usize,
    pub repeat: usize,
    /// Whether it is made on this machine's kernel.
    pub is_real: bool,
}

/// Where runs are made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Places {
    Simulator,
    Kernel,
    Both,
}

impl Plan {
    /// Of a scenario file. What `vary` says takes the place of what the file varies and tries.
    pub fn of(
        file: &Path,
        changes: &Changes,
        vary: &[Vary],
        repeat: u32,
        places: Places,
    ) -> anyhow::Result<Self> {
        let text = scenario::text(file)?;
        let base = scenario::load_text(file, &text, changes, &[])?;
        let mut sweep = base.sweep.clone();
        if !vary.is_empty() {
            sweep = Sweep { vary: vary.to_vec(), tries: Vec::new() };
        }
        ensure!(
            !sweep.is_empty(),
            "{}: nothing differs from run to run; write --vary KEY=VALUE,VALUE, or [[vary]] in the file",
            file.display()
        );
        let runs = sweep.len().saturating_mul(repeat as usize);
        ensure!(runs <= MOST_CASES, "these are {runs} runs; a sweep has at most {MOST_CASES}");
        let ready = |case: Case| {
            let scenario = scenario::load_text(file, &text, changes, &case.set)?;
            let seeds = (0..repeat).map(|n| scenario.seed.wrapping_add(n.into()));
            let scenarios = seeds.map(|seed| Scenario { seed, ..scenario.clone() }).collect();
            Ok(Planned { case, scenarios })
        };
        let cases = sweep.cases().into_iter().map(ready).collect::<anyhow::Result<Vec<_>>>()?;
        let keys = Key::of(cases.iter().map(|planned| &planned.case));
        let mut jobs = Vec::new();
        for is_real in [false, true] {
            if places == (if is_real { Places::Simulator } else { Places::Kernel }) {
                continue;
            }
            for (case, planned) in cases.iter().enumerate() {
                for repeat in 0..planned.scenarios.len() {
                    jobs.push(Job { number: jobs.len() + 1, case, repeat, is_real });
                }
            }
        }
        Ok(Self { base, text, sweep, keys, cases, jobs })
    }

    /// The scenario of a run.
    pub fn scenario(&self, job: &Job) -> &Scenario {
        &self.cases[job.case].scenarios[job.repeat]
    }
}
