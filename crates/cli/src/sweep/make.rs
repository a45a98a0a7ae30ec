//! The runs of a sweep, made: those in the simulator on all CPUs, those on the kernel one after the other.

use super::folder::Folder;
use super::plan::{Job, Plan};
use super::table;
use crate::console::Console;
use crate::interrupt::Interrupt;
use crate::measured::Measured;
use crate::on_kernel::How;
use crate::parallel;
use anyhow::Context;
use std::num::NonZero;

/// What came of each run, by its place in the plan, as far as it was made; where it is kept, if anywhere.
pub struct Made<'a> {
    pub plan: &'a Plan,
    pub folder: Option<&'a Folder>,
    pub found: Vec<Option<Measured>>,
}

impl<'a> Made<'a> {
    /// The runs of one place that are still to be made.
    fn missing(&self, is_real: bool) -> Vec<(usize, &'a Job)> {
        let all = self.plan.jobs.iter().enumerate();
        all.filter(|(place, job)| job.is_real == is_real && self.found[*place].is_none()).collect()
    }

    fn keep(&self, job: &Job, run: &Measured) -> anyhow::Result<()> {
        self.folder.map_or(Ok(()), |folder| folder.add(self.plan, job, run))
    }

    /// Those on the kernel.
    pub fn on_kernel(&mut self, how: How<'_>, console: &Console) -> anyhow::Result<()> {
        let missing = self.missing(true);
        let all = self.plan.jobs.iter().filter(|job| job.is_real).count();
        let bar = console.steps("run", all, all - missing.len());
        let mut failed = Vec::new();
        for (place, job) in missing {
            // What one run cannot do says nothing of the others.
            match Measured::of_kernel(self.plan.scenario(job), how, &Console::silent()) {
                Ok(run) => {
                    self.keep(job, &run)?;
                    self.found[place] = Some(run);
                }
                Err(error) => failed.push(error.context(table::name(&self.plan.cases[job.case].case))),
            }
            bar.step();
        }
        if self.found.iter().all(Option::is_none)
            && let Some(first) = failed.drain(..).next()
        {
            return Err(first);
        }
        for error in failed {
            bar.say(&format!("{error:#}"));
        }
        Ok(())
    }

    /// Those in the simulator, so many at once.
    pub fn in_simulator(&mut self, jobs: Option<NonZero<usize>>, console: &Console) -> anyhow::Result<()> {
        let missing = self.missing(false);
        let all = self.plan.jobs.iter().filter(|job| !job.is_real).count();
        let bar = console.steps("run", all, all - missing.len());
        let one = |(_, job): &(usize, &Job), interrupt: &Interrupt| -> anyhow::Result<Option<Measured>> {
            let run = Measured::of_model_unless(interrupt, self.plan.scenario(job))?;
            run.iter().try_for_each(|run| self.keep(job, run))?;
            Ok(run)
        };
        let runs = parallel::each(&missing, jobs, &bar, one).context("a run failed")?;
        for ((place, _), run) in missing.into_iter().zip(runs) {
            self.found[place] = run;
        }
        Ok(())
    }
}
