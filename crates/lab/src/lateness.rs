//! How late this machine is: whether what disagrees with a clock says anything.

use crate::clock;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Before the thread that runs a script.
const PRIORITY: i32 = 60;
/// How often each CPU is asked for.
const PERIOD: Duration = Duration::from_millis(1);

/// Watches how late the CPUs come: a thread on each asks for it once a millisecond. A CPU that the machine beneath has
/// taken away, or an interrupt that lasts, makes it late, and with it the kernel's timers and whoever watches them.
#[derive(Debug)]
pub struct LatenessWatch {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<u64>>,
}

impl LatenessWatch {
    /// Begins to watch every CPU that this process may run on.
    pub fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let threads = cpus().map(|cpu| {
            let over = Arc::clone(&over);
            thread::spawn(move || watch(cpu, &over))
        });
        Self { threads: threads.collect(), over }
    }

    /// The longest that any of them was late.
    pub fn finish(self) -> Duration {
        self.over.store(true, Ordering::Relaxed);
        let latest = self.threads.into_iter().filter_map(|thread| thread.join().ok()).max();
        Duration::from_nanos(latest.unwrap_or(0))
    }
}

/// The CPUs of this process (`sched_getaffinity`).
fn cpus() -> impl Iterator<Item = usize> {
    // SAFETY: a set of no CPUs is all zeros, and the call writes within the size it is given.
    let set = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &raw mut set);
        set
    };
    // SAFETY: the index is within the set.
    (0..libc::CPU_SETSIZE as usize).filter(move |cpu| unsafe { libc::CPU_ISSET(*cpu, &set) })
}

fn watch(cpu: usize, over: &AtomicBool) -> u64 {
    // SAFETY: concerns the calling thread only; the index is within the set.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
    clock::make_thread_punctual(PRIORITY);
    let mut latest = 0;
    while !over.load(Ordering::Relaxed) {
        let due = clock::monotonic_ns() + PERIOD.as_nanos() as u64;
        clock::sleep_until_monotonic(due);
        latest = latest.max(clock::monotonic_ns().saturating_sub(due));
    }
    latest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The watch is not blind: it is late itself where its CPU is.
    #[test]
    fn a_moment_is_at_least_as_late_as_nothing() {
        let watch = LatenessWatch::start();
        assert_eq!(watch.threads.len(), thread::available_parallelism().map_or(1, usize::from));
        thread::sleep(Duration::from_millis(20));
        assert!(watch.finish() > Duration::ZERO);
    }
}
