//! What else could have held the sender in the time of a cause, and the fact that excludes it.

use crate::cause::{Cause, Limit};
use crate::evidence::Evidence;
use crate::limits::stretch::{Hold, Prompt, Stretch};
use crate::limits::thresholds;
use std::time::Duration;

/// Another limit that the time of a cause could be of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alternative {
    /// The limit.
    pub limit: Limit,
    /// What excludes it; `None` where nothing does.
    pub excluded_by: Option<Evidence>,
}

/// What happened in all the time of one cause.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    /// The cause.
    pub cause: Cause,
    /// How long, in nanoseconds.
    lasted: i64,
    /// Nanoseconds under each [`Hold`].
    held: [i64; Hold::COUNT],
    /// New data in bytes, by what set it off.
    sent_after: [u64; Prompt::COUNT],
    /// Segments that emptied the sender's queue.
    emptied: u64,
    /// Time with a queue, in nanoseconds.
    queued: i64,
}

/// What is known beside a [`Tally`].
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Whether the tap is next to the sender.
    pub at_sender: bool,
    /// The shortest round trip of the path.
    pub base_rtt: Option<Duration>,
}

impl Tally {
    /// The limits that packets tell apart.
    const TOLD_APART: [Limit; 6] = [
        Limit::Application,
        Limit::SendingHost,
        Limit::ReceiveWindow,
        Limit::CongestionWindow,
        Limit::LossRecovery,
        Limit::Path,
    ];

    /// Sums up the stretches of each cause; `queueing` tells whether a queue stood in one.
    pub(crate) fn of(
        stretches: &[Stretch],
        causes: &[Cause],
        queueing: impl Fn(&Stretch) -> bool,
    ) -> Vec<Self> {
        let mut tallies: Vec<Self> = Vec::new();
        for (stretch, cause) in stretches.iter().zip(causes) {
            let at = tallies.iter().position(|tally| tally.cause == *cause).unwrap_or_else(|| {
                let nothing = Self {
                    cause: *cause,
                    lasted: 0,
                    held: [0; Hold::COUNT],
                    sent_after: [0; Prompt::COUNT],
                    emptied: 0,
                    queued: 0,
                };
                tallies.push(nothing);
                tallies.len() - 1
            });
            tallies[at].add(stretch, queueing(stretch));
        }
        tallies
    }

    fn add(&mut self, stretch: &Stretch, queueing: bool) {
        self.lasted += stretch.lasted();
        self.queued += if queueing { stretch.lasted() } else { 0 };
        self.emptied += u64::from(stretch.emptied);
        for (mine, theirs) in self.held.iter_mut().zip(stretch.held) {
            *mine += theirs;
        }
        for (mine, theirs) in self.sent_after.iter_mut().zip(stretch.sent_after) {
            *mine += u64::from(theirs);
        }
    }

    /// The other limits. None for what the packets show directly: an opening, an end that is gone, a repair.
    pub fn alternatives(&self, known: Known) -> Vec<Alternative> {
        let own = self.cause.limit();
        if !Self::TOLD_APART.contains(&own) && own != Limit::SendBuffer || own == Limit::LossRecovery {
            return Vec::new();
        }
        let others = Self::TOLD_APART.into_iter().filter(|limit| *limit != own);
        others.map(|limit| Alternative { limit, excluded_by: self.excludes(limit, known) }).collect()
    }

    fn excludes(&self, limit: Limit, known: Known) -> Option<Evidence> {
        let used_up = self.held_part(Hold::Window);
        if limit != Limit::LossRecovery && used_up >= thresholds::EXCLUDES {
            return Some(Evidence::WindowUsedUp { share: used_up });
        }
        let idle = self.held_part(Hold::Idle);
        let by_idleness = matches!(limit, Limit::CongestionWindow | Limit::Path | Limit::SendingHost);
        if by_idleness && idle >= thresholds::EXCLUDES {
            return Some(Evidence::NothingInFlight { share: idle });
        }
        let sent =
            |prompt| self.sent_part(prompt).filter(|share| known.at_sender && *share >= thresholds::SET_OFF);
        match limit {
            Limit::Application => {
                (self.emptied == 0 && self.sent() > 0).then_some(Evidence::AlwaysMoreToSend {})
            }
            Limit::SendingHost => sent(Prompt::Ack).map(|share| Evidence::SetOffByAcks { share }),
            Limit::ReceiveWindow => (1.0 - used_up >= thresholds::EXCLUDES)
                .then_some(Evidence::RoomInWindow { share: 1.0 - used_up }),
            Limit::CongestionWindow => sent(Prompt::Nothing)
                .map(|share| Evidence::UnpromptedSends { share })
                .or_else(|| sent(Prompt::Payload).map(|share| Evidence::SetOffByPayload { share }))
                .or_else(|| self.queue_stood()),
            Limit::LossRecovery => {
                (self.held[Hold::Recovery as usize] == 0).then_some(Evidence::NothingRepaired {})
            }
            Limit::Path => known
                .base_rtt
                .filter(|_| self.part(self.queued) <= 1.0 - thresholds::EXCLUDES)
                .map(|shortest| Evidence::NoQueue { shortest }),
            _ => None,
        }
    }

    fn queue_stood(&self) -> Option<Evidence> {
        let share = self.part(self.queued);
        (share >= thresholds::EXCLUDES).then_some(Evidence::QueueStood { share })
    }

    fn sent(&self) -> u64 {
        self.sent_after.iter().sum()
    }

    fn sent_part(&self, prompt: Prompt) -> Option<f64> {
        let sent = self.sent();
        (sent > 0).then(|| self.sent_after[prompt as usize] as f64 / sent as f64)
    }

    fn held_part(&self, hold: Hold) -> f64 {
        self.part(self.held[hold as usize])
    }

    fn part(&self, time: i64) -> f64 {
        if self.lasted > 0 { time as f64 / self.lasted as f64 } else { 0.0 }
    }
}
