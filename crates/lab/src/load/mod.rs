//! Background load: processes that use a host's CPUs while a transfer runs.
//!
//! However the run ends, they end: [`Running`] ends them, the kernel does if the thread that started them dies
//! (`PR_SET_PDEATHSIG`), and each knows its own deadline.

mod child;

use crate::error::LabError;
use crate::host::Host;
use crate::task::Scheduling;
use child::{Jobs, Spell};
use serde::{Deserialize, Serialize};
use slowpath_path::chance::Draws;
use std::time::{Duration, Instant};

/// A background load on a host's CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// The host.
    pub host: Host,
    /// What it does.
    pub kind: LoadKind,
    /// How each of its processes is scheduled.
    pub scheduling: Scheduling,
    /// When it begins, after the transfer's start.
    pub after_ns: u64,
    /// When it ends, likewise; with the transfer if `None`.
    pub until_ns: Option<u64>,
}

/// What a load does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum LoadKind {
    /// Processes that compute without pausing.
    Hogs {
        /// How many.
        count: u32,
    },
    /// As `make -jN`: jobs, each a new process that computes and waits in turns. Times are means of exponential
    /// distributions.
    Make {
        /// How many at a time.
        jobs: u32,
        /// CPU time of a job.
        job_ns: u64,
        /// How long it computes before it waits.
        burst_ns: u64,
        /// How long it then waits.
        wait_ns: u64,
    },
}

/// The CPU time of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// The load.
    pub load: Load,
    /// CPU time of all of its processes.
    pub ran_ns: u64,
}

/// Running loads; their processes are ended when this value is dropped.
#[derive(Debug, Default)]
pub struct Running {
    loads: Vec<(Load, Vec<libc::pid_t>)>,
}

/// How long a process may take to end after SIGTERM; on a busy CPU it first has to be scheduled.
const PATIENCE: Duration = Duration::from_secs(2);

impl Running {
    /// Starts loads, which end by themselves at `deadline_ns` (monotonic) at the latest. Call it on a thread that
    /// outlives them.
    ///
    /// # Errors
    /// If a process cannot be made or the kernel refuses its scheduling.
    pub fn start(loads: &[Load], start_ns: u64, deadline_ns: u64, seed: u64) -> Result<Self, LabError> {
        let mut running = Self::default();
        let mut draws = Draws::new(seed);
        for load in loads {
            let at = |after_ns: u64| start_ns.saturating_add(after_ns).min(deadline_ns);
            let spell = Spell { from_ns: at(load.after_ns), until_ns: load.until_ns.map_or(deadline_ns, at) };
            running.loads.push((load.clone(), Vec::new()));
            // SAFETY: it has no arguments and cannot fail.
            let own = unsafe { libc::getpid() };
            match load.kind {
                LoadKind::Hogs { count } => {
                    for _ in 0..count {
                        running.fork(|| child::hog(own, spell))?;
                    }
                }
                LoadKind::Make { jobs, job_ns, burst_ns, wait_ns } => {
                    let (jobs, draws) =
                        (Jobs { at_a_time: jobs, job_ns, burst_ns, wait_ns }, Draws::new(draws.bits()));
                    running.fork(|| child::make(own, spell, jobs, draws.clone()))?;
                }
            }
        }
        Ok(running)
    }

    /// Forks a process of the last load.
    fn fork(&mut self, child: impl Fn()) -> Result<(), LabError> {
        let Some((load, processes)) = self.loads.last_mut() else { return Ok(()) };
        // SAFETY: the child does only what is async-signal-safe, and ends here at the latest.
        match unsafe { libc::fork() } {
            0 => {
                child();
                // SAFETY: it does not come back.
                unsafe { libc::_exit(0) }
            }
            -1 => Err(LabError::last_os("make a process of a load")),
            process => {
                processes.push(process);
                // Its own children inherit this.
                load.scheduling.apply(process)
            }
        }
    }

    /// Ends all of them; returns what they used.
    pub fn stop(mut self) -> Vec<LoadRecord> {
        self.end()
    }

    fn end(&mut self) -> Vec<LoadRecord> {
        let loads = std::mem::take(&mut self.loads);
        for process in loads.iter().flat_map(|(_, processes)| processes) {
            // SAFETY: it is our child and has not been waited for, so the id is its own.
            unsafe { libc::kill(*process, libc::SIGTERM) };
        }
        let given_up = Instant::now() + PATIENCE;
        let record = |(load, processes): (Load, Vec<libc::pid_t>)| {
            let ran_ns = processes.into_iter().map(|process| wait(process, given_up)).sum();
            LoadRecord { load, ran_ns }
        };
        loads.into_iter().map(record).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits for the end of a child, killing it once patience is over; returns the CPU time of it and its own children.
fn wait(process: libc::pid_t, given_up: Instant) -> u64 {
    // SAFETY: all-zero is a rusage, which the call fills; a child that is ours is waited for once.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        let late = Instant::now() >= given_up;
        if late {
            // SAFETY: it is our child and has not been waited for, so the id is its own.
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
        let how = if late { 0 } else { libc::WNOHANG };
        // SAFETY: the usage is live; nobody asks how the child ended.
        match unsafe { libc::wait4(process, std::ptr::null_mut(), how, &raw mut usage) } {
            0 => std::thread::sleep(Duration::from_millis(1)),
            _ => break,
        }
    }
    let nanos = |time: libc::timeval| (time.tv_sec * 1_000_000_000 + time.tv_usec * 1_000).cast_unsigned();
    nanos(usage.ru_utime) + nanos(usage.ru_stime)
}
