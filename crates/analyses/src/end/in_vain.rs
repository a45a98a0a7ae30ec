//! Retransmissions that the other end answers, and does not accept.

use super::EndState;
use crate::limits::thresholds;
use slowpath_model::{Flags, Instant, Segment};

/// The oldest segment was retransmitted again and again, and nothing was acknowledged since.
#[derive(Clone, Copy, Debug)]
pub struct InVain {
    /// The last retransmission, until it is answered.
    asked: Option<Instant>,
    times: u32,
}

impl EndState {
    /// This end retransmits `segment`, `silence` after it sent anything. A timer's retransmission is alone on its way: an
    /// ACK that comes an RTT later answers nothing else.
    #[inline]
    pub(super) fn asks_again(&mut self, at: Instant, segment: &Segment, silence: i64) {
        if segment.seq == self.outstanding.una() && silence >= self.rto.rto_nanos() / 2 {
            self.in_vain.get_or_insert(InVain { asked: None, times: 0 }).asked = Some(at);
        }
    }

    /// `other` sends `segment`, which acknowledges nothing new: counts it if it answers such a retransmission. An end whose
    /// window is closed does not accept it either.
    #[cold]
    pub(super) fn is_answered_in_vain(&mut self, at: Instant, segment: &Segment, other: &Self) {
        let Some(in_vain) = &mut self.in_vain else { return };
        let Some(asked) = in_vain.asked else { return };
        let control = Flags::SYN.with(Flags::FIN).with(Flags::RST);
        let has_room = other.window.current >= self.mss_seen && other.window.count > 0;
        if segment.len > 0 || segment.flags.has_any(control) || !has_room {
            return;
        }
        let Some(there_and_back) = other.distance.answering().min() else { return };
        let after = at.nanos_since(asked);
        if (there_and_back / 4 * 3..=there_and_back.max(thresholds::LATE_ACK_NS).saturating_mul(2))
            .contains(&after)
        {
            in_vain.asked = None;
            in_vain.times += 1;
        }
    }

    /// How many retransmissions were answered so, since anything was last acknowledged: if they show that data arrives and
    /// is not accepted.
    pub fn answered_in_vain(&self) -> Option<u32> {
        self.in_vain.map(|in_vain| in_vain.times).filter(|times| *times >= thresholds::LEAST_TRIES)
    }
}
