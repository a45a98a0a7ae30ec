//! 32-bit sequence numbers, and the 64-bit stream offsets they become where segments enter the model.

use std::fmt;
use std::ops::{Add, Sub};

/// A TCP sequence number as on the wire, modulo 2³² (RFC 9293, section 3.4).
///
/// Has no `<`: on a circle, one number is [`before`](Self::before) another only by convention (Linux `before()` in
/// `include/net/tcp.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeqNr(pub u32);

impl SeqNr {
    /// Whether `self` comes before `other`, taking the shorter way around.
    pub const fn before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Whether `self` comes after `other`, taking the shorter way around.
    pub const fn after(self, other: Self) -> bool {
        other.before(self)
    }

    /// The signed distance from `other` to `self`, taking the shorter way around.
    pub const fn distance_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }
}

/// A position in one direction of a connection, in bytes from its initial sequence number: the SYN is at 0 and
/// the first byte of data at 1.
///
/// In a recording that starts in the middle of a connection, 0 is the first position seen, and earlier positions are
/// negative. Does not wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamOffset(pub i64);

impl StreamOffset {
    /// Bytes from `earlier` to `self`; negative if `earlier` is further along.
    #[inline]
    pub const fn distance_from(self, earlier: Self) -> i64 {
        // Saturating arithmetic takes five more instructions.
        match self.0.checked_sub(earlier.0) {
            Some(bytes) => bytes,
            None => self.at_the_end_from(earlier),
        }
    }

    #[cold]
    const fn at_the_end_from(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// `bytes` further along; backwards if negative. Saturates at the ends of the range.
    #[inline]
    pub const fn plus(self, bytes: i64) -> Self {
        match self.0.checked_add(bytes) {
            Some(offset) => Self(offset),
            None => self.to_the_end(bytes),
        }
    }

    #[cold]
    const fn to_the_end(self, bytes: i64) -> Self {
        Self(self.0.saturating_add(bytes))
    }
}

impl Add<u32> for StreamOffset {
    type Output = Self;
    #[inline]
    fn add(self, bytes: u32) -> Self {
        self.plus(i64::from(bytes))
    }
}

impl Sub<u32> for StreamOffset {
    type Output = Self;
    fn sub(self, bytes: u32) -> Self {
        Self(self.0.saturating_sub(i64::from(bytes)))
    }
}

impl fmt::Display for StreamOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Follows one direction's sequence numbers and turns each into a [`StreamOffset`].
///
/// A number is placed within ±2 GiB of the furthest one seen; a window is at most 1 GiB (RFC 7323, section 2.3), so
/// every valid segment is nearer than that.
#[derive(Clone, Copy, Debug)]
pub struct Unwrapper {
    furthest: StreamOffset,
    furthest_nr: SeqNr,
}

impl Unwrapper {
    /// Starts a stream in which `nr` is at offset 0.
    pub const fn starting_at(nr: SeqNr) -> Self {
        Self { furthest: StreamOffset(0), furthest_nr: nr }
    }

    /// The furthest offset reached.
    pub const fn furthest(&self) -> StreamOffset {
        self.furthest
    }

    /// How far `nr` is ahead of the furthest number; negative behind it.
    pub const fn ahead(&self, nr: SeqNr) -> i32 {
        nr.distance_from(self.furthest_nr)
    }

    /// The offset of `nr`, without advancing. No number of segments can exhaust the offsets.
    #[inline]
    pub const fn place(&self, nr: SeqNr) -> StreamOffset {
        StreamOffset(self.furthest.0.wrapping_add(self.ahead(nr) as i64))
    }

    /// The offset of `nr`, which the stream has now reached.
    #[inline]
    pub const fn advance(&mut self, nr: SeqNr) -> StreamOffset {
        let offset = self.place(nr);
        if self.ahead(nr) > 0 {
            self.furthest = offset;
            self.furthest_nr = nr;
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn before_and_after_wrap() {
        assert!(SeqNr(u32::MAX).before(SeqNr(3)));
        assert!(SeqNr(3).after(SeqNr(u32::MAX)));
        assert_eq!(SeqNr(3).distance_from(SeqNr(u32::MAX)), 4);
    }

    #[test]
    fn offsets_before_the_first_seen_are_negative() {
        let mut stream = Unwrapper::starting_at(SeqNr(10));
        assert_eq!(stream.advance(SeqNr(u32::MAX)), StreamOffset(-11));
        assert_eq!(stream.advance(SeqNr(12)), StreamOffset(2));
    }

    proptest! {
        /// A long stream with local reordering is unwrapped like a 64-bit counter.
        #[test]
        fn unwraps_like_a_64_bit_counter(start: u32, steps in prop::collection::vec(-(1i64 << 30)..(1 << 30), 1..50)) {
            let mut stream = Unwrapper::starting_at(SeqNr(start));
            let (mut furthest, mut truth) = (0i64, Vec::new());
            for step in steps {
                let at = furthest + step;
                furthest = furthest.max(at);
                truth.push(at);
            }
            for at in truth {
                let wire = SeqNr((i64::from(start) + at) as u32);
                prop_assert_eq!(stream.advance(wire), StreamOffset(at));
            }
        }
    }
}
