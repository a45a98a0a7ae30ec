//! Corruption on the path: a packet arrives with other bytes than were sent, so that its TCP checksum is wrong.

use crate::action::{Action, Changes};
use crate::chance::{Chance, Draws};
use crate::packet::Packet;
use serde::{Deserialize, Serialize};

/// How many packets are corrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamageConfig {
    /// The probability for each TCP packet, in millionths.
    pub probability_ppm: u32,
}

/// The state of a corrupting element.
#[derive(Debug)]
pub struct Damage(Chance);

impl Damage {
    /// Before the first packet.
    pub fn new(config: &DamageConfig) -> Self {
        Self(Chance::from_ppm(config.probability_ppm))
    }

    /// The action on a packet.
    pub(crate) fn pass(&self, packet: &Packet, draws: &mut Draws) -> Action {
        let is_damaged = packet.part.is_some() && draws.happens(self.0);
        Action::Pass(Changes { is_damaged, ..Changes::NONE })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::segment;

    #[test]
    fn damaged_fraction_matches_the_probability() {
        let damage = Damage::new(&DamageConfig { probability_ppm: 100_000 });
        let mut draws = Draws::new(1);
        let damaged = (0..10_000).filter(|_| damage.pass(&segment(1, 1), &mut draws) != Action::UNCHANGED);
        let count = damaged.count();
        assert!((900..1100).contains(&count), "{count} of 10000 at 10 %");
    }
}
