//! Softirqs: taking packets off the ring or a CPU's backlog, and GRO.

use crate::host::costs::Costs;
use crate::host::cpu::later;
use crate::host::gro::Merge;
use crate::host::receive::Receive;
use crate::outside::Outside;
use crate::wire::Frame;
use slowpath_kernels::{BacklogThrottle, PacketIntake};
use slowpath_model::{DropReason, Mark, Wait};
use slowpath_scenario::Cost;

impl Receive {
    /// `netif_rx`.
    pub(in crate::host) fn put_on_backlog(&mut self, at: usize, frame: Frame, out: &mut Outside<'_>) {
        let softirq = &mut self.softirqs[at];
        softirq.counts.received += 1;
        let backlog = &mut softirq.backlog;
        let full = backlog.frames.len() > self.path.netdev_max_backlog as usize;
        if full && self.path.throttle == BacklogThrottle::UntilEmpty && !backlog.throttled {
            backlog.throttled = true;
            softirq.counts.throttled += 1;
            out.marked(self.host, frame.connection, Mark::Throttled);
        }
        if full || backlog.throttled {
            softirq.counts.backlog_dropped += 1;
            out.dropped(self.host, false, &frame, DropReason::CpuBacklog);
        } else {
            backlog.frames.push_back((out.now, frame));
        }
    }

    /// Takes up to `left` packets, until one can be passed up; returns the total cost, and whether nothing is left.
    pub(in crate::host) fn take_until_ready(
        &mut self,
        at: usize,
        left: &mut u32,
        so_far: Cost,
        costs: &Costs,
        out: &mut Outside<'_>,
    ) -> (Cost, bool) {
        let mut cost = so_far;
        while *left > 0 && self.softirqs[at].ready.is_empty() {
            let Some(frame) = self.next_frame(at, cost, out) else { return (cost, true) };
            cost = cost.plus(costs.driver_receive_if(self.path.intake));
            cost = cost.plus(self.offer(at, frame, costs));
            *left -= 1;
        }
        (cost, false)
    }

    /// The next packet off the ring or the backlog, at the end of the work so far.
    pub(in crate::host) fn next_frame(
        &mut self,
        at: usize,
        so_far: Cost,
        out: &mut Outside<'_>,
    ) -> Option<Frame> {
        match self.path.intake {
            PacketIntake::Napi => {
                let now = later(out.now, so_far.as_nanos());
                self.fill_ring(now, out);
                let (came, frame) = self.ring.take()?;
                self.softirqs[at].count_received();
                out.observe(self.host, false, &frame);
                out.waited(self.host, frame.connection, Wait::Ring, [came, now], frame.packet.len);
                Some(frame)
            }
            PacketIntake::CpuBacklog => {
                let (put, frame) = self.softirqs[at].backlog.frames.pop_front()?;
                let waited = [put, later(out.now, so_far.as_nanos())];
                out.waited(self.host, frame.connection, Wait::CpuBacklog, waited, frame.packet.len);
                Some(frame)
            }
        }
    }

    /// A packet off the ring is merged with a held one, held, or can be passed up; returns the cost.
    pub(in crate::host) fn offer(&mut self, at: usize, frame: Frame, costs: &Costs) -> Cost {
        let softirq = &mut self.softirqs[at];
        if !self.gro {
            softirq.ready.push_back(frame);
            return Cost::ZERO;
        }
        let offered = softirq.gro.offer(&frame);
        softirq.ready.extend(offered.flushed);
        match offered.merge {
            Merge::Merged => {
                softirq.counts.merged += 1;
                costs.merge
            }
            Merge::Held => Cost::ZERO,
            Merge::Normal => {
                softirq.ready.push_back(frame);
                Cost::ZERO
            }
        }
    }

    /// Nothing is left: enables interrupts (`napi_complete_done`).
    pub(in crate::host) fn complete(&mut self, at: usize, out: &mut Outside<'_>) {
        self.softirqs[at].receive = false;
        self.softirqs[at].backlog.throttled = false;
        if self.path.intake == PacketIntake::Napi {
            self.ring.unmask();
            self.watch_wires(out);
        }
    }
}
