//! A host on which nothing takes time: what a CPU would do later is done at once.
//!
//! Its card is a card all the same: it raises its interrupt when a packet has waited long enough or enough of them
//! wait, and what came until then is merged where the kernel merges. So it is what a host becomes whose costs go to
//! zero.

use super::Host;
use super::handling::Handling;
use super::nic::receive::Raise;
use super::schedule::Waker;
use super::task::Next;
use crate::outside::Outside;
use slowpath_model::Wait;

impl Host {
    /// A packet that matters for the card's interrupt has arrived.
    pub(super) fn arrival_at_once(&mut self, out: &mut Outside<'_>) {
        self.receive.fill_ring(out.now, out);
        if self.receive.ring.interrupt(out.now) == Raise::Now {
            self.poll_at_once(out);
        } else {
            self.receive.watch_wires(out);
        }
    }

    /// All that the card has goes up to TCP, and then the processes run that it woke.
    pub(super) fn poll_at_once(&mut self, out: &mut Outside<'_>) {
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
            self.deliver_at_once(&mut handling, out);
        }
        self.receive.softirqs[0].end_poll();
        self.deliver_at_once(&mut handling, out);
        self.receive.ring.unmask();
        self.receive.watch_wires(out);
        self.run_ready(out);
    }

    fn deliver_at_once(&mut self, handling: &mut Handling, out: &mut Outside<'_>) {
        while let Some(frame) = self.receive.softirqs[0].next_ready() {
            self.deliver(0, &frame, handling, out);
            self.finish(handling, out);
        }
    }

    /// Does all that a context is in the middle of.
    pub(super) fn finish(&mut self, handling: &mut Handling, out: &mut Outside<'_>) {
        while self.proceed(handling, Waker::Interrupt, out).is_some() {}
    }

    /// Runs the tasks that can run, and what the card lets go on.
    pub(super) fn run_ready(&mut self, out: &mut Outside<'_>) {
        loop {
            if let Some(socket) = self.receive.softirqs[0].throttled.pop_front() {
                let mut handling = Handling::default();
                self.make_use_of_room(socket, &mut handling, out);
                self.finish(&mut handling, out);
            } else if let Some(task) = self.cpus.ready.pop_front() {
                // Computing is all that a task on such a host could spend time on, and none does.
                while !matches!(self.task_step(task, out), Next::Sleep) {}
            } else {
                return;
            }
        }
    }
}
