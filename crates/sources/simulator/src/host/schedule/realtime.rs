//! Real-time tasks (`SCHED_FIFO`, all of one priority): they run before all others, in the order in which they became
//! runnable, until they sleep.
//!
//! The kernel's reserve for other tasks (`sched_rt_runtime_us`; since 6.12 the fair server, a twentieth) is not
//! modelled.

use super::TaskId;
use std::collections::VecDeque;

/// The real-time tasks of a host.
#[derive(Debug)]
pub struct Realtime {
    /// Which tasks are real-time.
    are: Vec<bool>,
    queues: Vec<Queue>,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    tasks: VecDeque<TaskId>,
    /// Whether the first of them runs.
    runs: bool,
}

impl Realtime {
    pub fn new(cpus: usize) -> Self {
        Self { are: Vec::new(), queues: vec![Queue::default(); cpus] }
    }

    /// Whether a task is real-time.
    pub fn has(&self, task: TaskId) -> bool {
        self.are.get(task.index()).copied().unwrap_or(false)
    }

    /// A task starts, real-time or not.
    pub fn start(&mut self, task: TaskId, is: bool) {
        if self.are.len() <= task.index() {
            self.are.resize(task.index() + 1, false);
        }
        self.are[task.index()] = is;
    }

    pub fn wake(&mut self, cpu: usize, task: TaskId) {
        self.queues[cpu].tasks.push_back(task);
    }

    /// Whether a real-time task runs on that CPU.
    pub fn runs(&self, cpu: usize) -> bool {
        self.queues[cpu].runs
    }

    /// The running one goes to sleep.
    pub fn sleep(&mut self, cpu: usize) {
        let queue = &mut self.queues[cpu];
        queue.tasks.pop_front();
        queue.runs = false;
    }

    pub fn pick(&mut self, cpu: usize) -> Option<TaskId> {
        let queue = &mut self.queues[cpu];
        queue.runs = !queue.tasks.is_empty();
        queue.tasks.front().copied()
    }

    pub fn runnable(&self, cpu: usize) -> usize {
        self.queues[cpu].tasks.len()
    }

    pub fn steal(&mut self, from: usize, to: usize, may_move: &dyn Fn(TaskId) -> bool) -> Option<TaskId> {
        let queue = &mut self.queues[from];
        let at = (usize::from(queue.runs)..queue.tasks.len()).find(|at| may_move(queue.tasks[*at]))?;
        let task = queue.tasks.remove(at)?;
        self.queues[to].tasks.push_back(task);
        Some(task)
    }
}
