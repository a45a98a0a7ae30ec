//! A link with a smaller MTU than the hosts': longer packets are dropped, with or without an ICMP error to the sender.

use crate::action::LossReason;
use crate::action::{Action, Answer};
use crate::packet::Packet;
use crate::serde_units;
use serde::{Deserialize, Serialize};
use slowpath_model::Bytes;

/// A smaller MTU. All packets of Linux's TCP have DF set, so none is fragmented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MtuConfig {
    /// The longest IP packet that passes.
    #[serde(rename = "mtu_bytes", with = "serde_units::bytes")]
    pub mtu: Bytes,
    /// Whether the sender gets an ICMP error (RFC 1191, RFC 8201); without, it is a black hole (RFC 2923, section 2.1).
    pub icmp: bool,
}

/// The action on a packet.
pub(crate) fn pass(config: &MtuConfig, packet: &Packet) -> Action {
    if packet.length <= config.mtu {
        return Action::UNCHANGED;
    }
    // No error is sent for a packet that is not TCP (RFC 1122, section 3.2.2: none about an ICMP error).
    let answer = (config.icmp && packet.part.is_some()).then_some(Answer::TooBig { mtu: config.mtu });
    Action::Drop(LossReason::Mtu, answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::segment;

    #[test]
    fn only_packets_longer_than_the_mtu_are_dropped() {
        for (icmp, answer) in [(false, None), (true, Some(Answer::TooBig { mtu: Bytes::new(1400) }))] {
            let config = MtuConfig { mtu: Bytes::new(1400), icmp };
            assert_eq!(pass(&config, &segment(1, 1348)), Action::UNCHANGED);
            assert_eq!(pass(&config, &segment(1, 1349)), Action::Drop(LossReason::Mtu, answer));
        }
    }

    #[test]
    fn no_icmp_error_is_sent_for_packets_other_than_tcp() {
        let config = MtuConfig { mtu: Bytes::new(1400), icmp: true };
        let packet = Packet { length: Bytes::new(1500), ..Packet::default() };
        assert_eq!(pass(&config, &packet), Action::Drop(LossReason::Mtu, None));
    }
}
