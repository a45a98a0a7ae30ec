//! Many runs of a scenario with different values.
//!
//! A [`Plan`] lists every run; all are checked before the first one starts. [`Made`] does the missing runs, in the
//! simulator on all CPUs and on the kernel one after another. It stores each run when it ends, and returns it
//! when the sweep is started again. [`Row`]s are the results by case, and [`Number`]s the measured values.

mod columns;
mod folder;
mod keys;
mod make;
mod numbers;
mod plan;

pub use folder::{Identity, identity};
pub use keys::{Key, Kind, split};
pub use make::Made;
pub use numbers::{NUMBERS, Number, RATE, RETRANSMITS, Unit, of_tables};
pub use plan::{Job, Places, Plan, Planned, case_name};

use crate::Measured;

/// The runs of a case.
pub struct Row<'a> {
    /// The case.
    pub planned: &'a Planned,
    /// Its completed runs in the simulator.
    pub model: Vec<Measured>,
    /// Its completed runs on the kernel.
    pub kernel: Vec<Measured>,
}

impl<'a> Row<'a> {
    /// The completed runs, by case.
    pub fn all(plan: &'a Plan, found: Vec<Option<Measured>>) -> Vec<Self> {
        let row = |planned| Self { planned, model: Vec::new(), kernel: Vec::new() };
        let mut rows: Vec<Self> = plan.cases.iter().map(row).collect();
        for (job, run) in plan.jobs.iter().zip(found) {
            let row = &mut rows[job.case];
            let of = if job.is_real { &mut row.kernel } else { &mut row.model };
            of.extend(run);
        }
        rows
    }

    /// Its runs on the kernel or in the simulator.
    pub fn of(&self, is_real: bool) -> &[Measured] {
        if is_real { &self.kernel } else { &self.model }
    }

    /// All of its runs.
    pub fn runs(&self) -> impl Iterator<Item = &Measured> {
        self.model.iter().chain(&self.kernel)
    }
}
