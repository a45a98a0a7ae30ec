//! A CPU: hard interrupts before softirqs before tasks.
//!
//! Work is done in pieces. A piece has an effect, a cost and a continuation. Its effect is on state that only its
//! context may touch, so it is applied when the piece begins; its output (packets, wake-ups) appears when its time is
//! over. A piece is suspended while a higher level works, and resumes afterwards, unless the kernel switches to another
//! task.

mod work;

use super::schedule::TaskId;
use crate::agenda::Slot;
use slowpath_model::Instant;
use std::time::Duration;

/// The contexts of a CPU, in increasing priority.
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
    /// The NIC's.
    Card,
    /// The timer's tick.
    Tick,
}

/// The time of a CPU in each context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// Tasks, softirqs and hard interrupts, by [`Level`].
    pub levels: [Duration; 3],
    /// The number of context switches.
    pub switches: u64,
    /// NIC interrupts handled.
    pub interrupts: u64,
}

/// One CPU.
#[derive(Debug)]
pub struct Cpu {
    pub(super) slot: Slot,
    pub(super) tick: Slot,
    /// The remaining work of each level's piece, in nanoseconds: a `Duration` would be assembled from seconds and
    /// nanoseconds at each step.
    left: [Option<u64>; 3],
    /// Which piece is running, and since when.
    working: Option<(Level, Instant)>,
    /// Interrupts raised and not served, and the one in service.
    card_raised: bool,
    tick_raised: bool,
    serving: Option<Interrupt>,
    pub(super) current: Option<TaskId>,
    pub(super) need_resched: bool,
    /// Which softirqs of its host it runs, if it takes interrupts.
    pub(super) softirqs: Option<usize>,
    /// Busy time at each level, in nanoseconds.
    busy_ns: [u64; 3],
    switches: u64,
    interrupts: u64,
}

/// `nanos` nanoseconds later.
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

    /// The time in each context.
    pub fn busy(&self) -> Busy {
        let levels = self.busy_ns.map(Duration::from_nanos);
        Busy { levels, switches: self.switches, interrupts: self.interrupts }
    }

    /// Whether it does nothing.
    pub(super) fn is_idle(&self) -> bool {
        self.current.is_none() && self.left == [None; 3]
    }

    /// Its softirq work is complete.
    pub(super) fn drop_softirq_piece(&mut self) {
        self.left[Level::Soft as usize] = None;
    }

    /// Its task's work is complete.
    pub(super) fn drop_task_piece(&mut self) {
        self.left[Level::Task as usize] = None;
    }

    /// Stops the running piece: counts the time done and keeps the rest.
    fn stop(&mut self, now: Instant) {
        let Some((level, since)) = self.working.take() else { return };
        let done = u64::try_from(now.nanos_since(since)).unwrap_or(0);
        self.busy_ns[level as usize] += done;
        if let Some(left) = &mut self.left[level as usize] {
            *left = left.saturating_sub(done);
        }
    }
}
