//! The closing of a connection: FINs that are retransmitted, and nothing acknowledges them.

use super::FlowState;
use crate::cause::Cause;
use crate::limits::thresholds;
use crate::report::Spell;
use slowpath_model::{Flags, Instant, Segment, StreamOffset};

/// A FIN that the other end has not acknowledged at once.
#[derive(Clone, Copy, Debug)]
pub struct Fin {
    /// The offset after it.
    end: StreamOffset,
    /// When it was sent first.
    since: Instant,
    /// How often it was retransmitted.
    pub tries: u32,
    /// When it was acknowledged.
    acked: Option<Instant>,
}

/// Notes FINs and their acknowledgments.
pub(super) fn note(flow: &mut FlowState, at: Instant, segment: &Segment) {
    if let Some(fin) = &mut flow.fins[(!segment.from).index()]
        && segment.ack.is_some_and(|ack| ack >= fin.end)
    {
        fin.acked.get_or_insert(at);
    }
    if !segment.flags.has(Flags::FIN) {
        return;
    }
    match &mut flow.fins[segment.from.index()] {
        Some(fin) if fin.acked.is_none() => fin.tries += 1,
        Some(_) => {}
        none => *none = Some(Fin { end: segment.end(), since: at, tries: 0, acked: None }),
    }
}

impl Fin {
    /// Whether it is not acknowledged yet.
    pub(super) const fn is_pending(&self) -> bool {
        self.acked.is_none()
    }

    /// The time without an answer to it, in a flow that lasts until `last`, if it was retransmitted often.
    pub fn unanswered(&self, last: Instant) -> Option<Spell> {
        let (from, to) = (self.since, self.acked.unwrap_or(last));
        (self.tries >= thresholds::LEAST_TRIES).then_some(Spell { from, to, cause: Cause::PeerGone })
    }
}
