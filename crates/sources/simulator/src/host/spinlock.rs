//! Two CPUs whose softirqs contend for a socket: the second spins until the first releases the socket's lock
//! (`bh_lock_sock` in `tcp_v4_rcv`, `tcp_write_timer` and `tcp_delack_timer`).
//!
//! The lock is held while TCP processes a packet, and while its output is built and passed down. IP's part runs without
//! it, so packets of one connection are reordered if two CPUs process them.

use super::Host;
use super::handling::Handling;
use crate::outside::Outside;
use slowpath_scenario::Cost;

/// It spins until [`Host::end_spins`]; then, and after this time at the latest, it tries again.
const LOOKS_AGAIN: Cost = Cost::nanos(1_000_000_000);

impl Host {
    /// Takes the lock of the socket that these softirqs need next. Returns the piece of spinning if another CPU's
    /// softirqs hold it; otherwise, for a packet that IP has processed, the cost of TCP's part. `None` if nothing is to
    /// do.
    pub(super) fn lock_socket(
        &mut self,
        at: usize,
        handling: &mut Handling,
        out: &mut Outside<'_>,
    ) -> Option<Cost> {
        let softirq = &self.receive.softirqs[at];
        let Some(frame) = softirq.above_ip else {
            let wanted = softirq.next_socket()?;
            return self.receive.has_another(wanted).then(|| self.begin_spin(at));
        };
        if self.connections.socket_for(&frame, out).is_some_and(|id| self.receive.has_another(id)) {
            return Some(self.begin_spin(at));
        }
        self.receive.softirqs[at].above_ip = None;
        Some(self.receive_frame(&frame, handling, out))
    }

    fn begin_spin(&mut self, at: usize) -> Cost {
        let spins = &mut self.receive.softirqs[at].spins;
        if !std::mem::replace(&mut spins.now, true) {
            spins.count += 1;
            self.receive.spinning += 1;
        }
        LOOKS_AGAIN
    }

    /// A lock is released: spinning CPUs try again.
    #[cold]
    pub(super) fn end_spins(&mut self) {
        for softirq in self.receive.softirqs.iter_mut().filter(|softirq| softirq.spins.now) {
            softirq.spins.now = false;
            self.cpus.all[softirq.cpu].drop_softirq_piece();
            self.cpus.kicked |= 1 << softirq.cpu;
        }
        self.receive.spinning = 0;
    }
}
