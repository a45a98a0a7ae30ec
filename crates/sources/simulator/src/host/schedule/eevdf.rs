//! Earliest eligible virtual deadline first (kernel/sched/fair.c, 6.18; Stoica and Abdel-Wahab, 1995).
//!
//! A task's virtual time runs while it does, the slower the more weight it has. A task is *eligible* if it has had no
//! more than its share: its virtual time is not ahead of the average. Of the eligible tasks, the one with the earliest
//! virtual deadline runs, and keeps the CPU until its slice is used up (`RUN_TO_PARITY`), unless it becomes ineligible
//! earlier, for example when another task wakes. A task's debt or credit (its *lag*) is kept while it sleeps. Since 6.12,
//! a task with debt stays in the queue, though asleep, until it has none (`DELAY_DEQUEUE`).
//!
//! Queues are searched from end to end: a host has tens of tasks, and a tree would only obscure the rules.

use super::{TaskId, Waker};
use slowpath_model::Instant;
use slowpath_scenario::{Class, Priority};
use std::time::Duration;

/// Weight by nice value, −20…19 (`sched_prio_to_weight`).
const WEIGHTS: [i64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121,
    2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29,
    23, 18, 15,
];
/// The weight of a task of SCHED_IDLE (`WEIGHT_IDLEPRIO`).
const IDLE: i64 = 3;
/// The weight at which virtual time equals real time (`NICE_0_LOAD`).
pub(super) const NICE_0: i64 = 1024;

/// The weight of a task (`set_load_weight`).
pub(super) fn weight_of(priority: Priority) -> i64 {
    let level = (i16::from(priority.nice) + 20).clamp(0, 39) as usize;
    if priority.class == Class::Idle { IDLE } else { WEIGHTS[level] }
}

/// The scheduler's state of a task (`struct sched_entity`). Virtual times are nanoseconds at nice 0.
#[derive(Clone, Copy, Debug)]
struct Entity {
    weight: i64,
    vruntime: i64,
    deadline: i64,
    /// Of SCHED_IDLE (`se_is_idle`).
    idle: bool,
    /// How far it was behind the average when it left the queue (`vlag`).
    vlag: i64,
    /// Asleep, but still in the queue (`sched_delayed`).
    delayed: bool,
}

impl Entity {
    const ABSENT: Self =
        Self { weight: NICE_0, vruntime: 0, deadline: 0, idle: false, vlag: 0, delayed: false };

    /// `calc_delta_fair`.
    fn virtual_ns(&self, nanos: i64) -> i64 {
        nanos * NICE_0 / self.weight
    }
}

/// One CPU's queue (`struct cfs_rq`).
#[derive(Clone, Debug, Default)]
struct Queue {
    /// Its tasks, the running one included.
    tasks: Vec<TaskId>,
    current: Option<TaskId>,
    /// The time up to which the running task is charged (`exec_start`).
    charged: Instant,
    /// Where virtual time continues when the queue is empty.
    last_average: i64,
}

/// The scheduler of a host.
#[derive(Debug)]
pub struct Eevdf {
    tasks: Vec<Entity>,
    queues: Vec<Queue>,
    slice_ns: i64,
    tick_ns: i64,
    delays_dequeue: bool,
}

impl Eevdf {
    pub fn new(cpus: usize, hz: u32, slice: Duration, delays_dequeue: bool) -> Self {
        Self {
            tasks: Vec::new(),
            queues: vec![Queue::default(); cpus],
            slice_ns: slice.as_nanos() as i64,
            tick_ns: 1_000_000_000 / i64::from(hz.max(1)),
            delays_dequeue,
        }
    }

    fn entity(&self, task: TaskId) -> &Entity {
        &self.tasks[task.index()]
    }

    /// The weighted mean of all virtual times in the queue (`avg_vruntime`), rounded down.
    fn average(&self, cpu: usize) -> i64 {
        let queue = &self.queues[cpu];
        let Some(first) = queue.tasks.first() else { return queue.last_average };
        // Distances from one of them fit 64 bits.
        let base = self.entity(*first).vruntime;
        let (mut sum, mut weight) = (0, 0);
        for task in &queue.tasks {
            let entity = self.entity(*task);
            sum += (entity.vruntime - base) * entity.weight;
            weight += entity.weight;
        }
        base + sum.div_euclid(weight)
    }

    /// `entity_eligible`.
    fn is_eligible(&self, task: TaskId, average: i64) -> bool {
        self.entity(task).vruntime <= average
    }

    /// Charges the running task (`update_curr`); returns whether its slice is used up.
    fn charge(&mut self, cpu: usize, now: Instant) -> bool {
        let queue = &mut self.queues[cpu];
        let ran = now.nanos_since(queue.charged).max(0);
        queue.charged = now;
        let Some(task) = queue.current else { return false };
        let slice = self.slice_ns;
        let entity = &mut self.tasks[task.index()];
        entity.vruntime += entity.virtual_ns(ran);
        if entity.vruntime < entity.deadline {
            return false;
        }
        entity.deadline = entity.vruntime + entity.virtual_ns(slice);
        true
    }

    /// `place_entity`: puts a task into the queue at the lag it left with.
    fn place(&mut self, cpu: usize, task: TaskId, initial: bool) {
        let average = self.average(cpu);
        let load: i64 = self.queues[cpu].tasks.iter().map(|task| self.entity(*task).weight).sum();
        let slice = self.slice_ns;
        let entity = &mut self.tasks[task.index()];
        // The joining task moves the average towards itself; to keep its lag afterwards, it needs more before.
        let lag = if load > 0 { entity.vlag * (load + entity.weight) / load } else { 0 };
        entity.vruntime = average - lag;
        // A new task gets half a slice, to be in step with the others soon (`PLACE_DEADLINE_INITIAL`).
        entity.deadline = entity.vruntime + entity.virtual_ns(if initial { slice / 2 } else { slice });
        entity.delayed = false;
        self.queues[cpu].tasks.push(task);
    }

    /// `dequeue_entity` with `update_entity_lag`.
    fn remove(&mut self, cpu: usize, task: TaskId) {
        let average = self.average(cpu);
        let limit = self.entity(task).virtual_ns((2 * self.slice_ns).max(self.tick_ns));
        let entity = &mut self.tasks[task.index()];
        entity.vlag = (average - entity.vruntime).clamp(-limit, limit);
        if entity.delayed {
            // Waiting pays off debt, but earns no credit beyond that (`DELAY_ZERO`).
            entity.vlag = entity.vlag.min(0);
            entity.delayed = false;
        }
        let queue = &mut self.queues[cpu];
        queue.tasks.retain(|queued| *queued != task);
        queue.last_average = average;
    }

    pub fn start(&mut self, cpu: usize, task: TaskId, priority: Priority, now: Instant) {
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, Entity::ABSENT);
        }
        // A previous task with this number may still be queued with debt.
        if let Some(old) = self.queue_of(task) {
            self.remove(old, task);
        }
        self.charge(cpu, now);
        let idle = priority.class == Class::Idle;
        self.tasks[task.index()] = Entity { weight: weight_of(priority), idle, ..Entity::ABSENT };
        self.place(cpu, task, true);
    }

    fn queue_of(&self, task: TaskId) -> Option<usize> {
        self.queues.iter().position(|queue| queue.tasks.contains(&task))
    }

    /// `enqueue_task_fair`.
    pub fn wake(&mut self, cpu: usize, task: TaskId, _waker: Waker, now: Instant) {
        if self.entity(task).delayed
            && let Some(old) = self.queue_of(task)
        {
            self.charge(old, now);
            self.remove(old, task);
        }
        self.charge(cpu, now);
        self.place(cpu, task, false);
    }

    pub fn sleep(&mut self, cpu: usize, now: Instant) {
        self.charge(cpu, now);
        let Some(task) = self.queues[cpu].current.take() else { return };
        if !self.delays_dequeue || self.is_eligible(task, self.average(cpu)) {
            self.remove(cpu, task);
        } else {
            self.tasks[task.index()].delayed = true;
        }
    }

    /// `entity_tick`.
    pub fn tick(&mut self, cpu: usize, now: Instant) -> bool {
        self.charge(cpu, now) && self.queues[cpu].tasks.len() > 1
    }

    /// `check_preempt_wakeup_fair`. All slices are equal here, so none is cut short for a shorter one.
    pub fn preempts(&mut self, cpu: usize, woken: TaskId, now: Instant) -> bool {
        let used_up = self.charge(cpu, now);
        let queue = &self.queues[cpu];
        let Some(current) = queue.current else { return true };
        match (self.entity(current).idle, self.entity(woken).idle) {
            (true, false) => return true,
            (_, true) => return false,
            (false, false) => {}
        }
        let average = self.average(cpu);
        if used_up {
            return true;
        }
        // `RUN_TO_PARITY`: an eligible task's slice is protected.
        !self.is_eligible(current, average) && self.earliest(cpu, average) == Some(woken)
    }

    /// The eligible task with the earliest deadline (`__pick_eevdf`).
    fn earliest(&self, cpu: usize, average: i64) -> Option<TaskId> {
        let eligible = self.queues[cpu].tasks.iter().copied().filter(|task| self.is_eligible(*task, average));
        eligible.min_by_key(|task| self.entity(*task).deadline)
    }

    /// The running task is preempted by a higher class (`put_prev_task_fair`).
    pub fn put(&mut self, cpu: usize, now: Instant) {
        self.charge(cpu, now);
        self.queues[cpu].current = None;
    }

    /// `pick_next_task_fair`.
    pub fn pick(&mut self, cpu: usize, now: Instant) -> Option<TaskId> {
        self.charge(cpu, now);
        loop {
            let next = self.earliest(cpu, self.average(cpu));
            match next {
                // Its debt is paid.
                Some(task) if self.entity(task).delayed => self.remove(cpu, task),
                _ => {
                    self.queues[cpu].current = next;
                    return next;
                }
            }
        }
    }

    pub fn runnable(&self, cpu: usize) -> usize {
        self.queues[cpu].tasks.iter().filter(|task| !self.entity(**task).delayed).count()
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
        let may =
            |task: &TaskId| queue.current != Some(*task) && !self.entity(*task).delayed && may_move(*task);
        let task = queue.tasks.iter().copied().find(may)?;
        self.remove(from, task);
        self.place(to, task, false);
        Some(task)
    }
}
