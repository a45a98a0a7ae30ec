//! Two CPUs whose softirqs want one socket: the second spins until the first gives up the socket's lock (`bh_lock_sock` in
//! `tcp_v4_rcv`, `tcp_write_timer` and `tcp_delack_timer`).
//!
//! The lock is held while TCP processes a packet, and while what it sends for that is made and handed down. IP's part is
//! done without it, so that packets of one connection are reordered where two CPUs handle them.

use super::Host;
use super::handling::Handling;
use crate::outside::Outside;
use slowpath_scenario::Cost;

/// It spins until [`Host::end_spins`]; then and after this at the latest it looks again.
const LOOKS_AGAIN: Cost = Cost::nanos(1_000_000_000);

impl Host {
    /// Asks for the lock of the socket that these softirqs want next: the piece of spinning if another CPU's have it; else,
    /// if it is for a packet that IP is through with, what TCP makes of that. `None` if nothing is in the way.
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

    /// A lock is released: spinning CPUs look again.
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
