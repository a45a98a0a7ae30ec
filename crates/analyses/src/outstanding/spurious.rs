//! What shows a retransmission to have been spurious: a timestamp, a DSACK, or an answer that came too soon.

use super::Outstanding;
use crate::lateness::is_before;
use crate::limits::thresholds;
use slowpath_model::{Instant, Segment, StreamOffset};

impl Outstanding {
    /// RFC 3522: an ACK for a retransmitted segment that echoes an older timestamp than the retransmission's answers
    /// the original. Judged at the lowest unacknowledged segment only: with delayed ACKs a later one's ACK may echo an
    /// earlier one's timestamp (RFC 7323, section 4.3).
    pub(super) fn judge_by_timestamp(&mut self, ack: StreamOffset, segment: &Segment) -> u32 {
        let Some(stamps) = segment.timestamps else { return 0 };
        let Some(front) = self.records.front() else { return 0 };
        let older = |tsval: u32| is_before(stamps.ecr, tsval);
        if front.again == 0 || stamps.ecr == 0 || !older(front.tsval) {
            return 0;
        }
        let mut spurious = 0;
        for retransmission in &mut self.retransmissions {
            if !retransmission.spurious
                && retransmission.start >= self.una
                && retransmission.end <= ack
                && older(retransmission.tsval)
            {
                self.spurious.push(retransmission.mark_spurious());
                spurious += 1;
            }
        }
        spurious
    }

    /// What was retransmitted between `start` and `end` and is acknowledged sooner than it can have arrived had arrived
    /// before (RFC 8985, section 6.2, step 2), unless the answer echoes its timestamp.
    pub(super) fn judge_by_time(
        &mut self,
        at: Instant,
        [start, end]: [StreamOffset; 2],
        answer: &Segment,
        soonest: Option<i64>,
    ) -> u32 {
        let Some(soonest) = soonest else { return 0 };
        let (part, of) = thresholds::TOO_SOON;
        let soonest = (soonest / of).saturating_mul(part);
        let before = self.spurious.len();
        for last in self.retransmissions.iter_mut().rev() {
            if at.nanos_since(last.at) >= soonest {
                break;
            }
            let is_of_it = answer.timestamps.is_some_and(|stamps| !is_before(stamps.ecr, last.tsval));
            if !last.spurious && !is_of_it && last.start >= start && last.end <= end {
                self.spurious.push(last.mark_spurious());
            }
        }
        (self.spurious.len() - before) as u32
    }

    /// A DSACK from `start` to `end` (RFC 2883) reports the last retransmission of that which none has reported yet. Returns how
    /// many turn out spurious; `None` if there is no such retransmission.
    pub(super) fn judge_by_dsack(&mut self, start: StreamOffset, end: StreamOffset) -> Option<u32> {
        let reported = self.retransmissions.iter_mut().rev().find(|r| r.is_reported_by(start, end))?;
        reported.reported = true;
        if reported.spurious {
            return Some(0);
        }
        self.spurious.push(reported.mark_spurious());
        Some(1)
    }
}
