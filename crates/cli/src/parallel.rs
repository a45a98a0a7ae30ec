//! Work that is done on all CPUs.

use crate::console::Console;
use crate::interrupt::Interrupt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does each of some jobs, as many at once as there are CPUs, with a bar that counts them in `unit`s. What came of them is
/// in their order; `None` if an interrupt came before all were done.
///
/// # Errors
///
/// The first that a job met; the others that have begun are finished.
pub fn each<J: Sync, R: Send>(
    unit: &'static str,
    jobs: &[J],
    console: &Console,
    work: impl Fn(&J) -> anyhow::Result<R> + Sync,
) -> anyhow::Result<Option<Vec<R>>> {
    let interrupt = Interrupt::listen()?;
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(jobs.len())));
    let bar = console.steps(unit, jobs.len(), 0);
    let worker = || -> anyhow::Result<()> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(at).filter(|_| !interrupt.has_come()) else { return Ok(()) };
            let result = work(job)?;
            done.lock().expect("no job panics").push((at, result));
            bar.step();
        }
    };
    let cpus = thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cpus).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no job panics"))
    })?;
    let mut done = done.into_inner().expect("no job panics");
    done.sort_by_key(|(at, _)| *at);
    let all = done.len() == jobs.len();
    Ok(all.then(|| done.into_iter().map(|(_, result)| result).collect()))
}
