//! A host on which nothing takes time: what a CPU would do later is done immediately.
//!
//! Its NIC works as usual: it raises its interrupt when a packet has waited long enough or enough packets wait, and
//! packets received until then are merged if the kernel merges. So it is the limit of a host whose costs approach zero.

use super::Host;
use super::handling::Handling;
use super::nic::receive::Raise;
use super::schedule::Waker;
use super::task::Next;
use crate::outside::Outside;
use slowpath_model::Wait;

impl Host {
    /// A packet that affects the NIC's interrupt has arrived.
    pub(super) fn arrival_zero_cost(&mut self, out: &mut Outside<'_>) {
        self.receive.fill_ring(out.now, out);
        if self.receive.ring.interrupt(out.now) == Raise::Now {
            self.poll_zero_cost(out);
        } else {
            self.receive.watch_wires(out);
        }
    }

    /// Passes all packets of the NIC up to TCP, and then runs the processes that this woke.
    pub(super) fn poll_zero_cost(&mut self, out: &mut Outside<'_>) {
        self.receive.ring.mask();
        let weight = self.receive.path.dev_weight.max(1);
        let mut left = weight;
        let mut handling = Handling::default();
        while let Some((came, frame)) = self.receive.ring.take() {
            self.receive.softirqs[0].count_received();
            out.observe(self.id, false, &frame);
            out.waited(self.id, frame.connection, Wait::Ring, [came, out.now], frame.packet.len);
            self.receive.offer(0, frame, &self.costs);
            left -= 1;
            if left == 0 {
                left = weight;
                self.receive.softirqs[0].end_poll();
            }
            self.deliver_zero_cost(&mut handling, out);
        }
        self.receive.softirqs[0].end_poll();
        self.deliver_zero_cost(&mut handling, out);
        self.receive.ring.unmask();
        self.receive.watch_wires(out);
        self.run_ready(out);
    }

    fn deliver_zero_cost(&mut self, handling: &mut Handling, out: &mut Outside<'_>) {
        while let Some(frame) = self.receive.softirqs[0].next_ready() {
            self.deliver(0, &frame, handling, out);
            self.finish(handling, out);
        }
    }

    /// Completes the work that a context is in the middle of.
    pub(super) fn finish(&mut self, handling: &mut Handling, out: &mut Outside<'_>) {
        while self.proceed(handling, Waker::Interrupt, out).is_some() {}
    }

    /// Runs runnable tasks, and continues what the NIC allows.
    pub(super) fn run_ready(&mut self, out: &mut Outside<'_>) {
        loop {
            if let Some(socket) = self.receive.softirqs[0].throttled.pop_front() {
                let mut handling = Handling::default();
                self.make_use_of_room(socket, &mut handling, out);
                self.finish(&mut handling, out);
            } else if let Some(task) = self.cpus.ready.pop_front() {
                // On such a host only computing would take time, and no task computes.
                while !matches!(self.task_step(task, out), Next::Sleep) {}
            } else {
                return;
            }
        }
    }
}
