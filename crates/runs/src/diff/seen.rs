//! One flow, as far as it is compared.

use super::fact::{Events, Fact, Place, Sample};
use slowpath_analyses::report::{EcnAnswer, FlowReport, ScaleKnown, SynOptions};
use slowpath_analyses::{Cause, Confidence, Limit};
use slowpath_model::{Bytes, End, FlowId, FlowKey};
use std::time::Duration;

/// One flow.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its number in the capture.
    pub id: FlowId,
    /// Its ends.
    pub key: FlowKey,
    /// The end that sent more.
    pub sender: End,
    /// Whether its SYN was captured, so that it is known which end is the server.
    pub is_opening_seen: bool,
    /// Where it was captured.
    pub place: Place,
    /// How sure that is.
    pub place_confidence: Confidence,
    /// Payload without retransmissions.
    pub bytes: Bytes,
    /// Of it, what is not in the capture.
    pub unseen: Bytes,
    /// From its first packet to its last, without [`Self::idle`].
    pub time: Duration,
    /// Idle before the first data, and after the last.
    pub idle: Duration,
    /// The time by cause; adds up to [`Self::time`].
    pub spent: Vec<Spent>,
    /// What else is known of it.
    pub facts: Vec<(Fact, Sample)>,
}

/// The time under one cause.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// What bound.
    pub cause: Cause,
    /// For how long.
    pub lasted: Duration,
    /// The variance of that time by chance, in s².
    pub variance: f64,
    /// How sure.
    pub confidence: Confidence,
}

impl Seen {
    /// What is compared of a flow.
    pub fn of(flow: &FlowReport) -> Self {
        let measures = &flow.main().measures;
        let alone = measures.packets == 0;
        let idle = flow.idle_outside();
        Self {
            id: flow.id,
            key: flow.key,
            sender: flow.sender,
            is_opening_seen: flow.opening.syn.is_some() || flow.opening.syn_ack.is_some(),
            place: Place::of(flow.vantage.vantage, flow.sender),
            place_confidence: flow.vantage.confidence,
            // Where one end was not captured, the other's acknowledgments show how much it sent.
            bytes: measures.unique_bytes + if alone { measures.unseen_bytes } else { Bytes::ZERO },
            unseen: measures.unseen_bytes,
            time: flow.lasted().saturating_sub(idle),
            idle,
            spent: spent(flow),
            facts: facts(flow),
        }
    }
}

/// The time by cause, without idle time outside.
fn spent(flow: &FlowReport) -> Vec<Spent> {
    let main = flow.main();
    let mut all: Vec<Spent> = Vec::new();
    let mut sums: Vec<Spells> = Vec::new();
    for spell in &main.spells {
        let is_idle = spell.cause == Cause::SenderIdle;
        let outside = if is_idle { spell.outside(&main.measures) } else { Duration::ZERO };
        let lasted = spell.lasted().saturating_sub(outside);
        if lasted.is_zero() {
            continue;
        }
        let at = all.iter().position(|spent| spent.cause == spell.cause).unwrap_or_else(|| {
            let found = main.findings.iter().find(|finding| finding.cause == spell.cause);
            let confidence = found.map_or(Confidence::Low, |finding| finding.confidence);
            all.push(Spent { cause: spell.cause, lasted: Duration::ZERO, variance: 0.0, confidence });
            sums.push(Spells::default());
            all.len() - 1
        });
        all[at].lasted += lasted;
        sums[at].add(lasted, main.measures.idle_longest);
    }
    for (spent, spells) in all.iter_mut().zip(&sums) {
        spent.variance = match spent.cause {
            Cause::AfterLoss | Cause::EcnMarks => {
                let reductions = main.measures.unusual().window_reductions;
                let losses = main.measures.recoveries.max(reductions).max(1) as f64;
                spells.sum.powi(2) * (BY_LOSSES / losses + BY_FEW / losses.powi(2))
            }
            cause if cause.limit() == Limit::Application => spells.of_program(),
            Cause::AcksHeldBack => spells.pauses,
            cause if comes_by_chance(cause) => spells.squares,
            _ => 0.0,
        };
    }
    all
}

/// The spells of a cause, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Spells {
    sum: f64,
    /// The variance of as many independent times as come: a compound Poisson process.
    squares: f64,
    /// That of pauses of a program or a host: a spell longer than the longest pause is several.
    pauses: f64,
    longest_pause: f64,
}

impl Spells {
    fn add(&mut self, lasted: Duration, longest_pause: Duration) {
        let (lasted, pause) = (lasted.as_secs_f64(), lasted.min(longest_pause).as_secs_f64());
        self.sum += lasted;
        self.squares += lasted * lasted;
        self.pauses += lasted * pause;
        self.longest_pause = self.longest_pause.max(pause);
    }

    /// A program pauses for the same data about as often: the longest pause once more, or once less.
    fn of_program(self) -> f64 {
        self.longest_pause.powi(2).min(self.pauses)
    }
}

/// The variance of the time between losses, by how many there were: 1/4 for their number, since the rate goes with its root, and
/// as much for the window at each. With few, the start of the transfer decides. Sixteen seeds each of six simulated transfers
/// with random loss (9 to 91 losses, CUBIC and Reno) have 0.4 to 1.3 times this standard deviation.
const BY_LOSSES: f64 = 0.5;
const BY_FEW: f64 = 6.0;

/// Whether the spells of a cause come one by one: what one capture has more of than another may be chance.
fn comes_by_chance(cause: Cause) -> bool {
    let is_rare = matches!(cause, Cause::SynLost | Cause::DelaySpike);
    is_rare || cause.limit() == Limit::LossRecovery
}

fn facts(flow: &FlowReport) -> Vec<(Fact, Sample)> {
    let (main, other) = (flow.main(), &flow.directions[(!flow.sender).index()].measures);
    let (measures, opening) = (&main.measures, &flow.opening);
    let (labels, unusual) = (&measures.labels, measures.unusual());
    let (overview, rare) = (&main.overview, main.overview.rare());
    let part_under = |causes: &dyn Fn(Cause) -> bool| -> f64 {
        main.findings.iter().filter(|finding| causes(finding.cause)).map(|finding| finding.share).sum()
    };
    let mut all = Vec::new();
    let mut value = |fact, value: Option<f64>| {
        all.extend(value.filter(|value| value.is_finite()).map(|value| (fact, Sample::Value(value))));
    };
    let above_zero = |value: f64| (value > 0.0).then_some(value);
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    let bytes = |bytes: Bytes| bytes.get() as f64;
    // Away from the sender, at a distance that is not known, an RTT is measured in part only.
    let is_whole = flow.vantage.to_a.is_some() && flow.vantage.to_b.is_some();
    value(
        Fact::Rtt,
        overview.base_rtt.filter(|rtt| *rtt > 0 && is_whole).map(|micros| f64::from(micros) * 1e-6),
    );
    let rtt = measures.rtt_by_ack;
    value(Fact::LoadedRtt, seconds(rtt.mean.filter(|_| rtt.count >= LEAST_RTTS)));
    value(Fact::Handshake, seconds(opening.round_trip));
    value(Fact::Mss, above_zero(f64::from(measures.mss_seen)));
    value(Fact::WindowScale, agreed(other.window_scale).map(f64::from));
    let window = other.window;
    value(Fact::Window, window.max.filter(|_| other.window_scale.is_known()).map(bytes));
    let closed = window.zero_time.as_secs_f64() / flow.lasted().as_secs_f64();
    value(Fact::WindowClosed, window.max.is_some().then_some(closed));
    value(Fact::InFlight, above_zero(bytes(measures.flight_max)));
    value(
        Fact::CapturedSegment,
        (measures.data_packets > 0).then(|| bytes(measures.bytes) / measures.data_packets as f64),
    );
    // Elsewhere, the highest rate is what came of other limits.
    let is_full = part_under(&|cause| matches!(cause.limit(), Limit::Path | Limit::SendingHost)) >= FULL;
    value(Fact::FlowData, above_zero(bytes(measures.unique_bytes)));
    value(Fact::PeakRate, above_zero(overview.peak_rate).filter(|_| is_full));
    value(Fact::PolicedRate, rare.policed);
    value(Fact::PacedRate, rare.steady.map(|steady| steady.rate));
    let is_read_slowly = part_under(&|cause| matches!(cause, Cause::SlowReader | Cause::ReaderStopped)) > 0.0;
    value(Fact::ReadRate, overview.read_rate.filter(|_| is_read_slowly));
    value(Fact::LongestPause, (measures.data_packets > 1).then_some(measures.idle_longest.as_secs_f64()));

    let [lost, segments] = measures.lost();
    let packets = measures.data_packets;
    let marks = unusual.marked.max(other.unusual().mark_echoes);
    let lost = Events { count: lost, of: segments, bursts: measures.recoveries };
    let events = [
        (Fact::Lost, lost),
        (Fact::Recoveries, Events::single(measures.recoveries, segments)),
        (Fact::Timeouts, Events::single(measures.timeouts, segments)),
        (Fact::Spurious, Events::single(labels.spurious, segments)),
        (Fact::Reordered, Events::single(labels.out_of_order, packets)),
        (Fact::Marked, Events::single(marks, packets.max(marks))),
        (Fact::SynRetransmitted, Events::single(opening.retransmitted.into(), 1)),
    ];
    // Without the sender's segments, nothing of them is known.
    let is_known = |fact: Fact| match fact {
        Fact::SynRetransmitted => opening.syn.is_some(),
        _ => packets > 0,
    };
    all.extend(
        events
            .into_iter()
            .filter(|(fact, _)| is_known(*fact))
            .map(|(fact, events)| (fact, Sample::Events(events))),
    );

    let both = measures.options.zip(other.options);
    let agreed = |of: fn(&SynOptions) -> bool| both.map(|(one, other)| of(&one) && of(&other));
    let ecn = opening.syn.map(|_| opening.ecn == Some(EcnAnswer::Accepted));
    let flags = [
        (Fact::WindowScaling, agreed(|options| options.window_scale.is_some())),
        (Fact::Sack, agreed(|options| options.sack_permitted)),
        (Fact::Timestamps, agreed(|options| options.timestamps)),
        (Fact::Ecn, ecn.filter(|_| opening.syn_ack.is_some())),
    ];
    all.extend(flags.into_iter().filter_map(|(fact, flag)| Some((fact, Sample::Flag(flag?)))));
    all
}

/// A path, or a sending host, that is full for this part of the time has a rate of its own.
const FULL: f64 = 0.2;
/// Fewer RTTs have no mean to compare.
const LEAST_RTTS: u64 = 20;

const fn agreed(scale: ScaleKnown) -> Option<u8> {
    match scale {
        ScaleKnown::Agreed(shift) | ScaleKnown::Fits(shift) => Some(shift),
        ScaleKnown::AtLeast(_) | ScaleKnown::Unknown => None,
    }
}
