//! Answers that pass the tap before the sender learns of them.

use super::Track;
use crate::limits::answer::Answer;
use crate::rtt::{Distance, LinuxRto};
use slowpath_model::Instant;

/// Answers kept for a sender that does not react: more than any window has segments in flight.
const MOST_PENDING: usize = 1 << 16;

impl Track {
    /// Processes an answer that the sender learns of later than the tap.
    #[inline(never)]
    pub(super) fn answered_far_away(&mut self, answer: Answer, near: &Distance, rto: &LinuxRto) {
        if answer.tsval.is_none() && !near.is_here() {
            self.unstamped.answered(&answer, self.mss);
        }
        self.catch_up(answer.at, None, near, rto);
        if near.min().is_none() {
            self.unplaced = Some(answer.at);
            self.learn(answer.at, &answer, rto);
        } else {
            if self.pending.len() == MOST_PENDING {
                self.pending.pop_front();
            }
            self.pending.push_back(answer);
        }
    }

    /// Gives the sender the answers that it must know by `at`; `echo` is the timestamp it has just echoed.
    #[inline(never)]
    pub(super) fn catch_up(&mut self, at: Instant, echo: Option<u32>, near: &Distance, rto: &LinuxRto) {
        while let Some(answer) = self.pending.front() {
            let age = at.nanos_since(answer.at);
            let knows = match (echo, answer.tsval) {
                (Some(echo), Some(val)) => {
                    let ahead = echo.wrapping_sub(val) as i32;
                    ahead > 0 || (ahead == 0 && age >= near.min().unwrap_or(0) * 9 / 10)
                }
                _ => false,
            };
            let reacted = self.unstamped.rtt.filter(|_| answer.tsval.is_none());
            let due = if answer.tsval.is_some() {
                near.recent() + near.recent() / 4 + 2_000_000
            } else {
                reacted.unwrap_or(near.recent()) * 15 / 16
            };
            if !knows && due > age {
                break;
            }
            let Some(answer) = self.pending.pop_front() else { break };
            // However it shows, the sender learnt it when it arrived there.
            let late = reacted.unwrap_or(near.lately());
            let arrived = answer.at.plus_nanos(late).clamp(self.last, at.max(self.last));
            self.learn(arrived, &answer, rto);
        }
    }
}
