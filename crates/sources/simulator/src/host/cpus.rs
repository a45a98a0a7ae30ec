//! The CPUs of a host, and the tasks that run on them.

use super::cpu::Cpu;
use super::kernel_lock::KernelLock;
use super::schedule::{Scheduler, TaskId, Waker};
use super::task::{Slept, Task};
use slowpath_kernels::Preemption;
use slowpath_model::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// CPUs, their scheduler and their tasks.
#[derive(Debug)]
pub struct Cpus {
    /// Nothing costs anything, and nothing but the transfers wants the CPU.
    pub(super) is_free: bool,
    pub(super) preemption: Preemption,
    pub(super) tick_ns: i64,
    pub(super) all: Vec<Cpu>,
    /// CPUs that an event affected while another worked, as a bit set.
    pub(super) kicked: u64,
    pub(super) scheduler: Scheduler,
    pub(super) tasks: Vec<Task>,
    /// Runnable tasks, on a zero-cost host.
    pub(super) ready: VecDeque<TaskId>,
    /// The CPU in a system call, which excludes others.
    pub(super) kernel_lock: Option<KernelLock>,
    /// A task that has ended and starts again as another.
    pub(super) reborn: Option<TaskId>,
    /// The CPU that is working, or worked last.
    pub(super) here: usize,
}

impl Cpus {
    /// The softirqs of the working CPU; if it takes no interrupts, those of the one that does.
    pub(super) fn softirqs_here(&self) -> usize {
        self.all[self.here].softirqs.unwrap_or(0)
    }

    /// An idle CPU takes a waiting task from another one (`newidle_balance`, `load_balance`).
    pub(super) fn pull(&mut self, cpu: usize, now: Instant) -> bool {
        let busiest = (0..self.all.len())
            .filter(|other| *other != cpu && self.scheduler.runnable(*other) > 1)
            .max_by_key(|other| self.scheduler.runnable(*other));
        let tasks = &self.tasks;
        let may_move = |task: TaskId| tasks[task.index()].bound_to.is_none();
        busiest.is_some_and(|busiest| self.scheduler.steal(busiest, cpu, now, may_move).is_some())
    }

    /// Makes a task runnable that sleeps (`try_to_wake_up`), or has not started yet (`wake_up_new_task`).
    pub(super) fn wake(&mut self, task: TaskId, waker: Waker, now: Instant) {
        let Some(slept) = self.tasks[task.index()].wake_up() else { return };
        if self.is_free {
            self.ready.push_back(task);
            return;
        }
        let cpu = self.cpu_for(task);
        let this = &mut self.tasks[task.index()];
        this.cpu = cpu;
        this.queued_since = Some(now);
        match slept {
            Slept::Asleep => self.scheduler.wake(cpu, task, waker, now),
            Slept::ForChild => self.scheduler.reap(cpu, task, now),
            Slept::NotBegun => self.scheduler.start(cpu, task, this.priority, this.forks(), now),
        }
        if self.all[cpu].current.is_none() || self.scheduler.preempts(cpu, task, now) {
            self.all[cpu].need_resched = true;
            self.kicked |= 1 << cpu;
        }
    }

    /// Where a woken task runs: where it is pinned, where it last ran if that CPU is idle, on an idle CPU, or where it
    /// last ran (`select_task_rq`).
    pub(super) fn cpu_for(&self, task: TaskId) -> usize {
        let this = &self.tasks[task.index()];
        if let Some(bound_to) = this.bound_to {
            return bound_to;
        }
        let is_idle = |cpu: &usize| self.all[*cpu].is_idle() && self.scheduler.runnable(*cpu) == 0;
        Some(this.cpu).filter(is_idle).or_else(|| (0..self.all.len()).find(is_idle)).unwrap_or(this.cpu)
    }

    /// The time between two ticks.
    pub(super) fn tick(&self) -> Duration {
        Duration::from_nanos(self.tick_ns.unsigned_abs())
    }

    /// Ticks per second.
    pub(super) fn hz(&self) -> u32 {
        (1_000_000_000 / self.tick_ns) as u32
    }

    /// The next tick after `now`. Ticks of the CPUs are not staggered.
    pub(super) fn next_tick(&self, now: Instant) -> Instant {
        Instant::from_nanos((now.nanos() / self.tick_ns + 1) * self.tick_ns)
    }

    /// Whether a task can continue: it has the kernel lock, gets it, or does not need it.
    pub(super) fn has_kernel(&mut self, task: TaskId) -> bool {
        if !self.tasks[task.index()].is_in_call() {
            self.leave_kernel(task);
            return true;
        }
        self.kernel_lock.as_mut().is_none_or(|lock| lock.take(task))
    }

    /// A task releases the kernel lock, if it has it: spinning CPUs try again.
    pub(super) fn leave_kernel(&mut self, task: TaskId) {
        let Some(lock) = &mut self.kernel_lock else { return };
        if !lock.give_up(task) {
            return;
        }
        while let Some(spinner) = lock.next_to_look() {
            let waits = &mut self.tasks[spinner.index()];
            let cpu = &mut self.all[waits.cpu];
            if cpu.current == Some(spinner) {
                cpu.drop_task_piece();
                self.kicked |= 1 << waits.cpu;
            } else {
                waits.left = None;
            }
        }
    }
}
