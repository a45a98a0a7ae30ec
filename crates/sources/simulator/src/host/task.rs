//! Tasks: their state, and their system calls.

mod calls;
mod datagrams;
mod step;

use super::handling::Handling;
use super::schedule::Waker;
use super::socket::SocketId;
use crate::agenda::Slot;
use crate::program::{Done, Program};
use slowpath_model::Instant;
use slowpath_scenario::{Cost, Priority};

/// The next cost of a task.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// Time on the CPU.
    Work(Cost),
    /// Nothing yet: softirqs that were disabled may run first.
    Again,
    /// Nothing: it sleeps, or has ended.
    Sleep,
}

/// The preemption state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In user space.
    User,
    /// In the kernel.
    Kernel,
    /// In the kernel, at a voluntary preemption point between two pieces of work (`cond_resched`).
    KernelOffers,
    /// In the kernel, with preemption off (`preempt_disable`).
    Pinned,
    /// In the kernel with softirqs disabled, processing packets that waited for it.
    Draining(Drained),
}

/// Where packets wait for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// On the prequeue.
    Prequeue,
    /// On the backlog.
    Backlog,
}

/// Whether a task can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Runnable,
    Waiting(Slept),
    Gone,
}

/// The state of a task that was not runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// It slept.
    Asleep,
    /// It waited for the child with its number (`wait4`).
    ForChild,
    /// It had not started.
    NotBegun,
}

/// A system call in progress.
#[derive(Clone, Copy, Debug)]
enum Call {
    /// None: the result of the last one.
    Returned(Done),
    /// Waits for the handshake.
    Connecting(SocketId),
    /// `write`: the remaining and the written bytes.
    Writing { left: u64, written: u64 },
    /// `read` before it locks the socket: it is about to decide whether to poll, or polls until `until`.
    Polling { wanted: u64, until: Option<Instant> },
    /// `read`: the requested and the copied bytes.
    Reading { wanted: u64, copied: u64 },
    /// The call is done except for the packets that wait for the lock (`release_sock`).
    Releasing(Done),
}

/// A task.
#[derive(Debug)]
pub struct Task {
    program: Program,
    pub(super) priority: Priority,
    /// The CPU it is pinned to.
    pub(super) bound_to: Option<usize>,
    /// The CPU where it runs, waits or ran.
    pub(super) cpu: usize,
    /// The rest of its preempted work, in nanoseconds.
    pub(super) left: Option<u64>,
    pub(super) mode: Mode,
    life: Life,
    call: Call,
    handling: Handling,
    /// The stream of a flow that it serves.
    stream: usize,
    socket: Option<SocketId>,
    /// When its sleep is over, and the agenda slot for that.
    wake_slot: Slot,
    wakes_by: Waker,
    /// Since when it has been runnable and waiting for a CPU.
    pub(super) queued_since: Option<Instant>,
    ticks: Ticks,
}

/// Ticks that found a task on its CPU, as `time` reports them (`update_process_times`): if interrupted, the tick counts
/// as kernel work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    /// In user space.
    pub user: u64,
    /// In the kernel.
    pub system: u64,
}

impl Task {
    /// A task that has not started.
    pub(super) fn new(
        program: Program,
        priority: Priority,
        bound_to: Option<usize>,
        stream: usize,
        wake_slot: Slot,
    ) -> Self {
        Self {
            program,
            priority,
            bound_to,
            cpu: bound_to.unwrap_or(0),
            left: None,
            mode: Mode::User,
            life: Life::Waiting(Slept::NotBegun),
            call: Call::Returned(Done::Nothing),
            handling: Handling::default(),
            stream,
            socket: None,
            wake_slot,
            wakes_by: Waker::Interrupt,
            queued_since: None,
            ticks: Ticks::default(),
        }
    }

    /// A tick found it on its CPU, interrupted or not.
    pub(super) fn count_tick(&mut self, interrupted: bool) {
        if self.mode == Mode::User && !interrupted {
            self.ticks.user += 1;
        } else {
            self.ticks.system += 1;
        }
    }

    /// The number of forks from a process that nearly always sleeps.
    pub(super) fn forks(&self) -> u32 {
        self.program.forks()
    }

    /// Whether it is in a system call on a socket.
    pub(super) fn is_in_call(&self) -> bool {
        !matches!(self.call, Call::Returned(_))
    }

    /// Whether it can run.
    pub(super) fn is_runnable(&self) -> bool {
        self.life == Life::Runnable
    }

    /// Makes it runnable; returns its previous state, if it was not runnable.
    pub(super) fn wake_up(&mut self) -> Option<Slept> {
        let Life::Waiting(slept) = self.life else { return None };
        self.life = Life::Runnable;
        Some(slept)
    }
}
