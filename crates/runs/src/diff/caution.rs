//! What to keep in mind when two captures are compared.

use super::explain::is_once;
use super::fact::Place;
use super::side::Side;
use super::time::Difference;
use slowpath_analyses::{Cause, Confidence, Limit};
use slowpath_model::Bytes;
use std::time::Duration;

/// Something that makes two sides less alike than their numbers look.
#[derive(Clone, Debug, PartialEq)]
pub enum Caution {
    /// They were captured at different places.
    OtherPlace([Place; 2]),
    /// Where one or both were captured is not known.
    UnknownPlace([bool; 2]),
    /// How sure the place is differs.
    OtherConfidence([Confidence; 2]),
    /// What took most of the time of a side is known with low confidence.
    LowConfidence {
        /// A or B: 0 or 1.
        side: usize,
        /// What took most of its time.
        cause: Cause,
    },
    /// The server sent in one, the client in the other.
    OtherDirection,
    /// Openings were not captured: what was negotiated is not known.
    OpeningNotSeen([bool; 2]),
    /// The captures missed data.
    Missed([Bytes; 2]),
    /// One moved far less data, so that what happens once weighs more.
    OneTimeCosts {
        /// The side with less data.
        side: usize,
        /// Opening and slow start for the amount of data, on both sides, in nanoseconds.
        times_ns: [i64; 2],
    },
    /// This part of a side's time is under no known limit.
    Unknown {
        /// A or B: 0 or 1.
        side: usize,
        /// The part, 0 to 1.
        part: f64,
    },
    /// Idle time before the first data and after the last was left out.
    Idle([Duration; 2]),
    /// Flows without data were left out.
    WithoutData([u64; 2]),
    /// The difference rests on so few events that it may be chance.
    MayBeChance,
}

/// Amounts that differ by this factor are far apart.
const FAR_LESS: f64 = 3.0;
/// A part of the difference that matters.
const PART: f64 = 0.1;
/// A part of the time that may hide anything.
const MUCH: f64 = 0.2;

/// What to keep in mind of two sides.
pub fn cautions(sides: [&Side; 2], difference: Option<&Difference>) -> Vec<Caution> {
    let mut all = Vec::new();
    places(sides, &mut all);
    if sides.iter().all(|side| side.flows > 0) {
        let downloads = sides.map(|side| side.downloads * 2 > side.flows);
        all.extend((downloads[0] != downloads[1]).then_some(Caution::OtherDirection));
        let unseen = sides.map(|side| side.opened * 2 <= side.flows);
        all.extend(unseen.contains(&true).then_some(Caution::OpeningNotSeen(unseen)));
    }
    let missed = sides.map(|side| side.unseen);
    let is_much = |side: &&Side| side.unseen.get() as f64 > 0.001 * side.bytes.get() as f64;
    all.extend(sides.iter().any(is_much).then_some(Caution::Missed(missed)));
    if let Some(difference) = difference {
        all.extend(one_time_costs(sides, difference));
        for (side, of) in sides.into_iter().enumerate() {
            all.extend(low_confidence(side, of));
        }
        let may_be_chance = !difference.is_beyond_chance() && is_large(difference);
        all.extend(may_be_chance.then_some(Caution::MayBeChance));
    }
    let idle = sides.map(|side| side.idle);
    let is_long = |side: &&Side| side.idle > side.time / 10;
    all.extend(sides.iter().any(is_long).then_some(Caution::Idle(idle)));
    let without = sides.map(|side| side.without_data.values().sum::<u64>());
    let has_data = sides.iter().all(|side| side.flows > 0);
    all.extend((has_data && without != [0, 0]).then_some(Caution::WithoutData(without)));
    all
}

fn places(sides: [&Side; 2], all: &mut Vec<Caution>) {
    let [Some((one, sure_one)), Some((other, sure_other))] = sides.map(Side::place) else { return };
    let unknown = [one, other].map(|place| place == Place::Unknown);
    if unknown.contains(&true) {
        all.push(Caution::UnknownPlace(unknown));
    } else if one != other {
        all.push(Caution::OtherPlace([one, other]));
    } else if sure_one != sure_other {
        all.push(Caution::OtherConfidence([sure_one, sure_other]));
    }
}

fn one_time_costs([a, b]: [&Side; 2], difference: &Difference) -> Option<Caution> {
    let of_a_flow = [a, b].map(|side| side.bytes.get() as f64 / side.flows.max(1) as f64);
    let side = usize::from(of_a_flow[1] < of_a_flow[0]);
    let parts = difference.parts.iter().filter(|part| is_once(part.cause));
    let times_ns = parts.fold([0, 0], |sum, part| [sum[0] + part.times_ns[0], sum[1] + part.times_ns[1]]);
    let by = (times_ns[side] - times_ns[1 - side]).max(0) as f64;
    let is_far_less = of_a_flow[1 - side] > FAR_LESS * of_a_flow[side];
    let matters = by > PART * difference.total_ns().unsigned_abs() as f64;
    (is_far_less && matters).then_some(Caution::OneTimeCosts { side, times_ns })
}

fn low_confidence(side: usize, of: &Side) -> Option<Caution> {
    let under = |limit: Limit| -> Duration {
        of.causes().filter(|cause| cause.limit() == limit).map(|cause| of.under(cause)).sum()
    };
    let part = under(Limit::Unknown).as_secs_f64() / of.time.as_secs_f64();
    if part > MUCH {
        return Some(Caution::Unknown { side, part });
    }
    let cause = of.causes().max_by_key(|cause| of.under(*cause))?;
    (of.confidence(cause) == Some(Confidence::Low)).then_some(Caution::LowConfidence { side, cause })
}

/// Whether a difference would matter if it were no chance.
fn is_large(difference: &Difference) -> bool {
    let [a, b] = difference.times_ns();
    difference.total_ns().unsigned_abs() as f64 > PART * a.min(b) as f64
}
