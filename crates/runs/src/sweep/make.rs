//! Does the runs of a sweep: in the simulator on all CPUs, on the kernel one after another.

use super::Row;
use super::folder::{Folder, Identity};
use super::plan::{Job, Places, Plan, case_name};
use crate::interrupt::Interrupt;
use crate::kernel::How;
use crate::{Error, Measured, parallel};
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The results of a sweep so far, and where they are stored.
pub struct Made<'a> {
    /// The planned runs.
    pub plan: &'a Plan,
    /// The folder that stores each run when it ends.
    folder: Option<Folder>,
    /// The result of each of the plan's jobs, in their order; `None` until it is done.
    pub found: Vec<Option<Measured>>,
}

impl<'a> Made<'a> {
    /// The runs that `folder` has already, if there is one; none otherwise.
    ///
    /// # Errors
    ///
    /// If the folder holds anything else, or what it holds cannot be read.
    pub fn begin(plan: &'a Plan, folder: Option<(&Path, Identity)>) -> Result<Self, Error> {
        let opened = folder.map(|(path, identity)| Folder::open(path, plan, identity));
        let (folder, found) = opened.transpose()?.unzip();
        Ok(Self { plan, folder, found: found.unwrap_or_else(|| plan.jobs.iter().map(|_| None).collect()) })
    }

    /// The runs by case. Completes the folder.
    ///
    /// # Errors
    ///
    /// If a file of the folder cannot be read, written or removed.
    pub fn end(self) -> Result<Vec<Row<'a>>, Error> {
        self.folder.as_ref().map_or(Ok(()), Folder::pack)?;
        Ok(Row::all(self.plan, self.found))
    }

    /// Does the missing runs, those on the kernel first, and the simulated ones until Ctrl-C. `begin` is called with the
    /// number of runs and how many of them are done, and the function that it returns after each. Returns why runs
    /// failed.
    ///
    /// # Errors
    ///
    /// As [`on_kernel`](Self::on_kernel) and [`in_simulator`](Self::in_simulator).
    pub fn make<D: Fn() + Sync>(
        &mut self,
        places: Places,
        how: How<'_>,
        threads: Option<NonZero<usize>>,
        begin: impl Fn(usize, usize) -> D,
    ) -> Result<Vec<Error>, Error> {
        let mut failed = Vec::new();
        if places != Places::Simulator {
            let (all, done) = self.progress(true);
            failed = self.on_kernel(how, &begin(all, done))?;
        }
        if places != Places::Kernel {
            let (all, done) = self.progress(false);
            let interrupt = Interrupt::listen()?;
            self.in_simulator(threads, interrupt.flag(), &begin(all, done))?;
        }
        Ok(failed)
    }

    /// The simulated jobs, or those on the kernel, without a result yet, with their index.
    fn missing(&self, is_real: bool) -> Vec<(usize, &'a Job)> {
        let all = self.plan.jobs.iter().enumerate();
        all.filter(|(place, job)| job.is_real == is_real && self.found[*place].is_none()).collect()
    }

    /// The number of runs in the simulator or on the kernel, and how many of them are done.
    pub fn progress(&self, is_real: bool) -> (usize, usize) {
        let all = self.plan.jobs.iter().filter(|job| job.is_real == is_real).count();
        (all, all - self.missing(is_real).len())
    }

    fn store(&self, job: &Job, run: &Measured) -> Result<(), Error> {
        self.folder.as_ref().map_or(Ok(()), |folder| folder.add(self.plan, job, run))
    }

    /// Does the missing runs on the kernel, and calls `done` after each. Returns why runs failed.
    ///
    /// # Errors
    ///
    /// If a run cannot be stored. If no run succeeds, the error of the first.
    pub fn on_kernel(&mut self, how: How<'_>, done: &dyn Fn()) -> Result<Vec<Error>, Error> {
        let mut failed = Vec::new();
        for (place, job) in self.missing(true) {
            // A failed run says nothing about the others.
            match Measured::on_kernel(self.plan.scenario(job), how) {
                Ok(run) => {
                    self.store(job, &run)?;
                    self.found[place] = Some(run);
                }
                Err(source) => {
                    let name = case_name(&self.plan.cases[job.case].case);
                    failed.push(Error::Case { name, source: source.into() });
                }
            }
            done();
        }
        if self.found.iter().all(Option::is_none) && !failed.is_empty() {
            return Err(failed.swap_remove(0));
        }
        Ok(failed)
    }

    /// Does the missing runs in the simulator, `threads` at a time, until `stop` is true, and calls `done` after each.
    ///
    /// # Errors
    ///
    /// If a run cannot be stored.
    pub fn in_simulator(
        &mut self,
        threads: Option<NonZero<usize>>,
        stop: &AtomicBool,
        done: &(dyn Fn() + Sync),
    ) -> Result<(), Error> {
        let missing = self.missing(false);
        let runs = parallel::each(&missing, threads, stop, done, |(_, job)| -> Result<_, Error> {
            let run = Measured::in_simulator(self.plan.scenario(job), stop)?;
            run.iter().try_for_each(|run| self.store(job, run))?;
            Ok(run)
        })?;
        for ((place, _), run) in missing.into_iter().zip(runs) {
            self.found[place] = run;
        }
        Ok(())
    }
}
