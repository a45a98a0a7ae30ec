//! Who runs next: the kernels' schedulers, with their own arithmetic.
//!
//! A scheduler knows tasks by number and CPUs by number. It is told what happens to them (`start`, `wake`, `sleep`,
//! `tick`) and asked who runs ([`Scheduler::pick`]) and whether the running task should go
//! ([`Scheduler::preempts`], and what `tick` says). When that takes effect is the CPU's matter, since it depends on
//! what the task is doing in the kernel.
//!
//! - `goodness`: that of 2.4.
//! - `o1`: that of 2.6.0 to 2.6.22.
//! - `eevdf`: that of 6.6 and later.

mod eevdf;
mod goodness;
mod o1;

use eevdf::Eevdf;
use goodness::Goodness;
use o1::O1;
use slowpath_kernels as kernels;
use slowpath_model::Instant;

/// A task of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskId(pub u32);

impl TaskId {
    /// Its place in tables of tasks.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Who wakes a task. 2.6's scheduler gives a task more credit for the wait if an interrupt woke it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker {
    /// A hard or soft interrupt.
    Interrupt,
    /// Another task.
    Task,
}

/// The run queues of a host and what its scheduler remembers of each task.
#[derive(Debug)]
pub enum Scheduler {
    /// 2.4's.
    Goodness(Goodness),
    /// 2.6's.
    O1(O1),
    /// Today's.
    Eevdf(Eevdf),
}

/// Calls the same method of whichever scheduler it is.
macro_rules! each {
    ($scheduler:expr, $name:ident => $call:expr) => {
        match $scheduler {
            Scheduler::Goodness($name) => $call,
            Scheduler::O1($name) => $call,
            Scheduler::Eevdf($name) => $call,
        }
    };
}

impl Scheduler {
    /// The scheduler of a kernel on so many CPUs, without tasks.
    pub fn new(kind: kernels::Scheduler, cpus: u32, hz: u32) -> Self {
        let cpus = cpus as usize;
        match kind {
            kernels::Scheduler::Goodness => Self::Goodness(Goodness::new(cpus, hz)),
            kernels::Scheduler::O1 => Self::O1(O1::new(cpus, hz)),
            kernels::Scheduler::Eevdf { .. } => {
                let slice = kind.base_slice(cpus as u32).unwrap_or_default();
                Self::Eevdf(Eevdf::new(cpus, hz, slice))
            }
        }
    }

    /// A new task, runnable on `cpu` at once. A number that was used before may be used again once its task has
    /// gone to sleep for good.
    pub fn start(&mut self, cpu: usize, task: TaskId, nice: i8, now: Instant) {
        each!(self, s => s.start(cpu, task, nice, now));
    }

    /// A sleeping task can run again, on `cpu`.
    pub fn wake(&mut self, cpu: usize, task: TaskId, waker: Waker, now: Instant) {
        each!(self, s => s.wake(cpu, task, waker, now));
    }

    /// The task that runs on `cpu` goes to sleep. [`pick`](Self::pick) must follow.
    pub fn sleep(&mut self, cpu: usize, now: Instant) {
        each!(self, s => s.sleep(cpu, now));
    }

    /// A tick has gone by on `cpu`; says whether the running task should give way.
    pub fn tick(&mut self, cpu: usize, now: Instant) -> bool {
        each!(self, s => s.tick(cpu, now))
    }

    /// Whether `woken`, which waits on `cpu`, should run instead of the task that runs there.
    pub fn preempts(&mut self, cpu: usize, woken: TaskId, now: Instant) -> bool {
        each!(self, s => s.preempts(cpu, woken, now))
    }

    /// The task that runs on `cpu` from now on; `None` if none can.
    pub fn pick(&mut self, cpu: usize, now: Instant) -> Option<TaskId> {
        each!(self, s => s.pick(cpu, now))
    }

    /// How many tasks can run on `cpu`, the running one included.
    pub fn runnable(&self, cpu: usize) -> usize {
        each!(self, s => s.runnable(cpu))
    }

    /// How many tasks [`pick`](Self::pick) looks at, which costs time where it is more than a few.
    pub fn looked_at(&self, cpu: usize) -> usize {
        match self {
            Self::Goodness(goodness) => goodness.runnable(cpu),
            Self::O1(_) | Self::Eevdf(_) => 0,
        }
    }

    /// Takes a task that waits on `from` and that `may_move` allows away, to wait on `to`; says which.
    pub fn steal(
        &mut self,
        from: usize,
        to: usize,
        now: Instant,
        may_move: impl Fn(TaskId) -> bool,
    ) -> Option<TaskId> {
        each!(self, s => s.steal(from, to, now, &may_move))
    }
}

#[cfg(test)]
mod tests;
