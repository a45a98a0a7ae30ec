//! What a segment or an acknowledgment did to the data outstanding.

use crate::label::Label;
use slowpath_model::StreamOffset;

/// Packets that one end sent and that did not pass the tap, by its IP identifications.
#[derive(Clone, Copy, Debug)]
pub struct Missing {
    /// How many right before the current segment.
    pub packets: u16,
    /// How large they may have been.
    pub mss: u32,
    /// The end had more to send and did not for as long as a probe or retransmission timer takes.
    pub timer_ran_out: bool,
    /// The end sends almost nothing but data.
    pub only_data: bool,
}

/// What became of one segment of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its label as known now.
    pub label: Label,
    /// Where it ends.
    pub end: StreamOffset,
    /// Bytes of it not seen before.
    pub unique: u32,
    /// It was retransmitted before.
    pub repeated: bool,
    /// Nothing was outstanding above it.
    pub tail: bool,
    /// It left a hole below it.
    pub left_hole: bool,
    /// It shows an earlier retransmission to have been spurious.
    pub shows_spurious: bool,
}

impl Placed {
    /// The next segment of a direction that misses nothing, with `len` bytes of sequence space up to `end`.
    pub const fn next(len: u32, end: StreamOffset) -> Self {
        Self {
            label: Label::New,
            end,
            unique: len,
            repeated: false,
            tail: true,
            left_hole: false,
            shows_spurious: false,
        }
    }
}

/// What an acknowledgment did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Bytes newly acknowledged, cumulatively.
    pub advanced: i64,
    /// Bytes newly acknowledged selectively.
    pub sacked: i64,
    /// The time since the newest acknowledged segment passed, in nanoseconds, also by SACK; unknown after a
    /// retransmission (Karn's algorithm).
    pub round_trip: Option<i64>,
    /// One segment was acknowledged, and no other was in flight.
    pub alone: bool,
    /// The time since the oldest acknowledged segment passed.
    pub waited: Option<i64>,
    /// Acknowledged bytes the capture did not see.
    pub unseen: i64,
    /// Retransmissions now known to have been spurious.
    pub spurious: u32,
    /// DSACK blocks.
    pub dsacks: u32,
    /// Those of data that was not retransmitted, though it came twice.
    pub dsacks_of_copies: u32,
    /// The receiver reneged on data it had SACKed.
    pub reneged: bool,
    /// The receiver took the byte of a window probe.
    pub probed: bool,
}
