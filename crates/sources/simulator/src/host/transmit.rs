//! The transmit path: from TCP to the wire.

use super::handling::Made;
use super::nic::transmit::Transmitter;
use crate::agenda::Slot;
use crate::outside::Outside;

/// Outgoing packets, the qdisc and the NIC's queue.
#[derive(Debug)]
pub struct Transmit {
    pub(super) sent_slot: Slot,
    pub(super) transmitter: Transmitter,
    pub(super) made: Made,
    /// TCP is notified of packets that the qdisc drops.
    pub(super) reports_drops: bool,
    /// Sockets that send more as soon as the NIC has sent a packet.
    pub(super) throttled: usize,
}

impl Transmit {
    /// Schedules a notification when the NIC has sent the first packet of its ring, if that matters.
    pub(super) fn watch(&mut self, out: &mut Outside<'_>) {
        out.agenda.set(self.sent_slot, self.transmitter.next_completion(self.throttled > 0));
    }
}
