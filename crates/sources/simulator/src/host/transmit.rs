//! The transmit path: from TCP to the wire.

use super::handling::Made;
use super::nic::transmit::Transmitter;
use crate::agenda::Slot;
use crate::outside::Outside;

/// Packets on their way down, the queue discipline and the NIC's queue.
#[derive(Debug)]
pub struct Transmit {
    pub(super) sent_slot: Slot,
    pub(super) transmitter: Transmitter,
    pub(super) made: Made,
    /// TCP learns of packets that the queue drops.
    pub(super) tells_of_drops: bool,
    /// Sockets that send more as soon as the NIC has sent something.
    pub(super) throttled: usize,
}

impl Transmit {
    /// Schedules a notification when the card has sent the first of its ring, if that matters to anyone.
    pub(super) fn watch(&mut self, out: &mut Outside<'_>) {
        out.agenda.set(self.sent_slot, self.transmitter.next_completion(self.throttled > 0));
    }
}
