//! Data that was acknowledged before it passed: the capture has it in the wrong order, or not at all.

use super::record::Record;
use super::{Hole, Outstanding};
use crate::overview::CapturedLate;
use slowpath_model::{Instant, StreamOffset};
use std::collections::VecDeque;

/// Ranges kept that were acknowledged before they passed: a batch of captured frames has no more ACKs.
const MOST: usize = 256;

/// Data of one direction that was acknowledged before it passed.
#[derive(Clone, Debug, Default)]
pub struct Unseen {
    /// Recent ones: from, to, when it was acknowledged.
    ranges: VecDeque<(StreamOffset, StreamOffset, Instant)>,
    late: CapturedLate,
}

impl Outstanding {
    /// How many bytes before the last one neither passed nor were acknowledged.
    pub fn never_passed(&self) -> u64 {
        let hole = |hole: &Hole| u64::try_from(hole.end.distance_from(hole.start)).unwrap_or(0);
        self.holes.iter().map(hole).sum()
    }
}

impl Unseen {
    /// Data from `from` to `to` was acknowledged at `at`, and has not passed.
    pub fn acknowledged(&mut self, from: StreamOffset, to: StreamOffset, at: Instant) {
        if self.ranges.len() == MOST {
            self.ranges.pop_front();
        }
        self.ranges.push_back((from, to, at));
    }

    /// Whether the data of `new` was acknowledged before it passed; it has passed now.
    pub fn takes(&mut self, new: &Record) -> bool {
        let (start, end) = (new.start, new.end);
        let found = self.ranges.iter().position(|(low, high, _)| *low <= start && end <= *high);
        let Some(at) = found else { return false };
        let (low, high, acked) = self.ranges[at];
        self.ranges[at] = (low, start, acked);
        if end < high {
            self.ranges.insert(at + 1, (end, high, acked));
        }
        self.ranges.retain(|(low, high, _)| low < high);
        self.late.note(new.at.nanos_since(acked));
        true
    }

    /// The data that has passed since.
    pub const fn late(&self) -> &CapturedLate {
        &self.late
    }
}
