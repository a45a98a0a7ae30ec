//! The experiments of papers: simulated on all CPUs, or measured on this machine's kernel ([`lavoie`],
//! [`ubik`], [`table_one`]).

mod error;
mod kept;
pub mod lavoie;
mod request;
pub mod table_one;
pub mod ubik;

pub use error::Error;
pub use request::Request;

use crate::parallel;
use slowpath_papers::tunings::{self, Path, Technique};
use slowpath_papers::{FlowMeasures, Paper, Report, Trace, measure};
use slowpath_scenario::Rejected;
use std::sync::atomic::AtomicBool;

/// Runs every case of a paper with the seeds from 1 to `seeds`, and compares the results with the published ones.
/// `begin` is called with the number of runs, and the function it returns after each run. `None` if `stop` became true
/// before all runs were done.
///
/// # Errors
///
/// If a case is not a scenario.
pub fn report<D: Fn() + Sync>(
    paper: Paper,
    seeds: u64,
    stop: &AtomicBool,
    begin: impl FnOnce(usize) -> D,
) -> Result<Option<Report>, Rejected> {
    let cases = paper.cases();
    let jobs: Vec<(u64, usize)> =
        (1..=seeds).flat_map(|seed| (0..cases.len()).map(move |case| (seed, case))).collect();
    let work = |(seed, case): &(u64, usize)| -> Result<Option<(FlowMeasures, Option<Trace>)>, Rejected> {
        Ok(Some(if *seed == 1 && *case < paper.traced() {
            let (measured, trace) = measure::traced(&cases[*case], *seed)?;
            (measured, Some(trace))
        } else {
            (measure::measure(&cases[*case], *seed)?, None)
        }))
    };
    let done_one = begin(jobs.len());
    let done: Option<Vec<_>> = parallel::each(&jobs, None, stop, &done_one, work)?.into_iter().collect();
    let Some(done) = done else { return Ok(None) };
    let (mut runs, mut traces) = (vec![Vec::new(); cases.len()], Vec::new());
    for ((_, case), (measured, trace)) in jobs.iter().zip(done) {
        runs[*case].push(measured);
        traces.extend(trace);
    }
    Ok(Some(paper.report(&runs, &traces)))
}

/// Runs every buffer tuning technique on a path, on all CPUs, and calls `done` after each. `None` if `stop` became true
/// before all were run.
///
/// # Errors
///
/// If the path is not a valid scenario.
pub fn compare_tunings(
    path: &Path,
    stop: &AtomicBool,
    done: &(dyn Fn() + Sync),
) -> Result<Option<Vec<(Technique, tunings::Outcome)>>, Rejected> {
    let work = |technique: &Technique| Ok::<_, Rejected>(Some(tunings::measure(*technique, path)?));
    let outcomes = parallel::each(&Technique::ALL, None, stop, done, work)?;
    let outcomes = outcomes.into_iter().collect::<Option<Vec<_>>>();
    Ok(outcomes.map(|outcomes| Technique::ALL.into_iter().zip(outcomes).collect()))
}
