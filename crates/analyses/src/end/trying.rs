//! An end that sends and hears nothing.

use super::EndState;
use crate::label::Label;
use crate::report::Unheard;
use slowpath_model::{Instant, Segment};
use std::time::Duration;

/// An end has sent something and received nothing since.
#[derive(Clone, Copy, Debug)]
pub struct Trying {
    since: Instant,
    /// How long neither end had sent anything then, in nanoseconds.
    pause: i64,
    tries: u32,
    smallest: u32,
    /// The timestamp of the first segment.
    stamp: Option<u32>,
    unaware: u32,
}

impl Trying {
    /// As it is reported.
    pub fn unheard(self) -> Unheard {
        let pause = Duration::from_nanos(self.pause.max(0).unsigned_abs());
        Unheard {
            since: self.since,
            pause,
            tries: self.tries,
            smallest: self.smallest,
            unaware: self.unaware,
        }
    }
}

impl EndState {
    /// It sent a segment that asks for an answer, `silence` after the last one of either end.
    #[inline]
    pub fn tries(&mut self, at: Instant, silence: i64, segment: &Segment, label: Option<Label>) {
        let smallest = segment.len;
        let stamp = segment.timestamps.map(|stamps| stamps.val);
        let new = Trying { since: at, pause: silence, tries: 0, smallest, stamp, unaware: 0 };
        let trying = self.unheard.get_or_insert(new);
        trying.smallest = trying.smallest.min(smallest);
        if !matches!(label, None | Some(Label::New)) {
            trying.tries += 1;
        }
    }

    /// The other end sent `segment`, which ends the silence if it arrives here.
    #[inline]
    pub fn hears(&mut self, segment: &Segment, other: &Self) {
        let is_unaware =
            self.unheard.is_some_and(|trying| trying.tries > 0 && self.is_unaware(&trying, segment, other));
        match &mut self.unheard {
            Some(trying) if is_unaware => trying.unaware += 1,
            unheard => *unheard = None,
        }
    }

    /// This end sends `segment`; if that acknowledges more than before, something of the other end has arrived.
    #[inline]
    pub fn shows_that_it_heard(&mut self, segment: &Segment, other: &Self) {
        if self.unheard.is_some() && segment.ack.is_some_and(|ack| ack > other.outstanding.una()) {
            self.unheard = None;
        }
    }

    /// Whether a tap between the ends sees a segment of the other end that was sent without knowledge of what this one
    /// tries: it echoes an older timestamp, and acknowledges nothing new. Then the path is cut behind the tap, and this
    /// segment may not arrive either.
    #[cold]
    fn is_unaware(&self, trying: &Trying, segment: &Segment, other: &Self) -> bool {
        let is_between = [self, other].iter().all(|end| {
            let distance = end.distance.sending();
            distance.min().is_some() && !distance.is_here()
        });
        let stamps = segment.timestamps.zip(trying.stamp);
        let is_older = stamps.is_some_and(|(stamps, tried)| stamps.ecr.wrapping_sub(tried).cast_signed() < 0);
        let acks_more = segment.ack.is_some_and(|ack| ack > self.outstanding.una());
        // An ACK alone answers something.
        let by_itself = segment.sequence_len() > 0;
        is_between && is_older && by_itself && !acks_more
    }

    /// Since when this end has sent something and received nothing.
    pub fn unheard(&self) -> Option<Unheard> {
        self.unheard.map(Trying::unheard)
    }
}
