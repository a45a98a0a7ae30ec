//! What a segment or an acknowledgment did to the data outstanding.

use crate::label::Label;

/// Packets of one end that did not pass the tap though they were sent, as its IP identifications tell.
#[derive(Clone, Copy, Debug)]
pub struct Missing {
    /// How many right before the present segment.
    pub packets: u16,
    /// As large as they may have been.
    pub mss: u32,
    /// The end had more to send and did not for as long as a probe or retransmission timer takes.
    pub timer_ran_out: bool,
    /// The end sends hardly anything but data.
    pub only_data: bool,
}

/// What became of one segment of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its label as known now.
    pub label: Label,
    /// Bytes of it not seen before.
    pub unique: u32,
    /// It was retransmitted before.
    pub repeated: bool,
    /// Nothing was outstanding above it.
    pub tail: bool,
    /// It left a hole below it.
    pub left_hole: bool,
    /// It shows an earlier retransmission to have been needless.
    pub needless: bool,
}

impl Placed {
    /// The next segment of a direction that misses nothing, with `len` bytes of sequence space.
    pub const fn next(len: u32) -> Self {
        Self {
            label: Label::New,
            unique: len,
            repeated: false,
            tail: true,
            left_hole: false,
            needless: false,
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
    /// From the newest acknowledged segment's passing to now, in nanoseconds, be it by SACK; unknown after a
    /// retransmission (Karn's rule).
    pub round_trip: Option<i64>,
    /// One segment was acknowledged, and no other was in flight.
    pub alone: bool,
    /// From the oldest acknowledged segment's passing to now.
    pub waited: Option<i64>,
    /// Acknowledged bytes the capture did not see.
    pub unseen: i64,
    /// Retransmissions now known to have been needless.
    pub spurious: u32,
    /// DSACK blocks.
    pub dsacks: u32,
    /// Selectively acknowledged data was taken back.
    pub reneged: bool,
    /// The receiver took the byte of a window probe.
    pub probed: bool,
}
