//! A firewall that rewrites sequence numbers and does not translate SACK blocks (RFC 2018): the receiving host finds
//! them shifted by a constant.

use crate::action::{Action, Changes};
use crate::packet::Packet;
use serde::{Deserialize, Serialize};

/// The shift of SACK blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SackShiftConfig {
    /// Added to each edge, modulo 2^32.
    pub shift: u32,
}

/// The action on a packet.
pub(crate) fn pass(config: &SackShiftConfig, packet: &Packet) -> Action {
    let has_blocks = packet.part.is_some_and(|part| part.has_sack);
    Action::Pass(Changes { sack_shift: if has_blocks { config.shift } else { 0 }, ..Changes::NONE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::StreamPart;
    use crate::tests::ack;

    #[test]
    fn only_packets_with_sack_blocks_are_changed() {
        let config = SackShiftConfig { shift: 7 };
        let bare = ack(1, 1000);
        let part = bare.part.map(|part| StreamPart { has_sack: true, ..part });
        assert_eq!(pass(&config, &bare), Action::UNCHANGED);
        let shifted = Changes { sack_shift: 7, ..Changes::NONE };
        assert_eq!(pass(&config, &Packet { part, ..bare }), Action::Pass(shifted));
    }
}
