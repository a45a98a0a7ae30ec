//! Steps of a task: system calls, sleeps, and the return to user space.

use super::{Call, Life, Mode, Next, Slept, Task, Ticks};
use crate::host::Host;
use crate::host::handling::Handling;
use crate::host::kernel_lock;
use crate::host::schedule::{TaskId, Waker};
use crate::host::socket::{SleepsFor, SocketId};
use crate::outside::Outside;
use crate::program::{Done, Op, Program};
use slowpath_kernels::schedule::Interrupted;
use slowpath_model::{Bytes, EventKind, Wait};
use slowpath_scenario::Cost;
use std::time::Duration;

impl Host {
    /// The ticks of the process that serves a stream of a flow, and the ticks per second; `None` if there is no such
    /// process, or this is a zero-cost host.
    pub fn ticks_of(&self, stream: usize) -> Option<(Ticks, u32)> {
        let serves = |task: &&Task| task.stream == stream && task.program.is_of_a_flow();
        let task = self.cpus.tasks.iter().find(serves).filter(|_| !self.cpus.is_free)?;
        Some((task.ticks, self.cpus.hz()))
    }

    /// The time in user space of the host's other load, as its ticks count it.
    pub fn user_time_of_load(&self) -> Duration {
        let load = self.cpus.tasks.iter().filter(|task| task.program.is_of_the_load());
        self.cpus.tick() * load.map(|task| task.ticks.user).sum::<u64>() as u32
    }

    /// A task's sleep is over.
    pub fn wake_task(&mut self, task: u32, out: &mut Outside<'_>) {
        out.agenda.set(self.cpus.tasks[task as usize].wake_slot, None);
        self.cpus.wake(TaskId(task), self.cpus.tasks[task as usize].wakes_by, out.now);
    }

    /// The next piece of a task's work.
    pub(in crate::host) fn task_step(&mut self, task: TaskId, out: &mut Outside<'_>) -> Next {
        let index = task.index();
        let mut handling = std::mem::take(&mut self.cpus.tasks[index].handling);
        let next = loop {
            if self.cpus.kernel_lock.is_some() && !self.cpus.has_kernel(task) {
                break Next::Work(kernel_lock::LOOKS_AGAIN);
            }
            if let Some(cost) = self.proceed(&mut handling, Waker::Task, out) {
                if cost == Cost::ZERO {
                    continue;
                }
                break Next::Work(cost);
            }
            let call = self.cpus.tasks[index].call;
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
        self.cpus.tasks[index].handling = handling;
        if matches!(next, Next::Sleep) {
            self.cpus.leave_kernel(task);
        }
        next
    }

    /// A call returns to user space, where every kernel lets a task yield (`resume_userspace`, 2.6.14;
    /// `exit_to_user_mode_loop`, 6.18): before it can lock its socket again.
    fn gives_way_on_return(&mut self, task: TaskId) -> bool {
        let this = &mut self.cpus.tasks[task.index()];
        let returns = this.mode != Mode::User;
        this.mode = Mode::User;
        returns && !self.cpus.is_free && self.cpus.all[this.cpu].need_resched
    }

    /// Begins the program's next operation. `None` if that took no time.
    fn next_operation(
        &mut self,
        task: TaskId,
        done: Done,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        self.report_call(task, done, out);
        let this = &mut self.cpus.tasks[task.index()];
        this.mode = Mode::User;
        this.call = Call::Returned(Done::Nothing);
        if let Program::Job(job) = &mut this.program
            && job.take_finished()
        {
            // The next job is a new task, without this one's scheduling history.
            this.life = Life::Waiting(Slept::NotBegun);
            self.cpus.reborn = Some(task);
            return Some(Next::Sleep);
        }
        match this.program.next(out.now, done, &mut self.connections.draws) {
            Op::Compute(cost) => Some(Next::Work(cost)),
            Op::Watch(until) if !self.cpus.is_free => {
                /// The time of reading the clock and a little more.
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
                let gives_way = self.cpus.scheduler.begin_child(cpu, task, is_vfork, out.now);
                self.cpus.all[cpu].need_resched |= gives_way;
                Some(Next::Again)
            }
            Op::Reap => {
                this.life = Life::Waiting(Slept::ForChild);
                self.cpus.reborn = Some(task);
                Some(Next::Sleep)
            }
            Op::Exit => {
                this.life = Life::Gone;
                if this.program.is_of_a_flow() {
                    out.sequence.ended(this.stream, out.now, out.agenda);
                }
                Some(Next::Sleep)
            }
            Op::Park => {
                let at = self.cpus.all[this.cpu].softirqs.unwrap_or(0);
                if !self.receive.softirqs[at].deferred {
                    return Some(self.sleep(task));
                }
                // They run as softirqs, on this task's time.
                self.receive.softirqs[at].run_again();
                Some(Next::Work(self.costs.softirq))
            }
            Op::Connect => {
                let stream = this.stream;
                let socket = self.connections.connect(stream, handling, out);
                let this = &mut self.cpus.tasks[task.index()];
                this.socket = Some(socket);
                this.call = Call::Connecting(socket);
                Some(self.enter(task))
            }
            Op::Accept => {
                let stream = this.stream;
                match self.connections.accept(task, stream, handling, out) {
                    Some(socket) => {
                        if !self.cpus.is_free {
                            self.cpus.scheduler.fork(task);
                        }
                        let this = &mut self.cpus.tasks[task.index()];
                        this.socket = Some(socket);
                        this.call = Call::Returned(Done::Connected);
                        Some(self.enter(task))
                    }
                    // After waking, it tries again.
                    None => Some(self.sleep(task)),
                }
            }
            Op::Close => {
                if let Some(id) = this.socket.take() {
                    self.connections.close(id, handling, out);
                }
                Some(self.enter(task))
            }
            Op::Write(left) => Some(self.begin(task, Call::Writing { left, written: 0 })),
            Op::Read(wanted) if self.connections.asks_for_polling(self.cpus.tasks[task.index()].socket) => {
                self.cpus.tasks[task.index()].call = Call::Polling { wanted, until: None };
                Some(self.enter(task))
            }
            Op::Read(wanted) => Some(self.begin(task, Call::Reading { wanted, copied: 0 })),
        }
    }

    /// Reports a call that has returned.
    fn report_call(&self, task: TaskId, done: Done, out: &mut Outside<'_>) {
        if !out.wants.calls {
            return;
        }
        let (amount, writes) = match done {
            Done::Wrote(amount) => (Bytes::new(amount), true),
            Done::Read(amount) => (Bytes::new(amount), false),
            Done::Nothing | Done::Connected | Done::Failed => return,
        };
        let Some(connection) = self.connection_of(task) else { return };
        out.report(self.id, connection, |end| {
            if writes { EventKind::Written { end, amount } } else { EventKind::Read { end, amount } }
        });
    }

    /// The task's current connection.
    fn connection_of(&self, task: TaskId) -> Option<u32> {
        let socket = self.cpus.tasks[task.index()].socket?;
        self.connections.sockets.get(socket).map(|socket| socket.connection)
    }

    /// A task has got a CPU.
    pub(in crate::host) fn report_run_delay(&mut self, task: TaskId, out: &mut Outside<'_>) {
        if let Some(since) = self.cpus.tasks[task.index()].queued_since.take()
            && out.wants.waits
            && let Some(connection) = self.connection_of(task)
        {
            out.waited(self.id, connection, Wait::RunQueue, [since, out.now], 0);
        }
    }

    /// Enters the kernel.
    fn enter(&mut self, task: TaskId) -> Next {
        self.cpus.tasks[task.index()].mode = Mode::Kernel;
        Next::Work(self.costs.system_call)
    }

    /// Enters a system call that locks the socket (`lock_sock`).
    fn begin(&mut self, task: TaskId, call: Call) -> Next {
        let this = &mut self.cpus.tasks[task.index()];
        this.call = call;
        if let Some(socket) = this.socket.and_then(|id| self.connections.sockets.get_mut(id)) {
            socket.locked = self.connections.locks;
        }
        self.enter(task)
    }

    pub(super) fn sleep(&mut self, task: TaskId) -> Next {
        self.cpus.tasks[task.index()].life = Life::Waiting(Slept::Asleep);
        Next::Sleep
    }

    /// Releases the lock and sleeps until the socket wakes the task (`sk_wait_data`, `sk_stream_wait_memory`). Packets
    /// waiting for the lock must have been processed.
    pub(super) fn wait(&mut self, task: TaskId, id: SocketId, wait: SleepsFor) -> Next {
        if let Some(socket) = self.connections.sockets.get_mut(id) {
            socket.sleeper = Some((task, wait));
            socket.locked = false;
        }
        self.sleep(task)
    }

    /// What a tick finds of a task.
    pub(in crate::host) fn as_interrupted(&self, task: TaskId) -> Interrupted {
        let task = &self.cpus.tasks[task.index()];
        let socket = task.socket.and_then(|id| self.connections.sockets.get(id));
        Interrupted {
            in_recvmsg: matches!(task.call, Call::Reading { .. } | Call::Releasing(Done::Read(_))),
            packets_wait: socket.is_some_and(|socket| socket.has_waiting()),
        }
    }
}
