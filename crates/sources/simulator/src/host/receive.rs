//! The receive path: from the NIC's ring to IP.

use super::delivery::{Delivery, Softirqs};
use super::nic::receive::{Raise, ReceiveRing};
use super::polling::Poller;
use super::socket::SocketId;
use crate::agenda::Slot;
use crate::outside::Outside;
use crate::wire::Frame;
use slowpath_kernels::ReceivePath;
use slowpath_model::{DropReason, Instant};
use slowpath_tcp::choices::Prequeue;

/// The ring, the NIC's interrupt, softirqs with their backlogs and GRO, and a polling process.
#[derive(Debug)]
pub struct Receive {
    /// The host's number.
    pub(super) host: usize,
    pub(super) path: ReceivePath,
    pub(super) prequeue: Prequeue,
    pub(super) gro: bool,
    pub(super) delivery: Delivery,
    pub(super) interrupt_slot: Slot,
    /// The incoming wires.
    pub(super) inputs: Vec<usize>,
    /// Nothing looks at the NIC before its interrupt, and its one wire's next arrivals are known.
    pub(super) looks_ahead: bool,
    pub(super) ring: ReceiveRing,
    /// One set, or one for each CPU if all take interrupts.
    pub(super) softirqs: Softirqs,
    /// The number of spinning CPUs.
    pub(super) spinning: u32,
    /// The process that owns the NIC's NAPI.
    pub(super) poller: Option<Poller>,
}

impl Receive {
    /// Puts packets that have arrived by `until` on the ring.
    pub(super) fn fill_ring(&mut self, until: Instant, out: &mut Outside<'_>) {
        let (wires, mut reporter) = out.reporter();
        let drops = |frame: &Frame| reporter.dropped(self.host, false, frame, DropReason::Ring);
        self.ring.fill(until, wires, &self.inputs, drops);
    }

    /// Schedules the next relevant arrival, and the NIC's interrupt. If it can look ahead, single arrivals do not
    /// matter: the first one's time, which starts the interrupt timer, and the one that makes enough packets are known.
    pub(super) fn watch_wires(&mut self, out: &mut Outside<'_>) {
        let ahead = match self.inputs[..] {
            [only] if self.looks_ahead => out.wires[only].next_due(),
            _ => None,
        };
        let at = match self.ring.interrupt(out.now) {
            Raise::Now => Some(out.now),
            Raise::At(at) => Some(at),
            Raise::No => ahead.map(|due| (due + self.ring.delay()).max(out.now)),
        };
        let nth = if self.looks_ahead && at.is_some() { self.ring.missing() } else { 1 };
        self.watch_arrival(nth, out);
        out.agenda.set(self.interrupt_slot, at);
    }

    /// Schedules the notification of the nth next arrival; 0 for none.
    pub(super) fn watch_arrival(&mut self, nth: usize, out: &mut Outside<'_>) {
        for input in &self.inputs {
            out.wires[*input].watch(nth, out.agenda);
        }
    }

    /// Whether a process owns the NIC's NAPI.
    pub(super) fn is_polled(&self) -> bool {
        self.poller.is_some()
    }

    /// Whether softirqs of several CPUs can contend for a socket.
    pub(super) fn shares_sockets(&self) -> bool {
        self.softirqs.are_several()
    }

    /// Whether another CPU's softirqs hold a socket's lock. The caller's own context is not in its place.
    pub(super) fn has_another(&self, socket: SocketId) -> bool {
        self.softirqs.iter().any(|softirq| softirq.has(socket))
    }
}
