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
use slowpath_model::{Bytes, Instant};

/// Whether a transmission reached beyond the window, as a firewall sees it that does not know its scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    /// Beyond the last ACK and its window field.
    pub field: bool,
    /// Beyond all ACKs so far, each with its window field: what a firewall allows that remembers the farthest edge
    /// (`td_maxend` in `tcp_in_window`, nf_conntrack, 6.18).
    pub edge: bool,
}

/// Transmissions within the window, as a firewall sees it, and beyond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// Lost within.
    pub lost_within: u32,
    /// Delivered within.
    pub delivered_within: u32,
    /// Delivered beyond.
    pub delivered_beyond: u32,
}

/// The transmissions of one direction, lost and delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossPattern {
    /// Transmissions that were lost.
    pub lost: u32,
    /// Those of them that may have one reason: at the end, nothing that was sent came through any more.
    pub left: u32,
    /// The payload of the smallest of them.
    pub lost_smallest: Option<u32>,
    /// Those that were larger than anything delivered before.
    pub lost_larger: u32,
    /// The payload of the largest segment that was delivered.
    pub delivered_largest: u32,
    /// All of them, by the window field of the last ACK.
    pub by_field: Sides,
    /// All of them, by the farthest edge.
    pub by_edge: Sides,
    /// Only what is no super-packet: the payload of the largest segment that was delivered.
    pub single_largest: u32,
    /// Lost ones that were larger than that, as far as it was known.
    pub single_lost: u32,
    /// The payload of the smallest of these.
    pub single_lost_smallest: Option<u32>,
    /// When the last of these was retransmitted.
    pub single_lost_until: Option<Instant>,
    /// Repairs of what had not passed before: its first transmission was lost before the tap.
    pub never_passed: u32,
}

/// Segments that one ACK covers, none of them retransmitted: summed up separately, since nearly all are such.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    segments: u32,
    beyond_field: u32,
    beyond_edge: u32,
    /// The payload of the largest.
    largest: i64,
    /// That of the largest that is no super-packet.
    single: i64,
}

impl Delivered {
    /// Adds a segment of `len` bytes. One of more than `full` is a super-packet.
    #[inline]
    pub fn add(&mut self, len: i64, beyond: Beyond, full: i64) {
        self.segments += 1;
        self.beyond_field += u32::from(beyond.field);
        self.beyond_edge += u32::from(beyond.edge);
        self.largest = self.largest.max(len);
        self.single = self.single.max(if len > full { 0 } else { len });
    }
}

impl Sides {
    #[inline]
    const fn delivered(&mut self, segments: u32, beyond: u32) {
        self.delivered_within += segments - beyond;
        self.delivered_beyond += beyond;
    }

    /// Whether each lost transmission was beyond, and hardly any beyond was delivered. `lost` of them were lost one by one,
    /// `left` together.
    fn shows_firewall(&self, lost: u32, left: u32) -> bool {
        let all = f64::from(lost) + f64::from(self.delivered_within) + f64::from(self.delivered_beyond);
        let beyond_share = (f64::from(lost) + f64::from(self.delivered_beyond)) / all;
        // The ACKs that a firewall has seen are ahead of the sender's by another such window at most.
        let most = lost.min(self.delivered_within) * thresholds::RULE_LET_THROUGH;
        let mostly = self.delivered_beyond <= most + thresholds::RULE_LET_THROUGH;
        let unlikely = f64::from(lost) * beyond_share.ln() < thresholds::RULE_CHANCE.ln();
        // If nothing at all got through beyond it, a few are enough.
        let nothing =
            self.delivered_beyond == 0 && (lost + left).min(self.delivered_within) > thresholds::RULE_LOSSES;
        self.lost_within == 0 && mostly && (unlikely || nothing)
    }
}

impl LossPattern {
    /// Segments that were transmitted once were delivered.
    #[inline]
    pub fn delivered_once(&mut self, once: &Delivered) {
        let size = |len: i64| u32::try_from(len).unwrap_or(u32::MAX);
        self.delivered_largest = self.delivered_largest.max(size(once.largest));
        self.single_largest = self.single_largest.max(size(once.single));
        self.by_field.delivered(once.segments, once.beyond_field);
        self.by_edge.delivered(once.segments, once.beyond_edge);
    }

    /// A segment of `len` bytes was delivered. One of more than `full` is a super-packet.
    pub fn delivered(&mut self, len: u32, beyond: Beyond, full: u32) {
        let mut one = Delivered::default();
        one.add(len.into(), beyond, full.into());
        self.delivered_once(&one);
    }

    /// A transmission of `len` bytes was lost, as its retransmission at `at` shows.
    pub fn lost(&mut self, at: Instant, len: u32, beyond: Beyond, full: u32) {
        if len == 0 {
            return;
        }
        self.lost += 1;
        self.lost_larger += u32::from(len > self.delivered_largest);
        let smaller = |smallest: Option<u32>| smallest.map_or(len, |smallest| smallest.min(len));
        self.lost_smallest = Some(smaller(self.lost_smallest));
        self.by_field.lost_within += u32::from(!beyond.field);
        self.by_edge.lost_within += u32::from(!beyond.edge);
        if len <= full && len > self.single_largest {
            self.single_lost += 1;
            self.single_lost_smallest = Some(smaller(self.single_lost_smallest));
            self.single_lost_until = self.single_lost_until.max(Some(at));
        }
    }

    /// Whether the path turned out to be narrower than its full segments, and the sender made them smaller: no segment larger
    /// than the largest delivered one got through, and several of full size were lost. Smaller ones may be lost as well.
    pub fn narrowed(&self) -> Option<Instant> {
        let smallest = self.single_lost_smallest?;
        let is_rule = self.single_lost >= thresholds::RULE_LOSSES
            && self.single_largest >= thresholds::DEFAULT_MSS
            && smallest > self.single_largest;
        self.single_lost_until.filter(|_| is_rule)
    }

    /// Evidence that the losses follow the rule `cause`.
    pub fn evidence(&self, cause: Cause) -> Option<Evidence> {
        let lost = self.lost.into();
        // SYN and FIN take a byte of the sequence numbers.
        let delivered = |largest: u32| if largest > 1 { largest } else { 0 };
        match cause {
            Cause::MtuBlackHole if self.narrowed().is_some() => {
                self.single_lost_smallest.map(|smallest| Evidence::LostAboveSize {
                    lost: self.single_lost.into(),
                    smallest: Bytes::new(smallest.into()),
                    largest_delivered: Bytes::new(self.single_largest.into()),
                })
            }
            Cause::MtuBlackHole => self.lost_smallest.map(|smallest| Evidence::LostAboveSize {
                lost: self.lost_larger.into(),
                smallest: Bytes::new(smallest.max(self.delivered_largest + 1).into()),
                largest_delivered: Bytes::new(delivered(self.delivered_largest).into()),
            }),
            Cause::SuperPacketsDropped => Some(Evidence::LostAboveSize {
                lost: self.lost_larger.into(),
                smallest: Bytes::new(u64::from(self.delivered_largest) + 1),
                largest_delivered: Bytes::new(delivered(self.delivered_largest).into()),
            }),
            Cause::BeyondUnscaledWindow => {
                let sides = self.firewall()?;
                Some(Evidence::LostBeyondWindowField { lost, delivered: sides.delivered_within.into() })
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
        self.firewall().map(|_| Cause::BeyondUnscaledWindow)
    }

    /// By which edge of the window everything beyond was lost, if there is one.
    fn firewall(&self) -> Option<&Sides> {
        [&self.by_field, &self.by_edge]
            .into_iter()
            .find(|sides| sides.shows_firewall(self.lost - self.left, self.left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHIN: Beyond = Beyond { field: false, edge: false };
    const BEYOND: Beyond = Beyond { field: true, edge: true };

    fn pattern(lost: &[u32], delivered: &[u32]) -> LossPattern {
        let mut pattern = LossPattern::default();
        delivered.iter().for_each(|len| pattern.delivered(*len, WITHIN, 1448));
        lost.iter().for_each(|len| pattern.lost(Instant::START, *len, WITHIN, 1448));
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
        (0..8).for_each(|_| pattern.lost(Instant::START, 1448, BEYOND, 1448));
        pattern.delivered(1448, BEYOND, 1448);
        assert_eq!(pattern.rule(1448), Some(Cause::BeyondUnscaledWindow));
        pattern.lost(Instant::START, 1448, WITHIN, 1448);
        assert_eq!(pattern.rule(1448), None);
    }

    #[test]
    fn queue_overflow_beyond_small_unscaled_window_is_not_a_firewall() {
        // A scale of 10 leaves a field of a segment or two: only the first data was ever within it.
        let mut pattern = pattern(&[], &[1448; 20]);
        (0..3000).for_each(|_| pattern.lost(Instant::START, 1448, BEYOND, 1448));
        (0..2000).for_each(|_| pattern.delivered(1448, BEYOND, 1448));
        assert_eq!(pattern.rule(1448), None);
    }
}
