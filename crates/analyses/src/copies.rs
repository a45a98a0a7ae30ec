//! Frames captured twice: two interfaces of one host, both sides of a bridge, a mirror port of both directions, or two taps
//! far apart whose captures were merged.

use crate::order::SendOrder;
use crate::outstanding::SAME_FRAME_WITHIN;
use slowpath_model::{Flags, Instant, Segment};

/// How much later a copy of an ACK, or of another packet without identification, may come, in nanoseconds.
pub const SAME_ACK_WITHIN: i64 = 1_000_000;

/// How much later a packet may pass a second tap, in nanoseconds: less than the first timeout of a SYN (RFC 6298, section 2).
const SAME_PACKET_WITHIN: i64 = 900_000_000;

/// So many frames with the TTL of the second tap that did not pass the first, and one in so many: there is no second tap.
const STRAYS: u16 = 16;
const STRAYS_IN: u16 = 8;

/// The last few frames of one end, to recognise a copy by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copies {
    ids: [u16; Self::KEPT],
    prints: [u32; Self::KEPT],
    passed: [Instant; Self::KEPT],
    ttls: [u8; Self::KEPT],
    next: u8,
    /// The TTL with which packets pass a second tap, a router or more further on or further back; 0 if there is none. There,
    /// a packet may be a super-packet and its copy the segments that it was cut into.
    second_ttl: u8,
    /// Frames with that TTL that had passed the first tap, and those that had not.
    seconds: u16,
    strays: u16,
    /// One bit per frame: it was matched with another.
    paired: u8,
    /// How long ago a segment with the same header passed, in nanoseconds, if the identifications do not show whether
    /// this one is a copy.
    alike: Option<i64>,
}

impl Copies {
    /// The most that a frame and its copy may be apart, in frames of the same end.
    const KEPT: usize = 8;

    /// Whether `segment` is a copy of a recent frame: the same IP identification and the same TCP header. Without an
    /// identification that changes, an ACK sent twice and an ACK captured twice look the same, and the answer is no; a
    /// SYN is not retransmitted so soon. If most data is captured twice (`twice`), so are ACKs.
    ///
    /// A packet with the same identification and header and another TTL passed a second tap. From then on, what has that TTL
    /// and brings nothing new (`has_passed`) passed there.
    #[inline]
    pub fn is_copy(
        &mut self,
        at: Instant,
        segment: &Segment,
        order: &SendOrder,
        twice: impl FnOnce() -> bool,
        has_passed: impl FnOnce() -> bool,
    ) -> bool {
        if self.second_ttl != 0 && self.second_ttl == segment.ip.ttl && self.is_second(has_passed()) {
            return true;
        }
        let id = segment.ip.id.unwrap_or(0);
        let print = fingerprint(segment);
        self.alike = None;
        // Without a branch for each, since matches are rare.
        let alike = self.prints.iter().fold(false, |alike, kept| alike | (*kept == print));
        if alike && let Some(apart) = self.since(at, id, print) {
            if !Self::is_telling(id, segment, order) {
                self.alike = Some(apart);
                if segment.sequence_len() == 0 && twice() && self.pair(at, id, print) {
                    return true;
                }
            } else if apart < SAME_FRAME_WITHIN || apart < SAME_PACKET_WITHIN && self.second_ttl == 0 {
                let has_learnt = self.learns_second_tap(id, print, segment.ip.ttl);
                if has_learnt || apart < SAME_FRAME_WITHIN {
                    return true;
                }
            }
        }
        let slot = usize::from(self.next) % Self::KEPT;
        self.ids[slot] = id;
        self.prints[slot] = print;
        self.passed[slot] = at;
        self.ttls[slot] = segment.ip.ttl;
        self.paired &= !(1 << slot);
        self.next = self.next.wrapping_add(1);
        false
    }

    /// Whether a second tap captures this end's packets.
    #[inline]
    pub const fn has_second_tap(&self) -> bool {
        self.second_ttl != 0
    }

    /// Whether a frame with the TTL of the second tap is a copy: it passed the first.
    fn is_second(&mut self, has_passed: bool) -> bool {
        let count = if has_passed { &mut self.seconds } else { &mut self.strays };
        *count = count.saturating_add(1);
        if self.strays > STRAYS && self.strays > self.seconds / STRAYS_IN {
            // Its packets go another way by now.
            self.second_ttl = 0;
        }
        has_passed
    }

    /// Whether the last such frame passed with another TTL than `ttl`, so that this is that of a second tap: the first one
    /// that is found.
    #[cold]
    fn learns_second_tap(&mut self, id: u16, print: u32, ttl: u8) -> bool {
        let is_one = |slot: &usize| self.ids[*slot] == id && self.prints[*slot] == print;
        let last = (0..Self::KEPT).filter(is_one).max_by_key(|slot| self.passed[*slot]);
        let is_second = self.second_ttl == 0 && last.is_some_and(|slot| self.ttls[slot] != ttl);
        if is_second {
            self.second_ttl = ttl;
        }
        is_second
    }

    /// Whether an equal identification and header mean that a frame was captured twice, if the second comes soon.
    #[cold]
    fn is_telling(id: u16, segment: &Segment, order: &SendOrder) -> bool {
        let counted = segment.ip.id.is_some() && order.is_counted();
        counted
            || (id != 0 && (segment.sequence_len() > 0 || order.has_moved()))
            || segment.flags.has(Flags::SYN)
    }

    /// How long ago a segment with the same header passed, in nanoseconds, if only that time shows whether it is a
    /// copy.
    pub const fn alike(&self) -> Option<i64> {
        self.alike
    }

    /// Pairs an ACK with one that passed just before, if that has no pair yet: an ACK that was sent twice is captured
    /// four times.
    #[cold]
    fn pair(&mut self, at: Instant, id: u16, print: u32) -> bool {
        let is_one = |slot: &usize| {
            self.ids[*slot] == id
                && self.prints[*slot] == print
                && self.paired & 1 << *slot == 0
                && at.nanos_since(self.passed[*slot]) < SAME_ACK_WITHIN
        };
        let Some(slot) = (0..Self::KEPT).find(is_one) else { return false };
        self.paired |= 1 << slot;
        true
    }

    /// How long ago the last such frame passed, in nanoseconds.
    #[cold]
    fn since(&self, at: Instant, id: u16, print: u32) -> Option<i64> {
        let kept = self.ids.iter().zip(&self.prints).zip(&self.passed);
        let same = kept.filter(|((i, p), _)| **i == id && **p == print);
        same.map(|(_, passed)| at.nanos_since(*passed)).min()
    }
}

/// A multiplier that spreads bits: 2⁶⁴ divided by the golden ratio.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hash of the TCP header's fields.
fn fingerprint(segment: &Segment) -> u32 {
    let stamps = segment.timestamps.map_or(0, |s| u64::from(s.ecr) << 32 | u64::from(s.val));
    let ack = segment.ack.map_or(0, |ack| ack.0 as u64);
    let fields = u64::from(segment.len) << 32 | u64::from(segment.window) << 16 | u64::from(segment.flags.0);
    let mut hash = (segment.seq.0 as u64 ^ ack.rotate_left(32)).wrapping_mul(ODD);
    hash = (hash ^ stamps).wrapping_mul(ODD);
    hash = (hash ^ fields).wrapping_mul(ODD);
    if !segment.sack.is_empty() {
        hash = with_blocks(hash, segment);
    }
    // Never zero, which marks an empty slot.
    (hash >> 32) as u32 | 1
}

/// `hash`, and the SACK blocks.
#[cold]
fn with_blocks(hash: u64, segment: &Segment) -> u64 {
    segment.sack.as_slice().iter().fold(hash, |hash, block| {
        let ends = block.start.0 as u64 ^ (block.end.0 as u64).rotate_left(32);
        (hash ^ ends).wrapping_mul(ODD)
    })
}
