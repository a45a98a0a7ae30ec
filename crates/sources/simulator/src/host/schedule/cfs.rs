//! The Completely Fair Scheduler (kernel/sched/fair.c, 2.6.23 to 6.5).
//!
//! A task's virtual time runs while it does, the slower the more weight it has. The task with the least virtual time
//! runs, until it has had its share of a period (`sched_latency`) or a task that wakes is far enough behind it. A task
//! that slept continues at most half a period behind the others: sleeping earns no more credit than that.
//!
//! Not modelled: buddies, which let a preempted task continue if it is not much ahead; and autogroups.

use super::eevdf::{NICE_0, weight_of};
use super::{TaskId, Waker};
use slowpath_model::Instant;
use slowpath_scenario::{Class, Priority};

/// `sysctl_sched_latency`, `sysctl_sched_min_granularity` and `sysctl_sched_wakeup_granularity` for one CPU, in
/// nanoseconds.
const LATENCY: i64 = 6_000_000;
const MIN_GRANULARITY: i64 = 750_000;
const WAKEUP_GRANULARITY: i64 = 1_000_000;
/// Up to so many runnable tasks share one period (`sched_nr_latency`).
const TASKS_OF_A_PERIOD: i64 = 8;

/// The scheduler's state of a task (`struct sched_entity`). Virtual times are nanoseconds at nice 0.
#[derive(Clone, Copy, Debug)]
struct Entity {
    weight: i64,
    vruntime: i64,
    /// Of SCHED_IDLE.
    idle: bool,
    /// The CPU whose virtual time `vruntime` is relative to.
    cpu: usize,
}

impl Entity {
    /// `calc_delta_fair`.
    const fn virtual_ns(&self, nanos: i64) -> i64 {
        nanos * NICE_0 / self.weight
    }
}

/// One CPU's queue (`struct cfs_rq`).
#[derive(Clone, Debug, Default)]
struct Queue {
    /// Its tasks, the running one included.
    tasks: Vec<TaskId>,
    current: Option<TaskId>,
    /// The time up to which the running task is charged (`exec_start`), and how long it has run since it was picked.
    charged: Instant,
    ran: i64,
    /// `min_vruntime`: it never goes back.
    least: i64,
}

/// The scheduler of a host.
#[derive(Debug)]
pub struct Cfs {
    tasks: Vec<Entity>,
    queues: Vec<Queue>,
    /// The scale of the three times (`get_update_sysctl_factor`).
    factor: i64,
}

impl Cfs {
    pub fn new(cpus: usize) -> Self {
        let factor = 1 + i64::from(cpus.clamp(1, 8).ilog2());
        Self { tasks: Vec::new(), queues: vec![Queue::default(); cpus], factor }
    }

    fn entity(&self, task: TaskId) -> &Entity {
        &self.tasks[task.index()]
    }

    /// Charges the running task (`update_curr`, `update_min_vruntime`).
    fn charge(&mut self, cpu: usize, now: Instant) {
        let queue = &mut self.queues[cpu];
        let ran = now.nanos_since(queue.charged).max(0);
        queue.charged = now;
        if let Some(task) = queue.current {
            queue.ran += ran;
            let entity = &mut self.tasks[task.index()];
            entity.vruntime += entity.virtual_ns(ran);
        }
        let least = self.queues[cpu].tasks.iter().map(|task| self.entity(*task).vruntime).min();
        let queue = &mut self.queues[cpu];
        queue.least = least.map_or(queue.least, |least| queue.least.max(least));
    }

    /// How long this task may run at a time among those of the queue (`sched_slice`).
    fn slice(&self, cpu: usize, task: TaskId) -> i64 {
        let queue = &self.queues[cpu];
        let is_queued = queue.tasks.contains(&task);
        let count = queue.tasks.len() as i64 + i64::from(!is_queued);
        let others: i64 = queue.tasks.iter().map(|task| self.entity(*task).weight).sum();
        let own = self.entity(task).weight;
        let load = if is_queued { others } else { others + own };
        let period = if count > TASKS_OF_A_PERIOD { count * MIN_GRANULARITY } else { LATENCY } * self.factor;
        period * own / load.max(1)
    }

    pub fn start(&mut self, cpu: usize, task: TaskId, priority: Priority, now: Instant) {
        let new =
            Entity { weight: weight_of(priority), vruntime: 0, idle: priority.class == Class::Idle, cpu };
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, new);
        }
        self.charge(cpu, now);
        self.tasks[task.index()] = new;
        // A new task waits for its turn (`START_DEBIT`).
        let debit = new.virtual_ns(self.slice(cpu, task));
        self.tasks[task.index()].vruntime = self.queues[cpu].least + debit;
        self.queues[cpu].tasks.push(task);
    }

    /// `enqueue_task_fair`, `place_entity` with `GENTLE_FAIR_SLEEPERS`.
    pub fn wake(&mut self, cpu: usize, task: TaskId, _waker: Waker, now: Instant) {
        self.charge(cpu, now);
        self.move_clock(task, cpu);
        let earliest = self.queues[cpu].least - LATENCY * self.factor / 2;
        let entity = &mut self.tasks[task.index()];
        entity.vruntime = entity.vruntime.max(earliest);
        self.queues[cpu].tasks.push(task);
    }

    /// Makes a task's virtual time relative to another CPU's (`migrate_task_rq_fair`).
    fn move_clock(&mut self, task: TaskId, cpu: usize) {
        let from = self.entity(task).cpu;
        let shift = self.queues[cpu].least - self.queues[from].least;
        let entity = &mut self.tasks[task.index()];
        entity.vruntime += shift;
        entity.cpu = cpu;
    }

    pub fn sleep(&mut self, cpu: usize, now: Instant) {
        self.charge(cpu, now);
        let queue = &mut self.queues[cpu];
        if let Some(task) = queue.current.take() {
            queue.tasks.retain(|queued| *queued != task);
        }
    }

    /// `check_preempt_tick`.
    pub fn tick(&mut self, cpu: usize, now: Instant) -> bool {
        self.charge(cpu, now);
        let queue = &self.queues[cpu];
        let Some(current) = queue.current.filter(|_| queue.tasks.len() > 1) else { return false };
        let ideal = self.slice(cpu, current);
        if queue.ran > ideal {
            return true;
        }
        if queue.ran < MIN_GRANULARITY * self.factor {
            return false;
        }
        let waiting = queue.tasks.iter().filter(|task| **task != current);
        let first = waiting.map(|task| self.entity(*task).vruntime).min();
        first.is_some_and(|first| self.entity(current).vruntime - first > ideal)
    }

    /// `check_preempt_wakeup`.
    pub fn preempts(&mut self, cpu: usize, woken: TaskId, now: Instant) -> bool {
        self.charge(cpu, now);
        let Some(current) = self.queues[cpu].current else { return true };
        let (current, woken) = (self.entity(current), self.entity(woken));
        match (current.idle, woken.idle) {
            (true, false) => return true,
            (_, true) => return false,
            (false, false) => {}
        }
        current.vruntime - woken.vruntime > woken.virtual_ns(WAKEUP_GRANULARITY * self.factor)
    }

    /// The running task is preempted by a higher class (`put_prev_task_fair`).
    pub fn put(&mut self, cpu: usize, now: Instant) {
        self.charge(cpu, now);
        self.queues[cpu].current = None;
    }

    /// `pick_next_task_fair`.
    pub fn pick(&mut self, cpu: usize, now: Instant) -> Option<TaskId> {
        self.charge(cpu, now);
        let queue = &self.queues[cpu];
        let next = queue.tasks.iter().copied().min_by_key(|task| self.entity(*task).vruntime);
        let queue = &mut self.queues[cpu];
        queue.current = next;
        queue.ran = 0;
        next
    }

    pub fn runnable(&self, cpu: usize) -> usize {
        self.queues[cpu].tasks.len()
    }

    pub fn steal(
        &mut self,
        from: usize,
        to: usize,
        now: Instant,
        may_move: &dyn Fn(TaskId) -> bool,
    ) -> Option<TaskId> {
        self.charge(from, now);
        self.charge(to, now);
        let queue = &self.queues[from];
        let may = |task: &TaskId| queue.current != Some(*task) && may_move(*task);
        let task = queue.tasks.iter().copied().find(may)?;
        self.queues[from].tasks.retain(|queued| *queued != task);
        self.move_clock(task, to);
        self.queues[to].tasks.push(task);
        Some(task)
    }
}
