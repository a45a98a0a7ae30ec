//! A firewall that gives connections other sequence numbers and does not translate SACK blocks (RFC 2018): the host that
//! reads them finds them shifted by a constant.

use crate::action::{Action, Changes};
use crate::packet::Packet;
use serde::{Deserialize, Serialize};

/// By how much blocks are off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SackShiftConfig {
    /// What is added to each edge, modulo 2^32.
    pub shift: u32,
}

/// Its action on a packet.
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
    fn packets_with_blocks_are_changed_and_no_others() {
        let config = SackShiftConfig { shift: 7 };
        let bare = ack(1, 1000);
        let part = bare.part.map(|part| StreamPart { has_sack: true, ..part });
        assert_eq!(pass(&config, &bare), Action::UNCHANGED);
        let shifted = Changes { sack_shift: 7, ..Changes::NONE };
        assert_eq!(pass(&config, &Packet { part, ..bare }), Action::Pass(shifted));
    }
}
