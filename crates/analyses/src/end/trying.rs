//! An end that sends and hears nothing.

use super::EndState;
use crate::label::Label;
use crate::report::Unheard;
use slowpath_model::Instant;
use std::time::Duration;

/// An end has sent something and received nothing since.
#[derive(Clone, Copy, Debug)]
pub struct Trying {
    since: Instant,
    /// How long neither end had sent anything then, in nanoseconds.
    pause: i64,
    tries: u32,
    smallest: u32,
}

impl Trying {
    /// As it is reported.
    pub fn unheard(self) -> Unheard {
        let pause = Duration::from_nanos(self.pause.max(0).unsigned_abs());
        Unheard { since: self.since, pause, tries: self.tries, smallest: self.smallest }
    }
}

impl EndState {
    /// It sent a segment with `len` bytes of payload that asks for an answer, `silence` after the last one of either end.
    #[inline]
    pub fn tries(&mut self, at: Instant, silence: i64, len: u32, label: Option<Label>) {
        let trying =
            self.unheard.get_or_insert(Trying { since: at, pause: silence, tries: 0, smallest: len });
        trying.smallest = trying.smallest.min(len);
        if !matches!(label, None | Some(Label::New)) {
            trying.tries += 1;
        }
    }

    /// Since when this end has sent something and received nothing.
    pub fn unheard(&self) -> Option<Unheard> {
        self.unheard.map(Trying::unheard)
    }
}
