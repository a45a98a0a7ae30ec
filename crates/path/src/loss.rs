//! Emulated loss: random, in bursts, or scripted.

use crate::action::LossReason;
use crate::chance::{Chance, Draws};
use crate::packet::{Packet, StreamPart};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A stretch of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// First byte.
    pub from_byte: u64,
    /// One past the last byte.
    pub to_byte: u64,
}

/// One loss process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum LossConfig {
    /// Every packet is lost with the same chance.
    Random {
        /// The chance, in millionths.
        probability_ppm: u32,
    },
    /// Gilbert's two-state chain (E. N. Gilbert, 1960; Elliott, 1963), moved on before every packet.
    Bursts {
        /// Chance, in millionths, that the next packet is the first of a bad spell.
        good_to_bad_ppm: u32,
        /// Chance, in millionths, that a bad spell is over with the next packet.
        bad_to_good_ppm: u32,
        /// Chance, in millionths, to lose a packet in a bad spell.
        bad_loss_ppm: u32,
    },
    /// The first `times` packets of every flow that carry SYN (so SYN one way, SYN-ACK the other).
    Syn {
        /// How many in a row.
        times: u32,
    },
    /// The nth packets with payload of every flow, counted from 1, retransmissions included.
    Nth {
        /// Which ones, in any order.
        packets: Vec<u64>,
    },
    /// Segments that start inside one of these stretches, the first `times` times each.
    Stretches {
        /// The stretches of the stream, which must not overlap.
        stretches: Vec<Stretch>,
        /// How often the same segment is lost; 1 loses the first transmission only.
        times: u32,
    },
}

/// A loss process at work.
#[derive(Debug)]
pub enum Loss {
    /// See [`LossConfig::Random`].
    Random(Chance),
    /// See [`LossConfig::Bursts`].
    Bursts {
        /// Whether a bad spell is on.
        bad: bool,
        /// Chance to enter one.
        enter: Chance,
        /// Chance to leave one.
        leave: Chance,
        /// Chance of loss inside.
        lose: Chance,
    },
    /// See [`LossConfig::Syn`]. SYNs lost so far, per flow.
    Syn(u32, HashMap<u64, u32>),
    /// See [`LossConfig::Nth`]. Payload packets so far, per flow.
    Nth(Vec<u64>, HashMap<u64, u64>),
    /// See [`LossConfig::Stretches`]. Losses so far, per flow and segment start.
    Stretches(Vec<Stretch>, u32, HashMap<(u64, u64), u32>),
}

impl Loss {
    /// A loss process before its first packet.
    pub fn new(config: &LossConfig) -> Self {
        match config {
            LossConfig::Random { probability_ppm } => Self::Random(Chance::from_ppm(*probability_ppm)),
            LossConfig::Bursts { good_to_bad_ppm, bad_to_good_ppm, bad_loss_ppm } => Self::Bursts {
                bad: false,
                enter: Chance::from_ppm(*good_to_bad_ppm),
                leave: Chance::from_ppm(*bad_to_good_ppm),
                lose: Chance::from_ppm(*bad_loss_ppm),
            },
            LossConfig::Syn { times } => Self::Syn(*times, HashMap::new()),
            LossConfig::Nth { packets } => Self::Nth(packets.clone(), HashMap::new()),
            LossConfig::Stretches { stretches, times } => {
                Self::Stretches(stretches.clone(), *times, HashMap::new())
            }
        }
    }

    /// Whether this process loses the packet, and as what.
    pub fn takes(&mut self, packet: &Packet, draws: &mut Draws) -> Option<LossReason> {
        match self {
            Self::Random(chance) => draws.happens(*chance).then_some(LossReason::Random),
            Self::Bursts { bad, enter, leave, lose } => {
                let turns = draws.happens(if *bad { *leave } else { *enter });
                *bad ^= turns;
                (*bad && draws.happens(*lose)).then_some(LossReason::Burst)
            }
            Self::Syn(times, lost) => {
                let segment = packet.part.filter(StreamPart::is_syn)?;
                let lost = lost.entry(segment.flow).or_default();
                (*lost < *times).then(|| {
                    *lost += 1;
                    LossReason::Scripted
                })
            }
            Self::Nth(wanted, seen) => {
                let segment = packet.part.filter(|s| s.len > 0)?;
                let seen = seen.entry(segment.flow).or_default();
                *seen += 1;
                wanted.contains(seen).then_some(LossReason::Scripted)
            }
            Self::Stretches(stretches, times, lost) => {
                let segment = packet.part.filter(|s| s.len > 0)?;
                // Stretches count from the first byte of data.
                let byte = u64::try_from(segment.start.0 - 1).unwrap_or(0);
                stretches.iter().find(|s| (s.from_byte..s.to_byte).contains(&byte))?;
                let lost = lost.entry((segment.flow, byte)).or_default();
                (*lost < *times).then(|| {
                    *lost += 1;
                    LossReason::Scripted
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::segment;

    fn data(offset: i64) -> Packet {
        segment(1 + offset, 1448)
    }

    fn syn() -> Packet {
        crate::tests::syn(None, 0)
    }

    fn takes(loss: &mut Loss, packet: &Packet) -> bool {
        loss.takes(packet, &mut Draws::new(1)).is_some()
    }

    #[test]
    fn stretch_loses_each_of_its_segments_as_often_as_asked() {
        let stretch = Stretch { from_byte: 1448, to_byte: 4344 };
        let mut loss = Loss::new(&LossConfig::Stretches { stretches: vec![stretch], times: 2 });
        assert!(!takes(&mut loss, &data(0)));
        assert!(takes(&mut loss, &data(1448)));
        assert!(takes(&mut loss, &data(2896)));
        assert!(!takes(&mut loss, &data(4344)));
        assert!(takes(&mut loss, &data(1448)), "its retransmission is lost too");
        assert!(!takes(&mut loss, &data(1448)), "the third transmission passes");
    }

    #[test]
    fn nth_counts_packets_with_payload_only() {
        let mut loss = Loss::new(&LossConfig::Nth { packets: vec![2] });
        assert!(!takes(&mut loss, &syn()));
        assert!(!takes(&mut loss, &data(0)));
        assert!(takes(&mut loss, &data(1448)));
        assert!(!takes(&mut loss, &data(1448)));
    }

    #[test]
    fn syn_is_lost_twice_and_data_never() {
        let mut loss = Loss::new(&LossConfig::Syn { times: 2 });
        assert!(takes(&mut loss, &syn()));
        assert!(takes(&mut loss, &syn()));
        assert!(!takes(&mut loss, &syn()));
        assert!(!takes(&mut loss, &data(0)));
    }

    #[test]
    fn bursts_lose_in_runs_of_the_length_the_chain_says() {
        let config =
            LossConfig::Bursts { good_to_bad_ppm: 5_000, bad_to_good_ppm: 250_000, bad_loss_ppm: 1_000_000 };
        let (mut loss, mut draws) = (Loss::new(&config), Draws::new(3));
        let lost: Vec<bool> = (0..200_000).map(|_| loss.takes(&data(0), &mut draws).is_some()).collect();
        let total = lost.iter().filter(|l| **l).count();
        let runs = lost.windows(2).filter(|w| !w[0] && w[1]).count();
        // Stationary share of the bad state: 0.005 / (0.005 + 0.25) = 1.96 %; mean run 1 / 0.25 = 4.
        assert!((3_500..4_400).contains(&total), "{total} lost");
        assert!((36..44).contains(&(total * 10 / runs)), "{total} lost in {runs} runs");
    }
}
