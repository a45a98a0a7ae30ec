//! What the whole of a direction shows about each part of it.

use crate::cause::{Cause, Limit};
use crate::limits::alternatives::Tally;
use crate::limits::other_scale::ScaledOtherwise;
use crate::limits::thresholds;
use crate::limits::ticks::Clock;
use crate::loss_pattern::LossPattern;
use crate::token_bucket::TokenBucket;
use slowpath_model::Instant;
use std::time::Duration;

/// What the stretches of one direction say together.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// The shortest RTT, in microseconds.
    pub base_rtt: Option<u32>,
    /// How much longer the shortest RTT of data is than [`Self::base_rtt`], at most what a full segment takes to send at the
    /// peak rate, in microseconds: the SYN, which is short, may have the shortest RTT.
    pub segment_time: u32,
    /// The highest rate of delivery that was held for about an RTT, in bit/s.
    pub peak_rate: f64,
    /// Time spent with a standing queue while sending, in nanoseconds.
    pub queued: i64,
    /// The longest recovery from loss, in nanoseconds.
    pub longest_recovery: i64,
    /// Whether the sender's distance from the tap is known, and whether RTTs are measured all the time.
    pub near_known: bool,
    /// See [`Self::near_known`].
    pub queue_shows: bool,
    /// The rate, in bit/s, while the receiver's application read: the median. Unknown if it hardly did.
    pub read_rate: Option<f64>,
    /// ACKs that the receiver sent when its program read, and how long after the last arrival all together, in microseconds.
    pub reads: (u64, u64),
    /// Whether the tap is next to the receiver, behind all queues that data waits in, and not to the sender.
    pub at_receiver: bool,
    /// Seen from afar, ACKs do not trigger the sender.
    pub unclocked: bool,
    /// Many segments show the end of a write.
    pub short_writes: bool,
    /// Segments were retransmitted, and all were full, but for the last one.
    pub never_short: bool,
    /// Hardly any time went into the repair of losses.
    pub seldom_repaired: bool,
    /// How long Nagle's algorithm held the sender, and how long all lasted, in nanoseconds.
    pub nagled: i64,
    /// See [`Self::nagled`].
    pub lasted: i64,
    /// Far from the sender, ACKs seem to let out bursts as a full buffer does.
    pub like_refills: bool,
    /// There is a silence, far from the sender, in which what was sent may have been lost.
    pub unproven: bool,
    /// Far from the sender: in some of its time, every segment was a little shorter than the MSS.
    pub never_full: bool,
    /// There was never more than one segment in flight.
    pub one_segment: bool,
    /// Each of those was a full segment, whose ACK was not delayed.
    pub one_at_once: bool,
    /// Waits that payload of the other end ended, and waits that an ACK alone ended.
    pub waits: WaitEnds,
    /// What happened in the time of each cause.
    pub tallies: Vec<Tally>,
    /// What few directions have; see [`Self::rare`].
    pub rare: Option<Box<Rare>>,
}

impl Overview {
    /// Whether `rate` is this part of the peak rate or more. Few bytes, or none, have no peak.
    pub fn is_at_peak(&self, rate: f64, part: f64) -> bool {
        self.peak_rate > 0.0 && rate >= part * self.peak_rate
    }

    /// The shortest RTT of all, and the usual one in the time of `cause`, if both are known.
    pub fn rtts_under(&self, cause: Cause) -> Option<(Duration, Duration)> {
        let shortest = self.base_rtt.filter(|rtt| *rtt > 0)?;
        let tally = self.tallies.iter().find(|tally| tally.cause == cause)?;
        Some((Duration::from_micros(shortest.into()), tally.usual_rtt()?))
    }

    /// The RTT in the time of `cause`, a window or a buffer, if it is usually far longer than the shortest.
    pub fn rtt_under(&self, cause: Cause) -> Option<Duration> {
        let is_buffer = matches!(cause.limit(), Limit::ReceiveWindow | Limit::SendBuffer);
        let (shortest, usual) = self.rtts_under(cause)?;
        let is_longer = usual.as_micros() as f64 > thresholds::FAR_LONGER_RTT * shortest.as_micros() as f64;
        (is_buffer && is_longer).then_some(usual)
    }

    /// What few directions have.
    pub fn rare(&self) -> &Rare {
        self.rare.as_deref().unwrap_or(&Rare::NONE)
    }

    /// What few directions have: allocated when first needed.
    pub fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }
}

/// What few directions have: kept apart, since a recording may have a hundred thousand flows.
#[derive(Clone, Debug, Default)]
pub struct Rare {
    /// Whether a queue stood from the first packet on, as another flow shows.
    pub queued_at_first: bool,
    /// The rate a policer lets through, in bit/s, where one shows.
    pub policed: Option<f64>,
    /// The token bucket that explains the losses, where they follow bursts.
    pub bucket: Option<TokenBucket>,
    /// The sending pattern of a sender held by a clock of its own host, if it is (`limits/pace.rs`).
    pub steady: Option<Steady>,
    /// The pace of its bunches of full segments, in bit/s.
    pub pace_of_bunches: Option<f64>,
    /// How often the time to an ACK grew with what the reader had read before, where that shows a reader.
    pub read_times: Option<u16>,
    /// The clock that a program wrote by, where one shows.
    pub clock: Option<Clock>,
    /// What lost transmissions have in common, where any were lost; known next to the sender.
    pub loss: Option<LossPattern>,
    /// What arrived and was not accepted; known next to the receiver, where that is why data was retransmitted.
    pub not_accepted: Option<NotAccepted>,
    /// What the receiver took back of its window.
    pub taken_back: TakenBack,
    /// What shows that the ends go by different window scales, where they do.
    pub scale_changed: Option<ScaleChanged>,
    /// The RTT that the path had become, where it changed.
    pub longer_rtt: Option<LongerRtt>,
    /// What shows that ACKs waited in a queue on their way, where they did.
    pub ack_queue: Option<AckQueue>,
    /// One ACK for all that was in flight came long after it, again and again.
    pub answered_at_once: Option<AnsweredAtOnce>,
    /// RTTs were long by jitter, not by a queue (`limits/jitter.rs`).
    pub jitter: bool,
    /// The sender's recording shows ECN-capable segments, and the receiver's none.
    pub ecn_cleared: bool,
    /// Data that passed the tap after its acknowledgment.
    pub captured_late: CapturedLate,
}

/// Retransmissions of data that the other end was known to miss, and that had passed the tap before. Next to the other
/// end, the data had arrived there and its TCP did not accept it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotAccepted {
    /// All of them.
    pub segments: u32,
    /// Those with a wrong TCP checksum.
    pub damaged: u32,
    /// Those with an older timestamp than what passed before: PAWS (RFC 7323, section 5).
    pub stale: u32,
    /// Those beyond the window.
    pub outside: u32,
    /// The other end reneged on data it had selectively acknowledged (RFC 2018, section 8).
    pub reneged: bool,
    /// When the first of them passed.
    pub since: Instant,
    /// Retransmissions before that, and those of them that replaced a transmission which had passed.
    pub before: (u64, u32),
}

impl Rare {
    const NONE: Self = Self {
        queued_at_first: false,
        policed: None,
        bucket: None,
        steady: None,
        pace_of_bunches: None,
        clock: None,
        read_times: None,
        loss: None,
        not_accepted: None,
        taken_back: TakenBack { times: 0, largest: 0 },
        scale_changed: None,
        longer_rtt: None,
        ack_queue: None,
        answered_at_once: None,
        jitter: false,
        ecn_cleared: false,
        captured_late: CapturedLate::NONE,
    };
}

/// A queue on the way of the ACKs, on average over its time, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct AckQueue {
    /// By how much RTTs exceeded the shortest.
    pub queue: u32,
    /// By how much ACKs were later than the most punctual one, at least, if the receiver's timestamps tell.
    pub acks: Option<u32>,
    /// By how much data was later than the most punctual segment, at most, if the sender's timestamps tell and the tap is next to
    /// the receiver.
    pub data: Option<u32>,
}

/// Of many segments in flight, none had an ACK long before the others.
#[derive(Clone, Copy, Debug)]
pub struct AnsweredAtOnce {
    /// What one ACK acknowledged, in bytes: the median.
    pub data: u32,
    /// By how much that exceeded the shortest RTT, in microseconds: the median.
    pub late: u32,
}

/// A device on the path changed the window scale in a SYN.
#[derive(Clone, Copy, Debug)]
pub enum ScaleChanged {
    /// The window after that of the SYN, which is not scaled (RFC 7323, section 2.2), is much smaller with the scale shown.
    FirstWindow {
        /// The window of the SYN, in bytes.
        opened: u32,
        /// The next one.
        next: u32,
    },
    /// The sender fills windows of another scale.
    Filled(ScaledOtherwise),
}

/// Data that is in the capture after its own acknowledgment: its timestamp is late, or it was written in the wrong
/// place.
#[derive(Clone, Copy, Debug, Default)]
pub struct CapturedLate {
    /// How many segments.
    pub segments: u64,
    /// The largest delay, in nanoseconds.
    pub most: i64,
    /// How many were late by nearly that much.
    pub by_most: u64,
}

impl CapturedLate {
    /// No data.
    pub const NONE: Self = Self { segments: 0, most: 0, by_most: 0 };

    /// Adds a segment that is late by so many nanoseconds.
    pub fn note(&mut self, late: i64) {
        if late / 5 > self.most / 4 {
            self.by_most = 0;
        }
        self.most = self.most.max(late);
        self.segments += 1;
        self.by_most += u64::from(late / 4 >= self.most / 5);
    }

    /// By how much each segment was late, if by the same time.
    pub const fn constant(&self) -> Option<i64> {
        // Data acknowledged at once is late by nearly all of it; a delayed ACK leaves less.
        const LEAST_SEGMENTS: u64 = 10;
        const MOST: i64 = 1_000_000_000;
        let alike = self.by_most >= LEAST_SEGMENTS && self.by_most * 4 >= self.segments;
        if alike && self.most > 0 && self.most < MOST { Some(self.most) } else { None }
    }
}

/// How often, and how far, the receiver moved the edge of its window back while data was in flight beyond it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TakenBack {
    /// How often.
    pub times: u64,
    /// The furthest, in bytes.
    pub largest: i64,
}

/// The RTT of a path that became longer.
#[derive(Clone, Copy, Debug)]
pub struct LongerRtt {
    /// In microseconds.
    pub rtt: u32,
    /// It did not change with what was in flight, as that of a queue does.
    pub whatever_flight: bool,
}

/// How a sender with a clock of its own sends.
#[derive(Clone, Copy, Debug)]
pub struct Steady {
    /// Its rate, in bit/s.
    pub rate: f64,
    /// What is in flight, in bytes.
    pub flight: f64,
    /// The part of the data that no ACK triggered; known next to the sender.
    pub unprompted: Option<f64>,
}

/// What ended the waits of a sender that had nothing to send.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitEnds {
    /// Payload of the other end.
    pub prompted: u64,
    /// An ACK alone.
    pub clocked: u64,
    /// Of these, the ACK of the one segment in flight.
    pub one_at_a_time: u64,
    /// How long, in nanoseconds, the sender took in request/response turns until it answered.
    pub answering: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(by: impl IntoIterator<Item = i64>) -> CapturedLate {
        by.into_iter().fold(CapturedLate::default(), |mut late, by| {
            late.note(by);
            late
        })
    }

    #[test]
    fn constant_lateness_is_distinguished_from_random() {
        assert_eq!(late([3_000_000; 20]).constant(), Some(3_000_000));
        let delayed_acks = (0..40).map(|n| if n % 2 == 0 { 2_990_000 } else { 1_000_000 });
        assert_eq!(late(delayed_acks).constant(), Some(2_990_000));
        let at_random = (1..200).map(|n| n * 7919 % 1000 * 1000);
        assert_eq!(late(at_random).constant(), None, "few are as late as the latest");
        assert_eq!(late([3_000_000; 5]).constant(), None, "too few");
    }
}
