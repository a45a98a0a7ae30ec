//! What a silence is: an answer that is overdue, a segment that was under way all the time, or perhaps no idleness.

use super::{LATE_BY_ITSELF, SHORTEST_TIMER, Track};
use crate::limits::stretch::{Hold, Marks};
use crate::rtt::LinuxRto;
use slowpath_model::Instant;

impl Track {
    /// With data outstanding and no answer for two RTTs, the time beyond one was spent under way. `asked` returns when
    /// the data was sent that is answered at `at`, or is still unanswered, if known. The ACK of one segment may be delayed by
    /// `delayed_ack`, in nanoseconds.
    #[inline]
    pub(super) fn overdue(
        &mut self,
        at: Instant,
        asked: impl FnOnce() -> Option<Instant>,
        delayed_ack: i64,
        rto: &LinuxRto,
    ) {
        if at.nanos_since(self.last) > 2 * LATE_BY_ITSELF {
            self.account_overdue(at, asked(), delayed_ack, rto);
        }
    }

    #[inline(never)]
    fn account_overdue(&mut self, at: Instant, asked: Option<Instant>, delayed_ack: i64, rto: &LinuxRto) {
        let Some(srtt) = rto.srtt_nanos() else { return };
        let long = srtt.max(LATE_BY_ITSELF);
        let asked = asked.map_or(self.last.max(self.sent).max(self.learnt), |asked| {
            asked.max(self.learnt.plus_nanos(-srtt))
        });
        let expected = asked.plus_nanos(long).max(self.last);
        let hold = self.hold();
        let expects = match hold {
            // The ACK of one segment may be delayed.
            Hold::Dry | Hold::Open if self.flight <= i64::from(self.mss) => {
                at.nanos_since(self.sent.max(self.learnt)) > delayed_ack + srtt
            }
            Hold::Dry | Hold::Open => true,
            // A receiver acknowledges every second segment at once (RFC 5681, section 4.2), with room for more or
            // without; unless the capture missed that.
            Hold::Window => self.flight > 2 * i64::from(self.mss) && !self.told.has(Marks::GAP),
            _ => false,
        };
        if expects && at.nanos_since(asked) > 2 * long && at.nanos_since(self.learnt) > long {
            self.account(expected, hold, rto);
            self.account(at, Hold::Delayed, rto);
        }
    }

    /// A segment arrives at a tap far from its sender `late` later than its timestamp implies: it was under way all
    /// that time, and the sender was not idle.
    #[inline(never)]
    pub fn was_under_way(&mut self, at: Instant, late: i64, rto: &LinuxRto) {
        let from = at.plus_nanos(-late);
        if from < at && from >= self.sent {
            let hold = self.hold();
            if matches!(hold, Hold::Idle | Hold::Dry | Hold::Open) {
                self.account(from.max(self.last), hold, rto);
                self.account(at, Hold::Delayed, rto);
            }
        }
    }

    /// Notes how long the sender sent nothing before this segment, by its timestamps, in nanoseconds.
    pub const fn date_silence(&mut self, lasted: i64) {
        self.dated_silence = lasted;
    }

    /// Notes whether everything that the sender sent since its last segment at the tap is known to have passed it, and
    /// this segment to have just been sent.
    pub const fn is_complete(&mut self, is_complete: bool) {
        self.is_complete = is_complete;
    }

    /// A silence ends at `at`, seen far from the sender. After a segment that left nothing to send, the sender was
    /// idle. After a full one, that is certain only if its packets are counted and none is missing: what it sent may
    /// have been lost, or late, or not let out yet where the RTT is not known.
    #[inline(never)]
    pub(super) fn note_unproven_silence(&mut self, at: Instant, rto: &LinuxRto) {
        let by_timer = at.nanos_since(self.last) >= (rto.rto_nanos() * 7 / 10).max(SHORTEST_TIMER);
        if (by_timer || self.unstamped.is_unknown()) && !self.ended_short && !self.is_complete {
            self.told.set(Marks::UNPROVEN);
        }
    }
}
