//! The system calls of a task, piece by piece: their effects on the socket, and the packets processed on the way.

use super::{Call, Drained, Mode, Next};
use crate::host::Host;
use crate::host::handling::Handling;
use crate::host::schedule::TaskId;
use crate::host::socket::{SleepsFor, SocketId};
use crate::outside::Outside;
use crate::program::Done;
use slowpath_kernels::DrainSoftirqs;
use slowpath_model::{Instant, Wait};
use slowpath_tcp::{Errno, State};

impl Host {
    pub(super) fn connecting(&mut self, task: TaskId, id: SocketId) -> Option<Next> {
        let state = match self.connections.sockets.get(id) {
            Some(socket) => socket.tcp.state(),
            // A datagram socket needs no handshake.
            None if self.connections.sockets.is_of_datagrams(id) => State::Established,
            None => State::Closed,
        };
        match state {
            State::SynSent | State::SynReceived => Some(self.wait(task, id, SleepsFor::Established)),
            State::Closed => {
                self.cpus.tasks[task.index()].call = Call::Returned(Done::Failed);
                None
            }
            _ => {
                self.cpus.tasks[task.index()].call = Call::Returned(Done::Connected);
                None
            }
        }
    }

    /// `tcp_sendmsg`.
    pub(super) fn write(
        &mut self,
        task: TaskId,
        left: u64,
        written: u64,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        let index = task.index();
        let Some(id) = self.cpus.tasks[index].socket else { return self.fail(task) };
        let piece = left.min(self.connections.copy_piece);
        self.complete_sent(out);
        let Some(socket) = self.connections.sockets.get_mut(id) else {
            return self.send_datagram(task, id, left, handling, out);
        };
        socket.locked = self.connections.locks;
        match socket.write(out.now, piece) {
            Ok(amount) => {
                handling.begin(id);
                let (left, written) = (left - amount.min(left), written + amount);
                let this = &mut self.cpus.tasks[index];
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
                self.cpus.tasks[index].call = Call::Releasing(Done::Failed);
                None
            }
        }
    }

    /// `tcp_recvmsg`, before it locks the socket.
    pub(super) fn poll_first(
        &mut self,
        task: TaskId,
        wanted: u64,
        until: Option<Instant>,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        let socket = self.cpus.tasks[task.index()].socket;
        let until = until.or_else(|| self.connections.polls_until(socket?, out.now));
        if let (Some(socket), Some(until)) = (socket, until)
            && let Some(cost) = self.poll_busily(task, socket, until, handling, out)
        {
            self.cpus.tasks[task.index()].call = Call::Polling { wanted, until: Some(until) };
            return Some(Next::Work(cost));
        }
        let this = &mut self.cpus.tasks[task.index()];
        (this.mode, this.call) = (Mode::Kernel, Call::Reading { wanted, copied: 0 });
        None
    }

    /// `tcp_recvmsg`.
    pub(super) fn read(
        &mut self,
        task: TaskId,
        wanted: u64,
        copied: u64,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        let index = task.index();
        let Some(id) = self.cpus.tasks[index].socket else { return self.fail(task) };
        let piece = (wanted - copied).min(self.connections.copy_piece);
        let Some(socket) = self.connections.sockets.get_mut(id) else {
            return self.receive_datagram(task, id, wanted, out);
        };
        socket.locked = self.connections.locks;
        match socket.read(out.now, piece) {
            Ok(amount) if amount > 0 => {
                handling.begin(id);
                // Less than requested is all there is; only packets waiting for the lock may bring more.
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
                let this = &mut self.cpus.tasks[index];
                this.call = if copied == wanted || (is_empty && !has_waiting) {
                    Call::Releasing(Done::Read(copied))
                } else {
                    Call::Reading { wanted, copied }
                };
                this.mode = Mode::Kernel;
                Some(Next::Work(self.costs.copy(amount)))
            }
            Ok(_) => {
                self.cpus.tasks[index].call = Call::Releasing(Done::Read(copied));
                None
            }
            Err(Errno::EAGAIN) => self.process_waiting(task, id, handling, out).or_else(|| {
                if copied > 0 {
                    self.cpus.tasks[index].call = Call::Releasing(Done::Read(copied));
                    return None;
                }
                Some(self.wait(task, id, SleepsFor::Readable))
            }),
            Err(_) => {
                self.cpus.tasks[index].call = Call::Releasing(Done::Failed);
                None
            }
        }
    }

    pub(super) fn fail(&mut self, task: TaskId) -> Option<Next> {
        self.cpus.tasks[task.index()].call = Call::Returned(Done::Failed);
        None
    }

    /// The owner of the socket processes what waits for it: packets of the prequeue (`tcp_prequeue_process`), then
    /// those of the backlog (`__release_sock`), then the timers (`tcp_release_cb`). `None` if there is nothing.
    fn process_waiting(
        &mut self,
        task: TaskId,
        id: SocketId,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        let socket = self.connections.sockets.get_mut(id)?;
        if self.cpus.tasks[task.index()].mode == Mode::Draining(Drained::Prequeue)
            && socket.prequeue.is_empty()
        {
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
        let softirqs_run = self.cpus.is_free || self.receive.path.drain_softirqs == DrainSoftirqs::On;
        self.cpus.tasks[task.index()].mode =
            if softirqs_run { Mode::KernelOffers } else { Mode::Draining(drained) };
        Some(Next::Work(self.process(id, &packet, handling, out)))
    }

    /// No packets wait for the process any more. If softirqs were disabled for them, the pending ones run now: after
    /// the backlog with the socket's lock released (`release_sock`), after the prequeue with the lock held
    /// (`tcp_prequeue_process`).
    fn let_softirqs_in(&mut self, task: TaskId) -> Option<Next> {
        let this = &mut self.cpus.tasks[task.index()];
        let Mode::Draining(drained) = this.mode else { return None };
        this.mode = Mode::Kernel;
        if drained == Drained::Backlog
            && let Some(socket) = this.socket.and_then(|id| self.connections.sockets.get_mut(id))
        {
            socket.locked = false;
        }
        Some(Next::Again)
    }

    /// `release_sock`.
    pub(super) fn release(
        &mut self,
        task: TaskId,
        done: Done,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Next> {
        let id = self.cpus.tasks[task.index()].socket;
        if let Some(id) = id
            && let Some(next) = self.process_waiting(task, id, handling, out)
        {
            return Some(next);
        }
        if let Some(socket) = id.and_then(|id| self.connections.sockets.get_mut(id)) {
            socket.locked = false;
        }
        let this = &mut self.cpus.tasks[task.index()];
        if let Some(at) = self.cpus.all[this.cpu].softirqs {
            self.receive.softirqs[at].run_again();
        }
        this.call = Call::Returned(done);
        if matches!(done, Done::Read(_)) && !self.cpus.is_free {
            self.cpus.all[this.cpu].need_resched |= self.cpus.scheduler.leaves_recvmsg(this.cpu);
        }
        None
    }
}
