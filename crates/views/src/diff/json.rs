//! The JSON of `slowpath diff`.

use super::facts::{self, title};
use super::{Diff, words};
use crate::json::Recording;
use crate::words::sentence;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::Limit;
use slowpath_model::{Endpoint, Rate, nanos};
use slowpath_runs::diff::caution::Caution;
use slowpath_runs::diff::explain::{self, Why};
use slowpath_runs::diff::fact::{self, Measured, Unit};
use slowpath_runs::diff::pairing::PairedBy;
use slowpath_runs::diff::side;
use slowpath_runs::diff::time;
use slowpath_runs::diff::{self};

/// Two captures, A and B, compared (schema slowpath/diff/1). Fields with two values have A's first.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/diff/1")]
pub struct DiffDocument {
    /// `slowpath/diff/1`.
    schema: &'static str,
    /// What was read: A and B.
    recordings: [Recording; 2],
    /// Flows of each that were seen, but not kept, to save memory.
    flows_not_kept: [u64; 2],
    /// What was compared: first what moved no data on one side, then what cost B most time, or saved it.
    pairs: Vec<Pair>,
    /// Services that only one of them has, the most data first.
    only: [Vec<Service>; 2],
    /// Flows next to the one of each that is compared.
    flows_left_out: [u64; 2],
}

/// Flows of A and of B.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DiffPair")]
struct Pair {
    /// What they were paired by: `service`, `port`, `largest` flow, or `choice` of the user.
    paired_by: &'static str,
    /// Whether both surely are of one service, or were chosen.
    is_certain: bool,
    /// How B differs, in words.
    text: String,
    /// A's flows, and B's.
    sides: [Side; 2],
    /// Where the difference in time went; `null` if one side moved no data.
    difference: Option<Difference>,
    /// The facts that both have and that differ by more than their resolution.
    changed: Vec<Changed>,
    /// The parts of the difference, the largest first, with what explains them. Empty if it may be chance.
    reasons: Vec<Reason>,
    /// What to keep in mind.
    cautions: Vec<Note>,
}

/// Flows of one capture.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DiffSide")]
struct Side {
    /// The server's address and port.
    server: String,
    /// The flow's number, if it is one: what `--flow` takes.
    flow: Option<u32>,
    /// Flows with data.
    flows: u64,
    /// Flows without data, which are not compared.
    flows_without_data: u64,
    /// Payload without retransmissions.
    bytes: u64,
    /// From the first packet of each flow to its last, all flows together, without idle time outside of the data.
    lasted_ns: u64,
    /// Idle time before the first data and after the last, which is left out.
    idle_ns: u64,
    /// Data over that time: the rate of a flow; `null` without data or time.
    rate_bits_per_second: Option<u64>,
    /// Where most of its flows were captured: `sender`, `receiver`, `between` or `unknown`; `null` without flows with data.
    place: Option<&'static str>,
    /// How sure that is: `low`, `medium` or `high`.
    place_confidence: Option<&'static str>,
}

/// A service that only one capture has.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DiffService")]
struct Service {
    /// The server's address and port.
    server: String,
    /// Its flows.
    flows: u64,
    /// Payload without retransmissions.
    bytes: u64,
}

/// The time for one amount of data.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DiffTime")]
struct Difference {
    /// The amount of data that all times are for.
    per_bytes: u64,
    /// Whether both moved this amount.
    is_same_amount: bool,
    /// The time of A, and of B.
    times_ns: [i64; 2],
    /// How much longer B needed. The parts add up to it.
    change_ns: i64,
    /// A smaller change may be chance.
    resolution_ns: u64,
    /// Whether the change is larger than that.
    is_beyond_chance: bool,
    /// By cause: what changed most first.
    parts: Vec<Part>,
}

/// The time under a cause.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DiffPart")]
struct Part {
    /// The limit, a slash and the specific cause.
    #[schemars(extend("enum" = crate::json::cause_names()))]
    cause: String,
    /// The limit alone.
    #[schemars(extend("enum" = Limit::ALL.map(Limit::slug)))]
    limit: &'static str,
    /// The cause for people.
    title: &'static str,
    /// The time of A, and of B.
    times_ns: [i64; 2],
    /// How much longer B was limited by it.
    change_ns: i64,
    /// How sure it is in A, and in B; `null` where it took no time.
    confidence: [Option<&'static str>; 2],
}

/// A fact that differs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DiffFact")]
struct Changed {
    /// Its name.
    #[schemars(extend("enum" = fact::Fact::ALL.map(fact::Fact::slug)))]
    fact: &'static str,
    /// Its name for people.
    title: &'static str,
    /// The unit of its values: `s`, `bytes`, `bit/s`, `share` (0 to 1), `per segment`, `share of flows`, or `number`.
    unit: &'static str,
    /// In A, and in B. Of several flows, the median.
    values: [Option<f64>; 2],
    /// The number of events in A, and in B; `null` for a fact that does not count any.
    counts: [Option<u64>; 2],
    /// The values for people.
    texts: [String; 2],
    /// Whether it explains a part of the difference.
    explains: bool,
}

/// A part of the difference, and what explains it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DiffReason")]
struct Reason {
    /// The cause whose time changed.
    #[schemars(extend("enum" = crate::json::cause_names()))]
    cause: String,
    /// How much of the difference that is.
    amount_ns: i64,
    /// What explains it; empty if nothing that is measured does.
    mechanisms: Vec<Mechanism>,
}

/// A mechanism by which facts that changed explain the time under a cause.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DiffMechanism")]
struct Mechanism {
    /// Its name.
    name: &'static str,
    /// The facts that it rests on; empty where the limit itself says whose time it was.
    #[schemars(extend("items" = fact_names()))]
    facts: Vec<&'static str>,
    /// In words.
    text: String,
}

fn fact_names() -> serde_json::Value {
    serde_json::json!({ "type": "string", "enum": fact::Fact::ALL.map(fact::Fact::slug) })
}

/// Something to keep in mind.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DiffNote")]
struct Note {
    /// Its kind.
    kind: &'static str,
    /// In words.
    text: String,
}

impl DiffDocument {
    /// The document of a comparison.
    pub fn new(diff: &Diff) -> Self {
        let compared = &diff.compared;
        let services = |only: &Vec<(Endpoint, side::Side)>| only.iter().map(Service::of).collect();
        Self {
            schema: "slowpath/diff/1",
            recordings: diff.recordings.each_ref().map(Recording::of),
            flows_not_kept: diff.not_kept,
            pairs: compared.pairs.iter().map(Pair::of).collect(),
            only: compared.only.each_ref().map(services),
            flows_left_out: compared.left_out.map(|(flows, _)| flows),
        }
    }
}

impl Pair {
    fn of(pair: &diff::Pair) -> Self {
        Self {
            paired_by: paired_by(pair.by),
            is_certain: matches!(pair.by, PairedBy::Choice | PairedBy::Service),
            text: words::headline(pair),
            sides: [0, 1].map(|side| Side::of(pair.servers[side], &pair.sides[side])),
            difference: pair.difference.as_ref().map(|found| Difference::of(found, &pair.sides)),
            changed: pair
                .changed
                .iter()
                .map(|changed| Changed::of(changed, pair.explains(changed.fact)))
                .collect(),
            reasons: pair.reasons.iter().map(|reason| Reason::of(reason, pair)).collect(),
            cautions: pair.cautions.iter().map(Note::of).collect(),
        }
    }
}

const fn paired_by(by: PairedBy) -> &'static str {
    match by {
        PairedBy::Choice => "choice",
        PairedBy::Service => "service",
        PairedBy::Port => "port",
        PairedBy::Largest => "largest",
    }
}

impl Side {
    fn of(server: Endpoint, side: &side::Side) -> Self {
        Self {
            server: server.to_string(),
            flow: side.one.map(|(flow, ..)| flow.0),
            flows: side.flows,
            flows_without_data: side.all_flows() - side.flows,
            bytes: side.bytes.get(),
            lasted_ns: nanos(side.time),
            idle_ns: nanos(side.idle),
            rate_bits_per_second: side.rate().map(Rate::get),
            place: side.place().map(|(place, _)| place.slug()),
            place_confidence: side.place().map(|(_, confidence)| confidence.slug()),
        }
    }
}

impl Service {
    fn of((server, side): &(Endpoint, side::Side)) -> Self {
        Self { server: server.to_string(), flows: side.all_flows(), bytes: side.bytes.get() }
    }
}

impl Difference {
    fn of(found: &time::Difference, sides: &[side::Side; 2]) -> Self {
        let part = |part: &time::Part| Part {
            cause: part.cause.to_string(),
            limit: part.cause.limit().slug(),
            title: part.cause.title(),
            times_ns: part.times_ns,
            change_ns: part.change_ns(),
            confidence: sides.each_ref().map(|side| side.confidence(part.cause).map(|sure| sure.slug())),
        };
        Self {
            per_bytes: found.per.get(),
            is_same_amount: found.is_same_amount,
            times_ns: found.times_ns(),
            change_ns: found.total_ns(),
            resolution_ns: found.resolution_ns as u64,
            is_beyond_chance: found.is_beyond_chance(),
            parts: found.parts.iter().map(part).collect(),
        }
    }
}

impl Changed {
    fn of(changed: &explain::Changed, explains: bool) -> Self {
        let count = |measured: Measured| match measured {
            Measured::Typical { .. } => None,
            Measured::Events(events) | Measured::Flag(events) => Some(events.count),
        };
        Self {
            fact: changed.fact.slug(),
            title: title(changed.fact),
            unit: match changed.fact.unit() {
                Unit::Time => "s",
                Unit::Bytes => "bytes",
                Unit::Rate => "bit/s",
                Unit::Share => "share",
                Unit::Events => "per segment",
                Unit::Flag => "share of flows",
                Unit::Number => "number",
            },
            values: changed.values.map(Measured::number),
            counts: changed.values.map(count),
            texts: changed.values.map(|measured| facts::value(changed.fact, measured)),
            explains,
        }
    }
}

impl Reason {
    fn of(reason: &explain::Reason, pair: &diff::Pair) -> Self {
        let one = |one: &explain::Mechanism| Mechanism {
            name: mechanism(one.why),
            facts: one.facts.iter().map(|changed| changed.fact.slug()).collect(),
            text: words::mechanism(one, pair),
        };
        Self {
            cause: reason.cause.to_string(),
            amount_ns: reason.amount_ns,
            mechanisms: reason.mechanisms.iter().map(one).collect(),
        }
    }
}

const fn mechanism(why: Why) -> &'static str {
    match why {
        Why::WindowOverRtt => "window-over-rtt",
        Why::FlightOverRtt => "flight-over-rtt",
        Why::StepsOfAnRtt => "steps-of-an-rtt",
        Why::LossReducesWindow => "loss-reduces-window",
        Why::LossIsRepaired => "loss-is-repaired",
        Why::TimersRunOut => "timers-run-out",
        Why::ReorderingLooksLikeLoss => "reordering-looks-like-loss",
        Why::SpuriousReducesWindow => "spurious-reduces-window",
        Why::MarkReducesWindow => "mark-reduces-window",
        Why::OneLossInAnRtt => "one-loss-in-an-rtt",
        Why::WindowGrowsBySegments => "window-grows-by-segments",
        Why::HeadersOfSegments => "headers-of-segments",
        Why::MoreSegmentsToLose => "more-segments-to-lose",
        Why::PathCarriesLess => "path-carries-less",
        Why::PolicerDrops => "policer-drops",
        Why::HostKeepsToRate => "host-keeps-to-rate",
        Why::ReaderIsSlower => "reader-is-slower",
        Why::TurnsCostTime => "turns-cost-time",
        Why::OnceInEachConnection => "once-in-each-connection",
        Why::OpeningWaits => "opening-waits",
        Why::ProgramPaused => "program-paused",
        Why::ReceiverWasLate => "receiver-was-late",
    }
}

impl Note {
    fn of(caution: &Caution) -> Self {
        let kind = match caution {
            Caution::OtherPlace(_) => "other-place",
            Caution::UnknownPlace(_) => "unknown-place",
            Caution::OtherConfidence(_) => "other-confidence",
            Caution::LowConfidence { .. } => "low-confidence",
            Caution::OtherDirection => "other-direction",
            Caution::OpeningNotSeen(_) => "opening-not-seen",
            Caution::Missed(_) => "missed-data",
            Caution::OneTimeCosts { .. } => "one-time-costs",
            Caution::Unknown { .. } => "unknown-limit",
            Caution::Idle(_) => "idle-left-out",
            Caution::WithoutData(_) => "flows-without-data",
            Caution::MayBeChance => "may-be-chance",
        };
        Self { kind, text: sentence(&words::caution(caution)) }
    }
}
