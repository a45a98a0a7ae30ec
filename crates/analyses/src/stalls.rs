//! Pauses far longer than an RTT, classified as TAPO does.
//!
//! Zhou et al., *Demystifying and mitigating TCP stalls at the server side*, CoNEXT 2015: a stall is a time between
//! two packets of a flow longer than min(2 SRTT, RTO) (section 3.1); its cause follows from what ended it and from
//! what was outstanding (figure 5).

use crate::label::Label;
use crate::limits::stretch::Hold;
use crate::outstanding::SpuriousRetransmission;
use crate::rtt::LinuxRto;
use slowpath_model::{Instant, Segment};
use std::time::Duration;

/// A pause between two segments of a flow that is a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Its start: the last segment before.
    pub from: Instant,
    /// How long it lasted.
    pub lasted: Duration,
    /// TAPO's cause.
    pub cause: StallCause,
    /// The frame that ended it.
    pub frame: u64,
}

/// The causes of stalls (TAPO, figure 5 and table 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StallCause {
    /// The server's application had nothing ready at the head of an answer.
    DataUnavailable,
    /// The server's application paused in the middle of an answer.
    ResourceConstraint,
    /// The client asked for nothing.
    ClientIdle,
    /// The receiver's window was closed.
    ZeroWindow,
    /// A retransmission was lost.
    DoubleRetransmission,
    /// The last segments of an answer were lost.
    TailRetransmission,
    /// Too little was in flight for three duplicate ACKs, by the congestion window.
    SmallCongestionWindow,
    /// Too little was in flight for three duplicate ACKs, by the receive window.
    SmallReceiveWindow,
    /// A whole window was lost.
    ContinuousLoss,
    /// The data arrived and its ACKs were late or lost.
    AckDelayOrLoss,
    /// Packets were late, not lost.
    PacketDelay,
    /// None of these shows.
    Undetermined,
}

impl StallCause {
    /// The name in JSON: `tail-retransmission`.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::DataUnavailable => "data-unavailable",
            Self::ResourceConstraint => "resource-constraint",
            Self::ClientIdle => "client-idle",
            Self::ZeroWindow => "zero-window",
            Self::DoubleRetransmission => "double-retransmission",
            Self::TailRetransmission => "tail-retransmission",
            Self::SmallCongestionWindow => "small-cwnd",
            Self::SmallReceiveWindow => "small-rwnd",
            Self::ContinuousLoss => "continuous-loss",
            Self::AckDelayOrLoss => "ack-delay-or-loss",
            Self::PacketDelay => "packet-delay",
            Self::Undetermined => "undetermined",
        }
    }
}

/// A silence up to this, in nanoseconds, is no stall: hosts can be that late by themselves.
const SHORTEST: i64 = 1_000_000;

/// How long a silence has to be to count as a stall, in nanoseconds; never, before the first RTT was measured.
fn threshold(rto: &LinuxRto) -> i64 {
    rto.srtt_nanos().map_or(i64::MAX, |srtt| (2 * srtt).min(rto.rto_nanos()).max(SHORTEST))
}

/// Whether `silence` is a stall of a direction with the one timer or of one with the other.
#[inline]
pub fn is_one(silence: i64, one: &LinuxRto, other: &LinuxRto) -> bool {
    silence > SHORTEST && silence > threshold(one).min(threshold(other))
}

/// The state of a direction when a silence ended.
#[derive(Clone, Copy, Debug)]
pub struct Holding {
    pub hold: Hold,
    /// The other end had asked for something.
    pub asked: bool,
    pub flight: i64,
    /// The receiver's window.
    pub room: Option<u32>,
    pub mss: i64,
    /// How often the oldest outstanding segment was retransmitted.
    pub again: u8,
    /// Something above a hole had arrived.
    pub sacked: bool,
}

/// What ended a silence.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    pub at: Instant,
    pub silence: i64,
    pub segment: &'a Segment,
    pub label: Option<Label>,
}

/// The stalls of one direction: the longest of them, and how many there were.
#[derive(Clone, Debug, Default)]
pub struct Stalls {
    #[expect(
        clippy::box_collection,
        reason = "most directions of most flows have none; a pointer is all they pay"
    )]
    kept: Option<Box<Vec<Stall>>>,
    count: u64,
}

impl Stalls {
    const MOST: usize = 64;

    /// A silence ended while this direction was in the state `holding`; `mine` if this direction's sender ended it.
    pub fn note(&mut self, ended: &Ended<'_>, holding: Option<Holding>, mine: bool, rto: &LinuxRto) {
        let Some(holding) = holding else { return };
        if ended.silence <= threshold(rto) {
            return;
        }
        self.count += 1;
        let lasted = Duration::from_nanos(ended.silence.unsigned_abs());
        let stall = Stall {
            from: ended.at - lasted,
            lasted,
            cause: cause(ended, &holding, mine),
            frame: ended.segment.frame,
        };
        let kept = self.kept.get_or_insert_default();
        if kept.len() < Self::MOST {
            kept.push(stall);
        } else if let Some(shortest) = kept.iter_mut().min_by_key(|stall| stall.lasted)
            && shortest.lasted < lasted
        {
            *shortest = stall;
        }
    }

    /// These retransmissions were spurious: the data had arrived before the stalls that they ended.
    pub fn were_spurious(&mut self, found: &[SpuriousRetransmission]) {
        let Some(kept) = &mut self.kept else { return };
        for stall in kept.iter_mut().filter(|stall| is_for_loss(stall.cause)) {
            if found.iter().any(|found| found.at == stall.from + stall.lasted) {
                stall.cause = StallCause::AckDelayOrLoss;
            }
        }
    }

    /// The stalls kept, in order of time, and the count of all.
    pub fn take(&mut self) -> (Vec<Stall>, u64) {
        let mut kept = self.kept.take().map(|kept| *kept).unwrap_or_default();
        kept.sort_unstable_by_key(|stall| stall.from);
        (kept, self.count)
    }
}

const fn is_for_loss(cause: StallCause) -> bool {
    matches!(
        cause,
        StallCause::DoubleRetransmission
            | StallCause::TailRetransmission
            | StallCause::SmallCongestionWindow
            | StallCause::SmallReceiveWindow
            | StallCause::ContinuousLoss
    )
}

fn cause(ended: &Ended<'_>, holding: &Holding, mine: bool) -> StallCause {
    let again = matches!(ended.label, Some(Label::Retransmission | Label::Spurious));
    if mine && again {
        return loss(ended, holding);
    }
    match holding.hold {
        Hold::Idle if mine && !holding.asked => StallCause::ResourceConstraint,
        Hold::Idle if mine => StallCause::DataUnavailable,
        Hold::Idle => StallCause::ClientIdle,
        Hold::Window if holding.room.is_none_or(|room| i64::from(room) < holding.mss) => {
            StallCause::ZeroWindow
        }
        Hold::Dry if mine => StallCause::ResourceConstraint,
        _ if !mine => StallCause::PacketDelay,
        // No ACK let the sender send, so a probe timer did, with new data (RFC 8985, section 7.3).
        Hold::Open => StallCause::PacketDelay,
        _ => StallCause::Undetermined,
    }
}

/// A silence that a retransmission ended (TAPO, section 4.2).
fn loss(ended: &Ended<'_>, holding: &Holding) -> StallCause {
    // Three duplicate ACKs need three segments above the lost one (RFC 5681, section 3.2).
    let few = holding.flight < 4 * holding.mss;
    if holding.again > 0 {
        StallCause::DoubleRetransmission
    } else if matches!(holding.hold, Hold::Dry) && !holding.sacked && few {
        StallCause::TailRetransmission
    } else if few && holding.room.is_some_and(|room| i64::from(room) < 4 * holding.mss) {
        StallCause::SmallReceiveWindow
    } else if few {
        StallCause::SmallCongestionWindow
    } else if !holding.sacked {
        StallCause::ContinuousLoss
    } else if ended.label == Some(Label::Spurious) {
        StallCause::AckDelayOrLoss
    } else {
        StallCause::Undetermined
    }
}
