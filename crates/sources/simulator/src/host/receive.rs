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

/// The ring, the NIC's interrupt, softirqs with their backlogs and GRO, and a process that polls.
#[derive(Debug)]
pub struct Receive {
    /// The host's number.
    pub(super) host: usize,
    pub(super) path: ReceivePath,
    pub(super) prequeue: Prequeue,
    pub(super) gro: bool,
    pub(super) delivery: Delivery,
    pub(super) interrupt_slot: Slot,
    /// The wires that end here.
    pub(super) inputs: Vec<usize>,
    /// Nobody looks at what the NIC has before its interrupt, and it has one wire, of which it is known what comes.
    pub(super) looks_ahead: bool,
    pub(super) ring: ReceiveRing,
    /// One, or one for each CPU where all take interrupts.
    pub(super) softirqs: Softirqs,
    /// The number that spin.
    pub(super) spinning: u32,
    /// The process that has the NIC's NAPI.
    pub(super) poller: Option<Poller>,
}

impl Receive {
    /// Puts on the ring what has arrived by `until`.
    pub(super) fn fill_ring(&mut self, until: Instant, out: &mut Outside<'_>) {
        let (wires, mut teller) = out.teller();
        let drops = |frame: &Frame| teller.dropped(self.host, false, frame, DropReason::Ring);
        self.ring.fill(until, wires, &self.inputs, drops);
    }

    /// Schedules the arrivals, and when the card will raise its interrupt. Where it can look ahead no arrival
    /// matters for itself: when the first is due is known, which starts the card's clock, and which one will make enough
    /// of them.
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

    /// Schedules the notification of an arrival, the next being 1, or of none: 0.
    pub(super) fn watch_arrival(&mut self, nth: usize, out: &mut Outside<'_>) {
        for input in &self.inputs {
            out.wires[*input].watch(nth, out.agenda);
        }
    }

    /// Whether a process has the card's NAPI.
    pub(super) fn is_polled(&self) -> bool {
        self.poller.is_some()
    }

    /// Whether softirqs of several CPUs can want one socket.
    pub(super) fn shares_sockets(&self) -> bool {
        self.softirqs.are_several()
    }

    /// Whether another CPU's softirqs have a socket's lock: the context of those that ask is not in its place.
    pub(super) fn has_another(&self, socket: SocketId) -> bool {
        self.softirqs.iter().any(|softirq| softirq.has(socket))
    }
}
