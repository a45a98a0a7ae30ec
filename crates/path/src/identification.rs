//! IPv4 identifications (RFC 6864) as chosen by hosts other than Linux. The path assigns them to the packets of a
//! direction's sender, so that a capture behind it shows them.

use crate::action::{Action, Changes};
use crate::chance::Draws;
use crate::packet::Packet;
use serde::{Deserialize, Serialize};

/// How a host chooses identifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "policy")]
pub enum IdentificationConfig {
    /// One counter for all packets of the host, of which the path carries only some.
    PerHost {
        /// The maximum number of packets that the host sends elsewhere between two of these; uniformly distributed.
        others: u16,
    },
    /// Random.
    Random,
    /// All 0.
    Zero,
    /// The sender's own, with the bytes swapped.
    ByteSwapped,
}

/// The state of such a host.
#[derive(Debug)]
pub struct Identification {
    config: IdentificationConfig,
    last: u16,
}

impl Identification {
    /// A host whose counter has a random value.
    pub fn new(config: &IdentificationConfig, draws: &mut Draws) -> Self {
        let last = match config {
            IdentificationConfig::PerHost { .. } => draws.bits() as u16,
            _ => 0,
        };
        Self { config: *config, last }
    }

    /// The action on a packet; IPv6 has no identification.
    pub(crate) fn pass(&mut self, packet: &Packet, draws: &mut Draws) -> Action {
        let Some(own) = packet.id else { return Action::UNCHANGED };
        let id = match self.config {
            IdentificationConfig::PerHost { others } => {
                let step = 1 + draws.below(u64::from(others) + 1);
                self.last = self.last.wrapping_add(step as u16);
                self.last
            }
            IdentificationConfig::Random => draws.bits() as u16,
            IdentificationConfig::Zero => 0,
            IdentificationConfig::ByteSwapped => own.swap_bytes(),
        };
        Action::Pass(Changes { id: (id != own).then_some(id), ..Changes::NONE })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::segment;

    fn ids(config: IdentificationConfig) -> Vec<u16> {
        let mut draws = Draws::new(1);
        let mut host = Identification::new(&config, &mut draws);
        let mut id = |own| match host.pass(&Packet { id: Some(own), ..segment(1, 100) }, &mut draws) {
            Action::Pass(changes) => changes.id.unwrap_or(own),
            Action::Drop(..) => panic!("dropped"),
        };
        (0x0100..0x0200).map(&mut id).collect()
    }

    #[test]
    fn identifications_follow_the_policy() {
        let swapped = ids(IdentificationConfig::ByteSwapped);
        assert_eq!(swapped[..3], [0x0001, 0x0101, 0x0201]);
        assert!(ids(IdentificationConfig::Zero).iter().all(|id| *id == 0));
        let steps =
            |ids: &[u16]| -> Vec<u16> { ids.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect() };
        let shared = steps(&ids(IdentificationConfig::PerHost { others: 9 }));
        assert!(shared.iter().all(|step| (1..=10).contains(step)), "{shared:?}");
        assert!(shared.contains(&1) && shared.contains(&10), "{shared:?}");
        assert!(steps(&ids(IdentificationConfig::Random)).iter().any(|step| *step > 1000));
    }

    #[test]
    fn ipv6_has_no_identification() {
        let mut draws = Draws::new(1);
        let mut host = Identification::new(&IdentificationConfig::Random, &mut draws);
        assert_eq!(host.pass(&segment(1, 100), &mut draws), Action::UNCHANGED);
    }
}
