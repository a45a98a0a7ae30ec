//! RTTs far from a sender that sends no timestamps: from an ACK at the tap to the data that it let out.
//!
//! Data that passes after a pause was let out by the first ACK of the burst before it, or written by a program later:
//! the time since that ACK is an upper bound of the RTT. The handshake's is a lower one. Where they agree, that is the
//! RTT, and no queue stood. A queue shows by the retransmission that fills a hole: it comes an RTT after the ACKs that ask
//! for it. Once one has shown, pauses date its growth. In between, the RTT is unknown, and with it what the sender knew at
//! any time.

use super::Track;
use crate::label::Label;
use crate::limits::answer::Answer;
use crate::limits::trains::PAUSE_PART;
use crate::outstanding::Placed;
use crate::rtt::{Distance, micros};
use slowpath_model::Instant;

/// What a measured RTT may be above the handshake's, without a queue: a part of it, and a host's delay in nanoseconds.
const AS_IN_HANDSHAKE: (i64, i64) = (8, 1_000_000);

/// How much longer an RTT may be than the one before: a part of it.
const GROWS_BY_PART: i64 = 4;

/// Segments above a hole that let the sender retransmit (RFC 6675, section 2: `DupThresh`).
const DUP_THRESH: i64 = 3;

/// A retransmission later than this, in nanoseconds, beyond the shortest RTT may be that of a timer (`TCP_RTO_MIN`).
const SHORTEST_RTO: i64 = 200_000_000;

/// What is known of RTTs without timestamps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unstamped {
    /// ACKs are seen that this end learns of later.
    pub is_needed: bool,
    /// The first ACK of the last burst.
    first: Option<Instant>,
    /// The ACK that reported enough above a hole.
    missing: Option<Instant>,
    /// The last RTT as seen from the tap, in nanoseconds; `None` while it is unknown.
    pub rtt: Option<i64>,
    /// It is that of a queue.
    queued: bool,
    /// A retransmission has shown a queue.
    has_queued: bool,
}

impl Unstamped {
    /// An ACK passes.
    pub fn answered(&mut self, answer: &Answer, mss: u32) {
        self.is_needed = true;
        if answer.delivered > 0 {
            self.first.get_or_insert(answer.at);
        }
        if answer.sacked == 0 {
            self.missing = None;
        } else if answer.sacked >= DUP_THRESH * i64::from(mss) {
            self.missing.get_or_insert(answer.at);
        }
    }

    /// Whether the RTT is needed and not known: a pause is then no sign that the sender had nothing to send.
    pub const fn is_unknown(&self) -> bool {
        self.is_needed && self.rtt.is_none()
    }

    /// The RTT of a queue that stood when it was measured, and stands: one that has emptied shows as a pause.
    pub fn standing(&self) -> Option<i64> {
        self.rtt.filter(|_| self.queued)
    }

    /// Whether the data after a pause, so long after the first ACK of the burst before, was let out by it; `base`
    /// is the handshake's RTT.
    fn is_let_out(&self, after: i64, base: i64) -> bool {
        let grows = |rtt: i64| self.has_queued && after <= rtt + rtt / GROWS_BY_PART;
        !is_queued(after, base) || self.rtt.is_some_and(grows)
    }
}

/// Whether an RTT is longer than that of the handshake, as behind a queue.
const fn is_queued(rtt: i64, base: i64) -> bool {
    let (part, more) = AS_IN_HANDSHAKE;
    rtt > base + base / part + more
}

impl Track {
    /// Data passes that has no timestamp, far from its sender.
    #[inline(never)]
    pub(super) fn date_reaction(&mut self, at: Instant, placed: &Placed, near: &Distance) {
        let Some(base) = near.min().filter(|_| !near.is_here()) else { return };
        let pause = at.nanos_since(self.sent);
        let dated = match placed.label {
            Label::Retransmission if !self.episodes.is_open() => {
                let Some(since) = self.unstamped.missing.take() else { return };
                let after = at.nanos_since(since);
                if pause > after / 2 && after > base + SHORTEST_RTO {
                    return;
                }
                self.unstamped.has_queued |= is_queued(after, base);
                Some(after)
            }
            Label::New if pause >= base / PAUSE_PART => {
                let Some(since) = self.unstamped.first.take() else { return };
                // A full buffer lets its writer continue later than the first ACK.
                let by_program = self.dry || self.spoken.is_some();
                Some(at.nanos_since(since))
                    .filter(|after| !by_program && self.unstamped.is_let_out(*after, base))
            }
            _ => return,
        };
        // Of several bursts in one RTT, the last is not the one that let this out.
        if dated.is_some_and(|after| after < base - base / AS_IN_HANDSHAKE.0) {
            return;
        }
        let dated = dated.map(|after| after.max(base));
        self.unstamped.rtt = dated;
        self.unstamped.queued = dated.is_some_and(|after| is_queued(after, base));
        if let Some(after) = dated {
            self.current.rtt_min = self.current.rtt_min.min(micros(after));
            self.reacted_within(after);
        }
    }
}
