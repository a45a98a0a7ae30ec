//! Which facts that changed explain the difference in time: those with a mechanism, where the time under that mechanism's
//! causes changed with them.

use super::fact::{Fact, Measured};
use super::side::Side;
use super::time::Difference;
use slowpath_analyses::{Cause, Limit};
use std::time::Duration;

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
    /// More segments carry the same data, and each may be lost.
    MoreSegmentsToLose,
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
    /// It happens once in each connection, however much that carries.
    OnceInEachConnection,
    /// The opening waits for its timer.
    OpeningWaits,
    /// The sending program itself had nothing to send.
    ProgramPaused,
    /// The receiving program, or its host, was late by itself.
    ReceiverWasLate,
}

/// A part of the difference: the time under one cause, and what explains that it changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// The cause.
    pub cause: Cause,
    /// How much of the difference it is, in nanoseconds for the amount of data.
    pub amount_ns: i64,
    /// What explains it; empty if nothing does.
    pub mechanisms: Vec<Mechanism>,
}

/// A mechanism by which facts that changed explain the time under a cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Mechanism {
    /// Why they change it.
    pub why: Why,
    /// The facts. Empty where the cause itself is a program's own time.
    pub facts: Vec<Changed>,
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
const RULES: [Rule; 25] = [
    (Fact::Rtt, Worse::More, Why::StepsOfAnRtt, takes_rtts),
    (Fact::LoadedRtt, Worse::More, Why::StepsOfAnRtt, takes_rtts),
    (Fact::Lost, Worse::More, Why::LossReducesWindow, |cause| matches!(cause, Cause::AfterLoss)),
    (Fact::Lost, Worse::More, Why::LossIsRepaired, is_repair),
    (Fact::Recoveries, Worse::More, Why::LossReducesWindow, |cause| matches!(cause, Cause::AfterLoss)),
    (Fact::Recoveries, Worse::More, Why::LossIsRepaired, is_repair),
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
    (Fact::Mss, Worse::Less, Why::MoreSegmentsToLose, is_repair),
    (Fact::PeakRate, Worse::Less, Why::PathCarriesLess, |cause| {
        matches!(cause, Cause::BottleneckFull | Cause::StandingQueue | Cause::AckPathQueue)
    }),
    (Fact::PolicedRate, Worse::Less, Why::PolicerDrops, |cause| matches!(cause, Cause::Policer)),
    (Fact::PeakRate, Worse::Less, Why::PolicerDrops, |cause| matches!(cause, Cause::Policer)),
    (Fact::PacedRate, Worse::Less, Why::HostKeepsToRate, |cause| matches!(cause, Cause::LocalRateLimit)),
    (Fact::PeakRate, Worse::Less, Why::HostKeepsToRate, |cause| cause.limit() == Limit::SendingHost),
    (Fact::ReadRate, Worse::Less, Why::ReaderIsSlower, |cause| matches!(cause, Cause::SlowReader)),
    (Fact::WindowClosed, Worse::More, Why::ReaderIsSlower, |cause| {
        matches!(cause, Cause::SlowReader | Cause::ReaderStopped)
    }),
    (Fact::LongestPause, Worse::More, Why::TurnsCostTime, |cause| matches!(cause, Cause::ThinkTime)),
    (Fact::LongestPause, Worse::More, Why::ProgramPaused, |cause| matches!(cause, Cause::SenderIdle)),
    (Fact::FlowData, Worse::Less, Why::OnceInEachConnection, is_once),
    (Fact::SynRetransmitted, Worse::More, Why::OpeningWaits, |cause| {
        matches!(cause, Cause::SynLost | Cause::OldConnection | Cause::FastOpenLost | Cause::AcceptQueueFull)
    }),
];

/// Causes whose time is whose it is, and why.
type Alone = (Why, fn(Cause) -> bool);

/// Mechanisms without a fact: the limit itself says whose time it was.
const ALONE: [Alone; 3] = [
    (Why::TurnsCostTime, |cause| matches!(cause, Cause::ThinkTime)),
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

/// Happens once in each connection.
pub(super) const fn is_once(cause: Cause) -> bool {
    matches!(cause.limit(), Limit::Connection) || matches!(cause, Cause::SlowStart)
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

/// What a flow was bound by for this part of its time says something of it.
const RELEVANT: f64 = 0.05;
/// A smaller part of the difference is not explained.
const WORTH_EXPLAINING: f64 = 0.05;
/// What a window allows differs by at least this part.
const LEAST_ALLOWED: f64 = 0.05;

/// The facts that differ, in the order of [`Fact::ALL`].
pub fn changed(sides: [&Side; 2]) -> Vec<Changed> {
    let relevant = Fact::ALL.into_iter().filter(|fact| is_relevant(sides, *fact));
    let changed = relevant.filter_map(|fact| change(sides, fact));
    let mut changed: Vec<Changed> = changed.collect();
    // Segments are as large as they are allowed to be, so that a capture has nothing to add.
    if changed.iter().any(|changed| changed.fact == Fact::Mss) {
        changed.retain(|changed| changed.fact != Fact::CapturedSegment);
    }
    changed
}

/// Whether a fact says something of these flows: what nothing was bound by is as large as it happened to become.
fn is_relevant(sides: [&Side; 2], fact: Fact) -> bool {
    let bound = |causes: fn(Cause) -> bool| {
        sides.into_iter().any(|side| {
            let time: Duration =
                side.causes().filter(|cause| causes(*cause)).map(|cause| side.under(cause)).sum();
            time.as_secs_f64() >= RELEVANT * side.time.as_secs_f64()
        })
    };
    match fact {
        Fact::Window | Fact::WindowClosed => bound(|cause| cause.limit() == Limit::ReceiveWindow),
        Fact::InFlight => bound(|cause| is_flight(cause) || cause == Cause::SlowStart),
        Fact::FlowData => bound(is_once),
        Fact::LongestPause => bound(|cause| cause.limit() == Limit::Application),
        _ => true,
    }
}

/// A fact of both sides, if both know it and their taps show it alike.
pub fn both(sides: [&Side; 2], fact: Fact) -> Option<[Measured; 2]> {
    let places = sides.map(|side| side.place().map(|(place, _)| place));
    let [a, b] = sides.map(|side| side.measured(fact));
    a.zip(b).filter(|_| fact.compares_at(places)).map(<[Measured; 2]>::from)
}

/// How a fact changed; `None` if it did not, or if that is not known.
fn change(sides: [&Side; 2], fact: Fact) -> Option<Changed> {
    let values = both(sides, fact)?;
    Some(Changed { fact, values, by: Measured::difference(fact, values[0], values[1])? })
}

/// What explains a difference, the largest part first. Empty if it may be chance.
pub fn explain(sides: [&Side; 2], difference: &Difference, changed: &[Changed]) -> Vec<Reason> {
    if !difference.is_beyond_chance() {
        return Vec::new();
    }
    let is_more = difference.total_ns() > 0;
    let worth = difference.total_ns().unsigned_abs() as f64 * WORTH_EXPLAINING;
    let parts = difference.parts.iter().map(|part| (part.cause, difference.toward_total_ns(part)));
    let parts = parts.filter(|(_, amount)| *amount > 0 && *amount as f64 >= worth);
    parts
        .map(|(cause, amount_ns)| Reason {
            cause,
            amount_ns,
            mechanisms: mechanisms(sides, cause, is_more, changed),
        })
        .collect()
}

/// Why there is more time under `cause` in B, or less.
fn mechanisms(sides: [&Side; 2], cause: Cause, is_more: bool, changed: &[Changed]) -> Vec<Mechanism> {
    let find = |fact: Fact| changed.iter().find(|changed| changed.fact == fact).copied();
    let mut found: Vec<Mechanism> = Vec::new();
    let over = [
        (Fact::Window, Why::WindowOverRtt, is_window(cause)),
        (Fact::InFlight, Why::FlightOverRtt, is_flight(cause)),
    ];
    for (amount, why, _) in over.into_iter().filter(|(.., applies)| *applies) {
        found.extend(over_rtt(sides, amount, is_more).map(|facts| Mechanism { why, facts }));
    }
    for (fact, worse, why, _) in RULES.into_iter().filter(|(.., causes)| causes(cause)) {
        // The mean RTT has nothing to add where the path itself has another.
        let is_said = fact == Fact::LoadedRtt && find(Fact::Rtt).is_some();
        let is_known = found.iter().any(|known| known.why == why);
        let changed =
            find(fact).filter(|changed| !is_said && !is_known && is_worse(changed.by, worse) == is_more);
        found.extend(changed.map(|changed| Mechanism { why, facts: vec![changed] }));
    }
    if found.is_empty() {
        let alone = ALONE.into_iter().find(|(_, causes)| causes(cause));
        found.extend(alone.map(|(why, _)| Mechanism { why, facts: Vec::new() }));
    }
    found
}

/// Whether a change makes it worse.
fn is_worse(by: f64, worse: Worse) -> bool {
    (by > 0.0) == (worse == Worse::More)
}

/// What `amount`, a window or an amount in flight, allows over the RTT: the facts that changed it, if it is less in B where
/// there is more time in B, or more where there is less. If the amount is not known, that is the RTT alone.
fn over_rtt(sides: [&Side; 2], amount: Fact, is_more: bool) -> Option<Vec<Changed>> {
    let rtts = both(sides, Fact::Rtt)?;
    let rtt = change(sides, Fact::Rtt);
    let Some(amounts) = both(sides, amount) else {
        return rtt.filter(|rtt| is_worse(rtt.by, Worse::More) == is_more).map(|rtt| vec![rtt]);
    };
    let allowed = |side: usize| Some(amounts[side].number()? / rtts[side].number().filter(|rtt| *rtt > 0.0)?);
    let (one, other) = (allowed(0)?, allowed(1)?);
    let (less, than) = if is_more { (other, one) } else { (one, other) };
    let amount_changed = change(sides, amount);
    let does = less < than * (1.0 - LEAST_ALLOWED) && (amount_changed.is_some() || rtt.is_some());
    let scale = [Fact::WindowScaling, Fact::WindowScale].map(|fact| change(sides, fact));
    let scale = scale.into_iter().flatten().filter(|_| amount == Fact::Window);
    does.then(|| amount_changed.into_iter().chain(rtt).chain(scale).collect())
}
