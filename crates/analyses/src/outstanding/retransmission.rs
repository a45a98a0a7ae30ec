//! Retransmitted data, until it is known whether the retransmission was needed.

use crate::loss_pattern::LossPattern;
use slowpath_model::{Instant, StreamOffset};

/// Retransmitted data, remembered until it is known whether the retransmission was needed.
#[derive(Clone, Copy, Debug)]
pub struct Retransmission {
    pub start: StreamOffset,
    pub end: StreamOffset,
    pub at: Instant,
    pub frame: u64,
    pub tsval: u32,
    pub beyond: bool,
    /// The transmission that was lost: its payload, and whether it reached beyond the unscaled window field; `None` if it
    /// had not passed.
    pub replaced: Option<(u32, bool)>,
    pub spurious: bool,
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

    /// Counts the replaced transmission as lost, at the tap or before it.
    pub fn count_lost(&self, pattern: &mut LossPattern) {
        match self.replaced {
            _ if self.spurious => {}
            Some((len, beyond)) => pattern.lost(len, beyond),
            None => pattern.never_passed += 1,
        }
    }

    /// Notes that it was spurious.
    pub fn mark_spurious(&mut self) -> SpuriousRetransmission {
        self.spurious = true;
        SpuriousRetransmission { at: self.at, frame: self.frame, low: self.start, high: self.end }
    }
}
