//! When something was lost, and what had arrived before.

use super::{SHORTEST_TIMER, Track};
use crate::limits::answer::Answer;
use crate::limits::episodes::{Arrived, Loss};
use crate::limits::stretch::{Hold, Marks};
use crate::outstanding::Placed;
use crate::rtt::{Distance, LinuxRto};
use slowpath_model::{Instant, Segment};

impl Track {
    /// What has arrived, to the sender's knowledge.
    fn arrived(&self) -> Arrived {
        Arrived { at: self.learnt, bytes: self.known.una.0 + self.known.sacked }
    }

    /// The sender learns by SACK that something is missing, or that nothing is any more.
    #[inline]
    pub(super) fn note_hole(&mut self, at: Instant, answer: &Answer) {
        if answer.sacked == 0 {
            (self.missing_since, self.before_hole) = (None, None);
        } else if self.missing_since.is_none() {
            (self.missing_since, self.before_hole) = (Some(at), Some(self.arrived()));
        } else if answer.una > self.known.una {
            self.before_hole = None;
        }
    }

    /// A retransmission: the wait before it was for the loss.
    #[inline(never)]
    pub(super) fn on_retransmission(
        &mut self,
        at: Instant,
        segment: &Segment,
        placed: &Placed,
        near: &Distance,
        rto: &LinuxRto,
    ) {
        let silent_since = self.sent.max(self.learnt);
        // Far from the sender, this may not be the first retransmission: earlier ones may be lost.
        let since = if near.is_here() { None } else { self.missing_since };
        let silent = at.nanos_since(silent_since);
        // A queue on the way to the tap may hide the silence; the timestamps still show it.
        let timeout = silent.max(self.dated_silence) >= (rto.rto_nanos() * 7 / 10).max(SHORTEST_TIMER);
        let hold = if self.hold() == Hold::Window && !timeout { Hold::Window } else { Hold::Recovery };
        self.account(at, hold, rto);
        self.current.marks.set(Marks::RETRANSMITTED);
        self.lost_before = true;
        self.marked = false;
        if self.known.taken_back > 0 {
            self.episodes.taken_back();
        }
        let after = if self.missing_since.is_some() { self.before_hole } else { Some(self.arrived()) };
        let since = since.map_or(silent_since, |since| since.min(silent_since));
        let loss = Loss { since, after, timeout, dry: self.ended_short && near.is_here() };
        self.episodes.on_retransmission(at, segment, placed, &loss, self.nxt);
    }
}
