//! Tasks: what they are doing, and the system calls that they make.

use super::Host;
use super::handling::Handling;
use super::schedule::{TaskId, Waker};
use super::socket::{SleepsFor, SocketId};
use crate::agenda::Slot;
use crate::outside::Outside;
use crate::program::{Done, Op, Program};
use slowpath_kernels::DrainSoftirqs;
use slowpath_model::{Bytes, EventKind, Instant, Wait};
use slowpath_scenario::{Cost, Priority};
use slowpath_tcp::{Errno, State};

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
            if let Some(cost) = self.proceed(&mut handling, Waker::Task, out) {
                if cost == Cost::ZERO {
                    continue;
                }
                break Next::Work(cost);
            }
            let next = match self.tasks[index].call {
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
        next
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
            Op::Sleep(until) => {
                out.agenda.set(this.wake_slot, Some(until));
                this.wakes_by = Waker::Interrupt;
                Some(self.sleep(task))
            }
            Op::WaitForDisk(until) => {
                out.agenda.set(this.wake_slot, Some(until));
                this.wakes_by = Waker::Disk;
                Some(self.sleep(task))
            }
            Op::Exit => {
                this.life = Life::Gone;
                if this.program.is_of_a_flow() {
                    *out.processes -= 1;
                }
                Some(Next::Sleep)
            }
            Op::Park if self.softirq.deferred => {
                // They run as softirqs, on this task's time.
                self.softirq.deferred = false;
                Some(Next::Work(self.costs.softirq))
            }
            Op::Park => Some(self.sleep(task)),
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

    fn connecting(&mut self, task: TaskId, id: SocketId) -> Option<Next> {
        let state = self.sockets.get_mut(id).map_or(State::Closed, |socket| socket.tcp.state());
        match state {
            State::SynSent | State::SynReceived => Some(self.wait(task, id, SleepsFor::Established)),
            State::Closed => {
                self.tasks[task.index()].call = Call::Returned(Done::Failed);
                None
            }
            _ => {
                self.tasks[task.index()].call = Call::Returned(Done::Connected);
                None
            }
        }
    }

    /// `tcp_sendmsg`.
    fn write(
        &mut self,
        task: TaskId,
        left: u64,
        written: u64,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        let index = task.index();
        let Some(id) = self.tasks[index].socket else { return self.fail(task) };
        let piece = left.min(self.copy_piece);
        self.complete_sent(out);
        let Some(socket) = self.sockets.get_mut(id) else { return self.fail(task) };
        socket.locked = true;
        match socket.write(out.now, piece) {
            Ok(amount) => {
                handling.begin(id);
                let (left, written) = (left - amount.min(left), written + amount);
                let this = &mut self.tasks[index];
                this.call = if left == 0 {
                    Call::Releasing(Done::Wrote(written))
                } else {
                    Call::Writing { left, written }
                };
                this.mode = Mode::Kernel;
                Some(Next::Work(self.costs.copy(amount)))
            }
            Err(Errno::EAGAIN) => self
                .process_waiting(task, id, handling, out)
                .or_else(|| Some(self.wait(task, id, SleepsFor::Writable))),
            Err(_) => {
                self.tasks[index].call = Call::Releasing(Done::Failed);
                None
            }
        }
    }

    /// `tcp_recvmsg`, before it locks the socket.
    fn poll_first(
        &mut self,
        task: TaskId,
        wanted: u64,
        until: Option<Instant>,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        let socket = self.tasks[task.index()].socket;
        let until = until.or_else(|| self.polls_until(socket?, out.now));
        if let (Some(socket), Some(until)) = (socket, until)
            && let Some(cost) = self.poll_busily(task, socket, until, handling, out)
        {
            self.tasks[task.index()].call = Call::Polling { wanted, until: Some(until) };
            return Some(Next::Work(cost));
        }
        let this = &mut self.tasks[task.index()];
        (this.mode, this.call) = (Mode::Kernel, Call::Reading { wanted, copied: 0 });
        None
    }

    /// `tcp_recvmsg`.
    fn read(
        &mut self,
        task: TaskId,
        wanted: u64,
        copied: u64,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        let index = task.index();
        let Some(id) = self.tasks[index].socket else { return self.fail(task) };
        let piece = (wanted - copied).min(self.copy_piece);
        let Some(socket) = self.sockets.get_mut(id) else { return self.fail(task) };
        socket.locked = true;
        match socket.read(out.now, piece) {
            Ok(amount) if amount > 0 => {
                handling.begin(id);
                // Less than asked for is all there is; only what waits for the lock may bring more.
                let (is_empty, has_waiting) = (amount < piece, socket.has_waiting());
                let mut left = if out.wants.waits { amount } else { 0 };
                while left > 0
                    && let Some((came, bytes)) = socket.arrivals.take(left)
                {
                    left -= u64::from(bytes);
                    if let Some(came) = came {
                        let waited = [came, out.now];
                        out.waited(self.id, socket.connection, Wait::ReceiveQueue, waited, bytes);
                    }
                }
                if let Some(link) = out.links.get_mut(socket.connection) {
                    let end = link.end_at(self.id).index();
                    let (read, last) = &mut link.read[end];
                    (*read, *last) = (*read + amount, out.now);
                }
                let copied = copied + amount;
                let this = &mut self.tasks[index];
                this.call = if copied == wanted || (is_empty && !has_waiting) {
                    Call::Releasing(Done::Read(copied))
                } else {
                    Call::Reading { wanted, copied }
                };
                this.mode = Mode::Kernel;
                Some(Next::Work(self.costs.copy(amount)))
            }
            Ok(_) => {
                self.tasks[index].call = Call::Releasing(Done::Read(copied));
                None
            }
            Err(Errno::EAGAIN) => self.process_waiting(task, id, handling, out).or_else(|| {
                if copied > 0 {
                    self.tasks[index].call = Call::Releasing(Done::Read(copied));
                    return None;
                }
                Some(self.wait(task, id, SleepsFor::Readable))
            }),
            Err(_) => {
                self.tasks[index].call = Call::Releasing(Done::Failed);
                None
            }
        }
    }

    fn fail(&mut self, task: TaskId) -> Option<Next> {
        self.tasks[task.index()].call = Call::Returned(Done::Failed);
        None
    }

    /// The process that has the socket does what waits for it: packets of the prequeue (`tcp_prequeue_process`), then
    /// those of the backlog (`__release_sock`), then the timers (`tcp_release_cb`). `None` when there is nothing.
    fn process_waiting(
        &mut self,
        task: TaskId,
        id: SocketId,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        let socket = self.sockets.get_mut(id)?;
        if self.tasks[task.index()].mode == Mode::Draining(Drained::Prequeue) && socket.prequeue.is_empty() {
            return self.let_softirqs_in(task);
        }
        let from_prequeue = socket.prequeue.pop_front();
        let (on, drained) = match from_prequeue {
            Some(_) => (Wait::Prequeue, Drained::Prequeue),
            None => (Wait::SocketBacklog, Drained::Backlog),
        };
        if socket.prequeue.is_empty() {
            socket.prequeue_bytes = 0;
        }
        let packet = from_prequeue.or_else(|| socket.next_of_backlog());
        let Some((came, packet)) = packet else {
            if !socket.end_of_waiting(out.now) {
                return self.let_softirqs_in(task);
            }
            handling.begin(id);
            return Some(Next::Work(self.work_of(id)));
        };
        out.waited(self.id, socket.connection, on, [came, out.now], packet.len);
        let softirqs_run = self.is_free || self.receive_path.drain_softirqs == DrainSoftirqs::On;
        self.tasks[task.index()].mode =
            if softirqs_run { Mode::KernelOffers } else { Mode::Draining(drained) };
        Some(Next::Work(self.process(id, &packet, handling, out)))
    }

    /// No packets wait for the process any more. If softirqs were off for them, those that were put off run now: after the
    /// backlog with the socket's lock given up (`release_sock`), after the prequeue with the lock (`tcp_prequeue_process`).
    fn let_softirqs_in(&mut self, task: TaskId) -> Option<Next> {
        let this = &mut self.tasks[task.index()];
        let Mode::Draining(drained) = this.mode else { return None };
        this.mode = Mode::Kernel;
        if drained == Drained::Backlog
            && let Some(socket) = this.socket.and_then(|id| self.sockets.get_mut(id))
        {
            socket.locked = false;
        }
        Some(Next::Again)
    }

    /// `release_sock`.
    fn release(
        &mut self,
        task: TaskId,
        done: Done,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        let id = self.tasks[task.index()].socket;
        if let Some(id) = id
            && let Some(next) = self.process_waiting(task, id, handling, out)
        {
            return Some(next);
        }
        if let Some(socket) = id.and_then(|id| self.sockets.get_mut(id)) {
            socket.locked = false;
        }
        let this = &mut self.tasks[task.index()];
        if this.cpu == self.interrupt_cpu {
            self.softirq.run_again();
        }
        this.call = Call::Returned(done);
        if matches!(done, Done::Read(_)) && !self.is_free {
            self.cpus[this.cpu].need_resched |= self.scheduler.has_drained(this.cpu);
        }
        None
    }

    /// Whether packets wait for a task: on the prequeue or the backlog of the socket that it serves.
    pub(super) fn packets_wait_for(&self, task: TaskId) -> bool {
        let socket = self.tasks[task.index()].socket.and_then(|id| self.sockets.get(id));
        socket.is_some_and(|socket| socket.has_waiting())
    }
}
