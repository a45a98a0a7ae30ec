//! The sizes of what was lost and of what arrived, as the sender's kernel shows them.
//!
//! Each retransmission says that a transmission of its size was lost. Nothing larger can have arrived than what an ACK
//! acknowledged at once. The rule is that of captures, [`LossPattern`].

use super::EndAccount;
use crate::cause::Cause;
use crate::loss_pattern::LossPattern;

/// What was lost and delivered, by the socket's last sample.
pub(super) fn pattern(own: &EndAccount) -> Option<LossPattern> {
    let [_, last] = own.samples?;
    Some(LossPattern {
        lost: last.resent?,
        lost_smallest: last.resent_smallest.filter(|size| *size > 0),
        delivered_largest: last.delivered_largest?,
        ..LossPattern::default()
    })
}

/// Whether each segment above some size was lost and smaller ones arrived. Something has to have come back after the
/// losses: from a path that carries nothing at all, or a peer that is gone, nothing does.
pub(super) fn follow_mtu(own: &EndAccount) -> bool {
    let last = own.samples.map(|[_, last]| last);
    let mss = last.and_then(|last| last.mss_largest).unwrap_or(0);
    let is_answered = last.and_then(|last| last.answers).is_some_and(|answers| answers > 0);
    let is_rule = |pattern: LossPattern| {
        pattern.delivered_largest > 0 && pattern.rule(mss) == Some(Cause::MtuBlackHole)
    };
    is_answered && pattern(own).is_some_and(is_rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::{End, SocketSample};

    fn follows(resent: u32, smallest: u32, delivered: u32, answers: u32) -> bool {
        let sample = SocketSample {
            resent: Some(resent),
            resent_smallest: Some(smallest),
            delivered_largest: Some(delivered),
            mss_largest: Some(1448),
            answers: Some(answers),
            ..SocketSample::unknown(End::A)
        };
        follow_mtu(&EndAccount { samples: Some([sample; 2]), ..EndAccount::default() })
    }

    #[test]
    fn full_segments_that_are_lost_each_time_while_small_ones_arrive_are_a_black_hole() {
        assert!(follows(4, 1448, 600, 1));
        assert!(!follows(2, 1448, 600, 1), "too few");
        assert!(!follows(4, 1448, 1448, 1), "one arrived");
        assert!(!follows(4, 500, 600, 1), "a small one was lost");
        assert!(!follows(4, 1448, 600, 0), "nothing came back since");
        assert!(!follows(4, 1448, 0, 9), "nothing small arrived either");
        assert!(!follow_mtu(&EndAccount::default()), "nothing is known");
    }
}
