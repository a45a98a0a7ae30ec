//! Data that did not pass the tap when it should have: it was lost before, is late, or was not captured.

use super::Outstanding;
use super::record::Record;
use crate::token_bucket::Nth;
use slowpath_model::{Instant, StreamOffset};

/// Holes kept; beyond that, the lowest count as unseen data.
pub const MOST_HOLES: usize = 1 << 15;

/// Data that should have passed before data that did.
#[derive(Clone, Copy, Debug)]
pub struct Hole {
    pub start: StreamOffset,
    pub end: StreamOffset,
    /// When the segment behind it passed, with its timestamp and identification.
    pub noticed: Instant,
    pub tsval: u32,
    pub id: u16,
    /// Which of the kept transmissions it is.
    pub nth: Nth,
}

impl Hole {
    /// An empty one at `at`, which the segment `behind` showed.
    pub fn before(behind: &Record, at: StreamOffset) -> Self {
        Self {
            start: at,
            end: at,
            noticed: behind.at,
            tsval: behind.tsval,
            id: behind.id,
            nth: Nth::default(),
        }
    }
}

impl Outstanding {
    pub(super) fn open_hole(&mut self, end: StreamOffset, behind: &Record) {
        if self.holes.len() == MOST_HOLES {
            self.holes.remove(0);
        }
        let mut hole = Hole { end, ..Hole::before(behind, self.nxt) };
        hole.nth =
            self.transmissions.get_or_insert_default().missed(hole.noticed, end.distance_from(hole.start));
        self.holes.push(hole);
    }

    /// Takes `start..end` out of the holes; returns how many bytes of it were in one, and the first such hole.
    pub(super) fn fill(&mut self, start: StreamOffset, end: StreamOffset) -> Option<(i64, Hole)> {
        let mut at = self.holes.partition_point(|hole| hole.end <= start);
        let mut first = None;
        let mut filled = 0;
        while let Some(hole) = self.holes.get(at).copied() {
            if hole.start >= end {
                break;
            }
            first.get_or_insert(hole);
            filled += hole.end.min(end).distance_from(hole.start.max(start));
            let (low, high) = (hole.start < start, hole.end > end);
            if low {
                self.holes[at].end = start;
            }
            match (low, high) {
                (true, true) => {
                    self.holes.insert(at + 1, Hole { start: end, ..hole });
                    break;
                }
                (true, false) => at += 1,
                (false, true) => {
                    self.holes[at].start = end;
                    break;
                }
                (false, false) => {
                    self.holes.remove(at);
                }
            }
        }
        first.map(|hole| (filled, hole))
    }
}
