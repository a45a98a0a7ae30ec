//! A middlebox that sends a RST in the sender's name: a valid one, or a stray one that is not accepted.

use crate::action::{Action, Changes};
use crate::packet::Packet;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// A RST to the receiver, once per connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResetConfig {
    /// It follows the packet with this byte of the stream, counted from 0.
    pub at_byte: u64,
    /// How far its sequence number is beyond the end of that packet. The receiver expects 0; another number in its
    /// window gets a challenge ACK (RFC 5961, section 3.2).
    pub beyond: u32,
}

/// The state of such a middlebox.
#[derive(Debug)]
pub struct Resets {
    config: ResetConfig,
    done: HashSet<u64>,
}

impl Resets {
    /// The state before the first RST.
    pub fn new(config: &ResetConfig) -> Self {
        Self { config: *config, done: HashSet::new() }
    }

    /// The action on a packet.
    pub(crate) fn pass(&mut self, packet: &Packet) -> Action {
        let is_it = packet.part.is_some_and(|part| {
            let first = u64::try_from(part.start.0 - 1).unwrap_or(0);
            let bytes = first..first + u64::from(part.len);
            !part.is_syn() && bytes.contains(&self.config.at_byte) && self.done.insert(part.flow)
        });
        Action::Pass(Changes { reset_beyond: is_it.then_some(self.config.beyond), ..Changes::NONE })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::segment;

    #[test]
    fn rst_follows_the_packet_with_the_configured_byte_once() {
        let mut resets = Resets::new(&ResetConfig { at_byte: 150, beyond: 5 });
        assert_eq!(resets.pass(&segment(1, 100)), Action::UNCHANGED);
        let followed = Changes { reset_beyond: Some(5), ..Changes::NONE };
        assert_eq!(resets.pass(&segment(101, 100)), Action::Pass(followed));
        assert_eq!(resets.pass(&segment(101, 100)), Action::UNCHANGED, "a retransmission");
    }
}
