//! The sentences of a comparison, which text and JSON share.

use super::facts::{bytes, place, seconds, title, value};
use crate::quantity::{count, counted, duration, share};
use crate::words::{ends_of, named, sentence};
use slowpath_analyses::Cause;
use slowpath_model::{Bytes, Rate};
use slowpath_runs::diff::Pair;
use slowpath_runs::diff::caution::Caution;
use slowpath_runs::diff::explain::{Mechanism, Reason, Why, both};
use slowpath_runs::diff::fact::{Fact, Measured, Place, Unit};
use slowpath_runs::diff::pairing::PairedBy;
use slowpath_runs::diff::side::Side;
use slowpath_runs::diff::time::Difference;
use std::time::Duration;

/// The sides' names.
pub(super) const NAMES: [&str; 2] = ["A", "B"];
/// A cause with a smaller part of the difference is not named in the headline.
const WORTH_NAMING: f64 = 0.1;
/// The most causes that the headline names.
const MOST_NAMED: usize = 3;

/// A time in nanoseconds.
pub(super) fn time(nanos: i64) -> String {
    duration(Duration::from_nanos(nanos.unsigned_abs()))
}

/// A change with its sign: `+1.2 s`.
pub(super) fn change(nanos: i64) -> String {
    match nanos {
        0 => "0 s".to_owned(),
        _ if nanos < 0 => format!("−{}", time(nanos)),
        _ => format!("+{}", time(nanos)),
    }
}

/// The amount of data that times are for: `the same 46 MiB`, `each 10 MiB`.
pub(super) fn amount(difference: &Difference) -> String {
    let per = difference.per;
    match per.to_string() {
        per if difference.is_same_amount => format!("the same {per}"),
        per => format!("each {}", per.strip_prefix("1 ").unwrap_or(&per)),
    }
}

/// What is compared on a side: `flow 3: 192.0.2.1:40000 → 192.0.2.2:443`.
pub(super) fn flows(pair: &Pair, side: usize) -> String {
    let of = &pair.sides[side];
    match of.one {
        Some((flow, key, sender)) => format!("flow {flow}: {}", ends_of(&key, sender)),
        None => format!("{} of {}", counted(of.all_flows(), "flow"), pair.servers[side]),
    }
}

/// Where a side was captured: `at the sender (high confidence)`.
pub(super) fn captured(side: &Side) -> Option<String> {
    let (at, confidence) = side.place()?;
    Some(match at {
        Place::Unknown => "captured at an unknown place".to_owned(),
        _ => format!("captured {} ({} confidence)", place(at), confidence.slug()),
    })
}

/// Why it is not sure that both sides belong together.
pub(super) fn doubt(pair: &Pair) -> Option<String> {
    let [a, b] = pair.servers;
    match pair.by {
        PairedBy::Choice | PairedBy::Service => None,
        PairedBy::Port => {
            Some(format!("Paired by port {} alone: the server is {a} in A and {b} in B.", a.port))
        }
        PairedBy::Largest => Some(format!(
            "The pairing is uncertain: each is the one flow of its capture, and the servers differ ({a} in A, {b} in B)."
        )),
    }
}

/// How B differs, and where the time went.
pub(super) fn headline(pair: &Pair) -> String {
    let Some(difference) = &pair.difference else { return without_data(pair) };
    let total = difference.total_ns();
    let [a, b] = difference.times_ns();
    let more = if total < 0 { "less" } else { "more" };
    let percent = match b as f64 / a.max(1) as f64 {
        times if times >= 2.0 => format!("{times:.1} times as long"),
        times => {
            let part = share((times - 1.0).abs());
            let sign = if total < 0 { "−" } else { "+" };
            if part.starts_with(['<', '>']) { part } else { format!("{sign}{part}") }
        }
    };
    if !difference.is_beyond_chance() {
        let limit = duration(Duration::from_nanos(difference.resolution_ns as u64));
        let nothing = if pair.changed.is_empty() { " Nothing that slowpath measures changed." } else { "" };
        let needed = format!("B needed {} {more} for {} ({percent})", time(total), amount(difference));
        let by_chance = format!("two captures like these differ by up to {limit} without a cause.{nothing}");
        return if pair.cautions.contains(&Caution::MayBeChance) {
            format!("{needed}, which may be chance: it rests on so few events that {by_chance}")
        } else if is_shown(total, [a, b]) {
            format!("No difference beyond chance: {needed}, and {by_chance}")
        } else {
            format!("No difference beyond chance: {by_chance}")
        };
    }
    let rates = pair.sides.each_ref().map(Side::rate);
    let rate = match rates {
        [Some(a), Some(b)] => format!(" at {b} instead of {a}"),
        _ => String::new(),
    };
    let word = if total < 0 { "faster" } else { "slower" };
    let mut text = format!(
        "B was {word}{rate}. It needed {} {more} for {} ({percent})",
        time(total),
        amount(difference)
    );
    text += &causes(difference);
    text.push('.');
    text
}

/// Whether a change is more than a thousandth of the time.
fn is_shown(total: i64, [a, b]: [i64; 2]) -> bool {
    total.unsigned_abs() as f64 >= 0.001 * a.max(b) as f64
}

/// `: 38 s of it congestion window reduced after loss, 2 s retransmission timeouts`.
fn causes(difference: &Difference) -> String {
    let worth = difference.total_ns().unsigned_abs() as f64 * WORTH_NAMING;
    let parts = difference.parts.iter().map(|part| (part.cause, difference.toward_total_ns(part)));
    let (mut with, mut against): (Vec<_>, Vec<_>) = parts
        .filter(|(_, amount)| amount.unsigned_abs() as f64 >= worth)
        .partition(|(_, amount)| *amount > 0);
    with.truncate(MOST_NAMED);
    against.truncate(MOST_NAMED - 1);
    let list = |parts: &[(Cause, i64)]| {
        let parts: Vec<_> =
            parts.iter().map(|(cause, amount)| format!("{} {}", time(*amount), named(*cause))).collect();
        parts.join("; ")
    };
    let (more, less) = if difference.total_ns() < 0 { ("less", "more") } else { ("more", "less") };
    match (with.is_empty(), against.is_empty()) {
        (true, _) => String::new(),
        (false, true) => format!(": {}", list(&with)),
        (false, false) => format!(": {more} by {}, and {less} by {}", list(&with), list(&against)),
    }
}

/// A comparison without data on one side.
fn without_data(pair: &Pair) -> String {
    let about = |side: usize| {
        let of = &pair.sides[side];
        if of.flows > 0 {
            return format!("{} moved {} in {}", NAMES[side], of.bytes, counted(of.flows, "flow"));
        }
        let mut causes: Vec<_> =
            of.without_data.iter().filter_map(|(cause, flows)| Some(((*cause)?, *flows))).collect();
        causes.sort_by_key(|(cause, flows)| (std::cmp::Reverse(*flows), *cause));
        let why = causes.first().map_or_else(String::new, |(cause, flows)| {
            format!(": {} of {}", cause.title(), counted(*flows, "flow"))
        });
        format!("{} moved no data in {}{why}", NAMES[side], counted(of.all_flows(), "flow"))
    };
    format!("Not compared by time: {}; {}.", about(0), about(1))
}

/// That nothing explains the difference, where that is so.
pub(super) fn unexplained(pair: &Pair) -> Option<&'static str> {
    let is_beyond_chance = pair.difference.as_ref().is_some_and(Difference::is_beyond_chance);
    let is_explained = pair.reasons.iter().any(|reason| !reason.mechanisms.is_empty());
    (is_beyond_chance && !is_explained)
        .then_some("Nothing in the two captures that slowpath measures explains the difference.")
}

/// A part of the difference: `38 s more, congestion window reduced after loss:`.
pub(super) fn part(reason: &Reason, pair: &Pair) -> String {
    let is_less = pair.difference.as_ref().is_some_and(|difference| difference.total_ns() < 0);
    format!("{} {}: {}", time(reason.amount_ns), if is_less { "less" } else { "more" }, named(reason.cause))
}

/// That nothing explains one part of it.
pub(super) const NOT_EXPLAINED: &str = "Nothing that slowpath measures explains this part.";

/// Why a mechanism changes the time.
pub(super) fn mechanism(mechanism: &Mechanism, pair: &Pair) -> String {
    sentence(&why(mechanism, pair))
}

/// A fact's name in a sentence.
fn with_article(fact: Fact) -> String {
    let is_plural = matches!(fact.unit(), Unit::Events | Unit::Flag);
    format!("{}{}", if is_plural { "" } else { "the " }, title(fact))
}

/// The fact's change, as the end of a clause: `the shortest RTT went from 20 ms to 40 ms`.
fn went(fact: Fact, [a, b]: [Measured; 2]) -> String {
    match (a, b) {
        (Measured::Flag(a), Measured::Flag(b)) if a.of == 1 && b.of == 1 => {
            let has = |is: bool| if is { "has" } else { "does not have" };
            format!("A {} {}, and B {} it", has(a.count == 1), title(fact), has(b.count == 1))
        }
        _ => format!("{} went from {} to {}", with_article(fact), value(fact, a), value(fact, b)),
    }
}

fn why(mechanism: &Mechanism, pair: &Pair) -> String {
    let facts: Vec<_> = mechanism.facts.iter().map(|changed| went(changed.fact, changed.values)).collect();
    let facts = facts.join(", ");
    match mechanism.why {
        Why::WindowOverRtt => over_rtt(mechanism, Fact::Window, "receive window", pair),
        Why::FlightOverRtt => over_rtt(mechanism, Fact::InFlight, "amount in flight", pair),
        Why::StepsOfAnRtt => format!("each of its steps takes an RTT, and {facts}"),
        Why::LossReducesWindow => format!("each loss reduces the congestion window, and {facts}"),
        Why::LossIsRepaired => format!("each loss has to be repaired, and {facts}"),
        Why::TimersRunOut => format!("each waits for the retransmission timer, and {facts}"),
        Why::ReorderingLooksLikeLoss => format!("reordering looks like loss to the sender, and {facts}"),
        Why::SpuriousReducesWindow => {
            format!("a spurious retransmission reduces the congestion window as a loss does, and {facts}")
        }
        Why::MarkReducesWindow => format!("each report of a mark reduces the congestion window, and {facts}"),
        Why::OneLossInAnRtt => format!("without SACK the sender learns of one loss in an RTT, and {facts}"),
        Why::WindowGrowsBySegments => format!("the congestion window counts segments, and {facts}"),
        Why::HeadersOfSegments => format!("each segment carries its headers, and {facts}"),
        Why::MoreSegmentsToLose => {
            format!("more segments carry the same data, each of which may be lost, and {facts}")
        }
        Why::PathCarriesLess => format!("the path was full, and {facts}"),
        Why::PolicerDrops => format!("a policer drops what is above its rate, and {facts}"),
        Why::HostKeepsToRate => format!("the sending host keeps to a rate, and {facts}"),
        Why::ReaderIsSlower => format!("the window opens when the receiving program reads, and {facts}"),
        Why::TurnsCostTime if facts.is_empty() => {
            "these are waits for requests and answers of the programs, each with an RTT".to_owned()
        }
        Why::TurnsCostTime => format!("each turn takes an RTT and the time of the programs, and {facts}"),
        Why::OnceInEachConnection => {
            format!("it happens once in each connection, however much that carries, and {facts}")
        }
        Why::OpeningWaits => format!("a lost SYN waits for its timer, and {facts}"),
        Why::ProgramPaused if facts.is_empty() => {
            "that is the sending program's own time, in which nothing was left to send; the path has no part in it".to_owned()
        }
        Why::ProgramPaused => format!("the sending program had nothing to send, and {facts}"),
        Why::ReceiverWasLate => "that is the receiving program's or its host's own time; the path has no part in it".to_owned(),
    }
}

/// What an amount allows over the RTT, before and after.
fn over_rtt(mechanism: &Mechanism, fact: Fact, name: &str, pair: &Pair) -> String {
    let sides = pair.sides.each_ref();
    let Some((amounts, rtts)) = both(sides, fact).zip(both(sides, Fact::Rtt)) else {
        let facts: Vec<_> =
            mechanism.facts.iter().map(|changed| went(changed.fact, changed.values)).collect();
        let what = if fact == Fact::InFlight {
            "what is in flight passes once"
        } else {
            "at most one window passes"
        };
        return format!("{what} in an RTT, and {}", facts.join(", "));
    };
    let number = |values: [Measured; 2], side: usize| values[side].number().unwrap_or(0.0);
    let allows = |side: usize| {
        let (amount, rtt) = (bytes(number(amounts, side)), seconds(number(rtts, side)));
        let rate = Rate::of(amount, rtt).map_or_else(String::new, |rate| format!(", which allows {rate}"));
        format!("{amount} over {} in {}{rate}", duration(rtt), NAMES[side])
    };
    let is_changed = |fact: Fact| mechanism.facts.iter().any(|changed| changed.fact == fact);
    let longer = |by: f64, more: &'static str, less: &'static str| if by > 0.0 { more } else { less };
    let by = |fact: Fact| {
        mechanism.facts.iter().find(|changed| changed.fact == fact).map_or(0.0, |changed| changed.by)
    };
    let what = match (is_changed(fact), is_changed(Fact::Rtt)) {
        (false, _) => format!("the same {name} over a {} RTT", longer(by(Fact::Rtt), "longer", "shorter")),
        (true, false) => format!("a {} {name} over the same RTT", longer(by(fact), "larger", "smaller")),
        (true, true) => format!("{name} and RTT both changed"),
    };
    let scaling = mechanism.facts.iter().find(|changed| changed.fact == Fact::WindowScaling);
    let scaling = scaling.map_or_else(String::new, |changed| {
        format!(
            ". {}; without it no window exceeds 65,535 bytes",
            sentence(&went(changed.fact, changed.values)).trim_end_matches('.')
        )
    });
    format!("{what}: {}; {}{scaling}", allows(0), allows(1))
}

/// What to keep in mind.
pub(super) fn caution(caution: &Caution) -> String {
    let which = |which: &[bool; 2]| match which {
        [true, true] => "A and B",
        [true, false] => "A",
        _ => "B",
    };
    match caution {
        Caution::OtherPlace([a, b]) => format!(
            "A was captured {}, and B {}. What such places show differs; only facts that both show alike are compared.",
            place(*a),
            place(*b)
        ),
        Caution::UnknownPlace(unknown) => format!(
            "It is not known where {} was captured, so facts that depend on it are not compared. If you know, add --vantage.",
            which(unknown)
        ),
        Caution::OtherConfidence([a, b]) => format!(
            "Where they were captured is known with {} confidence of A, and with {} confidence of B.",
            a.slug(),
            b.slug()
        ),
        Caution::LowConfidence { side, cause } => format!(
            "What took most of the time of {} is known with low confidence: {}.",
            NAMES[*side],
            named(*cause)
        ),
        Caution::OtherDirection => "The server sent in one, and the client in the other.".to_owned(),
        Caution::OpeningNotSeen(unseen) => format!(
            "{} begin{} after the opening of the connection: what was negotiated is not known there.",
            which(unseen),
            if *unseen == [true; 2] { "" } else { "s" }
        ),
        Caution::Missed([a, b]) => format!("The captures missed data that arrived: {a} in A, {b} in B."),
        Caution::OneTimeCosts { side, times_ns: [a, b] } => format!(
            "A flow of {} moved far less data. The opening and slow start happen once, and weigh more there: {} in A, {} in B.",
            NAMES[*side],
            time(*a),
            time(*b)
        ),
        Caution::Unknown { side, part } => {
            format!("{} of the time of {} is under no known limit.", share(*part), NAMES[*side])
        }
        Caution::Idle([a, b]) => format!(
            "Idle time before the first data and after the last is left out: {} in A, {} in B.",
            duration(*a),
            duration(*b)
        ),
        Caution::WithoutData([a, b]) => {
            format!("Flows without data are left out: {} in A, {} in B.", count(*a), count(*b))
        }
        Caution::MayBeChance => {
            "The difference is large and rests on few events. Compare more captures to see whether it stays."
                .to_owned()
        }
    }
}

/// Why nothing is compared, by how many flows there are.
pub(super) const fn nothing_compared(flows: [u64; 2]) -> &'static str {
    match flows {
        [0, 0] => "Neither capture has a TCP flow that was asked for, so nothing is compared.",
        [0, _] => "A has no TCP flow that was asked for, so nothing is compared.",
        [_, 0] => "B has no TCP flow that was asked for, so nothing is compared.",
        _ => "The two captures have no service in common, so nothing is compared.",
    }
}

/// Flows next to the two that are compared.
pub(super) fn left_out([a, b]: [(u64, Bytes); 2]) -> Option<String> {
    let one = |(flows, bytes): (u64, Bytes), name: &str| {
        let data = if bytes == Bytes::ZERO { "no data".to_owned() } else { bytes.to_string() };
        (flows > 0).then(|| format!("{} with {data} in {name}", counted(flows, "other flow")))
    };
    let parts: Vec<_> = [one(a, "A"), one(b, "B")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("Not compared: {}.", parts.join(", ")))
}

/// Services that only one capture has.
pub(super) fn only(name: &str, services: &[(slowpath_model::Endpoint, Side)]) -> Option<String> {
    const MOST: usize = 5;
    if services.is_empty() {
        return None;
    }
    let shown: Vec<_> = services
        .iter()
        .take(MOST)
        .map(|(server, side)| match side.bytes {
            Bytes::ZERO => format!("{server} (no data)"),
            bytes => format!("{server} ({bytes})"),
        })
        .collect();
    let more = match services.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(", and {} more", count(more as u64)),
    };
    Some(format!("Only in {name}: {}{more}.", shown.join(", ")))
}
