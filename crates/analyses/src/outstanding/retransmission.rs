//! Retransmitted data, until it is known whether the retransmission was needed.

use crate::loss_pattern::{Beyond, LossPattern};
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
    /// The transmission that was lost: its payload, and whether it reached beyond the unscaled window; `None` if it
    /// had not passed.
    pub replaced: Option<(u32, Beyond)>,
    pub spurious: bool,
    /// A DSACK reported it.
    pub reported: bool,
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
            Some((len, beyond)) => pattern.lost(self.at, len, beyond, full),
            None => pattern.never_passed += 1,
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
