//! Which facts that changed explain the difference in time: those with a mechanism, where the time under that mechanism's
//! causes changed with them.

use super::fact::{Fact, Measured};
use super::side::Side;
use super::time::{Difference, Part};
use slowpath_analyses::Cause;
use slowpath_analyses::Limit;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A fact that both sides have, and that differs by more than its resolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Changed {
    /// Which.
    pub fact: Fact,
    /// On both sides.
    pub values: [Measured; 2],
    /// By how much B's is more.
    pub by: f64,
}

/// Why a fact changes the time under a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// At most one window of data passes in an RTT.
    WindowOverRtt,
    /// At most what is kept in flight passes in an RTT.
    FlightOverRtt,
    /// Each of its steps takes an RTT.
    StepsOfAnRtt,
    /// Each loss reduces the congestion window.
    LossReducesWindow,
    /// Each loss has to be repaired.
    LossIsRepaired,
    /// Each waits for the retransmission timer.
    TimersRunOut,
    /// Reordering looks like loss.
    ReorderingLooksLikeLoss,
    /// A spurious retransmission reduces the window as a loss does.
    SpuriousReducesWindow,
    /// Each mark reduces the congestion window.
    MarkReducesWindow,
    /// Without SACK, the sender learns of one loss in an RTT.
    OneLossInAnRtt,
    /// The congestion window grows by a segment in an RTT.
    WindowGrowsBySegments,
    /// Each segment carries its headers.
    HeadersOfSegments,
    /// The path carries no more.
    PathCarriesLess,
    /// A policer drops what is above its rate.
    PolicerDrops,
    /// The sending host keeps to a rate.
    HostKeepsToRate,
    /// The receiving program reads at this rate.
    ReaderIsSlower,
    /// Each turn costs a time.
    TurnsCostTime,
    /// The opening waits for its timer.
    OpeningWaits,
    /// The sending program itself had nothing to send.
    ProgramPaused,
    /// The receiving program, or its host, was late by itself.
    ReceiverWasLate,
}

/// A mechanism that explains a part of the difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The mechanism.
    pub why: Why,
    /// The facts that it rests on, on both sides. Empty where the cause itself is the program's own time.
    pub facts: Vec<Changed>,
    /// Facts that it needs and that stayed.
    pub stayed: Vec<(Fact, [Measured; 2])>,
    /// The causes whose time it explains, what changed most first.
    pub causes: Vec<Cause>,
    /// How much of the difference these are, in nanoseconds for the amount of data.
    pub amount_ns: i64,
}

/// What explains a difference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explained {
    /// What does, the largest part first.
    pub by: Vec<Explanation>,
    /// Parts of the difference that nothing explains, in nanoseconds for the amount of data.
    pub unexplained: Vec<(Cause, i64)>,
}

/// A fact that is worse where it is more, or less.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Worse {
    More,
    Less,
}

/// What changes the time under causes, and why.
type Rule = (Fact, Worse, Why, fn(Cause) -> bool);

/// All mechanisms with a fact of their own. Those of windows and of what is in flight are in [`over_rtt`].
const RULES: [Rule; 21] = [
    (Fact::Rtt, Worse::More, Why::StepsOfAnRtt, takes_rtts),
    (Fact::LoadedRtt, Worse::More, Why::StepsOfAnRtt, takes_rtts),
    (Fact::Lost, Worse::More, Why::LossReducesWindow, |cause| matches!(cause, Cause::AfterLoss)),
    (Fact::Lost, Worse::More, Why::LossIsRepaired, is_repair),
    (Fact::Timeouts, Worse::More, Why::TimersRunOut, is_timer),
    (Fact::Reordered, Worse::More, Why::ReorderingLooksLikeLoss, |cause| {
        matches!(cause, Cause::Reordering | Cause::SpuriousTimeout | Cause::FastRecovery | Cause::AfterLoss)
    }),
    (Fact::Spurious, Worse::More, Why::SpuriousReducesWindow, |cause| {
        matches!(cause, Cause::Reordering | Cause::SpuriousTimeout | Cause::AfterLoss)
    }),
    (Fact::Marked, Worse::More, Why::MarkReducesWindow, |cause| matches!(cause, Cause::EcnMarks)),
    (Fact::Sack, Worse::Less, Why::OneLossInAnRtt, is_repair),
    (Fact::Mss, Worse::Less, Why::WindowGrowsBySegments, |cause| {
        matches!(cause, Cause::SlowStart | Cause::AfterLoss | Cause::EcnMarks)
    }),
    (Fact::Mss, Worse::Less, Why::HeadersOfSegments, |cause| {
        matches!(cause, Cause::BottleneckFull | Cause::StandingQueue)
    }),
    (Fact::PeakRate, Worse::Less, Why::PathCarriesLess, |cause| {
        matches!(cause, Cause::BottleneckFull | Cause::StandingQueue | Cause::AckPathQueue)
    }),
    (Fact::PolicedRate, Worse::Less, Why::PolicerDrops, |cause| matches!(cause, Cause::Policer)),
    (Fact::PeakRate, Worse::Less, Why::PolicerDrops, |cause| matches!(cause, Cause::Policer)),
    (Fact::PacedRate, Worse::Less, Why::HostKeepsToRate, |cause| matches!(cause, Cause::LocalRateLimit)),
    (Fact::PeakRate, Worse::Less, Why::HostKeepsToRate, |cause| {
        cause.limit() as u8 == Limit::SendingHost as u8
    }),
    (Fact::ReadRate, Worse::Less, Why::ReaderIsSlower, |cause| matches!(cause, Cause::SlowReader)),
    (Fact::WindowClosed, Worse::More, Why::ReaderIsSlower, |cause| {
        matches!(cause, Cause::SlowReader | Cause::ReaderStopped)
    }),
    (Fact::Turns, Worse::More, Why::TurnsCostTime, |cause| matches!(cause, Cause::ThinkTime)),
    (Fact::LongestPause, Worse::More, Why::ProgramPaused, |cause| matches!(cause, Cause::SenderIdle)),
    (Fact::SynRetransmitted, Worse::More, Why::OpeningWaits, |cause| {
        matches!(cause, Cause::SynLost | Cause::OldConnection | Cause::FastOpenLost | Cause::AcceptQueueFull)
    }),
];

/// Mechanisms without a fact: the limit itself says whose time it was.
const ALONE: [(Why, fn(Cause) -> bool); 2] = [
    (Why::ProgramPaused, |cause| matches!(cause, Cause::SenderIdle)),
    (Why::ReceiverWasLate, |cause| {
        matches!(cause, Cause::SlowReader | Cause::ReaderStopped | Cause::AcksHeldBack)
    }),
];

/// Each step of it takes an RTT: an opening, the doubling of a window, the growth by a segment, a recovery, a turn.
const fn takes_rtts(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Handshake
            | Cause::SlowStart
            | Cause::AfterLoss
            | Cause::EcnMarks
            | Cause::FastRecovery
            | Cause::ThinkTime
    )
}

const fn is_repair(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::FastRecovery
            | Cause::Timeout
            | Cause::TailLoss
            | Cause::LostRetransmission
            | Cause::SackReneging
    )
}

const fn is_timer(cause: Cause) -> bool {
    matches!(cause, Cause::Timeout | Cause::TailLoss | Cause::LostRetransmission | Cause::SpuriousTimeout)
}

/// Bound by the receiver's window, not by who reads.
const fn is_window(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::ReceiveBufferTooSmall
            | Cause::NoWindowScaling
            | Cause::WindowScaleTooSmall
            | Cause::AutotuningLag
    )
}

/// Bound by an amount in flight that the sender's own side sets.
const fn is_flight(cause: Cause) -> bool {
    matches!(cause, Cause::SendBufferFull | Cause::ProtocolWindow | Cause::EarlyExit)
}

/// An explanation of less than this part of the difference is not worth a sentence.
const WORTH_A_SENTENCE: f64 = 0.1;
/// What a window allows differs by at least this part.
const LEAST_ALLOWED: f64 = 0.05;

/// The facts that differ, in the order of [`Fact::ALL`].
pub fn changed(sides: [&Side; 2]) -> Vec<Changed> {
    let places = sides.map(|side| side.place().map(|(place, _)| place));
    let known = Fact::ALL.into_iter().filter(|fact| fact.compares_at(places));
    let changed = known.filter_map(|fact| {
        let values = both(sides, fact)?;
        let by = Measured::difference(fact, values[0], values[1])?;
        Some(Changed { fact, values, by })
    });
    changed.collect()
}

fn both([a, b]: [&Side; 2], fact: Fact) -> Option<[Measured; 2]> {
    Some([a.measured(fact)?, b.measured(fact)?])
}

/// What explains a difference that is beyond chance.
pub fn explain(sides: [&Side; 2], difference: &Difference, changed: &[Changed]) -> Explained {
    let total = difference.total_ns();
    if !difference.is_beyond_chance() {
        return Explained::default();
    }
    let worth = (total.unsigned_abs() as f64 * WORTH_A_SENTENCE) as i64;
    let weigh = |why, facts, stayed, causes: &dyn Fn(Cause) -> bool| {
        let parts =
            difference.parts.iter().filter(|part| causes(part.cause) && difference.toward_total_ns(part) > 0);
        let parts: Vec<&Part> = parts.collect();
        let amount_ns = parts.iter().map(|part| difference.toward_total_ns(part)).sum();
        let causes = parts.into_iter().map(|part| part.cause).collect();
        (amount_ns >= worth.max(1)).then_some(Explanation { why, facts, stayed, causes, amount_ns })
    };
    let find = |fact: Fact| changed.iter().find(|changed| changed.fact == fact).copied();
    let mut by: Vec<Explanation> = Vec::new();
    for (fact, worse, why, causes) in RULES {
        // The mean RTT has nothing to add where the path itself has another.
        let is_said = fact == Fact::LoadedRtt && find(Fact::Rtt).is_some();
        let Some(changed) =
            find(fact).filter(|changed| !is_said && is_worse(changed.by, worse) == (total > 0))
        else {
            continue;
        };
        let explanation = weigh(why, vec![changed], Vec::new(), &causes);
        if !by.iter().any(|known| known.why == why) {
            by.extend(explanation);
        }
    }
    by.extend(
        over_rtt(sides, Fact::Window, total, changed)
            .and_then(|(facts, stayed)| weigh(Why::WindowOverRtt, facts, stayed, &is_window)),
    );
    by.extend(
        over_rtt(sides, Fact::InFlight, total, changed)
            .and_then(|(facts, stayed)| weigh(Why::FlightOverRtt, facts, stayed, &is_flight)),
    );
    let explained = |by: &[Explanation]| -> BTreeSet<Cause> {
        by.iter().flat_map(|explanation| explanation.causes.iter().copied()).collect()
    };
    for (why, causes) in ALONE {
        let known = explained(&by);
        by.extend(weigh(why, Vec::new(), Vec::new(), &|cause| causes(cause) && !known.contains(&cause)));
    }
    by.sort_by_key(|explanation| (Reverse(explanation.amount_ns), explanation.why));
    let known = explained(&by);
    let rest = difference.parts.iter().filter(|part| !known.contains(&part.cause));
    let rest = rest.map(|part| (part.cause, difference.toward_total_ns(part)));
    Explained { by, unexplained: rest.filter(|(_, amount)| *amount >= worth.max(1)).collect() }
}

/// Whether a change makes it worse.
fn is_worse(by: f64, worse: Worse) -> bool {
    (by > 0.0) == (worse == Worse::More)
}

/// Facts that changed, and facts that stayed.
type Facts = (Vec<Changed>, Vec<(Fact, [Measured; 2])>);

/// What `amount`, a window or an amount in flight, allows over the RTT: the facts, if it changed the way the time did.
fn over_rtt(sides: [&Side; 2], amount: Fact, total: i64, changed: &[Changed]) -> Option<Facts> {
    let is_changed = |fact: Fact| changed.iter().any(|changed| changed.fact == fact);
    if !(is_changed(amount) || is_changed(Fact::Rtt)) {
        return None;
    }
    let (amounts, rtts) = (both(sides, amount)?, both(sides, Fact::Rtt)?);
    let allowed = |side: usize| Some(amounts[side].number()? / rtts[side].number().filter(|rtt| *rtt > 0.0)?);
    let (one, other) = (allowed(0)?, allowed(1)?);
    let is_less = other < one * (1.0 - LEAST_ALLOWED);
    let is_more = one < other * (1.0 - LEAST_ALLOWED);
    if !(if total > 0 { is_less } else { is_more }) {
        return None;
    }
    let related = [amount, Fact::Rtt, Fact::WindowScaling, Fact::WindowScale];
    let related = &related[..if amount == Fact::Window { 4 } else { 2 }];
    let facts = changed.iter().filter(|changed| related.contains(&changed.fact)).copied().collect();
    let stayed =
        [(amount, amounts), (Fact::Rtt, rtts)].into_iter().filter(|(fact, _)| !is_changed(*fact)).collect();
    Some((facts, stayed))
}
