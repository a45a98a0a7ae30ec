//! The work of softirqs, piece by piece: `net_rx_action`, timers, throttled sockets.

use super::Run;
use crate::host::Host;
use crate::host::handling::Handling;
use crate::host::schedule::Waker;
use crate::outside::Outside;
use crate::wire::Frame;
use slowpath_kernels::PacketIntake;
use slowpath_model::{Instant, Wait};
use slowpath_scenario::Cost;

impl Host {
    /// The cost of a NIC's interrupt besides its entry and exit: a driver without NAPI takes the packets here.
    pub(in crate::host) fn card_work(&mut self, out: &mut Outside<'_>) -> Cost {
        match self.receive.path.intake {
            PacketIntake::Napi => Cost::ZERO,
            PacketIntake::CpuBacklog => {
                self.receive.fill_ring(out.now, out);
                self.costs.driver_receive.times(self.receive.ring.waiting() as u64)
            }
        }
    }

    /// The NIC's interrupt handler has returned, on the CPU with these softirqs.
    pub(in crate::host) fn card_interrupted(&mut self, at: usize, out: &mut Outside<'_>) {
        self.receive.ring.mask();
        // A process that owns NAPI keeps it (`napi_schedule_prep`).
        self.receive.softirqs[at].receive = !self.receive.is_polled();
        match self.receive.path.intake {
            // The poll needs no notification of arrivals.
            PacketIntake::Napi => self.receive.watch_arrival(0, out),
            PacketIntake::CpuBacklog => {
                while let Some((came, frame)) = self.receive.ring.take() {
                    out.observe(self.id, false, &frame);
                    let waited = [came, out.now];
                    out.waited(self.id, frame.connection, Wait::Ring, waited, frame.packet.len);
                    self.receive.put_on_backlog(at, frame, out);
                }
                self.receive.ring.unmask();
                self.receive.watch_wires(out);
            }
        }
    }

    /// The next piece of softirq work on this CPU; `None` if there is none, or if `ksoftirqd` or another CPU must do
    /// it.
    pub(in crate::host) fn softirq_step(&mut self, at: usize, out: &mut Outside<'_>) -> Option<Cost> {
        let softirq = &mut self.receive.softirqs[at];
        match softirq.run {
            None if softirq.deferred || !softirq.is_pending() => return None,
            None => softirq.cpu = self.cpus.here,
            // One at a time (`softirq_trylock`, 2.2): the CPU that runs them does this as well.
            Some(_) if softirq.cpu != self.cpus.here => return None,
            Some(_) => {}
        }
        let mut handling = std::mem::take(&mut softirq.handling);
        let cost = self.softirq_piece(at, &mut handling, out);
        self.receive.softirqs[at].handling = handling;
        cost
    }

    fn softirq_piece(&mut self, at: usize, handling: &mut Handling, out: &mut Outside<'_>) -> Option<Cost> {
        let Some(mut run) = self.receive.softirqs[at].run else {
            let now = out.now;
            let (budget, weight) = (self.receive.path.netdev_budget, 0);
            let receive_until = self.end_of_run(now);
            self.receive.softirqs[at].run =
                Some(Run { began: now, restarts: 0, budget, receive_until, weight });
            return Some(self.costs.softirq);
        };
        loop {
            if let Some(cost) = self.proceed(handling, Waker::Interrupt, out) {
                return Some(cost);
            }
            if self.receive.shares_sockets()
                && let Some(cost) = self.lock_socket(at, handling, out)
            {
                return Some(cost);
            }
            let is_polled = self.receive.is_polled();
            let softirq = &mut self.receive.softirqs[at];
            // A process passes up itself what it has taken off the ring.
            if !is_polled && let Some(frame) = softirq.next_ready() {
                softirq.counts.delivered += 1;
                return Some(self.go_up(at, &frame, handling, out));
            }
            if let Some(socket) = softirq.timers.pop_front() {
                match self.fire(socket, handling, out) {
                    Cost::ZERO => continue,
                    cost => return Some(cost),
                }
            }
            if let Some(socket) = softirq.throttled.pop_front() {
                match self.make_use_of_room(socket, handling, out) {
                    Cost::ZERO => continue,
                    cost => return Some(cost),
                }
            }
            if !softirq.receive {
                softirq.run = None;
                return None;
            }
            if run.budget == 0 || out.now >= run.receive_until {
                softirq.counts.squeezed += 1;
                if self.may_restart(at, &run, out.now) {
                    run.restarts += 1;
                    run.budget = self.receive.path.netdev_budget;
                    run.receive_until = self.end_of_run(out.now);
                    self.receive.softirqs[at].run = Some(run);
                    continue;
                }
                let softirq = &mut self.receive.softirqs[at];
                softirq.run = None;
                softirq.deferred = true;
                softirq.counts.deferred += 1;
                let ksoftirqd = softirq.ksoftirqd;
                self.cpus.wake(ksoftirqd, Waker::Interrupt, out.now);
                return None;
            }
            let cost = self.poll(at, &mut run, out);
            self.receive.softirqs[at].run = Some(run);
            if let Some(cost) = cost {
                return Some(cost);
            }
        }
    }

    /// When a run of the receive softirq that begins now has used up its time, as the tick counter tells.
    fn end_of_run(&self, now: Instant) -> Instant {
        let ticks = self.receive.path.netdev_budget_time.ticks(self.cpus.hz());
        self.cpus.next_tick(now) + self.cpus.tick() * (ticks - 1)
    }

    /// Whether pending softirqs run again immediately (`__do_softirq`).
    fn may_restart(&self, at: usize, run: &Run, now: Instant) -> bool {
        let path = &self.receive.path;
        let in_time = path.softirq_time.is_none_or(|most| now.since(run.began).unwrap_or_default() < most);
        // The time limit came with the rule that a waiting task goes first (since 3.9).
        let wanted = path.softirq_time.is_some() && self.cpus.all[self.receive.softirqs[at].cpu].need_resched;
        run.restarts < path.softirq_restarts && in_time && !wanted
    }

    /// Takes packets until one can be passed up, the poll is over, or nothing is left.
    fn poll(&mut self, at: usize, run: &mut Run, out: &mut Outside<'_>) -> Option<Cost> {
        let mut cost = Cost::ZERO;
        if run.weight == 0 {
            run.weight = self.receive.path.dev_weight.max(1);
            cost = self.costs.poll;
        }
        let most = run.weight.min(run.budget);
        let mut left = most;
        let (cost, is_empty) = self.receive.take_until_ready(at, &mut left, cost, &self.costs, out);
        run.weight -= most - left;
        run.budget -= most - left;
        if is_empty {
            run.weight = 0;
            self.receive.softirqs[at].end_poll();
            if self.receive.softirqs[at].ready.is_empty() {
                self.receive.complete(at, out);
            }
        } else if left == 0 {
            run.weight = 0;
            self.receive.softirqs[at].end_poll();
        }
        (cost != Cost::ZERO).then_some(cost)
    }

    /// Passes a packet up to IP, and to its socket unless other CPUs may own that: then its lock is needed first.
    fn go_up(&mut self, at: usize, frame: &Frame, handling: &mut Handling, out: &mut Outside<'_>) -> Cost {
        let ip = self.costs.ip_receive_of(&frame.packet);
        if self.receive.shares_sockets() {
            self.receive.softirqs[at].above_ip = Some(*frame);
            return ip;
        }
        ip.plus(self.receive_frame(frame, handling, out))
    }

    /// Passes a packet up to its socket.
    pub(in crate::host) fn deliver(
        &mut self,
        at: usize,
        frame: &Frame,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Cost {
        self.receive.softirqs[at].counts.delivered += 1;
        self.costs.ip_receive_of(&frame.packet).plus(self.receive_frame(frame, handling, out))
    }
}
