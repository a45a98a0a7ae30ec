//! Explicit congestion notification (RFC 3168): a router that marks instead of dropping, and a middlebox that clears
//! the field ("bleaching").

use crate::action::{Action, Changes};
use crate::chance::{Chance, Draws};
use crate::packet::Packet;
use serde::{Deserialize, Serialize};
use slowpath_model::Ecn;

/// What happens to the ECN field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "does")]
pub enum EcnConfig {
    /// ECN-capable packets are marked at random.
    MarkByChance {
        /// The probability, in millionths.
        probability_ppm: u32,
    },
    /// Every nth ECN-capable packet is marked.
    MarkEvery {
        /// The n: 1 marks all.
        packets: u64,
    },
    /// The field is cleared: no packet is ECN-capable or marked after this.
    Bleach,
}

/// The state of such a middlebox.
#[derive(Debug)]
pub enum EcnBox {
    /// See [`EcnConfig::MarkByChance`].
    ByChance(Chance),
    /// See [`EcnConfig::MarkEvery`]: the n, and the packets since the last mark.
    Every(u64, u64),
    /// See [`EcnConfig::Bleach`].
    Bleach,
}

impl EcnBox {
    /// The state before the first packet.
    pub fn new(config: &EcnConfig) -> Self {
        match config {
            EcnConfig::MarkByChance { probability_ppm } => Self::ByChance(Chance::from_ppm(*probability_ppm)),
            EcnConfig::MarkEvery { packets } => Self::Every(*packets, 0),
            EcnConfig::Bleach => Self::Bleach,
        }
    }

    /// The action on a packet.
    pub(crate) fn pass(&mut self, packet: &Packet, draws: &mut Draws) -> Action {
        if packet.ecn == Ecn::NotEct {
            return Action::UNCHANGED;
        }
        let becomes = match self {
            Self::ByChance(chance) => draws.happens(*chance).then_some(Ecn::Ce),
            Self::Every(nth, since) => {
                *since += 1;
                let is_nth = *since >= *nth;
                if is_nth {
                    *since = 0;
                }
                is_nth.then_some(Ecn::Ce)
            }
            Self::Bleach => Some(Ecn::NotEct),
        };
        Action::Pass(Changes { ecn: becomes.filter(|ecn| *ecn != packet.ecn), ..Changes::NONE })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::segment;

    fn becomes(ecn: &mut EcnBox, before: Ecn) -> Option<Ecn> {
        let packet = Packet { ecn: before, ..segment(1, 100) };
        match ecn.pass(&packet, &mut Draws::new(1)) {
            Action::Pass(changes) => changes.ecn,
            Action::Drop(..) => panic!("dropped"),
        }
    }

    #[test]
    fn every_nth_ecn_capable_packet_is_marked() {
        let mut ecn = EcnBox::new(&EcnConfig::MarkEvery { packets: 3 });
        let marks: Vec<bool> = (0..7).map(|_| becomes(&mut ecn, Ecn::Ect0) == Some(Ecn::Ce)).collect();
        assert_eq!(marks, [false, false, true, false, false, true, false]);
        for _ in 0..10 {
            assert_eq!(becomes(&mut ecn, Ecn::NotEct), None);
        }
    }

    #[test]
    fn probability_1_marks_all_and_bleaching_clears_all() {
        let mut marks = EcnBox::new(&EcnConfig::MarkByChance { probability_ppm: 1_000_000 });
        assert_eq!(becomes(&mut marks, Ecn::Ect1), Some(Ecn::Ce));
        assert_eq!(becomes(&mut marks, Ecn::Ce), None, "already marked");
        let mut bleaches = EcnBox::new(&EcnConfig::Bleach);
        assert_eq!(becomes(&mut bleaches, Ecn::Ce), Some(Ecn::NotEct));
        assert_eq!(becomes(&mut bleaches, Ecn::NotEct), None);
    }
}
