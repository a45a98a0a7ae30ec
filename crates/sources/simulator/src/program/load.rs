//! Background load.

use super::Op;
use slowpath_model::{Instant, nanos};
use slowpath_path::chance::Draws;
use slowpath_scenario::Cost;
use std::time::Duration;

/// Computes without a pause.
#[derive(Debug)]
pub struct Hog {
    stop: Option<Instant>,
}

/// A piece of computing: much longer than any time slice, so that only the scheduler divides it.
const PIECE: Duration = Duration::from_secs(1);

impl Hog {
    /// A hog that computes until `stop`.
    pub fn new(stop: Option<Instant>) -> Self {
        Self { stop }
    }

    pub(super) fn next(&mut self, now: Instant) -> Op {
        match self.stop {
            Some(stop) if stop <= now => Op::Exit,
            Some(stop) => Op::Compute(cost(stop.since(now).unwrap_or_default().min(PIECE))),
            None => Op::Compute(cost(PIECE)),
        }
    }
}

/// Forks from the sleeping process to a job's task: by make, its shell and the compiler's driver.
pub const JOB_FORKS: u32 = 3;

/// Jobs of a `make`, in sequence, each a task that alternates between computing and waiting for the disk.
#[derive(Debug)]
pub struct Job {
    stop: Option<Instant>,
    job_time: Duration,
    burst: Duration,
    wait: Duration,
    /// Remaining CPU time of the current job.
    left: Duration,
    waits: bool,
}

impl Job {
    /// Before the first job.
    pub fn new(stop: Option<Instant>, job_time: Duration, burst: Duration, wait: Duration) -> Self {
        Self { stop, job_time, burst, wait, left: Duration::ZERO, waits: false }
    }

    /// Whether the current job is finished, so that the next operation is a new task's. Returns `true` once.
    pub fn take_finished(&mut self) -> bool {
        let finished = self.waits && self.left.is_zero();
        if finished {
            self.waits = false;
        }
        finished
    }

    pub(super) fn next(&mut self, now: Instant, draws: &mut Draws) -> Op {
        if self.stop.is_some_and(|stop| stop <= now) {
            return Op::Exit;
        }
        if std::mem::replace(&mut self.waits, false) {
            let wait = exponential(self.wait, draws);
            if !wait.is_zero() {
                return Op::WaitForDisk(now + wait);
            }
        }
        if self.left.is_zero() {
            self.left = exponential(self.job_time, draws).max(Duration::from_micros(1));
        }
        let burst = exponential(self.burst, draws).max(Duration::from_micros(1)).min(self.left);
        self.left -= burst;
        self.waits = true;
        Op::Compute(cost(burst))
    }
}

pub(super) fn cost(time: Duration) -> Cost {
    Cost::nanos(nanos(time))
}

/// An exponentially distributed time with this mean. In integers, so that every machine draws the same: von Neumann's
/// comparison of uniform numbers (1951).
pub(super) fn exponential(mean: Duration, draws: &mut Draws) -> Duration {
    let mut whole = 0;
    loop {
        let first = draws.bits();
        let (mut last, mut run) = (first, 1);
        loop {
            let next = draws.bits();
            if next >= last {
                break;
            }
            (last, run) = (next, run + 1);
        }
        if run % 2 == 1 {
            let mean = mean.as_nanos();
            let nanos = mean * whole + ((mean * u128::from(first)) >> 64);
            return Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        }
        whole += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_times_are_exponential() {
        let mut draws = Draws::new(3);
        let mean = Duration::from_millis(10);
        let mut times: Vec<f64> =
            (0..100_000).map(|_| exponential(mean, &mut draws).as_secs_f64() * 1e3).collect();
        times.sort_by(f64::total_cmp);
        let average = times.iter().sum::<f64>() / times.len() as f64;
        assert!((average - 10.0).abs() < 0.15, "{average}");
        let median = times[times.len() / 2];
        assert!((median - 10.0 * std::f64::consts::LN_2).abs() < 0.15, "{median}");
    }
}
