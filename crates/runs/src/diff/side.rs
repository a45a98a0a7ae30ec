//! Flows of one capture, summed up: one side of a comparison.

use super::fact::{Events, Fact, Measured, Place, Sample};
use super::seen::Seen;
use slowpath_analyses::{Cause, Confidence};
use slowpath_model::{Bytes, End, FlowId, FlowKey, Rate};
use std::collections::BTreeMap;
use std::time::Duration;

/// Flows of one capture.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Flows with data.
    pub flows: u64,
    /// Flows without any, which are not compared, by what kept them from having some.
    pub without_data: BTreeMap<Option<Cause>, u64>,
    /// The flow, if it is one.
    pub one: Option<(FlowId, FlowKey, End)>,
    /// Payload without retransmissions.
    pub bytes: Bytes,
    /// Of it, what is not in the capture.
    pub unseen: Bytes,
    /// The time of all flows together, without [`Self::idle`].
    pub time: Duration,
    /// Idle before the first data of flows and after their last, which is left out.
    pub idle: Duration,
    /// Flows whose server sent more than their client.
    pub downloads: u64,
    /// Flows whose opening was captured.
    pub opened: u64,
    causes: BTreeMap<Cause, Under>,
    places: BTreeMap<Place, ([u64; 3], u64)>,
    facts: BTreeMap<Fact, Sum>,
    spread: Spread,
}

/// The time under a cause.
#[derive(Clone, Copy, Debug, Default)]
struct Under {
    lasted: Duration,
    variance: f64,
    /// By confidence.
    sure: [Duration; 3],
}

/// A fact of several flows.
#[derive(Clone, Debug)]
enum Sum {
    Values(Vec<f64>),
    Events(Events),
    Flag(Events),
}

/// Sums of data and time by flow, for how much flows differ.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    squared_bytes: f64,
    squared_time: f64,
    product: f64,
}

const CONFIDENCES: [Confidence; 3] = [Confidence::Low, Confidence::Medium, Confidence::High];

impl Side {
    /// One flow. Of one without data, `cause` is what kept it from having some.
    pub fn of(seen: &Seen, cause: Option<Cause>) -> Self {
        let mut side = Self::default();
        if seen.bytes == Bytes::ZERO {
            side.without_data.insert(cause, 1);
            return side;
        }
        for spent in &seen.spent {
            let under = side.causes.entry(spent.cause).or_default();
            under.lasted += spent.lasted;
            under.variance += spent.variance;
            under.sure[spent.confidence as usize] += spent.lasted;
        }
        let mut by_confidence = [0; 3];
        by_confidence[seen.place_confidence as usize] = 1;
        let (bytes, time) = (seen.bytes.get() as f64, seen.time.as_secs_f64());
        Self {
            flows: 1,
            one: Some((seen.id, seen.key, seen.sender)),
            bytes: seen.bytes,
            unseen: seen.unseen,
            time: seen.time,
            idle: seen.idle,
            downloads: u64::from(seen.sender == End::B),
            opened: u64::from(seen.is_opening_seen),
            places: BTreeMap::from([(seen.place, (by_confidence, 1))]),
            facts: seen.facts.iter().map(|(fact, sample)| (*fact, Sum::of(*sample))).collect(),
            spread: Spread { squared_bytes: bytes * bytes, squared_time: time * time, product: bytes * time },
            ..side
        }
    }

    /// Adds the flows of another.
    pub fn join(&mut self, other: Self) {
        self.one = match (self.flows, other.flows) {
            (0, _) => other.one,
            (_, 0) => self.one,
            _ => None,
        };
        self.flows += other.flows;
        for (cause, flows) in other.without_data {
            *self.without_data.entry(cause).or_default() += flows;
        }
        self.bytes += other.bytes;
        self.unseen += other.unseen;
        self.time += other.time;
        self.idle += other.idle;
        self.downloads += other.downloads;
        self.opened += other.opened;
        for (cause, more) in other.causes {
            let under = self.causes.entry(cause).or_default();
            under.lasted += more.lasted;
            under.variance += more.variance;
            for (own, more) in under.sure.iter_mut().zip(more.sure) {
                *own += more;
            }
        }
        for (place, (sure, more)) in other.places {
            let (by_confidence, flows) = self.places.entry(place).or_default();
            for (own, more) in by_confidence.iter_mut().zip(sure) {
                *own += more;
            }
            *flows += more;
        }
        for (fact, more) in other.facts {
            match self.facts.get_mut(&fact) {
                Some(sum) => sum.join(more),
                None => drop(self.facts.insert(fact, more)),
            }
        }
        self.spread.squared_bytes += other.spread.squared_bytes;
        self.spread.squared_time += other.spread.squared_time;
        self.spread.product += other.spread.product;
    }

    /// Flows, those without data too.
    pub fn all_flows(&self) -> u64 {
        self.flows + self.without_data.values().sum::<u64>()
    }

    /// Data over the time of all flows together: the rate of a flow.
    pub fn rate(&self) -> Option<Rate> {
        Rate::of(self.bytes, self.time).filter(|rate| rate.get() > 0)
    }

    /// The causes that took time.
    pub fn causes(&self) -> impl Iterator<Item = Cause> {
        self.causes.keys().copied()
    }

    /// The time under a cause.
    pub fn under(&self, cause: Cause) -> Duration {
        self.causes.get(&cause).map_or(Duration::ZERO, |under| under.lasted)
    }

    /// How sure most of the time under a cause is; `None` without any.
    pub fn confidence(&self, cause: Cause) -> Option<Confidence> {
        let under = self.causes.get(&cause)?;
        let (most, _) = under.sure.iter().enumerate().max_by_key(|(_, lasted)| **lasted)?;
        Some(CONFIDENCES[most])
    }

    /// Where most flows were captured, and how sure that is for most of these; `None` without flows.
    pub fn place(&self) -> Option<(Place, Confidence)> {
        let (place, (sure, _)) = self.places.iter().max_by_key(|(_, (_, flows))| *flows)?;
        let (most, _) = sure.iter().enumerate().max_by_key(|(_, flows)| **flows)?;
        Some((*place, CONFIDENCES[most]))
    }

    /// A fact, if it is known.
    pub fn measured(&self, fact: Fact) -> Option<Measured> {
        match self.facts.get(&fact)? {
            Sum::Values(values) => typical(values),
            Sum::Events(events) => Some(Measured::Events(*events)),
            Sum::Flag(events) => Some(Measured::Flag(*events)),
        }
    }

    /// The standard deviation by chance of the time that this much data takes, in seconds.
    pub fn scatter(&self) -> f64 {
        let (time, flows) = (self.time.as_secs_f64(), self.flows as f64);
        if self.flows >= LEAST_FLOWS {
            // Of a ratio estimator: by how much the flows' times differ from their data at the common pace.
            let pace = time / (self.bytes.get() as f64);
            let Spread { squared_bytes, squared_time, product } = self.spread;
            let squares = squared_time - 2.0 * pace * product + pace * pace * squared_bytes;
            return (flows / (flows - 1.0) * squares.max(0.0)).sqrt().max(FLOOR * time);
        }
        let events: f64 = self.causes.values().map(|under| under.variance).sum();
        let rtt = self.measured(Fact::Rtt).and_then(Measured::number).unwrap_or(0.0);
        let start = ROUNDS * rtt * flows.sqrt();
        (events + start * start + (FLOOR * time).powi(2)).sqrt()
    }
}

/// From so many flows on, how much they differ from each other shows what is chance.
const LEAST_FLOWS: u64 = 8;
/// What no two transfers have in common to the percent: queues, timers, the phase of a sawtooth.
const FLOOR: f64 = 0.01;
/// RTTs by which the start of a transfer varies.
const ROUNDS: f64 = 1.0;

impl Sum {
    fn of(sample: Sample) -> Self {
        match sample {
            Sample::Value(value) => Self::Values(vec![value]),
            Sample::Events(events) => Self::Events(events),
            Sample::Flag(flag) => Self::Flag(Events::single(flag.into(), 1)),
        }
    }

    fn join(&mut self, other: Self) {
        match (self, other) {
            (Self::Values(values), Self::Values(more)) => values.extend(more),
            (Self::Events(events), Self::Events(more)) | (Self::Flag(events), Self::Flag(more)) => {
                events.count += more.count;
                events.of += more.of;
                events.bursts += more.bursts;
            }
            _ => unreachable!("a fact has one kind of value"),
        }
    }
}

/// The median, and how far it may be off.
fn typical(values: &[f64]) -> Option<Measured> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |part: f64| sorted.get(((sorted.len() as f64 - 1.0) * part).round() as usize).copied();
    let (low, value, high) = (at(0.25)?, at(0.5)?, at(0.75)?);
    // The standard error of a median, by the distance of the quartiles of a normal distribution.
    let off = 1.253 * (high - low) / 1.349 / (sorted.len() as f64).sqrt();
    Some(Measured::Typical { value, off, flows: sorted.len() as u64 })
}
