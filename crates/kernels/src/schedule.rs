//! The scheduler.

use std::time::Duration;

/// How the kernel chooses the next task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheduler {
    /// The runnable task with the best `goodness()`, found by examining all; new time slices are assigned when all are
    /// used up (`schedule`, 2.4).
    Goodness,
    /// Active and expired arrays by priority, time slices by nice value, a bonus for tasks that sleep (2.6.0 to
    /// 2.6.22).
    O1 {
        /// Which task stays active when its slice is over.
        extra_run: ExtraRun,
    },
    /// The task that ran least runs next, for its share of a period of 6 ms on one CPU (`pick_next_entity`, CFS, 2.6.23
    /// to 6.5).
    Cfs,
    /// Earliest eligible virtual deadline first (`pick_eevdf`, since 6.6).
    Eevdf {
        /// A task's slice on one CPU (`normalized_sysctl_sched_base_slice`).
        base_slice: Duration,
        /// Whether a task that sleeps pays off what it ran too much (`DELAY_DEQUEUE`, since 6.12). Otherwise it wakes
        /// with that debt.
        delayed_dequeue: bool,
    },
}

/// Wu's change to the O(1) scheduler: which task stays active when its slice is over, if no expired task starves. It
/// yields when it leaves `tcp_recvmsg` (wu, listing 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExtraRun {
    /// None, other than an interactive one: the original kernel.
    Never,
    /// A task inside `tcp_recvmsg`, which sets a flag of the task before `lock_sock` and clears it after
    /// `release_sock`: the change that Wu posted for 2.6.14 (LKML and netdev, 29 November 2006, "Potential performance
    /// bottleneck for Linux TCP").
    InRecvmsg,
    /// A task for which packets wait on prequeue or backlog at that tick: the change as the paper words it (wu, listing
    /// 1).
    PacketsWait,
}

/// What a tick finds of the task that it interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interrupted {
    /// It is inside `tcp_recvmsg`.
    pub in_recvmsg: bool,
    /// Packets wait on the prequeue or backlog of its socket.
    pub packets_wait: bool,
}

impl ExtraRun {
    /// Whether the task that a tick interrupts stays active at the end of its slice.
    pub const fn is_due(self, interrupted: Interrupted) -> bool {
        match self {
            Self::Never => false,
            Self::InRecvmsg => interrupted.in_recvmsg,
            Self::PacketsWait => interrupted.packets_wait,
        }
    }
}

impl Scheduler {
    /// A task's slice on a machine with `cpus` CPUs: the base slice, scaled by the logarithm of up to eight CPUs
    /// (`get_update_sysctl_factor`); `None` for other schedulers.
    pub fn base_slice(self, cpus: u32) -> Option<Duration> {
        match self {
            Self::Eevdf { base_slice, .. } => Some(base_slice * (1 + cpus.clamp(1, 8).ilog2())),
            Self::Goodness | Self::O1 { .. } | Self::Cfs => None,
        }
    }
}

/// The time slice of a task with this nice value under [`Scheduler::O1`] (`task_timeslice`, 2.6.14; wu, table I): 100
/// ms at 0, 800 ms at −20, 5 ms at 19.
pub const fn o1_time_slice(nice: i8) -> Duration {
    const PRIORITIES: i64 = 140;
    let static_priority = 120 + nice as i64;
    let step = if nice < 0 { 20 } else { 5 };
    let slice = (PRIORITIES - static_priority) * step;
    // `MIN_TIMESLICE`.
    Duration::from_millis(if slice < 5 { 5 } else { slice.unsigned_abs() })
}

/// Where a task in the kernel can be preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preemption {
    /// Nowhere: only when it sleeps, or returns to user space (`PREEMPT_NONE`).
    None,
    /// Also at voluntary preemption points (`PREEMPT_VOLUNTARY`).
    Voluntary,
    /// Anywhere without a spin lock held (`PREEMPT`).
    Full,
}
