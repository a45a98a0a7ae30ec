//! What lost transmissions have in common and delivered ones do not: loss that follows a rule.
//!
//! Random loss strikes segments of every size and anywhere in the window. A path whose MTU is smaller than the sender
//! believes loses everything larger and nothing else; a device that cannot forward super-packets loses these and
//! nothing else; a firewall that does not know the window scale loses everything beyond the bare window field. Such a
//! rule shows only next to the sender, where each transmission is seen. A queue of the sending host in front of the tap
//! loses what then passes for the first time as a repair.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::limits::thresholds;
use slowpath_model::Bytes;

/// The transmissions of one direction, lost and delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossPattern {
    /// Transmissions that were lost.
    pub lost: u32,
    /// The payload of the smallest of them.
    pub lost_smallest: Option<u32>,
    /// Those that were larger than anything delivered before.
    pub lost_larger: u32,
    /// The payload of the largest segment that was delivered.
    pub delivered_largest: u32,
    /// Lost transmissions that ended within the window field without scaling.
    pub lost_within: u32,
    /// Delivered segments that did.
    pub delivered_within: u32,
    /// Delivered segments that ended beyond it.
    pub delivered_beyond: u32,
    /// Repairs of what had not passed before: its first transmission was lost before the tap.
    pub never_passed: u32,
}

/// Segments that one ACK covers, none of them retransmitted: summed up separately, since nearly all are such.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    segments: u32,
    beyond: u32,
    /// The payload of the largest.
    largest: i64,
}

impl Delivered {
    /// Adds a segment of `len` bytes.
    #[inline]
    pub fn add(&mut self, len: i64, beyond: bool) {
        self.segments += 1;
        self.beyond += u32::from(beyond);
        self.largest = self.largest.max(len);
    }
}

impl LossPattern {
    /// Segments that were transmitted once were delivered.
    #[inline]
    pub fn delivered_once(&mut self, once: &Delivered) {
        let largest = u32::try_from(once.largest).unwrap_or(u32::MAX);
        self.delivered_largest = self.delivered_largest.max(largest);
        self.delivered_within += once.segments - once.beyond;
        self.delivered_beyond += once.beyond;
    }

    /// A segment of `len` bytes was delivered.
    pub fn delivered(&mut self, len: u32, beyond: bool) {
        self.delivered_largest = self.delivered_largest.max(len);
        self.delivered_within += u32::from(!beyond);
        self.delivered_beyond += u32::from(beyond);
    }

    /// A transmission of `len` bytes was lost.
    pub fn lost(&mut self, len: u32, beyond: bool) {
        if len > 0 {
            self.lost += 1;
            self.lost_larger += u32::from(len > self.delivered_largest);
            self.lost_smallest = Some(self.lost_smallest.map_or(len, |smallest| smallest.min(len)));
            self.lost_within += u32::from(!beyond);
        }
    }

    /// Evidence that the losses follow the rule `cause`.
    pub fn evidence(&self, cause: Cause) -> Option<Evidence> {
        let lost = self.lost.into();
        match cause {
            Cause::MtuBlackHole => self.lost_smallest.map(|smallest| Evidence::LostAboveSize {
                lost: self.lost_larger.into(),
                smallest: Bytes::new(smallest.max(self.delivered_largest + 1).into()),
                largest_delivered: Bytes::new(self.delivered_largest.into()),
            }),
            Cause::SuperPacketsDropped => Some(Evidence::LostAboveSize {
                lost: self.lost_larger.into(),
                smallest: Bytes::new(u64::from(self.delivered_largest) + 1),
                largest_delivered: Bytes::new(self.delivered_largest.into()),
            }),
            Cause::BeyondUnscaledWindow => {
                Some(Evidence::LostBeyondWindowField { lost, delivered: self.delivered_within.into() })
            }
            Cause::LocalQueue => Some(Evidence::LostBeforeTap { segments: self.never_passed.into() }),
            _ => None,
        }
    }

    /// Whether most losses happened before the tap.
    pub const fn is_before_tap(&self) -> bool {
        self.never_passed >= thresholds::RULE_LOSSES
            && self.lost <= self.never_passed / thresholds::LOST_BEFORE_TAP
    }

    /// The rule that every loss follows and no delivery breaks, if there is one. A full segment has `mss` bytes.
    pub fn rule(&self, mss: u32) -> Option<Cause> {
        let smallest = self.lost_smallest.filter(|_| self.lost >= thresholds::RULE_LOSSES)?;
        // A probe or an early timer retransmits a few that had arrived; and of those that are not too large a few are lost too.
        let mostly_larger = self.lost_larger >= thresholds::RULE_LOSSES
            && self.lost_larger >= self.lost - self.lost / thresholds::RULE_SPURIOUS;
        if self.delivered_largest == mss && mostly_larger {
            return Some(Cause::SuperPacketsDropped);
        }
        // On the wire, a super-packet is several full segments. Every path carries the default MSS.
        let is_large = smallest.min(mss) >= thresholds::DEFAULT_MSS;
        let is_narrow = (thresholds::DEFAULT_MSS..mss).contains(&self.delivered_largest) && mostly_larger;
        if is_narrow || is_large && smallest.min(mss) > self.delivered_largest.min(mss) {
            return Some(Cause::MtuBlackHole);
        }
        let all = f64::from(self.lost) + f64::from(self.delivered_within) + f64::from(self.delivered_beyond);
        let beyond_share = (f64::from(self.lost) + f64::from(self.delivered_beyond)) / all;
        // The ACKs that a firewall has seen are ahead of the sender's by another such window at most.
        let most = self.lost.min(self.delivered_within) * thresholds::RULE_LET_THROUGH;
        let mostly = self.delivered_beyond <= most + thresholds::RULE_LET_THROUGH;
        let unlikely = f64::from(self.lost) * beyond_share.ln() < thresholds::RULE_CHANCE.ln();
        // If nothing at all got through beyond it, a few are enough.
        let nothing =
            self.delivered_beyond == 0 && self.lost.min(self.delivered_within) > thresholds::RULE_LOSSES;
        let beyond = self.lost_within == 0 && mostly && (unlikely || nothing);
        beyond.then_some(Cause::BeyondUnscaledWindow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(lost: &[u32], delivered: &[u32]) -> LossPattern {
        let mut pattern = LossPattern::default();
        delivered.iter().for_each(|len| pattern.delivered(*len, false));
        lost.iter().for_each(|len| pattern.lost(*len, false));
        pattern
    }

    #[test]
    fn mtu_black_hole_loses_only_segments_larger_than_any_delivered() {
        assert_eq!(pattern(&[1448; 4], &[100, 600]).rule(1448), Some(Cause::MtuBlackHole));
        assert_eq!(pattern(&[1448, 1448, 500], &[100, 600]).rule(1448), None);
        assert_eq!(pattern(&[1448; 2], &[100, 600]).rule(1448), None, "too few");
        assert_eq!(pattern(&[191; 9], &[1]).rule(1448), None, "no path is that narrow");
        assert_eq!(pattern(&[2896; 4], &[600]).rule(1448), Some(Cause::MtuBlackHole));
        assert_eq!(
            pattern(&[1448, 1448, 1448, 1400, 1347], &[1347; 9]).rule(1448),
            Some(Cause::MtuBlackHole)
        );
        assert_eq!(pattern(&[1448, 1448, 1448, 1347, 1347], &[1347; 9]).rule(1448), None, "most of any size");
    }

    #[test]
    fn losses_of_super_packets_only_are_super_packets_dropped() {
        assert_eq!(pattern(&[2896, 4344, 2896], &[1448; 20]).rule(1448), Some(Cause::SuperPacketsDropped));
        assert_eq!(pattern(&[2896, 4344, 2896, 1448, 1448], &[1448; 20]).rule(1448), None);
    }

    #[test]
    fn losses_before_the_tap_are_most() {
        let before = |lost, never_passed| LossPattern { lost, never_passed, ..LossPattern::default() };
        assert!(before(0, thresholds::RULE_LOSSES).is_before_tap());
        assert!(before(20, 40).is_before_tap());
        assert!(!before(21, 40).is_before_tap());
        assert!(!before(0, 1).is_before_tap());
    }

    #[test]
    fn losses_beyond_unscaled_window_are_a_firewalls() {
        let mut pattern = pattern(&[], &[1448; 20]);
        (0..8).for_each(|_| pattern.lost(1448, true));
        pattern.delivered(1448, true);
        assert_eq!(pattern.rule(1448), Some(Cause::BeyondUnscaledWindow));
        pattern.lost(1448, false);
        assert_eq!(pattern.rule(1448), None);
    }

    #[test]
    fn queue_overflow_beyond_small_unscaled_window_is_not_a_firewall() {
        // A scale of 10 leaves a field of a segment or two: only the first data was ever within it.
        let mut pattern = pattern(&[], &[1448; 20]);
        (0..3000).for_each(|_| pattern.lost(1448, true));
        (0..2000).for_each(|_| pattern.delivered(1448, true));
        assert_eq!(pattern.rule(1448), None);
    }
}
