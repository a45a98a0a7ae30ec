//! The write queue and the retransmission queue.
//!
//! Three orders over one slab: unsent buffers in a queue (`sk_write_queue`); sent ones by sequence number, as a list
//! with an index for SACK lookups (`tcp_rtx_queue`); and by the time they were last sent (`tsorted_sent_queue`), which
//! RACK walks. Every step but a lookup takes constant time. Lookups are rare: the index is built at SACK's first
//! lookup, and dropped when as many buffers as it holds were sent without one, so a flow without losses has none.

use super::holes::Holes;
use super::skb::{Fate, Skb, SkbId};
use slowpath_model::StreamOffset;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;
use std::ops;

/// The two ends of a list.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    head: Option<SkbId>,
    tail: Option<SkbId>,
}

/// Sent buffers by their first sequence number.
#[derive(Debug, Default)]
struct Index {
    places: BTreeMap<StreamOffset, SkbId>,
    /// Buffers sent since the last lookup.
    unasked: usize,
}

#[derive(Debug, Default)]
pub(crate) struct WriteQueue {
    slab: Vec<Skb>,
    free: Vec<SkbId>,
    unsent: VecDeque<SkbId>,
    sent: Ends,
    index: Option<Index>,
    by_time: Ends,
    /// Kept only for a sender that uses it.
    holes: Option<Holes>,
}

impl ops::Index<SkbId> for WriteQueue {
    type Output = Skb;
    fn index(&self, id: SkbId) -> &Skb {
        &self.slab[id.place()]
    }
}

impl ops::IndexMut<SkbId> for WriteQueue {
    fn index_mut(&mut self, id: SkbId) -> &mut Skb {
        &mut self.slab[id.place()]
    }
}

impl WriteQueue {
    fn insert(&mut self, skb: Skb) -> SkbId {
        if let Some(id) = self.free.pop() {
            self[id] = skb;
            return id;
        }
        self.slab.push(skb);
        let count = u32::try_from(self.slab.len()).ok().and_then(NonZeroU32::new);
        SkbId(count.expect("fewer than 2^32 buffers: their payload alone is bounded by the send buffer"))
    }

    /// The first unsent buffer (`tcp_send_head`).
    pub fn send_head(&self) -> Option<SkbId> {
        self.unsent.front().copied()
    }

    /// The last unsent buffer (`tcp_write_queue_tail`).
    pub fn unsent_tail(&self) -> Option<SkbId> {
        self.unsent.back().copied()
    }

    /// The unsent buffer after the first.
    pub fn second_unsent(&self) -> Option<SkbId> {
        self.unsent.get(1).copied()
    }

    /// The number of unsent buffers.
    pub fn unsent_count(&self) -> usize {
        self.unsent.len()
    }

    /// Whether nothing is unsent (`tcp_write_queue_empty`).
    pub fn is_all_sent(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Whether nothing waits for an acknowledgment (`tcp_rtx_queue_empty`).
    pub const fn is_all_acknowledged(&self) -> bool {
        self.sent.head.is_none()
    }

    /// The oldest unacknowledged buffer (`tcp_rtx_queue_head`).
    pub const fn head(&self) -> Option<SkbId> {
        self.sent.head
    }

    /// The newest sent buffer (`tcp_rtx_queue_tail`).
    pub const fn tail(&self) -> Option<SkbId> {
        self.sent.tail
    }

    /// The sent buffer after this one.
    pub fn next(&self, id: SkbId) -> Option<SkbId> {
        self[id].next
    }

    /// The sent buffer before this one.
    pub fn prev(&self, id: SkbId) -> Option<SkbId> {
        self[id].prev
    }

    /// The sent buffer that was sent first, of those that RACK still watches.
    pub const fn first_by_time(&self) -> Option<SkbId> {
        self.by_time.head
    }

    /// The buffer sent after this one.
    pub fn next_by_time(&self, id: SkbId) -> Option<SkbId> {
        self[id].later
    }

    /// Appends an unsent buffer.
    pub fn push_unsent(&mut self, skb: Skb) -> SkbId {
        let id = self.insert(skb);
        self.unsent.push_back(id);
        id
    }

    /// Moves the first unsent buffer to the end of the sent ones (`tcp_event_new_data_sent`).
    pub fn head_was_sent(&mut self) {
        if let Some(id) = self.unsent.pop_front() {
            self.append_sent(id);
        }
    }

    /// Moves the last sent buffer back to the front of the unsent ones: the qdisc dropped it.
    pub fn tail_is_unsent_again(&mut self) {
        let Some(id) = self.sent.tail else { return };
        self.leave_order(id);
        self[id].segments = 0;
        self.unsent.push_front(id);
    }

    /// Appends a buffer directly to the sent ones: a SYN.
    pub fn push_sent(&mut self, skb: Skb) -> SkbId {
        let id = self.insert(skb);
        self.append_sent(id);
        id
    }

    fn append_sent(&mut self, id: SkbId) {
        self.link_after(self.sent.tail, id);
        if let Some(holes) = &mut self.holes {
            holes.append(id);
        }
        self.was_sent_now(id);
        self.index.take_if(|index| {
            index.unasked += 1;
            index.unasked > index.places.len()
        });
    }

    fn link_after(&mut self, before: Option<SkbId>, id: SkbId) {
        let after = match before {
            Some(before) => self[before].next.replace(id),
            None => self.sent.head.replace(id),
        };
        match after {
            Some(after) => self[after].prev = Some(id),
            None => self.sent.tail = Some(id),
        }
        let skb = &mut self.slab[id.place()];
        (skb.prev, skb.next) = (before, after);
        if let Some(index) = &mut self.index {
            index.places.insert(skb.seq, id);
        }
    }

    /// Makes a buffer the last by send time.
    pub fn was_sent_now(&mut self, id: SkbId) {
        self.leave_time_order(id);
        let last = self.by_time.tail.replace(id);
        match last {
            Some(last) => self[last].later = Some(id),
            None => self.by_time.head = Some(id),
        }
        let skb = &mut self[id];
        (skb.earlier, skb.later, skb.in_time_order) = (last, None, true);
    }

    /// Removes a buffer from the send time order: it is lost and not yet retransmitted.
    pub fn leave_time_order(&mut self, id: SkbId) {
        let skb = &mut self[id];
        if !skb.in_time_order {
            return;
        }
        let (earlier, later) = (skb.earlier.take(), skb.later.take());
        skb.in_time_order = false;
        match earlier {
            Some(earlier) => self[earlier].later = later,
            None => self.by_time.head = later,
        }
        match later {
            Some(later) => self[later].earlier = earlier,
            None => self.by_time.tail = earlier,
        }
    }

    /// Splits a sent buffer or the first unsent one after `len` bytes; the second keeps FIN, PSH and the end of the
    /// record (`tcp_fragment`, tcp_output.c). Returns the second.
    pub fn fragment(&mut self, id: SkbId, len: u32) -> SkbId {
        let first = &mut self[id];
        let mut second = *first;
        let at = first.seq + len + u32::from(first.flags.has(slowpath_model::Flags::SYN));
        first.end_seq = at;
        first.flags = first.flags.without(LAST_ONLY);
        first.eor = false;
        second.seq = at;
        second.flags = second.flags.without(slowpath_model::Flags::SYN);
        let (was_sent, mss) = (first.segments != 0, first.mss);
        if was_sent {
            let whole = first.segments;
            let part = first.cut(mss);
            first.sent = first.sent.of_part(whole, part);
            second.sent = second.sent.of_part(whole, part + second.cut(mss));
        }
        let in_time_order = second.in_time_order;
        (second.later, second.earlier, second.in_time_order) = (None, None, false);
        let is_unsent = self.unsent.front() == Some(&id);
        let new = self.insert(second);
        if is_unsent {
            self.unsent.insert(1, new);
            return new;
        }
        self.link_after(Some(id), new);
        if let Some(holes) = self.holes.as_mut().filter(|holes| holes.has(id)) {
            holes.insert(Some(id), new);
        }
        if in_time_order {
            self.follow_in_time_order(id, new);
        }
        new
    }

    fn follow_in_time_order(&mut self, id: SkbId, new: SkbId) {
        let later = self[id].later.replace(new);
        match later {
            Some(later) => self[later].earlier = Some(new),
            None => self.by_time.tail = Some(new),
        }
        let skb = &mut self[new];
        (skb.earlier, skb.later, skb.in_time_order) = (Some(id), later, true);
    }

    /// Moves up to `amount` bytes from the second unsent buffer to the first, and removes it if it is empty then
    /// (`tcp_grow_skb`, tcp_output.c); returns whether it was removed.
    #[must_use]
    pub fn grow_head(&mut self, amount: u32) -> bool {
        let (Some(head), Some(next)) = (self.send_head(), self.second_unsent()) else { return false };
        let moved = amount.min(self[next].len());
        if self[head].eor || moved == 0 {
            return false;
        }
        self[head].end_seq = self[head].end_seq + moved;
        self[next].seq = self[next].seq + moved;
        if self[next].len() == 0 {
            let gone = self[next];
            let first = &mut self[head];
            first.end_seq = gone.end_seq;
            first.eor = gone.eor;
            first.flags = first.flags.with(gone.flags);
            self.unsent.remove(1);
            self.free.push(next);
            return true;
        }
        false
    }

    /// Merges the buffer after a sent one into it (`tcp_collapse_retrans`, tcp_output.c). The caller has checked that
    /// they may be merged.
    pub fn collapse_next(&mut self, id: SkbId) {
        let Some(next) = self[id].next else { return };
        let gone = self[next];
        self.unlink(next);
        let skb = &mut self[id];
        skb.end_seq = gone.end_seq;
        skb.flags = skb.flags.with(gone.flags);
        if gone.fate.any(Fate::EVER_RETRANSMITTED) {
            skb.fate.set(Fate::EVER_RETRANSMITTED);
        }
        skb.eor = gone.eor;
        let mss = skb.mss;
        skb.cut(mss);
    }

    /// Moves the first `len` bytes of a sent buffer, `segments` of its segments, to the end of the one before it
    /// (`tcp_shifted_skb`, tcp_input.c). An empty buffer is removed.
    pub fn shift(&mut self, before: SkbId, id: SkbId, len: u32, segments: u32) {
        let from = self[id];
        let is_eaten = len == from.len();
        if is_eaten {
            self.unlink(id);
        } else {
            self.begins_at(id, from.seq + len);
            self[id].segments -= segments;
        }
        let mss = self[before].segment_len();
        let to = &mut self[before];
        to.mss = mss;
        to.segments += segments;
        to.end_seq = if is_eaten { from.end_seq } else { to.end_seq + len };
        if from.fate.any(Fate::EVER_RETRANSMITTED) {
            to.fate.set(Fate::EVER_RETRANSMITTED);
        }
        if is_eaten {
            to.flags = to.flags.with(from.flags);
            to.eor = from.eor;
        }
    }

    /// Advances a sent buffer's first sequence number.
    fn begins_at(&mut self, id: SkbId, seq: StreamOffset) {
        let skb = &mut self.slab[id.place()];
        if let Some(index) = &mut self.index {
            index.places.remove(&skb.seq);
            index.places.insert(seq, id);
        }
        skb.seq = seq;
    }

    /// Removes an acknowledged buffer.
    pub fn unlink(&mut self, id: SkbId) {
        self.leave_order(id);
        self.free.push(id);
    }

    /// Removes a buffer from the sequence and send time orders.
    fn leave_order(&mut self, id: SkbId) {
        self.leave_time_order(id);
        let skb = &self[id];
        let (seq, prev, next) = (skb.seq, skb.prev, skb.next);
        match prev {
            Some(prev) => self[prev].next = next,
            None => self.sent.head = next,
        }
        match next {
            Some(next) => self[next].prev = prev,
            None => self.sent.tail = prev,
        }
        if let Some(index) = &mut self.index {
            index.places.remove(&seq);
        }
        self.is_no_hole(id);
    }

    /// Removes acknowledged bytes from the oldest buffer (`tcp_trim_head`).
    pub fn trim(&mut self, id: SkbId, seq: StreamOffset) {
        self.begins_at(id, seq);
        let skb = &mut self[id];
        skb.flags = skb.flags.without(slowpath_model::Flags::SYN);
        let mss = skb.mss.max(1);
        skb.cut(mss);
    }

    /// The sent buffer that contains a sequence number, or the first after it (`tcp_sacktag_bsearch`).
    pub fn find(&mut self, seq: StreamOffset) -> Option<SkbId> {
        let places = &self.indexed().places;
        let before = places.range(..=seq).next_back().map(|(_, &id)| id);
        let after = places.range(seq..).next().map(|(_, &id)| id);
        before.filter(|&id| self[id].end_seq > seq).or(after)
    }

    /// How many buffers a lookup compares: the depth of a balanced tree.
    pub fn depth(&mut self) -> u64 {
        u64::from(usize::BITS - self.indexed().places.len().leading_zeros())
    }

    /// The index, built if missing.
    fn indexed(&mut self) -> &Index {
        let mut index = self.index.take().unwrap_or_else(|| {
            let sent = std::iter::successors(self.sent.head, |&id| self[id].next);
            Index { places: sent.map(|id| (self[id].seq, id)).collect(), unasked: 0 }
        });
        index.unasked = 0;
        self.index.insert(index)
    }

    /// Starts the list of buffers that are not SACKed.
    pub fn list_holes(&mut self) {
        let mut holes = Holes::default();
        self.sent().filter(|&id| !self[id].fate.any(Fate::SACKED)).for_each(|id| holes.append(id));
        self.holes = Some(holes);
    }

    /// A sent buffer was SACKed or removed.
    pub fn is_no_hole(&mut self, id: SkbId) {
        if let Some(holes) = &mut self.holes {
            holes.remove(id);
        }
    }

    /// The first sent buffer that may be lost: from the list of holes if there is one, otherwise of all.
    pub fn first_open(&self) -> Option<SkbId> {
        self.holes.as_ref().map_or(self.sent.head, Holes::first)
    }

    /// The next one.
    pub fn next_open(&self, id: SkbId) -> Option<SkbId> {
        self.holes.as_ref().map_or(self[id].next, |holes| holes.after(id))
    }

    /// The previous one.
    pub fn prev_open(&self, id: SkbId) -> Option<SkbId> {
        self.holes.as_ref().map_or(self[id].prev, |holes| holes.before(id))
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        let holes = self.holes.as_ref().map(|_| Holes::default());
        *self = Self { holes, ..Self::default() };
    }

    /// All buffers, by sequence number.
    pub fn all(&self) -> impl Iterator<Item = &Skb> {
        self.sent().chain(self.unsent.iter().copied()).map(|id| &self[id])
    }

    /// The sent buffers by sequence number.
    pub fn sent(&self) -> impl Iterator<Item = SkbId> + '_ {
        std::iter::successors(self.head(), |&id| self.next(id))
    }
}

/// Flags that only the last part of a split buffer keeps.
const LAST_ONLY: slowpath_model::Flags = slowpath_model::Flags(0x009);

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::Flags;

    fn queue(lengths: &[u32]) -> WriteQueue {
        let mut queue = WriteQueue::default();
        let mut seq = StreamOffset(1);
        for &len in lengths {
            let mut skb = Skb::new(seq, seq + len, Flags::ACK);
            skb.cut(1000);
            queue.push_unsent(skb);
            queue.head_was_sent();
            seq = seq + len;
        }
        queue
    }

    fn lengths(queue: &WriteQueue) -> Vec<u32> {
        queue.sent().map(|id| queue[id].len()).collect()
    }

    #[test]
    fn fragments_are_found_by_sequence_number() {
        let mut queue = queue(&[4000, 2000]);
        let head = queue.head().unwrap();
        let second = queue.fragment(head, 1000);
        assert_eq!(lengths(&queue), [1000, 3000, 2000]);
        assert_eq!(queue.find(StreamOffset(1001)), Some(second));
        assert_eq!(queue.find(StreamOffset(1000)), Some(head));
        assert_eq!(queue.next_by_time(head), Some(second));
        assert_eq!((queue[head].segments, queue[second].segments), (1, 3));
    }

    #[test]
    fn retransmission_moves_an_skb_to_the_end_of_the_time_order() {
        let mut queue = queue(&[1000, 1000, 1000]);
        let ids: Vec<_> = queue.sent().collect();
        queue.was_sent_now(ids[0]);
        assert_eq!(queue.first_by_time(), Some(ids[1]));
        assert_eq!(queue.next_by_time(ids[2]), Some(ids[0]));
        queue.unlink(ids[1]);
        assert_eq!(queue.first_by_time(), Some(ids[2]));
        assert_eq!(lengths(&queue), [1000, 1000]);
    }

    #[test]
    fn shifted_sequence_space_is_found_in_the_previous_skb() {
        let mut queue = queue(&[1000, 3500, 2000]);
        let ids: Vec<_> = queue.sent().collect();
        assert_eq!(queue.find(StreamOffset(3001)), Some(ids[1]));
        queue.shift(ids[0], ids[1], 2000, 2);
        assert_eq!(lengths(&queue), [3000, 1500, 2000]);
        assert_eq!((queue[ids[0]].segments, queue[ids[1]].segments), (3, 2));
        assert_eq!(queue.find(StreamOffset(3000)), Some(ids[0]));
        assert_eq!(queue.find(StreamOffset(3001)), Some(ids[1]));
        queue.shift(ids[0], ids[1], 1500, 2);
        assert_eq!(lengths(&queue), [4500, 2000]);
        assert_eq!(queue.find(StreamOffset(4500)), Some(ids[0]));
        assert_eq!(queue.next_by_time(ids[0]), Some(ids[2]));
    }
}
