//! A middlebox that changes the window scale option (RFC 7323, section 2.2) of SYNs and SYN-ACKs, or removes it. The two
//! hosts then take the window field for different numbers.

use crate::action::{Action, Changes, Replacement};
use crate::packet::Packet;
use serde::{Deserialize, Serialize};

/// What is done to the option of the direction's SYNs: of the SYN, or of the SYN-ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowScaleConfig {
    /// What takes its place.
    pub becomes: Replacement,
}

/// Its action on a packet.
pub(crate) fn pass(config: &WindowScaleConfig, packet: &Packet) -> Action {
    let is_scaled = packet.part.is_some_and(|part| part.is_syn() && part.window_scale.is_some());
    Action::Pass(Changes { window_scale: is_scaled.then_some(config.becomes), ..Changes::NONE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{segment, syn};

    #[test]
    fn only_the_option_of_a_syn_is_replaced() {
        let config = WindowScaleConfig { becomes: Replacement::Removed };
        let removed = Changes { window_scale: Some(Replacement::Removed), ..Changes::NONE };
        assert_eq!(pass(&config, &syn(Some(7), 0)), Action::Pass(removed));
        assert_eq!(pass(&config, &syn(None, 0)), Action::UNCHANGED);
        assert_eq!(pass(&config, &segment(1, 100)), Action::UNCHANGED);
    }
}
