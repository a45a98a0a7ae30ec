//! Frames captured twice: two interfaces of one host, both sides of a bridge, a mirror port of both directions.

use crate::order::SendOrder;
use crate::outstanding::SAME_FRAME_WITHIN;
use slowpath_model::{Instant, Segment};

/// The last few frames of one end, to recognise a copy by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copies {
    ids: [u16; Self::KEPT],
    prints: [u32; Self::KEPT],
    passed: [Instant; Self::KEPT],
    next: u8,
}

impl Copies {
    /// How far apart a frame and its copy may be, in frames of the same end.
    const KEPT: usize = 8;

    /// Whether `segment` is a copy of a recent frame: the same IP identification and the same TCP header. Without
    /// an identification that counts up, an ACK sent twice and an ACK captured twice look the same, and this says
    /// no.
    #[inline]
    pub fn is_copy(&mut self, at: Instant, segment: &Segment, order: &SendOrder) -> bool {
        let Some(id) = segment.ip.id else { return false };
        let print = fingerprint(segment);
        // Without a branch for each: seldom is there one.
        let alike = self.ids.iter().fold(false, |alike, kept| alike | (*kept == id));
        if alike && let Some(slot) = self.find(id, print) {
            let telling = order.is_counted() || (id != 0 && segment.sequence_len() > 0);
            if telling {
                return at.nanos_since(self.passed[slot]) < SAME_FRAME_WITHIN;
            }
        }
        let slot = usize::from(self.next) % Self::KEPT;
        self.ids[slot] = id;
        self.prints[slot] = print;
        self.passed[slot] = at;
        self.next = self.next.wrapping_add(1);
        false
    }

    fn find(&self, id: u16, print: u32) -> Option<usize> {
        self.ids.iter().zip(&self.prints).position(|(i, p)| *i == id && *p == print)
    }
}

/// A hash of the TCP header's fields.
fn fingerprint(segment: &Segment) -> u32 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let stamps = segment.timestamps.map_or(0, |s| u64::from(s.val) << 32 | u64::from(s.ecr));
    let ack = segment.ack.map_or(0, |ack| ack.0 as u64);
    let fields = u64::from(segment.len) << 32 | u64::from(segment.window) << 16 | u64::from(segment.flags.0);
    let mut hash = (segment.seq.0 as u64).wrapping_mul(ODD) ^ ack.rotate_left(20);
    hash = hash.wrapping_mul(ODD) ^ stamps;
    hash = hash.wrapping_mul(ODD) ^ fields;
    // Never zero, which is what an empty slot holds.
    (hash.wrapping_mul(ODD) >> 32) as u32 | 1
}
