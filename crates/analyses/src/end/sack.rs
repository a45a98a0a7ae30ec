//! SACK blocks of data that the receiver cannot have.

use super::EndState;
use crate::outstanding::Outstanding;
use crate::report::ScaleKnown;
use slowpath_model::{SackBlock, Segment, StreamOffset};

/// A block may be this many windows from the ACK: more than one, since the capture may lack the largest that was offered.
const WINDOWS: i64 = 2;

/// Blocks that have to be equally far from the ends of segments before a device has shifted them.
const SHIFTED_LEAST: u32 = 8;

/// One in so many may be off otherwise.
const SHIFTED_PART: u32 = 8;

/// Where the SACK blocks of one end begin and end, between two segments of the other or within one.
///
/// A receiver acknowledges whole segments, selectively or not: in a bulk transfer, a block begins a whole number of full
/// segments above the ACK. If blocks always begin so many bytes later, something shifted them. A short segment in between
/// shifts those above it as well, until it is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edges {
    /// Bytes from the end of a full segment to most blocks.
    off: u32,
    /// Blocks as far off, and others.
    alike: u32,
    others: u32,
    /// The ACK with the first of them.
    since: StreamOffset,
    /// The farthest that one was above its ACK, in bytes.
    reach: i64,
    /// The ACK has moved farther than that.
    lasts: bool,
}

impl Edges {
    /// A block of whole segments came with `ack`, for an end that sends full segments of `full` bytes.
    fn note(&mut self, block: &SackBlock, ack: StreamOffset, full: u32) {
        let off = Self::off(block, ack, full);
        if self.alike == 0 {
            *self = Self { off, since: ack, ..Self::default() };
        }
        if off == self.off {
            self.alike += 1;
            self.reach = self.reach.max(block.end.distance_from(ack));
            self.lasts |= ack.distance_from(self.since) > self.reach;
        } else {
            self.others += 1;
            if self.others > self.alike {
                *self = Self::default();
            }
        }
    }

    /// A block came that begins where a segment does: nothing shifted it.
    const fn fits(&mut self) {
        self.others += 1;
        if self.others > self.alike {
            *self = Self { off: 0, alike: 0, others: 0, since: StreamOffset(0), reach: 0, lasts: false };
        }
    }

    fn off(block: &SackBlock, ack: StreamOffset, full: u32) -> u32 {
        block.start.distance_from(ack).rem_euclid(full.max(1).into()) as u32
    }

    /// Whether something shifted the blocks.
    const fn are_shifted(&self) -> bool {
        self.off > 0
            && self.lasts
            && self.alike >= SHIFTED_LEAST
            && self.others.saturating_mul(SHIFTED_PART) <= self.alike
    }
}

/// `segment` without the SACK blocks of what the receiver cannot have, if it has some: beyond any window that `me` offered
/// (RFC 9293, section 3.10.7.4), far beyond the end of what the other end sent, or always as far off the ends of its segments,
/// of `full` bytes. A device on the path translated sequence numbers, and not the blocks. `sent` is what the other end sent.
pub fn without_outside(
    segment: &Segment,
    ack: StreamOffset,
    sent: &Outstanding,
    full: u32,
    me: &mut EndState,
) -> Option<Segment> {
    let above = segment.sack.as_slice().iter().filter(|block| block.start > ack);
    for block in above.filter(|block| block.end.distance_from(block.start) % i64::from(full.max(1)) == 0) {
        let edges = me.sack_edges.get_or_insert_default();
        if sent.begins_at(block.start) { edges.fits() } else { edges.note(block, ack, full) }
    }
    let ScaleKnown::Agreed(_) = me.scale else { return None };
    let shifted = me.sack_edges.as_ref().filter(|edges| edges.are_shifted());
    let least = i64::from(u16::MAX);
    let reach = WINDOWS * i64::from(me.window.max).max(least);
    // A capture that misses packets misses some of what was sent, but seldom more than it has.
    let most_sent = WINDOWS * sent.nxt().distance_from(ack).max(least);
    let is_outside = |block: &SackBlock| {
        block.end.distance_from(ack) > reach
            || ack.distance_from(block.start) > reach
            || block.start.distance_from(ack) > most_sent
            || shifted.is_some_and(|edges| Edges::off(block, ack, full) == edges.off)
    };
    segment
        .sack
        .as_slice()
        .iter()
        .any(is_outside)
        .then(|| Segment { sack: segment.sack.without(is_outside), ..*segment })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks that begin 2846 bytes above each of so many ACKs; `fits` says which of them begin where a segment does.
    fn blocks(fits: impl Fn(i64) -> bool) -> Edges {
        const FULL: u32 = 1448;
        let mut edges = Edges::default();
        for nth in 0..40 {
            let ack = StreamOffset(nth * 10_086);
            let block = SackBlock { start: ack.plus(2846), end: ack.plus(2846 + i64::from(FULL)) };
            if fits(nth) { edges.fits() } else { edges.note(&block, ack, FULL) }
        }
        edges
    }

    #[test]
    fn blocks_that_begin_where_segments_do_are_not_shifted() {
        assert!(blocks(|_| false).are_shifted());
        assert!(!blocks(|_| true).are_shifted());
        // A program whose writes end in a short segment; some of its segments did not pass the tap.
        assert!(!blocks(|nth| nth % 3 != 0).are_shifted());
    }
}
