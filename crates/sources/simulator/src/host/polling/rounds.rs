//! The rounds of a busy-polling process.

use super::{BUDGET, LEAST_SPIN, Poller, Stop};
use crate::host::Host;
use crate::host::handling::Handling;
use crate::host::schedule::TaskId;
use crate::host::socket::SocketId;
use crate::host::task::Mode;
use crate::outside::Outside;
use slowpath_model::Instant;
use slowpath_scenario::Cost;

impl Host {
    /// The next piece of polling; `None` when it is over and NAPI is released.
    pub(in crate::host) fn poll_busily(
        &mut self,
        task: TaskId,
        socket: SocketId,
        until: Instant,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Cost> {
        self.cpus.tasks[task.index()].mode = Mode::Pinned;
        let mut gave_way = false;
        if let Some(own) = self.receive.poller.filter(|own| own.task == task) {
            if let Some(frame) = self.receive.softirqs[own.at].next_ready() {
                return Some(self.deliver(own.at, &frame, handling, out));
            }
            if own.left > 0 {
                return Some(self.continue_round(own, Cost::ZERO, out));
            }
            if own.stops != Stop::No {
                self.let_go(own, out);
                gave_way = true;
            }
        }
        let is_over = self.connections.is_readable(socket) || out.now >= until;
        let wanted = self.cpus.all[self.cpus.tasks[task.index()].cpu].need_resched;
        match self.receive.poller.filter(|own| own.task == task) {
            Some(own) if is_over || wanted => {
                let last = Poller { left: BUDGET, stops: Stop::Begun, ..own };
                Some(self.continue_round(last, self.costs.poll, out))
            }
            Some(own) => Some(self.continue_round(Poller { left: BUDGET, ..own }, self.costs.poll, out)),
            None if is_over => None,
            None if wanted || gave_way => {
                self.cpus.tasks[task.index()].mode = Mode::KernelOffers;
                Some(self.spin())
            }
            // The softirq or another process has NAPI.
            None if self.receive.softirqs.iter().any(|one| one.receive) || self.receive.is_polled() => {
                Some(self.spin())
            }
            None => {
                let at = self.cpus.softirqs_here();
                let own = Poller { task, at, left: BUDGET, stops: Stop::No };
                Some(self.continue_round(own, self.costs.poll, out))
            }
        }
    }

    /// The cost of an empty poll.
    fn spin(&self) -> Cost {
        if self.costs.poll.as_picos() > LEAST_SPIN.as_picos() { self.costs.poll } else { LEAST_SPIN }
    }

    /// Takes packets until one can be passed up, the round's budget is used, or none is left. Held packets stay held
    /// from round to round: `napi_complete_done` does nothing while a process polls.
    fn continue_round(&mut self, mut own: Poller, so_far: Cost, out: &mut Outside<'_>) -> Cost {
        let before = own.left;
        let (cost, is_empty) =
            self.receive.take_until_ready(own.at, &mut own.left, Cost::ZERO, &self.costs, out);
        // Packets that arrive during this look are for the next one, and for the NIC's interrupt.
        let cost = cost.plus(so_far);
        let took = before - own.left;
        self.receive.softirqs[own.at].count_polled(took);
        if is_empty {
            own.left = 0;
            if own.stops == Stop::Begun {
                own.stops = Stop::Complete;
                self.receive.softirqs[own.at].end_poll();
            }
        } else if own.left == 0 && own.stops == Stop::Begun {
            own.stops = Stop::Spent;
        }
        if own.left == 0 {
            self.receive.softirqs[own.at].end_round();
        }
        self.receive.poller = Some(own);
        if took > 0 && !self.receive.ring.is_masked() {
            // When the NIC would have interrupted for these no longer matters.
            self.receive.watch_wires(out);
        }
        if took == 0 && own.stops == Stop::No { self.spin() } else { cost }
    }

    /// Releases the NIC's NAPI, or passes it to the softirq.
    fn let_go(&mut self, own: Poller, out: &mut Outside<'_>) {
        self.receive.poller = None;
        if own.stops == Stop::Spent {
            self.receive.softirqs[own.at].receive = true;
            self.cpus.kicked |= 1 << self.receive.softirqs[own.at].cpu;
        } else {
            self.receive.complete(own.at, out);
        }
    }
}
