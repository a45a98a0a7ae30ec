//! The kernels' schedulers, with their own arithmetic.
//!
//! A scheduler knows tasks and CPUs by number. It is notified of events (`start`, `wake`, `sleep`, `tick`), and decides
//! who runs ([`Scheduler::pick`]) and whether the running task should yield ([`Scheduler::preempts`], and the result of
//! `tick`). When that takes effect is up to the CPU, since it depends on what the task is doing in the kernel.
//!
//! - `goodness`: that of 2.4.
//! - `o1`: that of 2.6.0 to 2.6.22.
//! - `cfs`: that of 2.6.23 to 6.5.
//! - `eevdf`: that of 6.6 and later.
//! - `realtime`: tasks that run before all of these.

mod cfs;
mod eevdf;
mod goodness;
mod o1;
mod realtime;

use cfs::Cfs;
use eevdf::Eevdf;
use goodness::Goodness;
use o1::O1;
use realtime::Realtime;
use slowpath_kernels as kernels;
use slowpath_kernels::schedule::Interrupted;
use slowpath_model::Instant;
use slowpath_scenario::{Class, Priority};

/// A task of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskId(pub u32);

impl TaskId {
    /// Its place in tables of tasks.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What wakes a task. 2.6's scheduler credits a task more for the wait if an interrupt woke it, and less if its wait
/// was uninterruptible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker {
    /// A hard or soft interrupt.
    Interrupt,
    /// The disk's interrupt: no signal could have ended the wait (`TASK_UNINTERRUPTIBLE`).
    Disk,
    /// Another task.
    Task,
}

/// The run queues of a host and its scheduler's state of each task.
#[derive(Debug)]
pub struct Scheduler {
    realtime: Realtime,
    fair: Fair,
}

/// How a kernel shares CPUs between ordinary tasks.
#[derive(Debug)]
enum Fair {
    /// 2.4's.
    Goodness(Goodness),
    /// 2.6's.
    O1(O1),
    /// That between 2.6's and today's.
    Cfs(Cfs),
    /// Today's.
    Eevdf(Eevdf),
}

/// Calls the same method of the active scheduler.
macro_rules! each {
    ($scheduler:expr, $name:ident => $call:expr) => {
        match $scheduler {
            Fair::Goodness($name) => $call,
            Fair::O1($name) => $call,
            Fair::Cfs($name) => $call,
            Fair::Eevdf($name) => $call,
        }
    };
}

impl Scheduler {
    /// The scheduler of a kernel on `cpus` CPUs, without tasks.
    pub fn new(kind: kernels::Scheduler, cpus: u32, hz: u32) -> Self {
        let count = cpus as usize;
        let fair = match kind {
            kernels::Scheduler::Goodness => Fair::Goodness(Goodness::new(count, hz)),
            kernels::Scheduler::O1 { extra_run } => Fair::O1(O1::new(count, hz, extra_run)),
            kernels::Scheduler::Cfs => Fair::Cfs(Cfs::new(count)),
            kernels::Scheduler::Eevdf { delayed_dequeue, .. } => {
                let slice = kind.base_slice(cpus).unwrap_or_default();
                Fair::Eevdf(Eevdf::new(count, hz, slice, delayed_dequeue))
            }
        };
        Self { realtime: Realtime::new(count), fair }
    }

    /// A new task, immediately runnable on `cpu`, `forks` forks away from one that nearly always sleeps. A number can
    /// be reused once its task has gone to sleep for good.
    pub fn start(&mut self, cpu: usize, task: TaskId, priority: Priority, forks: u32, now: Instant) {
        let is_realtime = priority.class == Class::Fifo;
        self.realtime.start(task, is_realtime);
        match &mut self.fair {
            _ if is_realtime => self.realtime.wake(cpu, task),
            Fair::Goodness(goodness) => goodness.start(cpu, task, priority.nice, now),
            Fair::O1(o1) => o1.start(cpu, task, priority.nice, forks, now),
            Fair::Cfs(cfs) => cfs.start(cpu, task, priority, now),
            Fair::Eevdf(eevdf) => eevdf.start(cpu, task, priority, now),
        }
    }

    /// From now on this number belongs to the running task's child, and the parent is gone: a server's thread for a
    /// connection.
    pub fn fork(&mut self, task: TaskId) {
        match &mut self.fair {
            Fair::O1(o1) => o1.fork(task),
            // These schedulers barely depend on a task's history.
            Fair::Goodness(_) | Fair::Cfs(_) | Fair::Eevdf(_) => {}
        }
    }

    /// The running task forks and waits until its child, which has its number meanwhile, exits; returns whether another
    /// task may be the next.
    pub fn begin_child(&mut self, cpu: usize, task: TaskId, is_vfork: bool, now: Instant) -> bool {
        match &mut self.fair {
            Fair::O1(o1) if !self.realtime.has(task) => o1.begin_child(cpu, task, is_vfork, now),
            _ => false,
        }
    }

    /// The child with a parent's number has gone to sleep for good: the number is the parent's again, who wakes.
    pub fn reap(&mut self, cpu: usize, task: TaskId, now: Instant) {
        match &mut self.fair {
            Fair::O1(o1) if !self.realtime.has(task) => o1.reap(cpu, task, now),
            _ => self.wake(cpu, task, Waker::Task, now),
        }
    }

    /// A sleeping task can run again, on `cpu`.
    pub fn wake(&mut self, cpu: usize, task: TaskId, waker: Waker, now: Instant) {
        if self.realtime.has(task) {
            self.realtime.wake(cpu, task);
        } else {
            each!(&mut self.fair, s => s.wake(cpu, task, waker, now));
        }
    }

    /// The task that runs on `cpu` goes to sleep. [`pick`](Self::pick) must follow.
    pub fn sleep(&mut self, cpu: usize, now: Instant) {
        if self.realtime.runs(cpu) {
            self.realtime.sleep(cpu);
        } else {
            each!(&mut self.fair, s => s.sleep(cpu, now));
        }
    }

    /// A tick has passed on `cpu` and found its task like this; returns whether that should yield.
    pub fn tick(&mut self, cpu: usize, interrupted: Interrupted, now: Instant) -> bool {
        !self.realtime.runs(cpu)
            && match &mut self.fair {
                Fair::Goodness(goodness) => goodness.tick(cpu, now),
                Fair::O1(o1) => o1.tick(cpu, interrupted, now),
                Fair::Cfs(cfs) => cfs.tick(cpu, now),
                Fair::Eevdf(eevdf) => eevdf.tick(cpu, now),
            }
    }

    /// The task that runs on `cpu` has released its socket at the end of `tcp_recvmsg`; returns whether it yields for
    /// that.
    pub fn leaves_recvmsg(&mut self, cpu: usize) -> bool {
        match &mut self.fair {
            Fair::O1(o1) => o1.leaves_recvmsg(cpu),
            Fair::Goodness(_) | Fair::Cfs(_) | Fair::Eevdf(_) => false,
        }
    }

    /// Whether `woken`, which waits on `cpu`, should run instead of the task that runs there.
    pub fn preempts(&mut self, cpu: usize, woken: TaskId, now: Instant) -> bool {
        match (self.realtime.runs(cpu), self.realtime.has(woken)) {
            (true, _) => false,
            (false, true) => true,
            (false, false) => each!(&mut self.fair, s => s.preempts(cpu, woken, now)),
        }
    }

    /// The task to run on `cpu` now; `None` if none is runnable.
    pub fn pick(&mut self, cpu: usize, now: Instant) -> Option<TaskId> {
        let realtime = self.realtime.pick(cpu);
        if realtime.is_some() {
            each!(&mut self.fair, s => s.put(cpu, now));
            return realtime;
        }
        each!(&mut self.fair, s => s.pick(cpu, now))
    }

    /// The number of runnable tasks on `cpu`, including the running one.
    pub fn runnable(&self, cpu: usize) -> usize {
        self.realtime.runnable(cpu) + each!(&self.fair, s => s.runnable(cpu))
    }

    /// The number of tasks that [`pick`](Self::pick) examines, which costs time if there are many.
    pub fn looked_at(&self, cpu: usize) -> usize {
        match &self.fair {
            Fair::Goodness(goodness) => goodness.runnable(cpu),
            Fair::O1(_) | Fair::Cfs(_) | Fair::Eevdf(_) => 0,
        }
    }

    /// Moves a task that waits on `from` and that `may_move` allows to `to`; returns it.
    pub fn steal(
        &mut self,
        from: usize,
        to: usize,
        now: Instant,
        may_move: impl Fn(TaskId) -> bool,
    ) -> Option<TaskId> {
        let realtime = self.realtime.steal(from, to, &may_move);
        realtime.or_else(|| each!(&mut self.fair, s => s.steal(from, to, now, &may_move)))
    }
}

#[cfg(test)]
mod tests;
