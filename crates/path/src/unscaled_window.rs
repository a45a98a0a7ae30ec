//! A stateful firewall that ignores window scaling (RFC 7323): it reads the window field as bytes, and drops data
//! beyond it.

use crate::action::Action;
use crate::action::LossReason;
use crate::packet::Packet;
use slowpath_model::StreamOffset;
use std::collections::HashMap;

/// The state of such a firewall: each connection's last ACK and its window field.
#[derive(Debug, Default)]
pub struct UnscaledWindow(HashMap<u64, (StreamOffset, u16)>);

impl UnscaledWindow {
    /// The action on a packet. Before the first ACK no window is known.
    pub(crate) fn pass(&self, packet: &Packet) -> Action {
        let beyond = packet.part.filter(|part| part.len > 0).is_some_and(|part| {
            self.0.get(&part.flow).is_some_and(|(ack, window)| part.end() > *ack + u32::from(*window))
        });
        if beyond { Action::Drop(LossReason::BeyondWindow, None) } else { Action::UNCHANGED }
    }

    /// A packet in the other direction, whose ACK counts unless it is reordered (older).
    pub(crate) fn overhear(&mut self, packet: &Packet) {
        let Some((part, ack)) = packet.part.and_then(|part| Some((part, part.ack?))) else { return };
        let last = self.0.entry(part.flow).or_insert((ack, part.window));
        if ack >= last.0 {
            *last = (ack, part.window);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack, segment};

    #[test]
    fn data_beyond_the_last_ack_plus_the_raw_window_is_dropped() {
        let mut firewall = UnscaledWindow::default();
        assert_eq!(firewall.pass(&segment(1, 1448)), Action::UNCHANGED);
        firewall.overhear(&ack(1, 2000));
        assert_eq!(firewall.pass(&segment(1, 2000)), Action::UNCHANGED);
        assert_eq!(firewall.pass(&segment(1000, 1002)), Action::Drop(LossReason::BeyondWindow, None));
        firewall.overhear(&ack(1001, 2000));
        assert_eq!(firewall.pass(&segment(1000, 1002)), Action::UNCHANGED);
        // A reordered ACK.
        firewall.overhear(&ack(1, 65535));
        assert_eq!(firewall.pass(&segment(1, 10_000)), Action::Drop(LossReason::BeyondWindow, None));
        assert_eq!(firewall.pass(&segment(9_000, 0)), Action::UNCHANGED, "an ACK has no data");
    }
}
