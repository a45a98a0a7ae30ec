//! The runs of a sweep, all checked before the first one starts.

use super::keys::Key;
use crate::Error;
use crate::file::{self, Changes};
use slowpath_lab::run::kernel_release;
use slowpath_scenario::sweep::MOST_CASES;
use slowpath_scenario::{Override, Scenario, Sweep, SweepCase, Vary};
use std::path::Path;

/// The planned runs.
pub struct Plan {
    /// The scenario of the file, unchanged.
    pub base: Scenario,
    /// The text of the file.
    pub text: String,
    /// What varies.
    pub sweep: Sweep,
    /// The keys that vary.
    pub keys: Vec<Key>,
    /// Every combination of values.
    pub cases: Vec<Planned>,
    /// Every run, in the order of the results.
    pub jobs: Vec<Job>,
}

/// One of the sweep's cases, ready to run.
pub struct Planned {
    /// Its name or values.
    pub case: SweepCase,
    /// Its scenarios, one for each repetition, with increasing seeds.
    pub scenarios: Vec<Scenario>,
}

/// A planned run.
pub struct Job {
    /// Its number in the sweep, from 1.
    pub number: usize,
    /// The index of its case.
    pub case: usize,
    /// The index of its scenario in that case.
    pub repeat: usize,
    /// Whether it runs on this machine's kernel.
    pub is_real: bool,
}

/// Where runs are done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// In the simulator.
    Simulator,
    /// On this machine's kernel.
    Kernel,
    /// In both.
    Both,
}

impl Places {
    /// On the kernel if `in_lab`, in both if they are compared, else in the simulator.
    pub const fn of(in_lab: bool, are_compared: bool) -> Self {
        match (in_lab, are_compared) {
            (true, _) => Self::Kernel,
            (false, true) => Self::Both,
            (false, false) => Self::Simulator,
        }
    }

    /// The part of a sweep's identity that says where runs are done. `carrier` is the name of the packets' carrier on
    /// the kernel.
    pub fn describe(self, carrier: &str) -> String {
        let kernel = || format!("Linux {} over {carrier}", kernel_release());
        match self {
            Self::Simulator => "the simulator".to_owned(),
            Self::Kernel => kernel(),
            Self::Both => format!("the simulator and {}", kernel()),
        }
    }
}

impl Plan {
    /// Plans a scenario file. `vary`, unless it is empty, replaces the file's own variations.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, a scenario has errors, nothing varies, or there are too many runs.
    pub fn of(
        file: &Path,
        changes: &Changes,
        vary: &[Vary],
        repeat: u32,
        places: Places,
    ) -> Result<Self, Error> {
        let text = file::text(file)?;
        let base = file::load_text(file, &text, changes, &[])?;
        let mut sweep = base.sweep.clone();
        if !vary.is_empty() {
            sweep = Sweep { vary: vary.to_vec(), tries: Vec::new() };
        }
        if sweep.is_empty() {
            return Err(Error::NothingDiffers(file.display().to_string()));
        }
        let runs = sweep.len().saturating_mul(repeat as usize);
        if runs > MOST_CASES {
            return Err(Error::TooMany { runs, most: MOST_CASES });
        }
        let ready = |case: SweepCase| -> Result<Planned, Error> {
            let scenario = file::load_text(file, &text, changes, &case.set)?;
            let seeds = (0..repeat).map(|n| scenario.seed.wrapping_add(n.into()));
            let scenarios = seeds.map(|seed| Scenario { seed, ..scenario.clone() }).collect();
            Ok(Planned { case, scenarios })
        };
        let cases = sweep.cases().into_iter().map(ready).collect::<Result<Vec<_>, Error>>()?;
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

/// A case's name, or its values.
pub fn case_name(case: &SweepCase) -> String {
    case.name.clone().unwrap_or_else(|| case.set.iter().map(Override::text).collect::<Vec<_>>().join(" "))
}
