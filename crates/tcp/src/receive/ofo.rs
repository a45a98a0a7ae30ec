//! The out-of-order queue (`out_of_order_queue`).
//!
//! The kernel keeps a red-black tree of buffers. This is a sorted array: arrivals go to its end and repairs leave at
//! its front, so neither moves much.

use super::memory::Cost;
use crate::packet::Block;
use slowpath_model::StreamOffset;
use std::collections::VecDeque;

/// A range of data beyond a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Its start, and the end (exclusive).
    pub start: StreamOffset,
    pub end: StreamOffset,
    /// Its memory charge.
    pub cost: Cost,
    /// Its last number is a FIN.
    pub fin: bool,
}

impl Stretch {
    /// Sequence numbers in it.
    pub fn len(&self) -> u32 {
        u32::try_from(self.end.distance_from(self.start)).unwrap_or(u32::MAX)
    }
}

/// The result of queueing a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Insertion {
    /// The charge if it was queued; `None` if every byte was there already.
    pub charged: Option<u32>,
    /// The part that was there before, as far as the kernel notices.
    pub duplicate: Option<Block>,
    /// Memory of replaced ranges.
    pub freed: u32,
}

/// The ranges beyond the first hole, in order.
#[derive(Debug, Default)]
pub(crate) struct OutOfOrder {
    stretches: VecDeque<Stretch>,
}

impl OutOfOrder {
    /// Whether there is no hole.
    pub fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// The end of the last range (`ooo_last_skb`).
    pub fn end(&self) -> Option<StreamOffset> {
        self.stretches.back().map(|last| last.end)
    }

    /// Sequence numbers in all of them.
    pub fn bytes(&self) -> u32 {
        self.stretches.iter().map(Stretch::len).sum()
    }

    /// The ranges, in order.
    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = &Stretch> {
        self.stretches.iter()
    }

    /// Removes the first range, if it begins at or before `nxt`.
    pub fn pop_until(&mut self, nxt: StreamOffset) -> Option<Stretch> {
        self.stretches.front().filter(|first| first.start <= nxt)?;
        self.stretches.pop_front()
    }

    /// Removes the last range, unless it begins before `start` (`tcp_prune_ofo_queue` keeps data below the arrival that
    /// needs room).
    pub fn pop_from(&mut self, start: StreamOffset) -> Option<Stretch> {
        self.stretches.back().filter(|last| start <= last.start)?;
        self.stretches.pop_back()
    }

    /// Whether the only range ends with a FIN.
    pub fn is_only_a_fin(&self) -> bool {
        self.stretches.len() == 1 && self.stretches.front().is_some_and(|only| only.fin)
    }

    /// Drops everything; returns its memory.
    pub fn clear(&mut self) -> u32 {
        let freed =
            self.stretches.iter().fold(0_u32, |sum, stretch| sum.saturating_add(stretch.cost.truesize));
        self.stretches.clear();
        freed
    }

    /// Copies partly filled buffers to full ones (`tcp_collapse_ofo_queue`); returns the memory freed.
    pub fn collapse(&mut self) -> u32 {
        self.stretches.iter_mut().map(|stretch| stretch.cost.collapse(stretch.len())).sum()
    }

    /// Queues an arrival (the tree walk of `tcp_data_queue_ofo`).
    pub fn insert(&mut self, arrival: Stretch) -> Insertion {
        // The ranges that begin at or before the arrival.
        let mut place = match self.stretches.back() {
            Some(last) if last.start > arrival.start => {
                self.stretches.partition_point(|stretch| stretch.start <= arrival.start)
            }
            _ => self.stretches.len(),
        };
        let mut insertion = Insertion::default();
        let left = place.checked_sub(1).and_then(|index| self.stretches.get(index)).copied();
        if let Some(left) = left.filter(|left| arrival.start < left.end) {
            if arrival.end <= left.end {
                let duplicate = Some(Block { start: arrival.start, end: arrival.end });
                return Insertion { duplicate, ..insertion };
            }
            if arrival.start > left.start {
                insertion.duplicate = Some(Block { start: arrival.start, end: left.end });
            } else {
                place -= 1;
                self.drop_covered(place, left, &mut insertion);
            }
        }
        self.merge_right(place, arrival, &mut insertion);
        let merged = self.merge_left(place, arrival);
        if merged.is_none() {
            self.stretches.insert(place, arrival);
        }
        insertion.charged = merged.or(Some(arrival.cost.truesize));
        insertion
    }

    /// Removes ranges that the arrival covers, and notes partial overlaps (`merge_right`).
    fn merge_right(&mut self, place: usize, arrival: Stretch, insertion: &mut Insertion) {
        while let Some(right) = self.stretches.get(place).copied()
            && arrival.end > right.start
        {
            if arrival.end < right.end {
                note(insertion, Block { start: right.start, end: arrival.end });
                break;
            }
            self.drop_covered(place, right, insertion);
        }
    }

    fn drop_covered(&mut self, place: usize, covered: Stretch, insertion: &mut Insertion) {
        note(insertion, Block { start: covered.start, end: covered.end });
        insertion.freed = insertion.freed.saturating_add(covered.cost.truesize);
        self.stretches.remove(place);
    }

    /// Merges the arrival into the range that it continues, if possible; returns the charge (`tcp_ooo_try_coalesce`).
    fn merge_left(&mut self, place: usize, arrival: Stretch) -> Option<u32> {
        let left = place.checked_sub(1).and_then(|index| self.stretches.get_mut(index))?;
        if left.end != arrival.start || left.fin {
            return None;
        }
        let charge = left.cost.absorb(arrival.len(), arrival.cost)?;
        left.end = arrival.end;
        left.fin = arrival.fin;
        Some(charge)
    }
}

/// `tcp_dsack_extend`: a range that does not touch the first noted one is not reported.
fn note(insertion: &mut Insertion, range: Block) {
    match &mut insertion.duplicate {
        None => insertion.duplicate = Some(range),
        Some(noted) if range.start <= noted.end && noted.start <= range.end => {
            noted.start = noted.start.min(range.start);
            noted.end = noted.end.max(range.end);
        }
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::receive::PacketMemory;
    use slowpath_model::Flags;

    fn stretch(start: i64, end: i64) -> Stretch {
        let (start, end) = (StreamOffset(start), StreamOffset(end));
        let len = u32::try_from(end.distance_from(start)).unwrap();
        let packet = Packet::new(Flags::ACK, start, len);
        Stretch { start, end, cost: PacketMemory::SenderPages.cost(&packet, 40), fin: false }
    }

    fn queue(ranges: &[(i64, i64)]) -> OutOfOrder {
        let mut queue = OutOfOrder::default();
        for (start, end) in ranges {
            queue.insert(stretch(*start, *end));
        }
        queue
    }

    fn ranges(queue: &OutOfOrder) -> Vec<(i64, i64)> {
        queue.iter().map(|stretch| (stretch.start.0, stretch.end.0)).collect()
    }

    fn duplicate(insertion: Insertion) -> Option<(i64, i64)> {
        insertion.duplicate.map(|block| (block.start.0, block.end.0))
    }

    #[test]
    fn contiguous_arrival_is_coalesced() {
        assert_eq!(ranges(&queue(&[(10, 20), (20, 30), (40, 50), (30, 35)])), [(10, 35), (40, 50)]);
    }

    #[test]
    fn full_duplicate_is_dropped_and_reported_by_dsack() {
        let mut queue = queue(&[(10, 30)]);
        let insertion = queue.insert(stretch(15, 30));
        assert_eq!(insertion.charged, None);
        assert_eq!(duplicate(insertion), Some((15, 30)));
    }

    #[test]
    fn arrival_replaces_covered_ranges() {
        let mut queue = queue(&[(10, 20), (30, 40), (50, 60)]);
        let insertion = queue.insert(stretch(10, 45));
        // The second range does not touch the first duplicate, so only the first is reported.
        assert_eq!((duplicate(insertion), insertion.freed), (Some((10, 20)), 2 * (832 + 10)));
        assert_eq!(ranges(&queue), [(10, 45), (50, 60)]);
    }

    #[test]
    fn partial_overlap_is_reported_on_either_side() {
        let mut queue = queue(&[(10, 20), (30, 40)]);
        assert_eq!(duplicate(queue.insert(stretch(15, 25))), Some((15, 20)));
        assert_eq!(duplicate(queue.insert(stretch(26, 35))), Some((30, 35)));
        assert_eq!(ranges(&queue), [(10, 20), (15, 25), (26, 35), (30, 40)]);
    }
}
