//! What else could have held the sender during a cause, and the fact that excludes it.

use super::stretch::{Hold, Part, Prompt, Stretch, usual};
use super::thresholds;
use crate::cause::{Cause, Limit};
use crate::evidence::Evidence;
use std::time::Duration;

/// Another limit that could explain the time of a cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alternative {
    /// The limit.
    pub limit: Limit,
    /// What excludes it; `None` where nothing does.
    pub excluded_by: Option<Evidence>,
}

/// What happened in all the time of one cause. Shares are in 255ths: a report of many flows keeps some for each.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    /// The cause.
    pub cause: Cause,
    /// The part of its time with all data acknowledged.
    idle: u8,
    /// The part with the receiver's window used up.
    used_up: u8,
    /// The part with a queue.
    queued: u8,
    /// Whether losses were repaired in it.
    repaired: bool,
    /// Whether new data was sent in it.
    sent: bool,
    /// Whether a segment emptied the sender's queue.
    emptied: bool,
    /// The parts of the new data, by what set it off.
    sent_after: [u8; Prompt::COUNT],
    /// Half of its time had RTTs of this or more, in microseconds; 0 if none was measured.
    usual_rtt: u32,
}

/// What is known besides a [`Tally`].
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Whether the tap is next to the sender.
    pub at_sender: bool,
    /// Evidence of no queue, if the tally of a cause has none.
    pub no_queue: Option<Evidence>,
}

impl Tally {
    /// The limits that packets distinguish.
    const TOLD_APART: [Limit; 6] = [
        Limit::Application,
        Limit::SendingHost,
        Limit::ReceiveWindow,
        Limit::CongestionWindow,
        Limit::LossRecovery,
        Limit::Path,
    ];

    /// Sums up the stretches of each cause that has alternatives; `queueing` says whether a queue stood in one.
    pub(crate) fn of<'a>(
        parts: impl Iterator<Item = (&'a Stretch, &'a Part)>,
        queueing: impl Fn(&Stretch) -> bool,
    ) -> Vec<Self> {
        let mut sums: Vec<Sums> = Vec::new();
        for (stretch, part) in parts {
            let cause = part.cause;
            if !Self::has_alternatives(cause) {
                continue;
            }
            let at = sums.iter().position(|sums| sums.cause == cause).unwrap_or_else(|| {
                sums.push(Sums::of(cause));
                sums.len() - 1
            });
            sums[at].add(stretch, part, queueing(stretch));
        }
        sums.iter_mut().map(Sums::tally).collect()
    }

    fn has_alternatives(cause: Cause) -> bool {
        let limit = cause.limit();
        limit != Limit::LossRecovery && (Self::TOLD_APART.contains(&limit) || limit == Limit::SendBuffer)
    }

    /// The other limits; none if packets show the cause directly: an opening, an end that is gone, a repair.
    pub fn alternatives(&self, known: Known) -> impl Iterator<Item = Alternative> {
        let own = self.cause.limit();
        let others = Self::TOLD_APART.into_iter().filter(move |limit| *limit != own);
        others.map(move |limit| Alternative { limit, excluded_by: self.excludes(limit, known) })
    }

    /// Half of its time had RTTs of this or more, if any was measured.
    pub fn usual_rtt(&self) -> Option<Duration> {
        (self.usual_rtt > 0).then(|| Duration::from_micros(self.usual_rtt.into()))
    }

    fn excludes(&self, limit: Limit, known: Known) -> Option<Evidence> {
        let used_up = part(self.used_up);
        if limit != Limit::LossRecovery && used_up >= thresholds::EXCLUDES {
            return Some(Evidence::WindowUsedUp { share: used_up });
        }
        let idle = part(self.idle);
        let by_idleness = matches!(limit, Limit::CongestionWindow | Limit::Path | Limit::SendingHost);
        if by_idleness && idle >= thresholds::EXCLUDES {
            return Some(Evidence::NothingInFlight { share: idle });
        }
        let sent = |prompt: Prompt| {
            let share = part(self.sent_after[prompt as usize]);
            (known.at_sender && share >= thresholds::SET_OFF).then_some(share)
        };
        match limit {
            Limit::Application => (self.sent && !self.emptied).then_some(Evidence::AlwaysMoreToSend {}),
            Limit::SendingHost => sent(Prompt::Ack).map(|share| Evidence::SetOffByAcks { share }),
            Limit::ReceiveWindow => (1.0 - used_up >= thresholds::EXCLUDES)
                .then_some(Evidence::RoomInWindow { share: 1.0 - used_up }),
            Limit::CongestionWindow => sent(Prompt::Nothing)
                .map(|share| Evidence::UnpromptedSends { share })
                .or_else(|| sent(Prompt::Payload).map(|share| Evidence::SetOffByPayload { share }))
                .or_else(|| self.queue_stood()),
            Limit::LossRecovery => (!self.repaired).then_some(Evidence::NothingRepaired {}),
            Limit::Path => known.no_queue.filter(|_| part(self.queued) <= 1.0 - thresholds::EXCLUDES),
            _ => None,
        }
    }

    fn queue_stood(&self) -> Option<Evidence> {
        let share = part(self.queued);
        (share >= thresholds::EXCLUDES).then_some(Evidence::QueueStood { share })
    }
}

/// The stretches of one cause, added up: times in nanoseconds, data in bytes.
struct Sums {
    cause: Cause,
    lasted: i64,
    held: [i64; Hold::COUNT],
    queued: i64,
    sent_after: [u64; Prompt::COUNT],
    emptied: bool,
    /// RTTs in microseconds, each with how long it was the shortest.
    rtts: Vec<(u32, i64)>,
}

impl Sums {
    const fn of(cause: Cause) -> Self {
        Self {
            cause,
            lasted: 0,
            held: [0; Hold::COUNT],
            queued: 0,
            sent_after: [0; Prompt::COUNT],
            emptied: false,
            rtts: Vec::new(),
        }
    }

    fn add(&mut self, stretch: &Stretch, part: &Part, is_queueing: bool) {
        self.lasted += part.lasted();
        if part.repairs {
            self.held[Hold::Recovery as usize] += part.lasted();
        } else {
            // Of a stretch with a repair, this is a share of the rest.
            let rest = stretch.lasted() - stretch.under(Hold::Recovery);
            let share = part.lasted() as f64 / rest.max(1) as f64;
            for hold in Hold::ALL.into_iter().filter(|hold| *hold != Hold::Recovery) {
                self.held[hold as usize] += (stretch.under(hold) as f64 * share) as i64;
            }
        }
        if is_queueing {
            self.queued += part.lasted();
        }
        for (sum, sent) in self.sent_after.iter_mut().zip(stretch.sent_after) {
            *sum += u64::from(sent);
        }
        self.emptied |= stretch.emptied > 0;
        if stretch.rtt_min != u32::MAX {
            self.rtts.push((stretch.rtt_min, part.lasted()));
        }
    }

    fn tally(&mut self) -> Tally {
        let usual_rtt = usual(std::mem::take(&mut self.rtts)).unwrap_or(0);
        let under = |hold: Hold| self.held[hold as usize];
        let part = |time: i64| share(time as f64, self.lasted as f64);
        let sent: u64 = self.sent_after.iter().sum();
        Tally {
            cause: self.cause,
            idle: part(under(Hold::Idle)),
            used_up: part(under(Hold::Window)),
            queued: part(self.queued),
            repaired: under(Hold::Recovery) > 0,
            sent: sent > 0,
            emptied: self.emptied,
            sent_after: self.sent_after.map(|bytes| share(bytes as f64, sent as f64)),
            usual_rtt,
        }
    }
}

/// `of` as a part of `all`, in 255ths.
fn share(of: f64, all: f64) -> u8 {
    if all > 0.0 { (255.0 * of / all).round() as u8 } else { 0 }
}

fn part(share: u8) -> f64 {
    f64::from(share) / 255.0
}
