//! Merges SACKed buffers (`tcp_shift_skb_data`, `tcp_shifted_skb`, net/ipv4/tcp_input.c, 6.18; since 2.6.29): a SACKed
//! part next to a SACKed buffer moves into it, so that a queue walk passes a run of them in one step.
//!
//! It is visible from outside: a merged buffer has the send time of its first part, and an ACK that ends within it, or
//! within a segment of it, removes whole segments.

use super::acking::Acking;
use super::skb::{Fate, Skb, SkbId};
use crate::choices::SackWalk;
use crate::connection::Connection;
use crate::packet::Block;

/// The maximum payload of one buffer (`tcp_skb_shift`: 65,535 segments of `TCP_MIN_GSO_SIZE`).
const MOST_BYTES: u32 = 65_535 * 8;
const MOST_SEGMENTS: u32 = 65_535;

/// The result of merging a buffer into the one before.
pub(super) enum Merged {
    /// It is part of this one now, or its beginning is. The walk continues after it.
    Into(SkbId),
    /// It stays, and none of it is marked.
    Skipped,
    /// It stays, and is processed by itself.
    No,
}

impl Connection {
    /// Moves the part of a buffer in a block into the one before, if that is SACKed.
    pub(super) fn merge_sacked(
        &mut self,
        id: SkbId,
        block: Block,
        duplicate: bool,
        acking: &mut Acking,
    ) -> Merged {
        let skb = self.snd.queue[id];
        let walks_otherwise = self.settings.choices.sack_walk != SackWalk::Index;
        // With both the original and a retransmission in flight, it has other flags than "SACKed".
        let both = skb.fate.any(Fate::RETRANSMITTED) && !skb.fate.any(Fate::LOST) && !duplicate;
        if !self.settings.choices.sack_merging || walks_otherwise || both || skb.end_seq <= self.snd.una {
            return Merged::No;
        }
        let Some(before) = self.snd.queue.prev(id).filter(|&before| self.may_merge(before, &skb)) else {
            return Merged::No;
        };
        let whole = block.start <= skb.seq && block.end >= skb.end_seq;
        if !whole && (skb.end_seq <= block.start || skb.segments <= 1) {
            return Merged::Skipped;
        }
        let mss = if whole { skb.segment_len() } else { skb.mss };
        if block.start > skb.seq || mss != self.snd.queue[before].segment_len() {
            return Merged::No;
        }
        let (len, segments) = if whole {
            (skb.len(), skb.segments)
        } else {
            let covered = u32::try_from(block.end.distance_from(skb.seq)).unwrap_or(0);
            (covered / mss * mss, covered / mss)
        };
        if segments == 0 {
            return Merged::Skipped;
        }
        if skb.seq + len <= self.snd.una || !self.has_room(before, len, segments) {
            return Merged::No;
        }
        if self.shift(before, id, len, segments, duplicate, acking)
            && let Some(next) = self.snd.queue.next(before)
        {
            // A hole between two SACKed buffers is filled: the second is merged too.
            let second = self.snd.queue[next];
            let is_sacked = second.fate.tags() == Fate::SACKED && second.segment_len() == mss;
            if is_sacked
                && self.may_merge(before, &second)
                && self.has_room(before, second.len(), second.segments)
            {
                self.shift(before, next, second.len(), second.segments, duplicate, acking);
            }
        }
        Merged::Into(before)
    }

    /// Whether a buffer is SACKed and may be extended: no record ends between them, and there is data to move (a lone
    /// FIN has none).
    fn may_merge(&self, before: SkbId, skb: &Skb) -> bool {
        let before = &self.snd.queue[before];
        before.fate.tags() == Fate::SACKED && !before.eor && skb.len() > 0
    }

    fn has_room(&self, id: SkbId, len: u32, segments: u32) -> bool {
        let skb = &self.snd.queue[id];
        skb.len() + len < MOST_BYTES && skb.segments + segments <= MOST_SEGMENTS
    }

    /// `tcp_shifted_skb`: returns whether the second buffer is empty now.
    fn shift(
        &mut self,
        before: SkbId,
        id: SkbId,
        len: u32,
        segments: u32,
        duplicate: bool,
        acking: &mut Acking,
    ) -> bool {
        let skb = self.snd.queue[id];
        let part = Skb { end_seq: skb.seq + len, segments, ..skb };
        self.tag_one(&part, duplicate, acking);
        if !skb.fate.any(Fate::SACKED) {
            self.rate_delivered(acking.now, &skb);
        }
        let is_eaten = len == skb.len();
        if is_eaten {
            let hint = self.snd.hints.retransmit;
            self.snd.hints.forget(id);
            if hint == Some(id) {
                self.snd.hints.retransmit = Some(before);
            }
            if self.snd.highest_sack == Some(id) {
                self.snd.highest_sack = self.snd.queue.next(id);
            }
            self.free_head();
            self.work.freed += 1;
        }
        self.snd.queue.shift(before, id, len, segments);
        is_eaten
    }
}
