//! Emulated loss: random, in bursts, or scripted.

use crate::action::LossReason;
use crate::chance::{Chance, Draws};
use crate::packet::{Packet, StreamPart};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A range of a stream.
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
    /// Every packet is lost with the same probability.
    Random {
        /// The probability, in millionths.
        probability_ppm: u32,
    },
    /// Gilbert's two-state chain (E. N. Gilbert, 1960; Elliott, 1963), advanced before every packet.
    Bursts {
        /// The probability, in millionths, that the next packet enters the bad state.
        good_to_bad_ppm: u32,
        /// The probability, in millionths, that the next packet leaves the bad state.
        bad_to_good_ppm: u32,
        /// The probability, in millionths, of losing a packet in the bad state.
        bad_loss_ppm: u32,
    },
    /// The first `times` packets of every flow with SYN set (SYN in one direction, SYN-ACK in the other).
    Syn {
        /// How many.
        times: u32,
    },
    /// The nth packets with payload of every flow, counted from 1, retransmissions included.
    Nth {
        /// Which ones, in any order.
        packets: Vec<u64>,
    },
    /// Segments that start in one of these ranges, the first `times` times each.
    Stretches {
        /// The ranges of the stream, which must not overlap.
        stretches: Vec<Stretch>,
        /// How often the same segment is lost; 1 loses only the first transmission.
        times: u32,
    },
}

/// The state of a loss process.
#[derive(Debug)]
pub enum Loss {
    /// See [`LossConfig::Random`].
    Random(Chance),
    /// See [`LossConfig::Bursts`].
    Bursts {
        /// Whether it is in the bad state.
        bad: bool,
        /// Probability of entering it.
        enter: Chance,
        /// Probability of leaving it.
        leave: Chance,
        /// Probability of loss in it.
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

    /// Whether this process loses the packet, and the reason to report.
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
                // Ranges count from the first byte of data.
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
    fn each_segment_of_a_stretch_is_lost_the_configured_number_of_times() {
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
    fn nth_counts_only_packets_with_payload() {
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
    fn burst_lengths_match_the_gilbert_chain() {
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
