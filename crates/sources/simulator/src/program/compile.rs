//! A `make` job as its processes.
//!
//! Kbuild's rule for a C file (scripts/Makefile.build, `rule_cc_o_c`, 2.6.14) is a shell that runs the compiler's
//! driver, `fixdep`, `rm` and `mv` in sequence; the driver runs the compiler, then the assembler. A parent sleeps while
//! its child runs, so only one process of a job can run at a time, but each starts with part of the sleep credit of its
//! parent, and a parent wakes with the credit earned meanwhile.

use super::Op;
use super::load::{cost, exponential};
use slowpath_model::Instant;
use slowpath_path::chance::Draws;
use std::time::Duration;

/// The steps of a job's processes, in this order, repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A child starts, and its parent waits for it.
    Fork,
    /// A child starts by `vfork`, and its parent waits for it: make (`start_job_command`), and the compiler's driver
    /// (`pexecute`).
    Vfork,
    /// A small process does all its work, from `exec` on.
    Tool,
    /// The compiler computes, and waits for the disk in between.
    Compiler,
    /// The assembler, likewise.
    Assembler,
    /// The process exits, and its parent continues.
    Exit,
}

const STEPS: &[Step] = {
    use Step::{Assembler, Compiler, Exit, Fork, Tool, Vfork};
    &[
        // make, sh, gcc
        Tool, Vfork, Tool, Fork, Tool, //
        // cc1, as; gcc exits
        Vfork, Compiler, Exit, Vfork, Assembler, Exit, Exit, //
        // fixdep, rm, mv
        Fork, Tool, Exit, Fork, Tool, Exit, Fork, Tool, Exit, //
        // sh exits
        Exit,
    ]
};

/// The assembler's share of a job's time: a tenth.
const ASSEMBLER_PART: u32 = 10;

/// Jobs of a `make`, in sequence, process by process.
#[derive(Debug)]
pub struct Compile {
    stop: Option<Instant>,
    job_time: Duration,
    tool_time: Duration,
    burst: Duration,
    wait: Duration,
    /// The next step, or the current one while some of it is left.
    step: usize,
    /// Remaining CPU time of the step.
    left: Duration,
    waits: bool,
}

impl Compile {
    /// Before make starts the first of them. `times` are the mean times of compiler and assembler per job, and of each
    /// small process.
    pub fn new(stop: Option<Instant>, times: [Duration; 2], burst: Duration, wait: Duration) -> Self {
        let [job_time, tool_time] = times;
        Self { stop, job_time, tool_time, burst, wait, step: 0, left: Duration::ZERO, waits: false }
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
        if !self.left.is_zero() {
            return self.burst(draws);
        }
        let step = STEPS[self.step];
        self.step = (self.step + 1) % STEPS.len();
        let assembler = self.job_time / ASSEMBLER_PART;
        let mean = match step {
            Step::Fork | Step::Vfork => return Op::Fork { is_vfork: step == Step::Vfork },
            Step::Exit => return Op::Reap,
            Step::Tool => return Op::Compute(cost(drawn(self.tool_time, draws))),
            Step::Compiler => self.job_time - assembler,
            Step::Assembler => assembler,
        };
        self.left = drawn(mean, draws);
        self.burst(draws)
    }

    /// The next burst, up to a wait for the disk.
    fn burst(&mut self, draws: &mut Draws) -> Op {
        let burst = drawn(self.burst, draws).min(self.left);
        self.left -= burst;
        self.waits = true;
        Op::Compute(cost(burst))
    }
}

/// A time that is never zero.
fn drawn(mean: Duration, draws: &mut Draws) -> Duration {
    exponential(mean, draws).max(Duration::from_micros(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_scenario::Cost;

    const MS: u64 = 1_000_000;

    /// The operations of `count` jobs, and the computing time of each process level: make, sh, what sh runs, what the
    /// driver runs.
    fn jobs(count: usize) -> (Vec<Op>, [u64; 4]) {
        let times = [100, 2].map(Duration::from_millis);
        let mut compile = Compile::new(None, times, Duration::from_millis(20), Duration::from_millis(1));
        let (mut draws, mut ops, mut spent) = (Draws::new(5), Vec::new(), [0; 4]);
        let (mut level, mut left) = (0_usize, count);
        while left > 0 {
            let op = compile.next(Instant::START, &mut draws);
            match op {
                Op::Fork { .. } => level += 1,
                Op::Reap => {
                    level -= 1;
                    left -= usize::from(level == 0);
                }
                Op::Compute(cost) => spent[level] += cost.as_nanos(),
                _ => {}
            }
            ops.push(op);
        }
        (ops, spent)
    }

    #[test]
    fn compile_job_forks_and_reaps_seven_processes() {
        let (ops, _) = jobs(1);
        let of = |wanted: fn(&Op) -> bool| ops.iter().filter(|op| wanted(op)).count();
        // sh, gcc, cc1, as, fixdep, rm and mv.
        assert_eq!(of(|op| matches!(op, Op::Fork { .. })), 7);
        assert_eq!(of(|op| matches!(op, Op::Reap)), 7);
        assert_eq!(of(|op| *op == Op::Fork { is_vfork: true }), 3, "sh by make, cc1 and as by the driver");
        assert!(!ops.iter().any(|op| matches!(op, Op::Compute(cost) if *cost == Cost::ZERO)), "{ops:?}");
    }

    #[test]
    fn compile_job_times_match_the_configuration() {
        let count = 2000;
        let (ops, spent) = jobs(count);
        let mean = spent.map(|nanos| nanos as f64 / (count as u64 * MS) as f64);
        // Make, sh, then the driver, fixdep, rm and mv with 2 ms each.
        for (level, (ours, expected)) in mean.into_iter().zip([2.0, 2.0, 8.0, 100.0]).enumerate() {
            assert!((ours / expected - 1.0).abs() < 0.1, "level {level}: {ours} for {expected} ms");
        }
        // A wait after each 20 ms of these, and one at the end of each.
        let waits = ops.iter().filter(|op| matches!(op, Op::WaitForDisk(_))).count() as f64 / count as f64;
        assert!((waits / 7.0 - 1.0).abs() < 0.1, "{waits}");
    }

    #[test]
    fn compile_job_stops_at_its_stop_time() {
        let stop = Instant::from_nanos(5);
        let mut compile =
            Compile::new(Some(stop), [Duration::from_secs(1); 2], Duration::from_secs(1), Duration::ZERO);
        let mut draws = Draws::new(1);
        assert!(matches!(compile.next(Instant::START, &mut draws), Op::Compute(_)));
        assert_eq!(compile.next(stop, &mut draws), Op::Exit);
    }
}
