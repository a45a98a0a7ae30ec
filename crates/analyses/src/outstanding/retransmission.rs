//! Retransmitted data, until it is known whether the retransmission was needed.

use super::record::Record;
use crate::loss_pattern::{Beyond, LossPattern};
use crate::token_bucket::{Nth, Transmissions};
use slowpath_model::{Instant, StreamOffset};

/// Retransmitted data, remembered until it is known whether the retransmission was needed.
#[derive(Clone, Copy, Debug)]
pub struct Retransmission {
    pub start: StreamOffset,
    pub end: StreamOffset,
    pub at: Instant,
    pub frame: u64,
    pub tsval: u32,
    pub beyond: Beyond,
    /// Which of the kept transmissions it is.
    pub nth: Nth,
    /// Which of them was the hole that it fills.
    pub fills: Nth,
    /// The transmission that was lost; `None` if it had not passed.
    pub replaced: Option<Replaced>,
    pub spurious: bool,
    /// A DSACK reported it.
    pub reported: bool,
}

/// A transmission that was lost, in whole or from some byte on.
#[derive(Clone, Copy, Debug)]
pub struct Replaced {
    start: StreamOffset,
    /// Its payload.
    pub len: u32,
    /// Whether it reached beyond the unscaled window.
    pub beyond: Beyond,
    nth: Nth,
}

impl From<&Record> for Replaced {
    fn from(record: &Record) -> Self {
        Self { start: record.start, len: record.len(), beyond: record.beyond, nth: record.nth }
    }
}

impl From<&Retransmission> for Replaced {
    fn from(last: &Retransmission) -> Self {
        Self { start: last.start, len: last.len(), beyond: last.beyond, nth: last.nth }
    }
}

/// A retransmission that turned out to be spurious after it was labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpuriousRetransmission {
    /// When it passed.
    pub at: Instant,
    /// Its frame in the recording.
    pub frame: u64,
    /// Its first byte.
    pub low: StreamOffset,
    /// The byte after its last.
    pub high: StreamOffset,
}

impl Retransmission {
    pub fn len(&self) -> u32 {
        u32::try_from(self.end.distance_from(self.start)).unwrap_or(u32::MAX)
    }

    /// Counts the replaced transmission as lost, at the tap or before it. A full segment has `full` bytes.
    pub fn count_lost(&self, pattern: &mut LossPattern, full: u32) {
        match self.replaced {
            _ if self.spurious => {}
            Some(lost) => pattern.lost(self.at, lost.len, lost.beyond, full),
            None => pattern.never_passed += 1,
        }
    }

    /// Marks the replaced transmission as lost, from where this one starts.
    pub fn mark_lost(&self, kept: &mut Transmissions) {
        if let Some(lost) = self.replaced.filter(|_| !self.spurious) {
            kept.lost(lost.nth, self.start.distance_from(lost.start).max(0));
        } else if !self.spurious {
            kept.lost(self.fills, 0);
        }
    }

    /// Whether a DSACK from `start` to `end` may report it.
    pub fn is_reported_by(&self, start: StreamOffset, end: StreamOffset) -> bool {
        !self.reported && self.start < end && start < self.end
    }

    /// Notes that it was spurious.
    pub fn mark_spurious(&mut self) -> SpuriousRetransmission {
        self.spurious = true;
        SpuriousRetransmission { at: self.at, frame: self.frame, low: self.start, high: self.end }
    }
}
