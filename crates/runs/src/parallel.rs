//! Independent jobs on all CPUs.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Runs `work` for each of `jobs`, on `threads` threads (by default one per CPU), and calls `done` after each job with
/// a result. Returns the results in the order of the jobs; `None` for those not run because `stop` became true.
///
/// # Errors
///
/// The first error of a job. No other job is started after it.
pub fn each<J: Sync, R: Send, E: Send>(
    jobs: &[J],
    threads: Option<NonZero<usize>>,
    stop: &AtomicBool,
    done: &(dyn Fn() + Sync),
    work: impl Fn(&J) -> Result<Option<R>, E> + Sync,
) -> Result<Vec<Option<R>>, E> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results = Mutex::new(jobs.iter().map(|_| None).collect::<Vec<_>>());
    let worker = || -> Result<(), E> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let is_over = stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
            let Some(job) = jobs.get(at).filter(|_| !is_over) else { return Ok(()) };
            let result = work(job).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            if result.is_some() {
                results.lock().expect("no job panics")[at] = result;
                done();
            }
        }
    };
    let cpus = threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cpus.min(jobs.len())).map(|_| scope.spawn(worker)).collect();
        let ends = workers.into_iter().map(|worker| worker.join().expect("no job panics"));
        ends.collect::<Result<Vec<()>, E>>()
    })?;
    Ok(results.into_inner().expect("no job panics"))
}
