//! Waits that an ACK of a short segment ended, and not before, by letting another one out: Nagle's algorithm, as Linux
//! applies it to short segments only (RFC 1122, section 4.2.3.4; `tcp_nagle_check` and `tcp_minshall_check`, 6.18).

use super::{SHORTEST_WAIT, Track};
use crate::limits::stretch::{Hold, Prompt};
use crate::limits::thresholds;
use crate::rtt::{LinuxRto, micros};
use slowpath_model::{Instant, Segment, StreamOffset};

/// The last short segment, and what followed its ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Nagle {
    /// Where the last short segment ends, until it is acknowledged.
    short: Option<StreamOffset>,
    /// When the sender learnt that it had arrived.
    acked: Option<Instant>,
    /// New data followed that ACK at once: when, and when data was sent before.
    burst: Option<(Instant, Instant)>,
    /// How many short segments there were, and how many left while another one was in flight.
    all: u32,
    together: u32,
}

impl Nagle {
    /// Whether no ACK of a short segment let anything out so far, so that only a short segment matters.
    #[inline]
    pub const fn is_idle(&self) -> bool {
        self.acked.is_none() && self.burst.is_none()
    }

    /// Whether the sender does without it (`TCP_NODELAY`): it let short segments out while others were in flight.
    pub const fn is_off(&self) -> bool {
        self.together >= thresholds::NAGLE_OFF && self.together >= self.all / thresholds::NAGLE_OFF_PART
    }

    /// The sender, which `hold` held until now, learns that everything before `una` has arrived.
    #[inline]
    pub fn learnt(&mut self, at: Instant, una: StreamOffset, hold: Hold) {
        if self.short.is_some_and(|end| una >= end) {
            let is_free = matches!(hold, Hold::Open | Hold::Dry | Hold::Idle);
            (self.short, self.acked) = (None, is_free.then_some(at));
        }
    }
}

impl Track {
    /// New data passes next to the sender; `is_short` if it emptied the sender's queue.
    #[inline(never)]
    pub(super) fn note_nagle(&mut self, at: Instant, segment: &Segment, is_short: bool, rto: &LinuxRto) {
        let nagle = &mut self.nagle;
        let is_first = self.acked >= self.sent;
        if is_first {
            // A full segment is never held back, so that what was begins with a short one.
            let lets_out =
                segment.len < self.mss && self.prompt == Prompt::Ack && nagle.acked == Some(self.acked);
            nagle.burst = lets_out.then_some((at, self.sent));
        }
        if !is_short {
            return;
        }
        nagle.all += 1;
        nagle.together += u32::from(nagle.short.is_some_and(|end| end < segment.end()));
        (nagle.short, nagle.acked) = (Some(segment.end()), None);
        let Some((began, since)) = nagle.burst.take() else { return };
        let waited = began.nanos_since(since);
        if waited >= SHORTEST_WAIT.max(rto.srtt_nanos().unwrap_or(0) / 4) {
            // What ended a wait belongs to it, even if the wait is a stretch of its own.
            let just_cut = self.current.lasted() < SHORTEST_WAIT;
            let wait = self.log.last_mut().filter(|_| just_cut).unwrap_or(&mut self.current);
            wait.nagled = wait.nagled.saturating_add(micros(waited));
        }
    }
}
