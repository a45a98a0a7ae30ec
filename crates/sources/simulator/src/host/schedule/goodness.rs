//! 2.4's scheduler (kernel/sched.c, 2.4.17).
//!
//! Every runnable task has a count of ticks it may still run. The one with the best `goodness` runs: the count, plus a
//! bonus by nice value. When all counts are used up, a new epoch begins: every task gets new ticks and keeps half of
//! those it has, so a task that slept has up to twice as many.

use super::{TaskId, Waker};
use slowpath_model::Instant;

/// The scheduler's state of a task (`struct task_struct`).
#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    nice: i8,
    /// Ticks it may still run in this epoch (`counter`).
    counter: i64,
    /// Alive: it gets its ticks in a new epoch, asleep or not.
    alive: bool,
}

/// The scheduler of a host.
#[derive(Debug)]
pub struct Goodness {
    tasks: Vec<Entity>,
    /// Per CPU: runnable tasks, in the order of the kernel's run queue: newcomers first.
    queues: Vec<Vec<TaskId>>,
    current: Vec<Option<TaskId>>,
    hz: u32,
}

impl Goodness {
    pub fn new(cpus: usize, hz: u32) -> Self {
        Self { tasks: Vec::new(), queues: vec![Vec::new(); cpus], current: vec![None; cpus], hz }
    }

    /// Ticks per epoch (`NICE_TO_TICKS` with `TICK_SCALE`): 60 ms at nice 0.
    fn ticks(&self, nice: i8) -> i64 {
        let scaled = 20 - i64::from(nice);
        let scaled = match self.hz {
            ..200 => scaled >> 2,
            200..400 => scaled >> 1,
            400..800 => scaled,
            800..1600 => scaled << 1,
            _ => scaled << 2,
        };
        scaled + 1
    }

    /// `goodness()`. No tasks share memory here, so only the running task has the bonus for it.
    fn goodness(&self, cpu: usize, task: TaskId) -> i64 {
        let entity = self.tasks[task.index()];
        if entity.counter == 0 {
            return 0;
        }
        entity.counter + i64::from(self.current[cpu] == Some(task)) + 20 - i64::from(entity.nice)
    }

    pub fn start(&mut self, cpu: usize, task: TaskId, nice: i8, now: Instant) {
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, Entity::default());
        }
        // `do_fork` gives the child half of the parent's count; a waiting parent has its full share.
        let counter = (self.ticks(nice) + 1) >> 1;
        self.tasks[task.index()] = Entity { nice, counter, alive: true };
        self.wake(cpu, task, Waker::Task, now);
    }

    pub fn wake(&mut self, cpu: usize, task: TaskId, _waker: Waker, _now: Instant) {
        self.queues[cpu].insert(0, task);
    }

    pub fn sleep(&mut self, cpu: usize, _now: Instant) {
        if let Some(task) = self.current[cpu].take() {
            self.queues[cpu].retain(|queued| *queued != task);
        }
    }

    /// `update_process_times`.
    pub fn tick(&mut self, cpu: usize, _now: Instant) -> bool {
        let Some(task) = self.current[cpu] else { return false };
        let entity = &mut self.tasks[task.index()];
        entity.counter = (entity.counter - 1).max(0);
        entity.counter == 0
    }

    /// `reschedule_idle` with `preemption_goodness`.
    pub fn preempts(&mut self, cpu: usize, woken: TaskId, _now: Instant) -> bool {
        self.current[cpu].is_none_or(|current| self.goodness(cpu, woken) - self.goodness(cpu, current) > 1)
    }

    /// The running task is preempted by a real-time one, whose goodness is at least 1000.
    pub fn put(&mut self, cpu: usize, _now: Instant) {
        self.current[cpu] = None;
    }

    /// `schedule`.
    pub fn pick(&mut self, cpu: usize, _now: Instant) -> Option<TaskId> {
        if self.queues[cpu].is_empty() {
            self.current[cpu] = None;
            return None;
        }
        loop {
            let mut best: Option<(i64, TaskId)> = None;
            // The running task comes first and wins ties, as in the kernel.
            for task in self.current[cpu].into_iter().chain(self.queues[cpu].iter().copied()) {
                let goodness = self.goodness(cpu, task);
                if best.is_none_or(|(most, _)| goodness > most) {
                    best = Some((goodness, task));
                }
            }
            match best {
                Some((1.., task)) => {
                    self.current[cpu] = Some(task);
                    return Some(task);
                }
                _ => self.begin_epoch(),
            }
        }
    }

    /// `recalculate:` in `schedule`.
    fn begin_epoch(&mut self) {
        for index in 0..self.tasks.len() {
            let ticks = self.ticks(self.tasks[index].nice);
            let entity = &mut self.tasks[index];
            if entity.alive {
                entity.counter = (entity.counter >> 1) + ticks;
            }
        }
    }

    pub fn runnable(&self, cpu: usize) -> usize {
        self.queues[cpu].len()
    }

    pub fn steal(
        &mut self,
        from: usize,
        to: usize,
        _now: Instant,
        may_move: &dyn Fn(TaskId) -> bool,
    ) -> Option<TaskId> {
        let at = self.queues[from]
            .iter()
            .rposition(|task| self.current[from] != Some(*task) && may_move(*task))?;
        let task = self.queues[from].remove(at);
        self.queues[to].push(task);
        Some(task)
    }
}
