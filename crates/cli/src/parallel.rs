//! Work that is done on all CPUs.

use crate::console::Steps;
use crate::interrupt::Interrupt;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Does each of some jobs, so many at once, or as many as there are CPUs, and takes a step of the bar for each that is
/// done. What came of them, in their order; `None` for those that an interrupt kept from being done.
///
/// # Errors
///
/// The first that a job met. No other is begun then.
pub fn each<J: Sync, R: Send>(
    jobs: &[J],
    threads: Option<NonZero<usize>>,
    bar: &Steps,
    work: impl Fn(&J, &Interrupt) -> anyhow::Result<Option<R>> + Sync,
) -> anyhow::Result<Vec<Option<R>>> {
    let interrupt = Interrupt::listen()?;
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done = Mutex::new(jobs.iter().map(|_| None).collect::<Vec<_>>());
    let worker = || -> anyhow::Result<()> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let is_over = interrupt.has_come() || failed.load(Ordering::Relaxed);
            let Some(job) = jobs.get(at).filter(|_| !is_over) else { return Ok(()) };
            let result = work(job, &interrupt).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            if result.is_some() {
                done.lock().expect("no job panics")[at] = result;
                bar.step();
            }
        }
    };
    let cpus = threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cpus.min(jobs.len())).map(|_| scope.spawn(worker)).collect();
        let ends = workers.into_iter().map(|worker| worker.join().expect("no job panics"));
        ends.collect::<anyhow::Result<Vec<()>>>()
    })?;
    Ok(done.into_inner().expect("no job panics"))
}
