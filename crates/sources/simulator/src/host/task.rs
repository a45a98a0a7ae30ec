//! Tasks: what they are doing, and the system calls that they make.

mod calls;
pub mod datagrams;

use super::Host;
use super::handling::Handling;
use super::kernel_lock;
use super::schedule::{TaskId, Waker};
use super::socket::{SleepsFor, SocketId};
use crate::agenda::Slot;
use crate::outside::Outside;
use crate::program::{Done, Op, Program};
use slowpath_model::{Bytes, EventKind, Instant, Wait};
use slowpath_scenario::{Cost, Priority};
use std::time::Duration;

/// What a task costs next.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// So much time on the CPU.
    Work(Cost),
    /// Nothing yet: softirqs may run that could not before.
    Again,
    /// Nothing: it sleeps, or is no more.
    Sleep,
}

/// Where a task is, as far as losing the CPU is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In user space.
    User,
    /// In the kernel.
    Kernel,
    /// In the kernel, where it offers the CPU between two pieces of work (`cond_resched`).
    KernelOffers,
    /// In the kernel, with preemption off (`preempt_disable`).
    Pinned,
    /// In the kernel with softirqs off, seeing to packets that waited for it.
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

/// What a task was doing that could not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// It slept.
    Asleep,
    /// It waited for the child that had its number (`wait4`).
    ForChild,
    /// It was not there yet.
    NotBegun,
}

/// A system call in progress.
#[derive(Clone, Copy, Debug)]
enum Call {
    /// None: this came of the last one.
    Returned(Done),
    /// The handshake is waited for.
    Connecting(SocketId),
    /// `write`: so much is left of it, so much is done.
    Writing { left: u64, written: u64 },
    /// `read` before it locks the socket: it is about to find out whether to poll, or polls until then.
    Polling { wanted: u64, until: Option<Instant> },
    /// `read`: so much is wanted, so much is there.
    Reading { wanted: u64, copied: u64 },
    /// The call is done but for the packets that wait for the lock (`release_sock`).
    Releasing(Done),
}

/// A task.
#[derive(Debug)]
pub struct Task {
    program: Program,
    pub(super) priority: Priority,
    /// The CPU it may not leave.
    pub(super) bound_to: Option<usize>,
    /// The CPU it runs, waits or ran on.
    pub(super) cpu: usize,
    /// What is left of a piece of its work that was interrupted by another task, in nanoseconds.
    pub(super) left: Option<u64>,
    pub(super) mode: Mode,
    life: Life,
    call: Call,
    handling: Handling,
    /// The stream of a flow that it serves.
    stream: usize,
    socket: Option<SocketId>,
    /// When its sleep is over, and by what.
    wake_slot: Slot,
    wakes_by: Waker,
    /// Since when it waits for a CPU, able to run.
    pub(super) queued_since: Option<Instant>,
    ticks: Ticks,
}

/// Ticks that found a task on its CPU, as `time` tells them (`update_process_times`): whatever interrupted it is the
/// kernel's work too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    /// In user space.
    pub user: u64,
    /// In the kernel.
    pub system: u64,
}

impl Task {
    /// A task that does not run yet.
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

    /// How many forks away it is from a process that nearly always sleeps.
    pub(super) fn forks(&self) -> u32 {
        self.program.forks()
    }

    /// Whether it is in a system call that sees to a socket.
    pub(super) fn is_in_call(&self) -> bool {
        !matches!(self.call, Call::Returned(_))
    }

    /// Whether it can run.
    pub(super) fn is_runnable(&self) -> bool {
        self.life == Life::Runnable
    }

    /// It can run now; says why it could not before, if so.
    pub(super) fn wake_up(&mut self) -> Option<Slept> {
        let Life::Waiting(slept) = self.life else { return None };
        self.life = Life::Runnable;
        Some(slept)
    }
}

impl Host {
    /// The ticks of the process that serves a stream of a flow, and how many there are in a second; `None` if none does, or
    /// nothing takes time here.
    pub fn ticks_of(&self, stream: usize) -> Option<(Ticks, u32)> {
        let serves = |task: &&Task| task.stream == stream && task.program.is_of_a_flow();
        let task = self.tasks.iter().find(serves).filter(|_| !self.is_free)?;
        Some((task.ticks, (1_000_000_000 / self.tick_ns) as u32))
    }

    /// A task's sleep is over.
    pub fn wake_task(&mut self, task: u32, out: &mut Outside<'_>) {
        out.agenda.set(self.tasks[task as usize].wake_slot, None);
        self.wake(TaskId(task), self.tasks[task as usize].wakes_by, out);
    }

    /// The next piece of a task's work.
    pub(super) fn task_step(&mut self, task: TaskId, out: &mut Outside<'_>) -> Next {
        let index = task.index();
        let mut handling = std::mem::take(&mut self.tasks[index].handling);
        let next = loop {
            if self.kernel_lock.is_some() && !self.has_kernel(task) {
                break Next::Work(kernel_lock::LOOKS_AGAIN);
            }
            if let Some(cost) = self.proceed(&mut handling, Waker::Task, out) {
                if cost == Cost::ZERO {
                    continue;
                }
                break Next::Work(cost);
            }
            let call = self.tasks[index].call;
            let next = match call {
                Call::Returned(_) if self.gives_way_on_return(task) => Some(Next::Again),
                Call::Returned(done) => self.next_operation(task, done, &mut handling, out),
                Call::Connecting(socket) => self.connecting(task, socket),
                Call::Writing { left, written } => self.write(task, left, written, &mut handling, out),
                Call::Polling { wanted, until } => self.poll_first(task, wanted, until, &mut handling, out),
                Call::Reading { wanted, copied } => self.read(task, wanted, copied, &mut handling, out),
                Call::Releasing(done) => self.release(task, done, &mut handling, out),
            };
            match next {
                None | Some(Next::Work(Cost::ZERO)) => {}
                Some(next) => break next,
            }
        };
        self.tasks[index].handling = handling;
        if matches!(next, Next::Sleep) {
            self.leave_kernel(task);
        }
        next
    }

    /// A call returns to user space, where a task that is to give way does so in every kernel (`resume_userspace`, 2.6.14;
    /// `exit_to_user_mode_loop`, 6.18): before it can lock its socket again.
    fn gives_way_on_return(&mut self, task: TaskId) -> bool {
        let this = &mut self.tasks[task.index()];
        let returns = this.mode != Mode::User;
        this.mode = Mode::User;
        returns && !self.is_free && self.cpus[this.cpu].need_resched
    }

    /// Begins what the program wants next. `None` if that took no time.
    fn next_operation(
        &mut self,
        task: TaskId,
        done: Done,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        self.tell_call(task, done, out);
        let this = &mut self.tasks[task.index()];
        this.mode = Mode::User;
        this.call = Call::Returned(Done::Nothing);
        if let Program::Job(job) = &mut this.program
            && job.take_finished()
        {
            // The next job is a task of its own, with nothing that this one has earned or used up.
            this.life = Life::Waiting(Slept::NotBegun);
            self.reborn = Some(task);
            return Some(Next::Sleep);
        }
        match this.program.next(out.now, done, &mut self.draws) {
            Op::Compute(cost) => Some(Next::Work(cost)),
            Op::Watch(until) if !self.is_free => {
                /// A look at the clock, and a little.
                const LOOK: Duration = Duration::from_micros(1);
                let left = until.since(out.now).unwrap_or_default().min(LOOK);
                Some(Next::Work(Cost::nanos(left.as_nanos() as u64)))
            }
            Op::Sleep(until) | Op::Watch(until) => {
                out.agenda.set(this.wake_slot, Some(until));
                this.wakes_by = Waker::Interrupt;
                Some(self.sleep(task))
            }
            Op::WaitForDisk(until) => {
                out.agenda.set(this.wake_slot, Some(until));
                this.wakes_by = Waker::Disk;
                Some(self.sleep(task))
            }
            Op::Fork { is_vfork } => {
                let cpu = this.cpu;
                let gives_way = self.scheduler.begin_child(cpu, task, is_vfork, out.now);
                self.cpus[cpu].need_resched |= gives_way;
                Some(Next::Again)
            }
            Op::Reap => {
                this.life = Life::Waiting(Slept::ForChild);
                self.reborn = Some(task);
                Some(Next::Sleep)
            }
            Op::Exit => {
                this.life = Life::Gone;
                if this.program.is_of_a_flow() {
                    *out.processes -= 1;
                }
                Some(Next::Sleep)
            }
            Op::Park => {
                let at = self.cpus[this.cpu].softirqs.unwrap_or(0);
                if !self.softirqs[at].deferred {
                    return Some(self.sleep(task));
                }
                // They run as softirqs, on this task's time.
                self.softirqs[at].run_again();
                Some(Next::Work(self.costs.softirq))
            }
            Op::Connect => {
                let stream = this.stream;
                let socket = self.connect(stream, handling, out);
                let this = &mut self.tasks[task.index()];
                this.socket = Some(socket);
                this.call = Call::Connecting(socket);
                Some(self.enter(task))
            }
            Op::Accept => {
                let stream = this.stream;
                match self.accept(task, stream, handling, out) {
                    Some(socket) => {
                        if !self.is_free {
                            self.scheduler.fork(task);
                        }
                        let this = &mut self.tasks[task.index()];
                        this.socket = Some(socket);
                        this.call = Call::Returned(Done::Connected);
                        Some(self.enter(task))
                    }
                    // Woken, it asks again.
                    None => Some(self.sleep(task)),
                }
            }
            Op::Close => {
                if let Some(id) = this.socket.take() {
                    self.close(id, handling, out);
                }
                Some(self.enter(task))
            }
            Op::Write(left) => Some(self.begin(task, Call::Writing { left, written: 0 })),
            Op::Read(wanted) if self.asks_for_polling(self.tasks[task.index()].socket) => {
                self.tasks[task.index()].call = Call::Polling { wanted, until: None };
                Some(self.enter(task))
            }
            Op::Read(wanted) => Some(self.begin(task, Call::Reading { wanted, copied: 0 })),
        }
    }

    /// Tells of a call that has returned.
    fn tell_call(&self, task: TaskId, done: Done, out: &mut Outside<'_>) {
        if !out.wants.calls {
            return;
        }
        let (amount, writes) = match done {
            Done::Wrote(amount) => (Bytes::new(amount), true),
            Done::Read(amount) => (Bytes::new(amount), false),
            Done::Nothing | Done::Connected | Done::Failed => return,
        };
        let Some(connection) = self.connection_of(task) else { return };
        out.tell(self.id, connection, |end| {
            if writes { EventKind::Written { end, amount } } else { EventKind::Read { end, amount } }
        });
    }

    /// The connection that a task serves now.
    fn connection_of(&self, task: TaskId) -> Option<u32> {
        let socket = self.tasks[task.index()].socket?;
        self.sockets.get(socket).map(|socket| socket.connection)
    }

    /// A task has got a CPU.
    pub(super) fn tell_run_delay(&mut self, task: TaskId, out: &mut Outside<'_>) {
        if let Some(since) = self.tasks[task.index()].queued_since.take()
            && out.wants.waits
            && let Some(connection) = self.connection_of(task)
        {
            out.waited(self.id, connection, Wait::RunQueue, [since, out.now], 0);
        }
    }

    /// Enters the kernel.
    fn enter(&mut self, task: TaskId) -> Next {
        self.tasks[task.index()].mode = Mode::Kernel;
        Next::Work(self.costs.system_call)
    }

    /// Enters a system call that locks the socket (`lock_sock`).
    fn begin(&mut self, task: TaskId, call: Call) -> Next {
        let this = &mut self.tasks[task.index()];
        this.call = call;
        if let Some(socket) = this.socket.and_then(|id| self.sockets.get_mut(id)) {
            socket.locked = true;
        }
        self.enter(task)
    }

    fn sleep(&mut self, task: TaskId) -> Next {
        self.tasks[task.index()].life = Life::Waiting(Slept::Asleep);
        Next::Sleep
    }

    /// Gives up the lock and sleeps until the socket wakes the task (`sk_wait_data`, `sk_stream_wait_memory`). What waits
    /// for the lock must have been seen to.
    fn wait(&mut self, task: TaskId, id: SocketId, wait: SleepsFor) -> Next {
        if let Some(socket) = self.sockets.get_mut(id) {
            socket.sleeper = Some((task, wait));
            socket.locked = false;
        }
        self.sleep(task)
    }

    /// Whether packets wait for a task: on the prequeue or the backlog of the socket that it serves.
    pub(super) fn packets_wait_for(&self, task: TaskId) -> bool {
        let socket = self.tasks[task.index()].socket.and_then(|id| self.sockets.get(id));
        socket.is_some_and(|socket| socket.has_waiting())
    }
}
