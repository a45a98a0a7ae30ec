//! A NAT, a firewall or a load balancer that forgets idle connections, and then drops or resets their packets.

use crate::action::LossReason;
use crate::action::{Action, Answer};
use crate::packet::{Packet, StreamPart};
use crate::serde_units;
use serde::{Deserialize, Serialize};
use slowpath_model::Instant;
use std::collections::HashMap;
use std::time::Duration;

/// A middlebox that forgets idle connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetConfig {
    /// How long a connection may be idle in both directions.
    #[serde(rename = "idle_ns", with = "serde_units::ns")]
    pub idle: Duration,
    /// Whether a RST answers packets of a forgotten connection; otherwise there is no answer.
    pub reset: bool,
}

/// The state of such a middlebox.
#[derive(Debug)]
pub struct Forget {
    config: ForgetConfig,
    connections: HashMap<u64, Entry>,
}

#[derive(Clone, Copy, Debug)]
enum Entry {
    /// When its last packet arrived.
    Known(Instant),
    Forgotten,
}

impl Forget {
    /// The state without connections.
    pub fn new(config: &ForgetConfig) -> Self {
        Self { config: *config, connections: HashMap::new() }
    }

    /// The action on a packet.
    pub(crate) fn pass(&mut self, at: Instant, packet: &Packet) -> Action {
        let Some(part) = packet.part else { return Action::UNCHANGED };
        if self.knows(at, &part) {
            return Action::UNCHANGED;
        }
        // A RST is not answered (RFC 9293, section 3.10.7.1).
        let answer = (self.config.reset && !part.is_reset()).then_some(Answer::Reset);
        Action::Drop(LossReason::Forgotten, answer)
    }

    /// Observes a packet that passed in the other direction.
    pub(crate) fn overhear(&mut self, at: Instant, packet: &Packet) {
        if let Some(part) = packet.part {
            self.knows(at, &part);
        }
    }

    /// Whether the connection of a packet arriving now is known; its first packet and a new SYN make it known.
    fn knows(&mut self, at: Instant, part: &StreamPart) -> bool {
        let entry = self.connections.entry(part.flow).or_insert(Entry::Known(at));
        *entry = match *entry {
            _ if part.is_syn() => Entry::Known(at),
            Entry::Known(last) if at.since(last).is_none_or(|idle| idle <= self.config.idle) => {
                Entry::Known(at.max(last))
            }
            Entry::Known(_) | Entry::Forgotten => Entry::Forgotten,
        };
        matches!(entry, Entry::Known(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ack, at, segment, syn};

    const S: i64 = 1_000_000_000;

    fn forget(reset: bool) -> Forget {
        Forget::new(&ForgetConfig { idle: Duration::from_secs(5), reset })
    }

    #[test]
    fn idle_connection_is_forgotten_for_good() {
        let mut nat = forget(false);
        assert_eq!(nat.pass(at(0), &segment(1, 100)), Action::UNCHANGED);
        // A packet in the other direction keeps it known.
        nat.overhear(at(4 * S), &ack(101, 1000));
        assert_eq!(nat.pass(at(9 * S), &segment(101, 100)), Action::UNCHANGED);
        let dropped = Action::Drop(LossReason::Forgotten, None);
        assert_eq!(nat.pass(at(14 * S + 1), &segment(201, 100)), dropped);
        nat.overhear(at(14 * S + 2), &ack(201, 1000));
        assert_eq!(nat.pass(at(14 * S + 3), &segment(201, 100)), dropped);
        assert_eq!(nat.pass(at(15 * S), &syn(None, 0)), Action::UNCHANGED);
        assert_eq!(nat.pass(at(15 * S), &segment(1, 100)), Action::UNCHANGED);
    }

    #[test]
    fn packet_of_a_forgotten_connection_gets_a_rst_if_configured() {
        let mut firewall = forget(true);
        assert_eq!(firewall.pass(at(0), &segment(1, 100)), Action::UNCHANGED);
        let answered = Action::Drop(LossReason::Forgotten, Some(Answer::Reset));
        assert_eq!(firewall.pass(at(6 * S), &segment(101, 100)), answered);
    }
}
