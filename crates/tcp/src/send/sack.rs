//! SACK blocks (RFC 2018, RFC 2883; `tcp_sacktag_write_queue`, tcp_input.c, 6.18).

use super::acking::{AckFlags, Acking};
use super::shift::Merged;
use super::skb::{Fate, Skb, SkbId};
use crate::choices::SackWalk;
use crate::connection::Connection;
use crate::packet::{Block, Packet};
use slowpath_model::{Instant, StreamOffset};

impl Connection {
    /// Marks the segments that the SACK blocks of an ACK report.
    pub(crate) fn tag_sacked(&mut self, packet: &Packet, acking: &mut Acking) {
        let sack = packet.sack();
        let mut blocks = [Block::default(); 4];
        let mut count = 0;
        for (place, block) in sack.blocks(packet.ack).enumerate() {
            let duplicate =
                place == 0 && self.check_duplicate(packet, block, sack.blocks(packet.ack).nth(1), acking);
            if !self.is_valid_block(block, duplicate) {
                continue;
            }
            // Everything below is acknowledged: nothing to mark.
            if block.end <= acking.prior_una {
                continue;
            }
            if block.end > self.snd.high_seq {
                acking.flags.set(AckFlags::DATA_LOST);
            }
            if duplicate {
                self.walk_duplicate(block, acking);
            } else {
                blocks[count] = block;
                count += 1;
            }
        }
        if self.snd.sacked_out == 0 {
            self.snd.sack_cache = [Block::default(); 4];
        }
        let blocks = &mut blocks[..count];
        match self.settings.choices.sack_walk {
            SackWalk::FromHead => {
                for &block in &*blocks {
                    self.walk(self.snd.queue.head(), block, false, acking);
                }
            }
            SackWalk::Repeats => self.walk_repeats(blocks, acking),
            SackWalk::Holes => self.walk_holes(blocks, acking),
            SackWalk::Index => {
                blocks.sort_unstable_by_key(|block| block.start);
                self.walk_new(blocks, acking);
            }
        }
        self.check_sacked_reordering(acking);
    }

    /// The buffer of a DSACK may be SACKed; it is near the latest retransmissions.
    fn walk_duplicate(&mut self, block: Block, acking: &mut Acking) {
        let start = match self.settings.choices.sack_walk {
            SackWalk::Index => self.look_up(block.start),
            SackWalk::Holes => self.snd.hints.duplicate.filter(|&id| self.snd.queue[id].seq <= block.start),
            SackWalk::FromHead | SackWalk::Repeats => None,
        };
        let start = start.or_else(|| self.snd.queue.head());
        self.snd.hints.duplicate = self.walk(start, block, true, acking);
    }

    /// `tcp_sacktag_write_queue` of 2.6.16 to 2.6.24; the end of the first block's walk is kept, as since 2.6.21.
    fn walk_repeats(&mut self, blocks: &mut [Block], acking: &mut Acking) {
        let Some(&first) = blocks.first() else { return };
        let mut told = [Block::default(); 4];
        told[..blocks.len()].copy_from_slice(blocks);
        let before = std::mem::replace(&mut self.snd.sack_cache, told);
        if before[0].start == first.start && before[1..] == told[1..] {
            let start = self.snd.hints.block.or_else(|| self.snd.queue.head());
            self.snd.hints.block = self.walk(start, first, false, acking);
            return;
        }
        blocks.sort_unstable_by_key(|block| block.start);
        let mut place = self.snd.queue.head();
        self.snd.hints.block = None;
        for &block in &*blocks {
            place = self.walk(place, block, false, acking).or(place);
            if block == first {
                self.snd.hints.block = place;
            }
        }
    }

    /// One walk over what is not SACKed, for all batched blocks.
    fn walk_holes(&mut self, blocks: &[Block], acking: &mut Acking) {
        self.snd.batch.add(blocks);
        if !self.snd.batch.is_due() {
            return;
        }
        let (blocks, count) = self.snd.batch.take();
        let mut left = 0;
        let mut next = self.snd.queue.first_open();
        for &block in &blocks[..count] {
            while let Some(id) = next {
                self.work.queue_steps += 1;
                if self.snd.queue[id].seq >= block.end {
                    break;
                }
                let inside = self.match_to_block(id, block);
                next = self.snd.queue.next_open(inside.unwrap_or(id));
                match inside {
                    Some(inside) => self.tag_buffer(inside, false, acking),
                    None => left += 1,
                }
            }
        }
        self.snd.batch.walked(left);
    }

    /// The parts of the blocks that are new since the last ACK.
    fn walk_new(&mut self, blocks: &[Block], acking: &mut Acking) {
        let cache = self.snd.sack_cache;
        for block in blocks {
            let mut start = block.start.max(self.snd.una);
            for known in cache.iter().filter(|known| known.end > known.start) {
                if known.start > start && known.start < block.end {
                    let place = self.look_up(start);
                    self.walk(place, Block { start: block.start, end: known.start }, false, acking);
                }
                if known.start < block.end && known.end > start {
                    start = start.max(known.end);
                }
            }
            if start < block.end {
                let place = self.look_up(start);
                self.walk(place, *block, false, acking);
            }
        }
        let mut cache = [Block::default(); 4];
        cache[..blocks.len()].copy_from_slice(blocks);
        self.snd.sack_cache = cache;
    }

    /// `tcp_is_sackblock_valid`.
    fn is_valid_block(&self, block: Block, duplicate: bool) -> bool {
        let snd = &self.snd;
        if block.end > snd.nxt || block.start >= block.end || block.start >= snd.nxt {
            return false;
        }
        // In the outstanding window. A block that begins at `snd_una` would have been acknowledged.
        if block.start > snd.una {
            return true;
        }
        let Some(undo) = snd.undo.filter(|_| duplicate) else { return false };
        // The rest are DSACK blocks, which are entirely below `snd_una`.
        if block.end > snd.una || block.end <= undo.marker {
            return false;
        }
        block.start >= undo.marker || block.end.distance_from(block.start) <= i64::from(snd.max_window)
    }

    /// `tcp_check_dsack`: whether the first block reports a duplicate (RFC 2883).
    fn check_duplicate(
        &mut self,
        packet: &Packet,
        first: Block,
        second: Option<Block>,
        acking: &mut Acking,
    ) -> bool {
        let within = second.is_some_and(|second| first.end <= second.end && first.start >= second.start);
        if first.start >= packet.ack && !within {
            return false;
        }
        let duplicates = self.count_duplicates(first, acking);
        if duplicates == 0 {
            return false;
        }
        // A duplicate of data that was acknowledged: a spurious retransmission.
        if let Some(undo) = &mut self.snd.undo
            && first.end <= acking.prior_una
            && first.end > undo.marker
        {
            undo.retransmissions = undo.retransmissions.map(|left| left.saturating_sub(duplicates));
        }
        true
    }

    /// `tcp_dsack_seen`: counts a duplicate, and tells RACK that its window was too small.
    fn count_duplicates(&mut self, block: Block, acking: &mut Acking) -> u32 {
        let length = block.end.distance_from(block.start);
        // A block longer than a window is invalid.
        if length <= 0 || length > i64::from(self.snd.max_window) {
            return 0;
        }
        let mss = i64::from(self.snd.mss.max(1));
        let mut duplicates = 1;
        if length > mss {
            duplicates = u32::try_from((length + mss - 1) / mss).unwrap_or(u32::MAX);
        } else if self.snd.probe.is_some_and(|probe| probe.high_seq == block.end) {
            acking.flags.set(AckFlags::DSACK_TLP);
        }
        let totals = &mut self.snd.totals;
        totals.dsack_duplicates = totals.dsack_duplicates.saturating_add(duplicates);
        // More duplicates than retransmissions: the network duplicated them.
        if totals.dsack_duplicates > totals.retransmissions {
            return 0;
        }
        // Without reordering, or after a tail loss probe, a duplicate does not mean that RACK was too eager.
        if self.snd.reordering_seen > 0 && !acking.flags.any(AckFlags::DSACK_TLP) {
            self.snd.rack.dsack_seen = true;
        }
        acking.flags.set(AckFlags::DSACKING_ACK);
        self.snd.delivered = self.snd.delivered.wrapping_add(duplicates);
        duplicates
    }

    /// `tcp_sacktag_bsearch`.
    fn look_up(&mut self, from: StreamOffset) -> Option<SkbId> {
        self.work.queue_steps += self.snd.queue.depth();
        self.snd.queue.find(from)
    }

    /// Marks the buffers in a block, starting with `id` (`tcp_sacktag_walk`). Returns the last buffer before the
    /// block's end.
    fn walk(
        &mut self,
        from: Option<SkbId>,
        block: Block,
        duplicate: bool,
        acking: &mut Acking,
    ) -> Option<SkbId> {
        let mut next = from;
        let mut passed = None;
        while let Some(id) = next {
            self.work.queue_steps += 1;
            if self.snd.queue[id].seq >= block.end {
                break;
            }
            let last = match self.merge_sacked(id, block, duplicate, acking) {
                Merged::Into(before) => before,
                Merged::Skipped => id,
                Merged::No => match self.match_to_block(id, block) {
                    Some(inside) => {
                        self.tag_buffer(inside, duplicate, acking);
                        inside
                    }
                    None => id,
                },
            };
            next = self.snd.queue.next(last);
            passed = Some(last);
        }
        passed
    }

    /// The part of a buffer in a block, split at segment boundaries (`tcp_match_skb_to_sack`).
    fn match_to_block(&mut self, id: SkbId, block: Block) -> Option<SkbId> {
        let skb = self.snd.queue[id];
        if block.start <= skb.seq && block.end >= skb.end_seq {
            return Some(id);
        }
        // A walk from the head passes buffers before the block.
        if skb.segments <= 1 || skb.end_seq <= block.start {
            return None;
        }
        let mss = skb.mss.max(1);
        let whole = |length: i64| u32::try_from(length / i64::from(mss) * i64::from(mss)).unwrap_or(0);
        if block.start > skb.seq {
            // The beginning is not SACKed: split it off, rounded up to segments.
            let before = block.start.distance_from(skb.seq);
            let cut = whole(before + i64::from(mss) - 1);
            if cut >= skb.len() {
                return None;
            }
            let rest = self.fragment_sent(id, cut);
            return self.match_to_block(rest, block);
        }
        let cut = whole(block.end.distance_from(skb.seq));
        if cut == 0 {
            return None;
        }
        // If a block covers all data but not the FIN, the FIN is split off.
        self.fragment_sent(id, cut);
        Some(id)
    }

    fn tag_buffer(&mut self, id: SkbId, duplicate: bool, acking: &mut Acking) {
        let skb = self.snd.queue[id];
        let is_highest = skb.seq >= self.snd.highest_sack_seq();
        let fate = self.tag_one(&skb, duplicate, acking);
        self.snd.queue[id].fate = fate;
        if skb.fate.any(Fate::SACKED) || !fate.any(Fate::SACKED) {
            return;
        }
        if is_highest {
            self.snd.highest_sack = self.snd.queue.next(id);
        }
        self.rate_delivered(acking.now, &skb);
        // It has arrived: RACK need not watch it any more.
        self.snd.queue.leave_time_order(id);
        if self.settings.choices.sack_walk == SackWalk::Holes {
            self.fill_hole(id);
        }
    }

    /// A buffer is no hole any more. Hints to it move to its neighbour.
    fn fill_hole(&mut self, id: SkbId) {
        let snd = &mut self.snd;
        if snd.hints.lost == Some(id) {
            snd.hints.lost = snd.queue.prev_open(id);
        }
        if snd.hints.retransmit == Some(id) {
            snd.hints.retransmit = snd.queue.next_open(id);
        }
        snd.queue.is_no_hole(id);
    }

    /// Counts a SACKed buffer, or part of one; returns its new state (`tcp_sacktag_one`).
    pub(super) fn tag_one(&mut self, skb: &Skb, duplicate: bool, acking: &mut Acking) -> Fate {
        let segments = skb.segments;
        if duplicate && skb.fate.any(Fate::ANY_RETRANSMISSION) {
            if let Some(undo) = &mut self.snd.undo
                && skb.end_seq > undo.marker
            {
                undo.retransmissions = undo.retransmissions.map(|left| left.saturating_sub(segments));
            }
            if skb.fate.any(Fate::SACKED) {
                acking.reordered = Some(acking.reordered.map_or(skb.seq, |seq| seq.min(skb.seq)));
            }
        }
        let mut fate = skb.fate;
        if skb.end_seq <= self.snd.una {
            return fate;
        }
        if !fate.any(Fate::SACKED) {
            fate = self.tag_new(skb, acking);
        }
        if duplicate && fate.any(Fate::RETRANSMITTED) {
            fate.clear(Fate::RETRANSMITTED);
            self.snd.retrans_out = self.snd.retrans_out.saturating_sub(segments);
        }
        fate
    }

    fn tag_new(&mut self, skb: &Skb, acking: &mut Acking) -> Fate {
        let segments = skb.segments;
        // The echo does not belong to the block: out-of-order data does not update it (RFC 7323, section 4.3).
        self.rack_advance(acking.now, skb);
        let mut fate = skb.fate;
        if fate.any(Fate::RETRANSMITTED) {
            // Either the original or the retransmission arrived; the loss is repaired anyway.
            if fate.any(Fate::LOST) {
                fate.clear(Fate::LOST);
                fate.clear(Fate::RETRANSMITTED);
                self.snd.lost_out = self.snd.lost_out.saturating_sub(segments);
                self.snd.retrans_out = self.snd.retrans_out.saturating_sub(segments);
            }
        } else {
            if !fate.any(Fate::EVER_RETRANSMITTED) {
                self.note_first_delivery(skb, acking);
            }
            if fate.any(Fate::LOST) {
                fate.clear(Fate::LOST);
                self.snd.lost_out = self.snd.lost_out.saturating_sub(segments);
            }
        }
        fate.set(Fate::SACKED);
        acking.flags.set(AckFlags::DATA_SACKED);
        acking.delivered_bytes += skb.len();
        self.snd.sacked_out += segments;
        self.snd.delivered = self.snd.delivered.wrapping_add(segments);
        fate
    }

    /// A segment sent once was SACKed: updates reordering and RTT.
    fn note_first_delivery(&mut self, skb: &Skb, acking: &mut Acking) {
        if skb.seq < acking.prior_highest {
            acking.reordered = Some(acking.reordered.map_or(skb.seq, |seq| seq.min(skb.seq)));
        }
        if skb.end_seq <= self.snd.high_seq {
            acking.flags.set(AckFlags::ORIG_SACK_ACKED);
        }
        acking.first_sacked.get_or_insert(skb.sent_at);
        acking.last_sacked = Some(skb.sent_at);
    }

    /// A segment sent once was SACKed below an earlier SACKed one: reordering, unless this follows a timeout.
    fn check_sacked_reordering(&mut self, acking: &mut Acking) {
        use crate::congestion::CaState;
        if let Some(seq) = acking.reordered
            && (self.snd.ca_state != CaState::Loss || self.snd.undo.is_some())
        {
            self.note_reordering(seq);
        }
        acking.reordered = None;
    }

    /// `tcp_check_sack_reordering`: takes the distance to the highest sacked segment as the path's reordering.
    pub(super) fn note_reordering(&mut self, low: StreamOffset) {
        let highest = self.snd.highest_sack_seq();
        if low >= highest {
            return;
        }
        let metric = highest.distance_from(low);
        let mss = i64::from(self.snd.mss.max(1));
        if metric > i64::from(self.snd.reordering) * mss {
            let segments = u32::try_from((metric + mss - 1) / mss).unwrap_or(u32::MAX);
            self.snd.reordering = segments.min(self.settings.sysctls.tcp_max_reordering);
            self.snd.forward_ack = false;
        }
        self.snd.reordering_seen += 1;
    }

    /// The ACK echoes a timestamp older than the retransmission: the original arrived
    /// (`tcp_skb_spurious_retrans`).
    pub(super) fn is_spurious_retransmission(&self, skb: &Skb) -> bool {
        skb.fate.any(Fate::ANY_RETRANSMISSION) && self.echo_is_before(skb.sent_at)
    }

    /// `tcp_tsopt_ecr_before`.
    pub(super) fn echo_is_before(&self, at: Instant) -> bool {
        self.snd.rack.echoed.is_some_and(|echoed| (echoed.wrapping_sub(self.timestamp(at)) as i32) < 0)
    }
}
