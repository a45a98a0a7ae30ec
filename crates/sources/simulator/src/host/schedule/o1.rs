//! The O(1) scheduler (kernel/sched.c, 2.6.14).
//!
//! Runnable tasks wait in the *active* array by priority and, when their time slice is used up, in the *expired* one;
//! when the active one is empty the two are swapped. A task's priority is its nice value plus a bonus of −5…5 that it
//! earns by sleeping; with enough bonus it counts as interactive and returns to the active array when its slice ends,
//! unless that starves the expired tasks.
//!
//! With wu's change (section 5, listings 1 and 2) a task with waiting packets returns there too, and yields once it has
//! processed them.

use super::{TaskId, Waker};
use slowpath_kernels::ExtraRun;
use slowpath_kernels::schedule::{Interrupted, o1_time_slice};
use slowpath_model::Instant;
use std::collections::VecDeque;

/// Priorities of ordinary tasks are 100…139 (`MAX_RT_PRIO`, `MAX_PRIO`).
const MAX_RT_PRIO: i64 = 100;
const MAX_PRIO: i64 = 140;
const LEVELS: usize = (MAX_PRIO - MAX_RT_PRIO) as usize;
/// `DEF_TIMESLICE`.
const DEF_TIMESLICE_MS: i64 = 100;
/// The share of the kernel's range of priorities that the bonus spans (`MAX_USER_PRIO * PRIO_BONUS_RATIO / 100`).
const MAX_BONUS: i64 = 10;
/// `INTERACTIVE_DELTA`.
const INTERACTIVE_DELTA: i64 = 2;
/// `NS_MAX_SLEEP_AVG`: `DEF_TIMESLICE * MAX_BONUS`.
const MAX_SLEEP_AVG_NS: i64 = DEF_TIMESLICE_MS * MAX_BONUS * NS_PER_MS;
/// `CHILD_PENALTY`, `ON_RUNQUEUE_WEIGHT`: percent.
const CHILD_PENALTY: i64 = 95;
const ON_RUNQUEUE_WEIGHT: i64 = 30;
/// How many parts of a parent's average stay its own when a child with a lower one exits.
const EXIT_WEIGHT: i64 = 3;
/// `GRANULARITY`.
const GRANULARITY_MS: i64 = 10;
const NS_PER_MS: i64 = 1_000_000;

/// How a task became runnable (`activated`), which determines how much of its wait for the CPU counts as sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activated {
    /// It has run since, or used up a slice: nothing.
    No,
    /// Another task woke it: `ON_RUNQUEUE_WEIGHT`.
    ByTask,
    /// An interrupt woke it: all.
    ByInterrupt,
    /// The disk woke it from an uninterruptible wait: nothing, like the wait itself beyond a limit.
    ByDisk,
}

/// The scheduler's state of a task (`struct task_struct`).
#[derive(Clone, Copy, Debug)]
struct Entity {
    /// 120 plus nice (`static_prio`).
    static_prio: i64,
    /// With the bonus (`prio`).
    prio: i64,
    sleep_avg_ns: i64,
    /// Ticks left.
    time_slice: i64,
    /// It still runs on its parent's slice (`first_time_slice`).
    is_first_slice: bool,
    /// When it last entered or left the CPU or the queue.
    timestamp: Instant,
    activated: Activated,
    /// Its slice ended while packets waited for it, and it was allowed to continue (wu's `extra_run_flag`).
    runs_extra: bool,
}

impl Entity {
    const ABSENT: Self = Self {
        static_prio: 120,
        prio: 120,
        sleep_avg_ns: 0,
        time_slice: 0,
        is_first_slice: false,
        timestamp: Instant::START,
        activated: Activated::No,
        runs_extra: false,
    };

    /// `CURRENT_BONUS`.
    fn bonus(&self) -> i64 {
        self.sleep_avg_ns * MAX_BONUS / MAX_SLEEP_AVG_NS
    }

    /// `effective_prio`.
    fn effective_prio(&self) -> i64 {
        (self.static_prio - (self.bonus() - MAX_BONUS / 2)).clamp(MAX_RT_PRIO, MAX_PRIO - 1)
    }

    /// `DELTA`: the bonus at which a task of this nice value counts as interactive.
    fn delta(&self) -> i64 {
        (self.static_prio - 120) * MAX_BONUS / 40 + INTERACTIVE_DELTA
    }

    /// `TASK_INTERACTIVE`.
    fn is_interactive(&self) -> bool {
        self.prio <= self.static_prio - self.delta()
    }

    /// `INTERACTIVE_SLEEP`: a longer sleep makes it just interactive.
    fn interactive_sleep_ns(&self) -> i64 {
        DEF_TIMESLICE_MS * MAX_BONUS * (MAX_BONUS / 2 + self.delta() + 1) / MAX_BONUS * NS_PER_MS - 1
    }

    /// `task_timeslice`, in milliseconds.
    fn slice_ms(&self) -> i64 {
        o1_time_slice((self.static_prio - 120) as i8).as_millis() as i64
    }

    /// The child's part: nearly all of the average (`wake_up_new_task`), and half of the remaining slice
    /// (`sched_fork`).
    fn fork(&mut self) {
        let bonus = self.bonus() * CHILD_PENALTY / 100;
        self.sleep_avg_ns = bonus * MAX_SLEEP_AVG_NS / MAX_BONUS;
        self.time_slice = (self.time_slice + 1) >> 1;
        self.is_first_slice = true;
    }

    /// The parent's part: its average, rounded down (`PARENT_PENALTY` is 100 %), and the other half of the slice.
    fn has_forked(&mut self) {
        self.sleep_avg_ns = self.bonus() * MAX_SLEEP_AVG_NS / MAX_BONUS;
        self.time_slice = (self.time_slice >> 1).max(1);
    }

    /// A child has exited (`sched_exit`): the unused part of its first slice returns, and a parent of computing
    /// children has a lower average itself. `slice` is a whole one.
    fn reap(&mut self, child: &Self, slice: i64) {
        if child.is_first_slice {
            self.time_slice = (self.time_slice + child.time_slice).min(slice);
        }
        if child.sleep_avg_ns < self.sleep_avg_ns {
            let weight = EXIT_WEIGHT + 1;
            self.sleep_avg_ns = self.sleep_avg_ns / weight * EXIT_WEIGHT + child.sleep_avg_ns / weight;
        }
    }

    /// `recalc_task_prio`: `now` is when the wait ended, part of which may not count.
    fn credit_sleep(&mut self, now: Instant) {
        let slept = now.nanos_since(self.timestamp).clamp(0, MAX_SLEEP_AVG_NS);
        let had_to_wait = self.activated == Activated::ByDisk;
        if slept > self.interactive_sleep_ns() && !had_to_wait {
            self.sleep_avg_ns = MAX_SLEEP_AVG_NS - DEF_TIMESLICE_MS * NS_PER_MS;
        } else if slept > 0 {
            // The lower its average, the faster it earns.
            let weight = (MAX_BONUS - self.bonus()).max(1);
            // Waiting for a disk makes it at most just interactive.
            let most = if had_to_wait { self.interactive_sleep_ns() } else { MAX_SLEEP_AVG_NS };
            self.sleep_avg_ns = (self.sleep_avg_ns + slept * weight).min(most.max(self.sleep_avg_ns));
        }
        self.prio = self.effective_prio();
    }
}

/// Tasks by priority (`struct prio_array`).
#[derive(Clone, Debug)]
struct Array {
    lists: [VecDeque<TaskId>; LEVELS],
    /// Bit n is set while list n has a task.
    bitmap: u64,
}

impl Array {
    fn new() -> Self {
        Self { lists: std::array::from_fn(|_| VecDeque::new()), bitmap: 0 }
    }

    fn push(&mut self, task: TaskId, prio: i64) {
        let level = (prio - MAX_RT_PRIO) as usize;
        self.lists[level].push_back(task);
        self.bitmap |= 1 << level;
    }

    /// Removes the task, wherever it is; returns whether it was there.
    fn remove(&mut self, task: TaskId, prio: i64) -> bool {
        let level = (prio - MAX_RT_PRIO) as usize;
        let list = &mut self.lists[level];
        let Some(at) = list.iter().position(|queued| *queued == task) else { return false };
        list.remove(at);
        if list.is_empty() {
            self.bitmap &= !(1 << level);
        }
        true
    }

    fn first(&self) -> Option<TaskId> {
        let level = self.bitmap.trailing_zeros() as usize;
        self.lists.get(level).and_then(|list| list.front().copied())
    }

    fn len(&self) -> usize {
        self.lists.iter().map(VecDeque::len).sum()
    }
}

/// One CPU's queue (`struct runqueue`).
#[derive(Clone, Debug)]
struct Queue {
    active: Array,
    expired: Array,
    current: Option<TaskId>,
    /// When the first task entered the expired array after the last swap.
    expired_since: Option<Instant>,
    /// The best nice value in the expired array, as a static priority.
    best_expired_prio: i64,
}

/// The scheduler of a host.
#[derive(Debug)]
pub struct O1 {
    tasks: Vec<Entity>,
    /// Ancestors that wait for the child with their number: its parent last.
    ancestors: Vec<Vec<Entity>>,
    /// The exited child that a task must reap when it runs next.
    exited: Vec<Option<Entity>>,
    queues: Vec<Queue>,
    hz: u32,
    extra_run: ExtraRun,
}

impl O1 {
    pub fn new(cpus: usize, hz: u32, extra_run: ExtraRun) -> Self {
        let queue = Queue {
            active: Array::new(),
            expired: Array::new(),
            current: None,
            expired_since: None,
            best_expired_prio: MAX_PRIO,
        };
        Self {
            tasks: Vec::new(),
            ancestors: Vec::new(),
            exited: Vec::new(),
            queues: vec![queue; cpus],
            hz,
            extra_run,
        }
    }

    fn ticks(&self, ms: i64) -> i64 {
        (ms * i64::from(self.hz) / 1000).max(1)
    }

    pub fn start(&mut self, cpu: usize, task: TaskId, nice: i8, forks: u32, now: Instant) {
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, Entity::ABSENT);
            self.ancestors.resize(task.index() + 1, Vec::new());
            self.exited.resize(task.index() + 1, None);
        }
        let mut entity = Entity { static_prio: 120 + i64::from(nice), timestamp: now, ..Entity::ABSENT };
        // Its first ancestor is a shell or a make, which sleeps nearly always and so has the full bonus.
        entity.sleep_avg_ns = MAX_SLEEP_AVG_NS;
        entity.time_slice = self.ticks(entity.slice_ms());
        for _ in 0..forks {
            entity.fork();
        }
        (entity.prio, entity.is_first_slice) = (entity.effective_prio(), forks > 0);
        self.tasks[task.index()] = entity;
        self.ancestors[task.index()].clear();
        self.exited[task.index()] = None;
        self.queues[cpu].active.push(task, entity.prio);
    }

    /// The running task's number becomes its child's.
    pub fn fork(&mut self, task: TaskId) {
        self.tasks[task.index()].fork();
    }

    /// The running task forks and waits for its child, which has its number until [`O1::reap`]. After `vfork` the child
    /// is queued by its own priority (`wake_up_new_task`, `CLONE_VM`), otherwise it has its parent's place and
    /// priority. Returns whether another task may be the next.
    pub fn begin_child(&mut self, cpu: usize, task: TaskId, is_vfork: bool, now: Instant) -> bool {
        let mut child = self.tasks[task.index()];
        let parent_prio = child.prio;
        child.fork();
        (child.timestamp, child.activated, child.runs_extra) = (now, Activated::No, false);
        self.tasks[task.index()].has_forked();
        self.charge(task, now);
        self.ancestors[task.index()].push(self.tasks[task.index()]);
        if is_vfork {
            child.prio = child.effective_prio();
            let queue = &mut self.queues[cpu];
            let _ = queue.active.remove(task, parent_prio) || queue.expired.remove(task, parent_prio);
            queue.active.push(task, child.prio);
        }
        self.tasks[task.index()] = child;
        is_vfork
    }

    /// The child with a task's number has exited, and its parent wakes from `wait4`.
    pub fn reap(&mut self, cpu: usize, task: TaskId, now: Instant) {
        let child = self.tasks[task.index()];
        if let Some(parent) = self.ancestors[task.index()].pop() {
            self.tasks[task.index()] = parent;
        }
        self.exited[task.index()] = Some(child);
        self.wake(cpu, task, Waker::Task, now);
    }

    /// `try_to_wake_up` and `activate_task`.
    pub fn wake(&mut self, cpu: usize, task: TaskId, waker: Waker, now: Instant) {
        let entity = &mut self.tasks[task.index()];
        entity.activated = match waker {
            Waker::Interrupt => Activated::ByInterrupt,
            Waker::Disk => Activated::ByDisk,
            Waker::Task => Activated::ByTask,
        };
        entity.credit_sleep(now);
        entity.timestamp = now;
        self.queues[cpu].active.push(task, entity.prio);
    }

    pub fn sleep(&mut self, cpu: usize, now: Instant) {
        if let Some(task) = self.queues[cpu].current.take() {
            self.charge(task, now);
            let prio = self.tasks[task.index()].prio;
            let queue = &mut self.queues[cpu];
            let _ = queue.active.remove(task, prio) || queue.expired.remove(task, prio);
        }
    }

    /// Charges the time since its timestamp to a task's average: the more interactive, the less (`schedule`).
    fn charge(&mut self, task: TaskId, now: Instant) {
        let entity = &mut self.tasks[task.index()];
        let ran = now.nanos_since(entity.timestamp).clamp(0, MAX_SLEEP_AVG_NS);
        entity.sleep_avg_ns = (entity.sleep_avg_ns - ran / entity.bonus().max(1)).max(0);
        entity.timestamp = now;
    }

    /// `scheduler_tick`.
    pub fn tick(&mut self, cpu: usize, interrupted: Interrupted, now: Instant) -> bool {
        let Some(task) = self.queues[cpu].current else { return false };
        let slice = self.ticks(self.tasks[task.index()].slice_ms());
        let granularity = self.granularity(task);
        let starving = self.expired_starve(cpu, now);
        let (entity, queue) = (&mut self.tasks[task.index()], &mut self.queues[cpu]);
        entity.time_slice -= 1;
        if entity.time_slice > 0 {
            // A granularity of an interactive task's slice is over: tasks of equal priority take their turn.
            let piece = entity.is_interactive()
                && (slice - entity.time_slice) % granularity == 0
                && entity.time_slice >= granularity;
            if piece && queue.active.remove(task, entity.prio) {
                queue.active.push(task, entity.prio);
                return true;
            }
            return false;
        }
        queue.active.remove(task, entity.prio);
        entity.prio = entity.effective_prio();
        (entity.time_slice, entity.is_first_slice) = (slice, false);
        queue.expired_since.get_or_insert(now);
        let goes_on = self.extra_run.is_due(interrupted) && !starving;
        entity.runs_extra |= goes_on && !entity.is_interactive();
        if goes_on || entity.is_interactive() && !starving {
            queue.active.push(task, entity.prio);
        } else {
            queue.expired.push(task, entity.prio);
            queue.best_expired_prio = queue.best_expired_prio.min(entity.static_prio);
        }
        true
    }

    /// `tcp_recvmsg` with wu's change: a task that had an extra run moves to the expired array (`yield`).
    pub fn leaves_recvmsg(&mut self, cpu: usize) -> bool {
        let Some(task) = self.queues[cpu].current else { return false };
        let (entity, queue) = (&mut self.tasks[task.index()], &mut self.queues[cpu]);
        if !std::mem::take(&mut entity.runs_extra) {
            return false;
        }
        if queue.active.remove(task, entity.prio) {
            queue.expired.push(task, entity.prio);
        }
        true
    }

    /// `TIMESLICE_GRANULARITY`: the more interactive, the shorter.
    fn granularity(&self, task: TaskId) -> i64 {
        let bonus = self.tasks[task.index()].bonus();
        let pieces = 1 << ((MAX_BONUS - bonus).max(1) - 1);
        self.ticks(GRANULARITY_MS) * pieces * self.queues.len() as i64
    }

    /// `EXPIRED_STARVING`.
    fn expired_starve(&self, cpu: usize, now: Instant) -> bool {
        let queue = &self.queues[cpu];
        let limit_ns = DEF_TIMESLICE_MS * MAX_BONUS * NS_PER_MS * self.runnable(cpu) as i64;
        let waited = queue.expired_since.is_some_and(|since| now.nanos_since(since) > limit_ns);
        let better = queue.current.is_some_and(|task| {
            let current = self.tasks[task.index()].static_prio;
            current > queue.best_expired_prio
        });
        waited || better
    }

    /// `TASK_PREEMPTS_CURR`.
    pub fn preempts(&mut self, cpu: usize, woken: TaskId, _now: Instant) -> bool {
        self.queues[cpu]
            .current
            .is_none_or(|current| self.tasks[woken.index()].prio < self.tasks[current.index()].prio)
    }

    /// The running task is preempted by a real-time one, whose priority is better than all here.
    pub fn put(&mut self, cpu: usize, now: Instant) {
        if let Some(task) = self.queues[cpu].current.take() {
            self.charge(task, now);
        }
    }

    /// `schedule`.
    pub fn pick(&mut self, cpu: usize, now: Instant) -> Option<TaskId> {
        if let Some(previous) = self.queues[cpu].current {
            self.charge(previous, now);
        }
        let queue = &mut self.queues[cpu];
        if queue.active.bitmap == 0 {
            std::mem::swap(&mut queue.active, &mut queue.expired);
            queue.expired_since = None;
            queue.best_expired_prio = MAX_PRIO;
        }
        let next = queue.active.first();
        if let Some(task) = next {
            self.credit_wait(cpu, task, now);
            if let Some(child) = self.exited[task.index()].take() {
                let slice = self.ticks(child.slice_ms());
                self.tasks[task.index()].reap(&child, slice);
            }
        }
        self.queues[cpu].current = next;
        next
    }

    /// A task's wait for the CPU counts as sleep, in part.
    fn credit_wait(&mut self, cpu: usize, task: TaskId, now: Instant) {
        let entity = &mut self.tasks[task.index()];
        if matches!(entity.activated, Activated::ByTask | Activated::ByInterrupt) {
            let waited = now.nanos_since(entity.timestamp).max(0);
            let counts = if entity.activated == Activated::ByTask {
                waited * ON_RUNQUEUE_WEIGHT / 100
            } else {
                waited
            };
            let before = entity.prio;
            entity.credit_sleep(Instant::from_nanos(entity.timestamp.nanos() + counts));
            let after = entity.prio;
            let active = &mut self.queues[cpu].active;
            // It moves to a better list; it was the first, and that list was empty.
            if active.remove(task, before) {
                active.push(task, after);
            }
        }
        let entity = &mut self.tasks[task.index()];
        entity.activated = Activated::No;
        entity.timestamp = now;
    }

    /// Its priority, and the remaining ticks of its slice.
    #[cfg(test)]
    pub fn state_of(&self, task: TaskId) -> (i64, i64) {
        let entity = &self.tasks[task.index()];
        (entity.prio, entity.time_slice)
    }

    #[cfg(test)]
    pub fn sleep_avg_ms(&self, task: TaskId) -> i64 {
        self.tasks[task.index()].sleep_avg_ns / NS_PER_MS
    }

    pub fn runnable(&self, cpu: usize) -> usize {
        self.queues[cpu].active.len() + self.queues[cpu].expired.len()
    }

    pub fn steal(
        &mut self,
        from: usize,
        to: usize,
        _now: Instant,
        may_move: &dyn Fn(TaskId) -> bool,
    ) -> Option<TaskId> {
        let queue = &self.queues[from];
        // Expired tasks first: their caches are the coldest (`move_tasks`).
        let waiting =
            [&queue.expired, &queue.active].into_iter().flat_map(|array| array.lists.iter().flatten());
        let task = waiting.copied().find(|task| queue.current != Some(*task) && may_move(*task))?;
        let prio = self.tasks[task.index()].prio;
        let queue = &mut self.queues[from];
        let was_expired = queue.expired.remove(task, prio);
        if !was_expired {
            queue.active.remove(task, prio);
        }
        let to = &mut self.queues[to];
        if was_expired {
            to.expired.push(task, prio)
        } else {
            to.active.push(task, prio)
        }
        Some(task)
    }
}
