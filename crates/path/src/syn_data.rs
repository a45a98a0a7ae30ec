//! A firewall that drops SYNs with data, as sent by TCP Fast Open (RFC 7413, section 7.1). Other SYNs pass.

use crate::action::Action;
use crate::action::LossReason;
use crate::packet::Packet;

/// The action on a packet.
pub(crate) fn pass(packet: &Packet) -> Action {
    match packet.part {
        Some(part) if part.is_syn() && part.len > 0 => Action::Drop(LossReason::SynData, None),
        _ => Action::UNCHANGED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{segment, syn};

    #[test]
    fn only_a_syn_with_data_is_dropped() {
        assert_eq!(pass(&syn(None, 100)), Action::Drop(LossReason::SynData, None));
        assert_eq!(pass(&syn(None, 0)), Action::UNCHANGED);
        assert_eq!(pass(&segment(1, 100)), Action::UNCHANGED);
    }
}
