//! A middlebox that changes the window scale option (RFC 7323, section 2.2) of SYNs and SYN-ACKs, or removes it. The
//! two hosts then interpret the window field differently.

use crate::action::{Action, Changes, Replacement};
use crate::packet::Packet;
use serde::{Deserialize, Serialize};

/// The change to the option of the direction's SYN or SYN-ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowScaleConfig {
    /// What replaces it.
    pub becomes: Replacement,
}

/// The action on a packet.
pub(crate) fn pass(config: &WindowScaleConfig, packet: &Packet) -> Action {
    let is_scaled = packet.part.is_some_and(|part| part.is_syn() && part.window_scale.is_some());
    Action::Pass(Changes { window_scale: is_scaled.then_some(config.becomes), ..Changes::NONE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{segment, syn};

    #[test]
    fn only_the_window_scale_of_a_syn_is_replaced() {
        let config = WindowScaleConfig { becomes: Replacement::Removed };
        let removed = Changes { window_scale: Some(Replacement::Removed), ..Changes::NONE };
        assert_eq!(pass(&config, &syn(Some(7), 0)), Action::Pass(removed));
        assert_eq!(pass(&config, &syn(None, 0)), Action::UNCHANGED);
        assert_eq!(pass(&config, &segment(1, 100)), Action::UNCHANGED);
    }
}
