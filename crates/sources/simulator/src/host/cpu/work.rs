//! The next work of each CPU, and context switches.

use super::{Interrupt, Level, later};
use crate::host::Host;
use crate::host::schedule::Waker;
use crate::host::task::{Drained, Mode, Next};
use crate::outside::Outside;
use slowpath_kernels::{DrainSoftirqs, Preemption};
use slowpath_scenario::Cost;

impl Host {
    /// The running piece of work is finished.
    pub fn cpu_is_done(&mut self, cpu: usize, out: &mut Outside<'_>) {
        let this = &mut self.cpus.all[cpu];
        let level = this.working.map(|(level, _)| level);
        this.stop(out.now);
        if let Some(level) = level {
            this.left[level as usize] = None;
        }
        if level == Some(Level::Hard)
            && let Some(interrupt) = self.cpus.all[cpu].serving.take()
        {
            self.interrupt_takes_effect(cpu, interrupt, out);
        }
        self.run(cpu, out);
    }

    /// Raises an interrupt.
    pub fn interrupt(&mut self, cpu: usize, interrupt: Interrupt, out: &mut Outside<'_>) {
        match interrupt {
            Interrupt::Card => self.cpus.all[cpu].card_raised = true,
            Interrupt::Tick => self.cpus.all[cpu].tick_raised = true,
        }
        self.run(cpu, out);
    }

    /// Runs every CPU that an event affected while another one worked.
    pub(in crate::host) fn run(&mut self, cpu: usize, out: &mut Outside<'_>) {
        self.cpus.kicked |= 1 << cpu;
        while self.cpus.kicked != 0 {
            let next = self.cpus.kicked.trailing_zeros();
            self.cpus.kicked &= !(1 << next);
            self.run_one(next as usize, out);
        }
    }

    /// Runs the most urgent work, until something takes time.
    fn run_one(&mut self, cpu: usize, out: &mut Outside<'_>) {
        self.cpus.here = cpu;
        self.cpus.all[cpu].stop(out.now);
        loop {
            let work = match self.most_urgent(cpu, out) {
                Some(work) => work,
                None => {
                    out.agenda.set(self.cpus.all[cpu].slot, None);
                    out.agenda.set(self.cpus.all[cpu].tick, None);
                    return;
                }
            };
            let (level, left) = work;
            if left == 0 {
                self.cpus.all[cpu].left[level as usize] = None;
                if let Some(interrupt) = self.cpus.all[cpu].serving.take_if(|_| level == Level::Hard) {
                    self.interrupt_takes_effect(cpu, interrupt, out);
                }
                continue;
            }
            let this = &mut self.cpus.all[cpu];
            this.left[level as usize] = Some(left);
            this.working = Some((level, out.now));
            out.agenda.set(this.slot, Some(later(out.now, left)));
            if out.agenda.due(this.tick).is_none() {
                out.agenda.set(this.tick, Some(self.cpus.next_tick(out.now)));
            }
            return;
        }
    }

    /// The next or suspended piece of work at the highest level that has any.
    fn most_urgent(&mut self, cpu: usize, out: &mut Outside<'_>) -> Option<(Level, u64)> {
        if let Some(left) = self.cpus.all[cpu].left[Level::Hard as usize] {
            return Some((Level::Hard, left));
        }
        if let Some(cost) = self.next_interrupt(cpu, out) {
            return Some((Level::Hard, cost.as_nanos()));
        }
        if let Some(left) = self.cpus.all[cpu].left[Level::Soft as usize] {
            return Some((Level::Soft, left));
        }
        if let Some(at) = self.cpus.all[cpu].softirqs
            && !self.keeps_softirqs_off(cpu)
            && let Some(cost) = self.softirq_step(at, out)
        {
            return Some((Level::Soft, cost.as_nanos()));
        }
        self.next_of_tasks(cpu, out).map(|left| (Level::Task, left))
    }

    fn next_interrupt(&mut self, cpu: usize, out: &mut Outside<'_>) -> Option<Cost> {
        let this = &mut self.cpus.all[cpu];
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
        let softirqs = self.cpus.all[cpu].softirqs;
        if let Some(at) = softirqs {
            self.receive.softirqs[at].run_again();
        }
        match interrupt {
            Interrupt::Card => {
                self.receive.delivery.end();
                self.card_interrupted(softirqs.unwrap_or(0), out);
            }
            Interrupt::Tick => {
                let this = &self.cpus.all[cpu];
                if let Some(task) = this.current {
                    let interrupted = this.left[Level::Soft as usize].is_some();
                    self.cpus.tasks[task.index()].count_tick(interrupted);
                }
                let interrupted = self.cpus.all[cpu].current.map(|task| self.as_interrupted(task));
                let interrupted = interrupted.unwrap_or_default();
                let gives_way = self.cpus.scheduler.tick(cpu, interrupted, out.now);
                self.cpus.all[cpu].need_resched |= gives_way;
            }
        }
    }

    /// The task's own work, after a context switch if one is needed.
    fn next_of_tasks(&mut self, cpu: usize, out: &mut Outside<'_>) -> Option<u64> {
        loop {
            let this = &self.cpus.all[cpu];
            let in_hand = this.left[Level::Task as usize];
            if let Some(current) = this.current {
                let mode = self.cpus.tasks[current.index()].mode;
                if this.need_resched && self.may_lose_cpu(mode, in_hand.is_none()) {
                    self.cpus.tasks[current.index()].left =
                        self.cpus.all[cpu].left[Level::Task as usize].take();
                    self.schedule(cpu, out);
                    continue;
                }
                if let Some(left) = in_hand {
                    return Some(left);
                }
                match self.task_step(current, out) {
                    Next::Work(cost) => return Some(cost.as_nanos()),
                    // Pending softirqs run first.
                    Next::Again => return Some(0),
                    Next::Sleep => {
                        self.cpus.scheduler.sleep(cpu, out.now);
                        if let Some(task) = self.cpus.reborn.take() {
                            self.cpus.wake(task, Waker::Task, out.now);
                        }
                        self.schedule(cpu, out);
                    }
                }
                continue;
            }
            self.schedule(cpu, out);
            self.cpus.all[cpu].current?;
        }
    }

    /// Whether a task that should yield does so here: always in user space; in the kernel where it is preemptible.
    fn may_lose_cpu(&self, mode: Mode, between_pieces: bool) -> bool {
        match (mode, self.cpus.preemption) {
            (Mode::Draining(Drained::Prequeue), _) => false,
            (Mode::Draining(Drained::Backlog), _) => {
                between_pieces && self.receive.path.drain_softirqs == DrainSoftirqs::OffBetweenOffers
            }
            (Mode::Pinned, _) => false,
            (Mode::User, _) | (_, Preemption::Full) => true,
            (Mode::KernelOffers, Preemption::Voluntary) => between_pieces,
            (Mode::Kernel | Mode::KernelOffers, _) => false,
        }
    }

    /// Whether the task on a CPU has disabled softirqs.
    fn keeps_softirqs_off(&self, cpu: usize) -> bool {
        let current = self.cpus.all[cpu].current;
        current.is_some_and(|task| matches!(self.cpus.tasks[task.index()].mode, Mode::Draining(_)))
    }

    /// Switches to the task that the scheduler picks.
    fn schedule(&mut self, cpu: usize, out: &mut Outside<'_>) {
        let before = self.cpus.all[cpu].current;
        let looked_at = self.cpus.scheduler.looked_at(cpu);
        let mut next = self.cpus.scheduler.pick(cpu, out.now);
        if next.is_none() && self.cpus.pull(cpu, out.now) {
            next = self.cpus.scheduler.pick(cpu, out.now);
        }
        let this = &mut self.cpus.all[cpu];
        this.need_resched = false;
        this.current = next;
        let Some(task) = next else { return };
        let mut left = self.cpus.tasks[task.index()].left.take();
        self.report_run_delay(task, out);
        if next != before {
            if let Some(before) = before.map(|before| &mut self.cpus.tasks[before.index()])
                && before.is_runnable()
            {
                before.queued_since = Some(out.now);
            }
            self.cpus.all[cpu].switches += 1;
            let steps = self.costs.schedule_step.times(looked_at as u64);
            let switch = self.costs.context_switch.plus(steps).as_nanos();
            left = Some(left.unwrap_or_default() + switch);
        }
        self.cpus.all[cpu].left[Level::Task as usize] = left.filter(|left| *left != 0);
        self.cpus.tasks[task.index()].cpu = cpu;
    }

    /// A CPU's tick.
    pub fn tick(&mut self, cpu: usize, out: &mut Outside<'_>) {
        out.agenda.set(self.cpus.all[cpu].tick, Some(self.cpus.next_tick(out.now)));
        self.interrupt(cpu, Interrupt::Tick, out);
    }
}
