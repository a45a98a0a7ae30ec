//! A CPU: hard interrupts before softirqs before tasks.
//!
//! Work is done in pieces. A piece has an effect, a cost, and what follows from it: its effect is on what only that
//! context may touch, so it is applied as the piece begins; what it puts out (packets, wake-ups) goes out when its
//! time is over. A piece of a lower level is suspended while a higher one works, and goes on afterwards, unless by
//! then another task is to run and the kernel lets it.

use super::Host;
use super::schedule::{TaskId, Waker};
use super::task::{Drained, Mode, Next, Slept};
use crate::agenda::Slot;
use crate::outside::Outside;
use slowpath_kernels::{DrainSoftirqs, Preemption};
use slowpath_model::Instant;
use slowpath_scenario::Cost;
use std::time::Duration;

/// What a CPU can be busy with, the more urgent the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A task, in user space or in a system call.
    Task,
    /// A software interrupt.
    Soft,
    /// A hardware interrupt.
    Hard,
}

/// A hardware interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// The network card's.
    Card,
    /// The timer's tick.
    Tick,
}

/// How long a CPU was busy with what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// Tasks, softirqs and hard interrupts, by [`Level`].
    pub levels: [Duration; 3],
    /// How often it changed from one task to another.
    pub switches: u64,
    /// The card's interrupts that it took.
    pub interrupts: u64,
}

/// One CPU.
#[derive(Debug)]
pub struct Cpu {
    pub(super) slot: Slot,
    pub(super) tick: Slot,
    /// The rest of the piece of work in hand at each level, in nanoseconds: a `Duration` is put together from seconds and
    /// nanoseconds at each step.
    left: [Option<u64>; 3],
    /// Which of these is being worked on, and since when.
    working: Option<(Level, Instant)>,
    /// Interrupts raised and not served, and the one in service.
    card_raised: bool,
    tick_raised: bool,
    serving: Option<Interrupt>,
    pub(super) current: Option<TaskId>,
    pub(super) need_resched: bool,
    /// Which of its host's softirqs it runs, if it takes interrupts.
    pub(super) softirqs: Option<usize>,
    /// How long it was busy at each level, in nanoseconds.
    busy_ns: [u64; 3],
    switches: u64,
    interrupts: u64,
}

/// So many nanoseconds later.
pub fn later(now: Instant, nanos: u64) -> Instant {
    Instant::from_nanos(now.nanos().saturating_add_unsigned(nanos))
}

impl Cpu {
    pub(super) fn new(slot: Slot, tick: Slot) -> Self {
        Self {
            slot,
            tick,
            left: [None; 3],
            working: None,
            card_raised: false,
            tick_raised: false,
            serving: None,
            current: None,
            need_resched: false,
            softirqs: None,
            busy_ns: [0; 3],
            switches: 0,
            interrupts: 0,
        }
    }

    /// How long it was busy with what.
    pub fn busy(&self) -> Busy {
        let levels = self.busy_ns.map(Duration::from_nanos);
        Busy { levels, switches: self.switches, interrupts: self.interrupts }
    }

    /// Whether it does nothing.
    pub(super) fn is_idle(&self) -> bool {
        self.current.is_none() && self.left == [None; 3]
    }

    /// What it does in its softirq is over.
    pub(super) fn drop_softirq_piece(&mut self) {
        self.left[Level::Soft as usize] = None;
    }

    /// What its task does is over.
    pub(super) fn drop_task_piece(&mut self) {
        self.left[Level::Task as usize] = None;
    }

    /// Stops working, wherever it is: what was done is counted, what is left is kept.
    fn stop(&mut self, now: Instant) {
        let Some((level, since)) = self.working.take() else { return };
        let done = u64::try_from(now.nanos_since(since)).unwrap_or(0);
        self.busy_ns[level as usize] += done;
        if let Some(left) = &mut self.left[level as usize] {
            *left = left.saturating_sub(done);
        }
    }
}

impl Host {
    /// The piece of work in hand is finished.
    pub fn cpu_is_done(&mut self, cpu: usize, out: &mut Outside<'_>) {
        let this = &mut self.cpus[cpu];
        let level = this.working.map(|(level, _)| level);
        this.stop(out.now);
        if let Some(level) = level {
            this.left[level as usize] = None;
        }
        if level == Some(Level::Hard)
            && let Some(interrupt) = self.cpus[cpu].serving.take()
        {
            self.interrupt_takes_effect(cpu, interrupt, out);
        }
        self.run(cpu, out);
    }

    /// Raises an interrupt.
    pub fn interrupt(&mut self, cpu: usize, interrupt: Interrupt, out: &mut Outside<'_>) {
        match interrupt {
            Interrupt::Card => self.cpus[cpu].card_raised = true,
            Interrupt::Tick => self.cpus[cpu].tick_raised = true,
        }
        self.run(cpu, out);
    }

    /// Lets every CPU to which something happened while another one worked take notice.
    pub(super) fn run(&mut self, cpu: usize, out: &mut Outside<'_>) {
        self.kicked |= 1 << cpu;
        while self.kicked != 0 {
            let next = self.kicked.trailing_zeros();
            self.kicked &= !(1 << next);
            self.run_one(next as usize, out);
        }
    }

    /// Works on what is most urgent, until something takes time.
    fn run_one(&mut self, cpu: usize, out: &mut Outside<'_>) {
        self.here = cpu;
        self.cpus[cpu].stop(out.now);
        loop {
            let work = match self.most_urgent(cpu, out) {
                Some(work) => work,
                None => {
                    out.agenda.set(self.cpus[cpu].slot, None);
                    out.agenda.set(self.cpus[cpu].tick, None);
                    return;
                }
            };
            let (level, left) = work;
            if left == 0 {
                self.cpus[cpu].left[level as usize] = None;
                if let Some(interrupt) = self.cpus[cpu].serving.take_if(|_| level == Level::Hard) {
                    self.interrupt_takes_effect(cpu, interrupt, out);
                }
                continue;
            }
            let this = &mut self.cpus[cpu];
            this.left[level as usize] = Some(left);
            this.working = Some((level, out.now));
            out.agenda.set(this.slot, Some(later(out.now, left)));
            if out.agenda.due(this.tick).is_none() {
                out.agenda.set(this.tick, Some(self.next_tick(out.now)));
            }
            return;
        }
    }

    /// The next or the suspended piece of work at the highest level that has any.
    fn most_urgent(&mut self, cpu: usize, out: &mut Outside<'_>) -> Option<(Level, u64)> {
        if let Some(left) = self.cpus[cpu].left[Level::Hard as usize] {
            return Some((Level::Hard, left));
        }
        if let Some(cost) = self.next_interrupt(cpu, out) {
            return Some((Level::Hard, cost.as_nanos()));
        }
        if let Some(left) = self.cpus[cpu].left[Level::Soft as usize] {
            return Some((Level::Soft, left));
        }
        if let Some(at) = self.cpus[cpu].softirqs
            && !self.keeps_softirqs_off(cpu)
            && let Some(cost) = self.softirq_step(at, out)
        {
            return Some((Level::Soft, cost.as_nanos()));
        }
        self.next_of_tasks(cpu, out).map(|left| (Level::Task, left))
    }

    fn next_interrupt(&mut self, cpu: usize, out: &mut Outside<'_>) -> Option<Cost> {
        let this = &mut self.cpus[cpu];
        if std::mem::take(&mut this.card_raised) {
            this.serving = Some(Interrupt::Card);
            this.interrupts += 1;
            return Some(self.costs.interrupt.plus(self.card_work(out)));
        }
        if std::mem::take(&mut this.tick_raised) {
            this.serving = Some(Interrupt::Tick);
            return Some(self.costs.tick);
        }
        None
    }

    fn interrupt_takes_effect(&mut self, cpu: usize, interrupt: Interrupt, out: &mut Outside<'_>) {
        let softirqs = self.cpus[cpu].softirqs;
        if let Some(at) = softirqs {
            self.softirqs[at].run_again();
        }
        match interrupt {
            Interrupt::Card => {
                self.delivery.end();
                self.card_interrupted(softirqs.unwrap_or(0), out);
            }
            Interrupt::Tick => {
                let this = &self.cpus[cpu];
                if let Some(task) = this.current {
                    let interrupted = this.left[Level::Soft as usize].is_some();
                    self.tasks[task.index()].count_tick(interrupted);
                }
                let packets_wait = self.cpus[cpu].current.is_some_and(|task| self.packets_wait_for(task));
                let gives_way = self.scheduler.tick(cpu, packets_wait, out.now);
                self.cpus[cpu].need_resched |= gives_way;
            }
        }
    }

    /// The task's own work, after a change of task if there is to be one.
    fn next_of_tasks(&mut self, cpu: usize, out: &mut Outside<'_>) -> Option<u64> {
        loop {
            let this = &self.cpus[cpu];
            let in_hand = this.left[Level::Task as usize];
            if let Some(current) = this.current {
                let mode = self.tasks[current.index()].mode;
                if this.need_resched && self.may_lose_cpu(mode, in_hand.is_none()) {
                    self.tasks[current.index()].left = self.cpus[cpu].left[Level::Task as usize].take();
                    self.schedule(cpu, out);
                    continue;
                }
                if let Some(left) = in_hand {
                    return Some(left);
                }
                match self.task_step(current, out) {
                    Next::Work(cost) => return Some(cost.as_nanos()),
                    // Softirqs are asked for first.
                    Next::Again => return Some(0),
                    Next::Sleep => {
                        self.scheduler.sleep(cpu, out.now);
                        if let Some(task) = self.reborn.take() {
                            self.wake(task, Waker::Task, out);
                        }
                        self.schedule(cpu, out);
                    }
                }
                continue;
            }
            self.schedule(cpu, out);
            self.cpus[cpu].current?;
        }
    }

    /// Whether a task that is to give way does so here: in user space always; in the kernel where it lets others.
    fn may_lose_cpu(&self, mode: Mode, between_pieces: bool) -> bool {
        match (mode, self.preemption) {
            (Mode::Draining(Drained::Prequeue), _) => false,
            (Mode::Draining(Drained::Backlog), _) => {
                between_pieces && self.receive_path.drain_softirqs == DrainSoftirqs::OffBetweenOffers
            }
            (Mode::Pinned, _) => false,
            (Mode::User, _) | (_, Preemption::Full) => true,
            (Mode::KernelOffers, Preemption::Voluntary) => between_pieces,
            (Mode::Kernel | Mode::KernelOffers, _) => false,
        }
    }

    /// Whether the task on a CPU has turned softirqs off.
    fn keeps_softirqs_off(&self, cpu: usize) -> bool {
        let current = self.cpus[cpu].current;
        current.is_some_and(|task| matches!(self.tasks[task.index()].mode, Mode::Draining(_)))
    }

    /// Changes to the task that the scheduler picks.
    fn schedule(&mut self, cpu: usize, out: &mut Outside<'_>) {
        let before = self.cpus[cpu].current;
        let looked_at = self.scheduler.looked_at(cpu);
        let mut next = self.scheduler.pick(cpu, out.now);
        if next.is_none() && self.pull(cpu, out.now) {
            next = self.scheduler.pick(cpu, out.now);
        }
        let this = &mut self.cpus[cpu];
        this.need_resched = false;
        this.current = next;
        let Some(task) = next else { return };
        let mut left = self.tasks[task.index()].left.take();
        self.tell_run_delay(task, out);
        if next != before {
            if let Some(before) = before.map(|before| &mut self.tasks[before.index()])
                && before.is_runnable()
            {
                before.queued_since = Some(out.now);
            }
            self.cpus[cpu].switches += 1;
            let steps = self.costs.schedule_step.times(looked_at as u64);
            let switch = self.costs.context_switch.plus(steps).as_nanos();
            left = Some(left.unwrap_or_default() + switch);
        }
        self.cpus[cpu].left[Level::Task as usize] = left.filter(|left| *left != 0);
        self.tasks[task.index()].cpu = cpu;
    }

    /// An idle CPU takes a task that waits for another one (`newidle_balance`, `load_balance`).
    fn pull(&mut self, cpu: usize, now: Instant) -> bool {
        let busiest = (0..self.cpus.len())
            .filter(|other| *other != cpu && self.scheduler.runnable(*other) > 1)
            .max_by_key(|other| self.scheduler.runnable(*other));
        let tasks = &self.tasks;
        let may_move = |task: TaskId| tasks[task.index()].bound_to.is_none();
        busiest.is_some_and(|busiest| self.scheduler.steal(busiest, cpu, now, may_move).is_some())
    }

    /// Makes a task runnable that sleeps (`try_to_wake_up`), or that has not begun yet (`wake_up_new_task`).
    pub(super) fn wake(&mut self, task: TaskId, waker: Waker, out: &mut Outside<'_>) {
        let Some(slept) = self.tasks[task.index()].wake_up() else { return };
        if self.is_free {
            self.ready.push_back(task);
            return;
        }
        let cpu = self.cpu_for(task);
        let this = &mut self.tasks[task.index()];
        this.cpu = cpu;
        this.queued_since = Some(out.now);
        match slept {
            Slept::Asleep => self.scheduler.wake(cpu, task, waker, out.now),
            Slept::ForChild => self.scheduler.reap(cpu, task, out.now),
            Slept::NotBegun => self.scheduler.start(cpu, task, this.priority, this.forks(), out.now),
        }
        if self.cpus[cpu].current.is_none() || self.scheduler.preempts(cpu, task, out.now) {
            self.cpus[cpu].need_resched = true;
            self.kicked |= 1 << cpu;
        }
    }

    /// Where a task runs that can run again: where it is bound to, where it ran if that CPU is idle, on an idle one,
    /// or where it ran (`select_task_rq`).
    fn cpu_for(&self, task: TaskId) -> usize {
        let this = &self.tasks[task.index()];
        if let Some(bound_to) = this.bound_to {
            return bound_to;
        }
        let is_idle = |cpu: &usize| self.cpus[*cpu].is_idle() && self.scheduler.runnable(*cpu) == 0;
        Some(this.cpu).filter(is_idle).or_else(|| (0..self.cpus.len()).find(is_idle)).unwrap_or(this.cpu)
    }

    /// The next tick after `now`. Ticks of the CPUs are not staggered.
    fn next_tick(&self, now: Instant) -> Instant {
        Instant::from_nanos((now.nanos() / self.tick_ns + 1) * self.tick_ns)
    }

    /// A CPU's tick.
    pub fn tick(&mut self, cpu: usize, out: &mut Outside<'_>) {
        out.agenda.set(self.cpus[cpu].tick, Some(self.next_tick(out.now)));
        self.interrupt(cpu, Interrupt::Tick, out);
    }
}
