//! Data beyond the window that its sender should know: the sender is nearer to the tap than it seemed, or the window larger.

use super::Track;
use crate::report::ScaleKnown;
use crate::rtt::{Distance, LinuxRto};
use slowpath_model::{Instant, Segment, StreamOffset};

/// So many segments have to pass beyond it: fewer may be for ACKs that the capture missed.
const LEAST_BEYOND: u32 = 4;

impl Track {
    /// Data up to `end` passes. A sender keeps to the window that it knows, so it has every answer up to the one that
    /// opened the window so far, and is no farther from the tap than that answer is old. A single case may be an answer
    /// that the capture missed.
    pub(super) fn beyond_known(&mut self, at: Instant, end: StreamOffset, rto: &LinuxRto) {
        let is_exact =
            self.pending.front().is_some_and(|answer| matches!(answer.scale, ScaleKnown::Agreed(_)));
        if !is_exact || self.known.edge.is_none_or(|edge| end <= edge) {
            return;
        }
        self.beyond += 1;
        if self.beyond < LEAST_BEYOND {
            return;
        }
        while self.known.edge.is_some_and(|edge| end > edge)
            && let Some(answer) = self.pending.pop_front()
        {
            let age = at.nanos_since(answer.at);
            self.reacted = Some(self.reacted.map_or(age, |least| least.min(age)));
            self.learn(at, &answer, rto);
        }
    }

    /// How soon this end reacted to an answer at most, if it did since the last call: an upper bound of its distance
    /// from the tap.
    pub const fn take_reaction(&mut self) -> Option<i64> {
        self.reacted.take()
    }

    /// Data beyond a window whose scale is not known shows that the scale is larger, where the sender's knowledge of ACKs is
    /// certain.
    #[inline]
    pub(super) fn compare_least_scale(&mut self, segment: &Segment, near: &Distance) {
        if let ScaleKnown::AtLeast(shift) = self.known.scale
            && self.known.edge.is_some_and(|edge| segment.end() > edge)
            && (segment.timestamps.is_some() || near.is_here())
        {
            self.raise_least_scale(segment.end(), shift);
        }
    }

    #[cold]
    fn raise_least_scale(&mut self, end: StreamOffset, shift: u8) {
        self.beyond += 1;
        if self.beyond < LEAST_BEYOND {
            return;
        }
        let sent = end.distance_from(self.known.una);
        if let Some(least) = ScaleKnown::least(shift, self.known.window >> shift, sent) {
            (self.beyond, self.least_scale) = (0, least);
            // What is known is no bound any more, until the next ACK comes.
            self.known.edge = None;
            for answer in &mut self.pending {
                answer.edge = None;
            }
        }
    }

    /// The least scale of the receiver's window under which all that this end has sent fits.
    pub const fn least_scale(&self) -> u8 {
        self.least_scale
    }
}
