//! What one segment of the receiver tells the sender.

use super::stretch::Marks;
use crate::report::ScaleKnown;
use slowpath_model::{Instant, StreamOffset};

/// An answer of the receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer {
    /// When it passed the tap.
    pub at: Instant,
    /// Its timestamp.
    pub tsval: Option<u32>,
    /// Everything before this has arrived.
    pub una: StreamOffset,
    /// It acknowledges no less than any before it, so its window counts.
    pub newest: bool,
    /// The sender may send up to here; unknown before the first window.
    pub edge: Option<StreamOffset>,
    /// The advertised window, scaled.
    pub window: u32,
    /// Its scale. Where that was agreed in the handshake, nothing is sent beyond [`Self::edge`].
    pub scale: ScaleKnown,
    /// The window field, as it was sent.
    pub field: u16,
    /// Bytes SACKed above `una`.
    pub sacked: i64,
    /// Bytes this answer delivers: newly acknowledged, selectively or not.
    pub delivered: i64,
    /// The RTT of the whole path that it shows, in nanoseconds.
    pub round_trip: Option<i64>,
    /// Marks for the time it arrived in.
    pub marks: Marks,
    /// Since when the receiver had the acknowledged data, if its answer was late.
    pub late_since: Option<Instant>,
    /// How long after the last arrival it left, in microseconds, if the receiver sent it when its program read; else zero.
    pub read_after: u32,
    /// How long this receiver delays an ACK at most, in nanoseconds.
    pub delayed_ack: i64,
    /// Payload of the receiver that it carries, in bytes.
    pub payload: u32,
    /// It reports a congestion mark (ECE; RFC 3168, section 6.1.3).
    pub echoes_mark: bool,
    /// Its RTT is of a segment that was alone in flight, and whose ACK may have been delayed (RFC 1122, section
    /// 4.2.3.2).
    pub alone: bool,
}
