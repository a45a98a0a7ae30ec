//! Data beyond the window that its sender should know: the sender is nearer to the tap than it seemed, or the window
//! larger. Data that ends where a window ends shows the sender's distance and the window's scale.

use super::Track;
use crate::limits::answer::Answer;
use crate::limits::stretch::Marks;
use crate::limits::thresholds;
use crate::limits::window_ends::{ScaleFound, WindowEnds};
use crate::report::ScaleKnown;
use crate::rtt::{Distance, LinuxRto, is_far_nearer};
use slowpath_model::{Instant, Segment, StreamOffset};

/// So many segments have to pass beyond it: fewer may be for ACKs that the capture missed.
const LEAST_BEYOND: u32 = 4;

/// What data at a window's end has shown so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Beyond {
    /// How often data passed beyond the window that this end should have known.
    times: u32,
    /// See [`Track::take_reaction`].
    reacted: Option<i64>,
    /// See [`Track::least_scale`].
    least_scale: u8,
    /// While the scale is not known.
    ends: Option<Box<WindowEnds>>,
    /// See [`Track::scale_found`].
    found: Option<u8>,
    /// While this end's distance is not known.
    at_once: AtOnce,
    /// See [`Finished::unread`](super::Finished::unread), and when it, or half of it, was last read.
    pub unread: u32,
    pub unread_until: Instant,
    /// When the last ACK of new data passed, and the window that came with it.
    answered: Option<(Instant, u32)>,
}

/// How soon new data follows ACKs at the tap.
#[derive(Clone, Copy, Debug, Default)]
struct AtOnce {
    bursts: u32,
    soon: u32,
    /// The shortest time, in nanoseconds.
    least: Option<i64>,
}

impl AtOnce {
    /// Bursts that have to follow their ACK at once, and of how many: what passes at some distance from its sender follows the
    /// ACKs in between at any time.
    const LEAST: u32 = 32;
    const PART: (u64, u64) = (7, 8);
    /// At once, in nanoseconds, and the part of the time between two ACKs.
    const SOON: (i64, i64) = (200_000, 8);

    /// New data follows an ACK after `gap`; that ACK followed the one before after `between`.
    #[cold]
    fn saw(&mut self, gap: i64, between: i64) {
        self.bursts = self.bursts.saturating_add(1);
        if gap <= Self::SOON.0 && gap * Self::SOON.1 <= between {
            self.soon = self.soon.saturating_add(1);
            self.least = Some(self.least.map_or(gap, |least| least.min(gap)));
        }
    }

    fn reaction(&self) -> Option<i64> {
        let (part, of) = Self::PART;
        self.least.filter(|_| {
            self.soon >= Self::LEAST && u64::from(self.soon) * of >= u64::from(self.bursts) * part
        })
    }
}

impl Beyond {
    /// The receiver answered. If its window opens long after all data was acknowledged (`has_all`), data had waited to be read.
    #[inline]
    pub fn answered(&mut self, answer: &Answer, has_all: bool, rto: &LinuxRto) {
        if answer.delivered > 0 {
            self.answered = Some((answer.at, answer.window));
        } else if let Some((since, before)) = self.answered.filter(|_| has_all)
            && answer.at.nanos_since(since) >= thresholds::READ_LATE_NS.max(rto.srtt_nanos().unwrap_or(0))
        {
            let opened = answer.window.saturating_sub(before);
            if opened >= self.unread {
                (self.unread, self.unread_until) = (opened, answer.at);
            } else if opened >= self.unread / 2 {
                self.unread_until = answer.at;
            }
        }
    }
}

impl Track {
    /// Data up to `end` passes. A sender keeps to the window that it knows, so it has every answer up to the one that
    /// opened the window so far, and is no farther from the tap than that answer is old. A single case may be an answer
    /// that the capture missed.
    pub(super) fn beyond_known(&mut self, at: Instant, end: StreamOffset, rto: &LinuxRto) {
        let is_exact = self.pending.front().is_some_and(|answer| answer.scale.is_known());
        if !is_exact || self.known.edge.is_none_or(|edge| end <= edge) {
            return;
        }
        self.beyond.times += 1;
        if self.beyond.times < LEAST_BEYOND {
            return;
        }
        while self.known.edge.is_some_and(|edge| end > edge)
            && let Some(answer) = self.pending.pop_front()
        {
            // After a gap of the capture, earlier answers opened the window.
            if !answer.marks.has(Marks::GAP) {
                self.reacted_within(at.nanos_since(answer.at));
            }
            self.learn(at, &answer, rto);
        }
    }

    /// The receiver's window ends before `edge`, an earlier end of it, by more than the window's granularity.
    #[inline]
    pub(super) fn take_back(&mut self, answer: &Answer, edge: Option<StreamOffset>) {
        let Some((now, once)) = answer.edge.zip(edge) else { return };
        if now == once && self.known.taken_back == 0 {
            return;
        }
        let back = if answer.newest { once.distance_from(now) } else { 0 };
        if back > i64::from(self.mss) && self.nxt > now {
            self.note_taken_back(back);
        } else if self.known.taken_back > 0 && now >= self.nxt.min(once) {
            self.known.taken_back = 0;
        }
    }

    #[cold]
    fn note_taken_back(&mut self, back: i64) {
        self.taken_back.times += u64::from(self.known.taken_back == 0);
        self.taken_back.largest = self.taken_back.largest.max(back);
        self.known.taken_back = back;
        self.episodes.taken_back();
    }

    /// This end reacted to an answer within so many nanoseconds.
    pub(super) fn reacted_within(&mut self, nanos: i64) {
        self.beyond.reacted = Some(self.beyond.reacted.map_or(nanos, |least| least.min(nanos)));
    }

    /// How soon this end reacted to an answer at most, if it did since the last call: an upper bound of its distance
    /// from the tap. `answering` is how far the other end is.
    pub fn take_reaction(&mut self, answering: &Distance) -> Option<i64> {
        // Next to the receiver, each ACK follows data that comes in bursts.
        let at_once = || {
            self.beyond
                .at_once
                .reaction()
                .filter(|gap| answering.min().is_some_and(|far| is_far_nearer(*gap, far)))
        };
        self.beyond.reacted.take().or_else(at_once)
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
        self.beyond.times += 1;
        if self.beyond.times < LEAST_BEYOND {
            return;
        }
        let sent = end.distance_from(self.known.una);
        if let Some(least) = ScaleKnown::least(shift, self.known.window >> shift, sent) {
            self.beyond.times = 0;
            self.beyond.least_scale = least;
            self.forget_edges();
        }
    }

    /// Whether the window is no bound, though it seems to be used up: its scale is not known, and none had more than a few
    /// segments. By the least scale that fits, the largest is less than twice what was in flight.
    #[cold]
    pub(super) fn seems_full_by_chance(&self) -> bool {
        !self.known.scale.is_known()
            && self.known.window > 0
            && self.window_most < thresholds::CHANCE_SEGMENTS * self.mss
    }

    /// What is known is no bound any more, until the next ACK comes.
    fn forget_edges(&mut self) {
        self.known.edge = None;
        for answer in &mut self.pending {
            answer.edge = None;
        }
    }

    /// New data passes.
    #[inline]
    pub(super) fn note_reaction(&mut self, at: Instant, near: &Distance) {
        // A burst follows its ACK; the rest of it, its first segment.
        if near.min().is_none() && self.acked > self.sent {
            self.beyond.at_once.saw(at.nanos_since(self.acked), self.between_answers);
        }
    }

    /// Keeps a window whose scale is not known.
    #[cold]
    pub(super) fn keep_window(&mut self, at: Instant, una: StreamOffset, field: u16) {
        self.beyond.ends.get_or_insert_default().advertised(at, una, field);
    }

    /// A segment shorter than an MSS, of new data up to `end`, passes: does it end where a window ends?
    #[cold]
    pub(super) fn look_for_window(&mut self, at: Instant, end: StreamOffset, is_here: bool) {
        let Some(ends) = &mut self.beyond.ends else { return };
        let Some(ScaleFound { shift, soonest }) = ends.short_segment(at, end, is_here) else { return };
        if shift >= self.known.scale.shift().max(self.beyond.least_scale) {
            self.reacted_within(soonest);
            self.beyond.found = Some(shift);
            self.beyond.ends = None;
            self.forget_edges();
        }
    }

    /// The scale of the receiver's window under which segments end where the window ends.
    pub const fn scale_found(&self) -> Option<u8> {
        self.beyond.found
    }

    /// The least scale of the receiver's window under which all that this end has sent fits.
    pub const fn least_scale(&self) -> u8 {
        self.beyond.least_scale
    }
}
