//! The runs of a sweep, made: those in the simulator on all CPUs, those on the kernel one after the other.

use super::folder::Folder;
use super::plan::{Job, Plan};
use super::table;
use crate::console::Console;
use crate::interrupt::Interrupt;
use crate::measured::Measured;
use crate::on_kernel::How;
use anyhow::Context;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

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

    /// Those in the simulator: each of so many threads takes the next one.
    pub fn in_simulator(&mut self, jobs: Option<NonZero<usize>>, console: &Console) -> anyhow::Result<()> {
        let interrupt = Interrupt::listen()?;
        let missing = self.missing(false);
        let all = self.plan.jobs.iter().filter(|job| !job.is_real).count();
        let bar = console.steps("run", all, all - missing.len());
        let (next, failed, found) = (AtomicUsize::new(0), AtomicBool::new(false), Mutex::new(Vec::new()));
        let one = |(place, job): &(usize, &Job)| -> anyhow::Result<()> {
            if let Some(run) = Measured::of_model_unless(&interrupt, self.plan.scenario(job))? {
                self.keep(job, &run)?;
                found.lock().expect("no run panics").push((*place, run));
                bar.step();
            }
            Ok(())
        };
        let work = || -> anyhow::Result<()> {
            while !interrupt.has_come()
                && !failed.load(Ordering::Relaxed)
                && let Some(job) = missing.get(next.fetch_add(1, Ordering::Relaxed))
            {
                one(job).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            }
            Ok(())
        };
        let cpus = jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get);
        thread::scope(|scope| {
            let workers: Vec<_> = (0..cpus.min(missing.len())).map(|_| scope.spawn(work)).collect();
            let ends = workers.into_iter().map(|worker| worker.join().expect("no run panics"));
            ends.collect::<anyhow::Result<Vec<()>>>()
        })
        .context("a run failed")?;
        for (place, run) in found.into_inner().expect("no run panics") {
            self.found[place] = Some(run);
        }
        Ok(())
    }
}
