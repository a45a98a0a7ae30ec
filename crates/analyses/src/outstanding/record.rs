//! One segment between its passing the tap and its acknowledgment.

use crate::loss_pattern::Beyond;
use crate::token_bucket::Nth;
use slowpath_model::{Instant, Segment, StreamOffset};

/// A segment of data that passed and is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub start: StreamOffset,
    pub end: StreamOffset,
    /// When it last passed.
    pub at: Instant,
    pub tsval: u32,
    pub id: u16,
    /// How often it was retransmitted.
    pub again: u8,
    /// Whether it reached beyond the unscaled window when it was first sent.
    pub beyond: Beyond,
    /// Which of the kept transmissions it was at first.
    pub nth: Nth,
}

impl Record {
    #[inline]
    pub fn of(at: Instant, segment: &Segment) -> Self {
        Self {
            start: segment.seq,
            end: segment.end(),
            at,
            tsval: segment.timestamps.map_or(0, |stamps| stamps.val),
            id: segment.ip.id.unwrap_or(0),
            again: 0,
            beyond: Beyond::default(),
            nth: Nth::default(),
        }
    }

    /// Its payload, SYN and FIN.
    #[inline]
    pub fn len(&self) -> u32 {
        u32::try_from(self.end.distance_from(self.start)).unwrap_or(u32::MAX)
    }
}
