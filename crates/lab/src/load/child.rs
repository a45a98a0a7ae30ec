//! The processes of a load.
//!
//! They are forked from a program with many threads, so they may only do what is safe in a signal handler
//! (signal-safety(7)): they allocate no memory, lock nothing, and do not panic. They close every file, so that nothing
//! waits for their end, and they die with the thread that created them.

use crate::clock;
use slowpath_path::chance::Draws;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by SIGTERM.
static OVER: AtomicBool = AtomicBool::new(false);

/// The name that `ps` shows.
pub(super) const NAME: &core::ffi::CStr = c"slowpath-load";

/// When a load runs, by the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spell {
    pub from_ns: u64,
    pub until_ns: u64,
}

impl Spell {
    fn is_over(self) -> bool {
        OVER.load(Ordering::Relaxed) || clock::monotonic_ns() >= self.until_ns
    }

    fn sleep_until(self, at_ns: u64) {
        let at_ns = at_ns.min(self.until_ns);
        let time = libc::timespec {
            tv_sec: (at_ns / 1_000_000_000).cast_signed(),
            tv_nsec: (at_ns % 1_000_000_000).cast_signed(),
        };
        if !self.is_over() {
            // SAFETY: the time is live; a signal ends the sleep.
            unsafe {
                libc::clock_nanosleep(
                    libc::CLOCK_MONOTONIC,
                    libc::TIMER_ABSTIME,
                    &raw const time,
                    std::ptr::null_mut(),
                );
            }
        }
    }
}

/// Jobs of a `make`; times in nanoseconds, each the mean of an exponential distribution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jobs {
    pub at_a_time: u32,
    pub job_ns: u64,
    pub burst_ns: u64,
    pub wait_ns: u64,
}

/// Turns the calling process, fresh from fork(2), into one of a load's.
fn begin(parent: libc::pid_t) {
    // SAFETY: async-signal-safe calls with plain values, or with values that live as long as the call.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        // A parent that died before this no longer kills us.
        if libc::getppid() != parent {
            libc::_exit(0);
        }
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr(), 0, 0, 0);
        libc::close_range(0, u32::MAX, 0);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = end as extern "C" fn(libc::c_int) as libc::sighandler_t;
        libc::sigaction(libc::SIGTERM, &raw const action, std::ptr::null_mut());
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

extern "C" fn end(_signal: libc::c_int) {
    OVER.store(true, Ordering::Relaxed);
}

/// A longer time between two clock readings was not this process's own.
const AT_A_TIME_NS: u64 = 50_000;

/// Computes for this much CPU time, or until the spell is over. It counts that time itself: asking the kernel for it
/// makes the kernel check whether the time slice is over (`task_sched_runtime`), which a task that only computes leaves
/// to the tick.
fn compute(cpu_ns: u64, spell: Spell) {
    let (mut used_ns, mut last_ns) = (0, clock::monotonic_ns());
    while used_ns < cpu_ns && !spell.is_over() {
        for number in 0..2_000 {
            std::hint::black_box(number);
        }
        let now_ns = clock::monotonic_ns();
        used_ns += (now_ns - last_ns).min(AT_A_TIME_NS);
        last_ns = now_ns;
    }
}

/// A process that computes without pausing.
pub(super) fn hog(parent: libc::pid_t, spell: Spell) -> ! {
    begin(parent);
    spell.sleep_until(spell.from_ns);
    compute(u64::MAX, spell);
    // SAFETY: it does not come back.
    unsafe { libc::_exit(0) }
}

/// A process that keeps this many jobs running, each a process of its own.
pub(super) fn make(parent: libc::pid_t, spell: Spell, jobs: Jobs, mut draws: Draws) -> ! {
    begin(parent);
    // Its jobs can then be ended together.
    // SAFETY: plain values.
    let own = unsafe {
        libc::setpgid(0, 0);
        libc::getpid()
    };
    spell.sleep_until(spell.from_ns);
    let mut running = 0;
    while !spell.is_over() {
        while running < jobs.at_a_time {
            let seed = draws.bits();
            // SAFETY: the child does only what is async-signal-safe, and does not come back.
            match unsafe { libc::fork() } {
                0 => job(own, spell, jobs, Draws::new(seed)),
                -1 => break,
                _ => running += 1,
            }
        }
        // SAFETY: nobody needs the job's status. A signal ends the wait.
        if unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0 {
            running -= 1;
        } else if running == 0 {
            // There is not even room for one process now.
            spell.sleep_until(clock::monotonic_ns() + 10_000_000);
        }
    }
    // Their CPU time counts for this process once they have been waited for.
    // SAFETY: plain values; the group is this process's own, which handles the signal.
    unsafe {
        libc::kill(0, libc::SIGTERM);
        while libc::waitpid(-1, std::ptr::null_mut(), 0) > 0 || *libc::__errno_location() == libc::EINTR {}
        libc::_exit(0)
    }
}

fn job(parent: libc::pid_t, spell: Spell, jobs: Jobs, mut draws: Draws) -> ! {
    begin(parent);
    let total_ns = draws.exponential(jobs.job_ns);
    let mut used_ns: u64 = 0;
    while used_ns < total_ns && !spell.is_over() {
        let burst_ns = draws.exponential(jobs.burst_ns).max(1_000).min(total_ns - used_ns);
        compute(burst_ns, spell);
        used_ns += burst_ns;
        spell.sleep_until(clock::monotonic_ns().saturating_add(draws.exponential(jobs.wait_ns)));
    }
    // SAFETY: it does not come back.
    unsafe { libc::_exit(0) }
}
