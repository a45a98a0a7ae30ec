//! How late this machine runs, which decides whether a measured delay means anything.

use crate::background::Background;
use crate::clock;
use slowpath_uapi::proc::CpuTime;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Above the thread that runs a script.
const PRIORITY: i32 = 60;
/// How often each CPU is requested.
const PERIOD: Duration = Duration::from_millis(1);

/// Measures how late the CPUs are: a thread on each asks for it once a millisecond. A CPU that the hypervisor has taken
/// away, or a long interrupt, delays it, and with it the kernel's timers and everyone who watches them.
#[derive(Debug)]
pub struct LatenessWatch(Vec<Background<u64>>);

impl LatenessWatch {
    /// Starts watching every CPU that this process may run on.
    pub fn start() -> Self {
        Self(cpus().map(|cpu| Background::start(move |over| watch(cpu, over))).collect())
    }

    /// The longest that any of them was late.
    pub fn finish(self) -> Duration {
        self.0.iter().for_each(Background::stop);
        let latest = self.0.into_iter().filter_map(Background::finish).max();
        Duration::from_nanos(latest.unwrap_or(0))
    }
}

/// Counts the CPU time that others used: what the hypervisor takes away, if it reports that (`steal` of proc_stat(5)),
/// and what processes use that this one has not started. For work that a [`LatenessWatch`] would disturb: a task that
/// wakes every millisecond cuts the time slices of the others short.
#[derive(Debug)]
pub struct StolenWatch(CpuTicks);

impl StolenWatch {
    /// Starts counting, for all CPUs together.
    pub fn start() -> Self {
        Self(CpuTicks::now())
    }

    /// The share of all CPU time that others used. Children not yet waited for count among them.
    pub fn finish(self) -> f64 {
        let (before, now) = (self.0, CpuTicks::now());
        let all = now.all.since(before.all);
        let of_others = (all.user + all.nice + all.system).saturating_sub(now.own - before.own);
        all.share(all.steal + of_others)
    }
}

/// CPU time in `USER_HZ`: that of all CPUs since boot, and that of this process and the children it has waited for.
#[derive(Clone, Copy, Debug)]
struct CpuTicks {
    all: CpuTime,
    own: u64,
}

impl CpuTicks {
    fn now() -> Self {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        // SAFETY: all zeros are a valid `tms`, which the call fills in.
        let own = unsafe {
            let mut own: libc::tms = mem::zeroed();
            libc::times(&raw mut own);
            own
        };
        let own = [own.tms_utime, own.tms_stime, own.tms_cutime, own.tms_cstime];
        Self {
            all: CpuTime::of_all(&text).unwrap_or_default(),
            own: own.iter().map(|ticks| u64::try_from(*ticks).unwrap_or(0)).sum(),
        }
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
    use std::thread;

    /// The watch shows lateness: it is late itself if its CPU is.
    #[test]
    fn lateness_watch_measures_lateness() {
        let watch = LatenessWatch::start();
        assert_eq!(watch.0.len(), thread::available_parallelism().map_or(1, usize::from));
        thread::sleep(Duration::from_millis(20));
        assert!(watch.finish() > Duration::ZERO);
    }
}
