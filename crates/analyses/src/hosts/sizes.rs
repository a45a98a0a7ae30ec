//! The sizes of what was lost and of what arrived, as the sender's kernel shows them.
//!
//! Each retransmission shows that a transmission of its size was lost. Nothing larger can have arrived than what one
//! ACK acknowledged. The rule is that of captures, [`LossPattern`].

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

/// Whether each segment above some size was lost and smaller ones arrived. Losses count only if something came back
/// after them: nothing comes back from a path that carries nothing at all, or from a peer that is gone.
pub(super) fn follow_mtu(own: &EndAccount) -> bool {
    // No size is given that is larger than the MSS, so that there is nothing to be cut to it.
    let is_rule = |pattern: LossPattern| {
        pattern.delivered_largest > 0 && pattern.rule(u32::MAX) == Some(Cause::MtuBlackHole)
    };
    pattern(own).is_some_and(is_rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::{End, SocketSample};

    fn follows(resent: u32, smallest: u32, delivered: u32) -> bool {
        let sample = SocketSample {
            resent: Some(resent),
            resent_smallest: Some(smallest),
            delivered_largest: Some(delivered),
            ..SocketSample::unknown(End::A)
        };
        follow_mtu(&EndAccount { samples: Some([sample; 2]), ..EndAccount::default() })
    }

    #[test]
    fn lost_full_and_delivered_small_segments_are_an_mtu_black_hole() {
        assert!(follows(4, 1448, 600));
        assert!(!follows(2, 1448, 600), "too few, or nothing came back since");
        assert!(!follows(4, 1448, 1448), "one arrived");
        assert!(!follows(4, 500, 600), "a small one was lost");
        assert!(!follows(4, 1448, 0), "nothing small arrived either");
        assert!(!follow_mtu(&EndAccount::default()), "nothing is known");
    }
}
