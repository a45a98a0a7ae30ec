//! A set of stream offsets as sorted, disjoint ranges.

use slowpath_model::StreamOffset;

/// Ranges of a byte stream, half open, sorted, neither overlapping nor touching.
#[derive(Clone, Debug, Default)]
pub struct RangeSet {
    ranges: Vec<(StreamOffset, StreamOffset)>,
    total: i64,
}

impl RangeSet {
    /// More ranges than a peer could have a reason for; beyond that, the lowest are forgotten, so that no capture makes
    /// the set grow without bound.
    const MOST: usize = 1 << 16;

    /// Bytes in the set.
    pub const fn total(&self) -> i64 {
        self.total
    }

    /// Whether it is empty.
    pub const fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The offset after the highest in the set.
    pub fn end(&self) -> Option<StreamOffset> {
        self.ranges.last().map(|range| range.1)
    }

    /// Adds `start..end`; returns how many bytes of it are new.
    pub fn insert(&mut self, start: StreamOffset, end: StreamOffset) -> i64 {
        if start >= end {
            return 0;
        }
        // Most insertions repeat or extend a range near the top.
        let first = match self.ranges.last() {
            Some(last) if last.0 <= start => self.ranges.len() - usize::from(last.1 >= start),
            _ => self.ranges.partition_point(|range| range.1 < start),
        };
        let mut merged = (start, end);
        let mut known = 0;
        let mut past = first;
        while let Some(range) = self.ranges.get(past) {
            if range.0 > end {
                break;
            }
            merged = (merged.0.min(range.0), merged.1.max(range.1));
            known += range.1.distance_from(range.0);
            past += 1;
        }
        let new = merged.1.distance_from(merged.0) - known;
        if past > first {
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..past);
        } else {
            if self.ranges.len() == Self::MOST {
                let (low, high) = self.ranges.remove(0);
                self.total -= high.distance_from(low);
                self.ranges.insert(first.saturating_sub(1), merged);
            } else {
                self.ranges.insert(first, merged);
            }
        }
        self.total += new;
        new
    }

    /// Forgets what lies below `offset`; returns how many bytes that was.
    pub fn remove_below(&mut self, offset: StreamOffset) -> i64 {
        if self.ranges.first().is_none_or(|range| range.0 >= offset) {
            return 0;
        }
        let whole = self.ranges.partition_point(|range| range.1 <= offset);
        let mut removed: i64 = self.ranges.drain(..whole).map(|range| range.1.distance_from(range.0)).sum();
        if let Some(range) = self.ranges.first_mut()
            && range.0 < offset
        {
            removed += offset.distance_from(range.0);
            range.0 = offset;
        }
        self.total -= removed;
        removed
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.ranges = Vec::new();
        self.total = 0;
    }

    /// Whether `offset` is in the set.
    pub fn contains(&self, offset: StreamOffset) -> bool {
        let next = self.ranges.partition_point(|range| range.1 <= offset);
        self.ranges.get(next).is_some_and(|range| range.0 <= offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Compared with a slow, obvious set of single bytes.
        #[test]
        fn range_set_matches_byte_set_model(steps in prop::collection::vec((0i64..60, 0i64..12, prop::bool::weighted(0.15)), 1..60)) {
            let (mut fast, mut slow) = (RangeSet::default(), BTreeSet::new());
            for (start, len, remove) in steps {
                if remove {
                    let below = slow.iter().filter(|b| **b < start).count() as i64;
                    prop_assert_eq!(fast.remove_below(StreamOffset(start)), below);
                    slow.retain(|b| *b >= start);
                } else {
                    let new = (start..start + len).filter(|b| slow.insert(*b)).count() as i64;
                    prop_assert_eq!(fast.insert(StreamOffset(start), StreamOffset(start + len)), new);
                }
                prop_assert_eq!(fast.total(), slow.len() as i64);
                for offset in 0..80 {
                    prop_assert_eq!(fast.contains(StreamOffset(offset)), slow.contains(&offset));
                }
                prop_assert!(fast.ranges.is_sorted_by(|a, b| a.1 < b.0));
            }
        }
    }
}
