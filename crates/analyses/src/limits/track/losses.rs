//! When something was lost, and what had arrived before.

use super::{LATE_BY_ITSELF, SHORTEST_TIMER, Track};
use crate::label::Label;
use crate::limits::answer::Answer;
use crate::limits::episodes::{Arrived, Loss};
use crate::limits::stretch::{Hold, Marks};
use crate::limits::thresholds;
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
        if answer.sacked > 0 {
            self.episodes.note_missing();
        }
        if answer.sacked == 0 {
            (self.missing_since, self.before_hole) = (None, None);
        } else if self.missing_since.is_none() {
            (self.missing_since, self.before_hole) = (Some(at), Some(self.arrived()));
        } else if answer.una > self.known.una {
            self.before_hole = None;
        }
    }

    /// Whether a timer that is shorter than Linux's expired: nothing came, not even a duplicate ACK, for longer than an RTT, and
    /// the oldest segment is retransmitted.
    fn is_by_timer(&self, at: Instant, segment: &Segment, silent: i64, rto: &LinuxRto) -> bool {
        let silent = silent.min(at.nanos_since(self.acked));
        let (rtts, of) = thresholds::SHORT_TIMER_RTTS;
        let long = rto.srtt_nanos().map_or(i64::MAX, |srtt| (srtt * rtts / of).max(LATE_BY_ITSELF));
        silent >= long && segment.seq == self.known.una && segment.end() < self.nxt
    }

    /// Whether the receiver reports what it misses.
    pub const fn receiver_reports(&mut self, reports: bool) {
        self.receiver_reports = reports;
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
        let silence = silent.max(self.dated_silence);
        let timeout = silence >= (rto.rto_nanos() * 7 / 10).max(SHORTEST_TIMER)
            || near.is_here() && self.is_by_timer(at, segment, silent, rto);
        // Neither a report of a hole nor a timer caused it.
        let soon = rto.srtt_nanos().unwrap_or(0) / thresholds::ANSWERED_RTT_PART;
        let is_answered = placed.label == Label::Spurious || silent < soon;
        let is_probe = placed.tail && !self.episodes.is_open();
        let needless =
            self.receiver_reports && self.missing_since.is_none() && !timeout && is_answered && !is_probe;
        let hold = match self.hold() {
            Hold::Window if !timeout => Hold::Window,
            hold if needless && !self.episodes.is_repairing() => hold,
            _ => Hold::Recovery,
        };
        self.account(at, hold, rto);
        if !needless {
            self.current.marks.set(Marks::RETRANSMITTED);
            self.lost_before = true;
        }
        self.marked = false;
        if self.known.taken_back > 0 {
            self.episodes.taken_back();
        }
        let after = if self.missing_since.is_some() { self.before_hole } else { Some(self.arrived()) };
        let since = since.map_or(silent_since, |since| since.min(silent_since));
        // With SACK, the first timer to expire is that of a tail loss probe, which sends the last segment (RFC 8985, section 7.2;
        // `tcp_schedule_loss_probe`, 6.18).
        let probes = timeout && is_probe && self.receiver_reports;
        let dry = self.ended_short && near.is_here();
        let loss = Loss { since, after, timeout: timeout && !probes, probes, dry, needless };
        self.episodes.on_retransmission(at, segment, placed, &loss, self.nxt);
    }
}
