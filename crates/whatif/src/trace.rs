//! What a fit needs of a flow beyond its report: the pace of ACKs, RTTs at losses, which bytes were lost.
//!
//! A tap next to the sender sees when each segment left and when its ACK came. Memory is bounded: a trace keeps what is
//! in flight, [`MOST_LOSSES`] losses, and one histogram.

use crate::exchange::{Exchanges, Requests};
use slowpath_analyses::{Judged, Label, Labels, SpuriousRetransmission};
use slowpath_model::{End, Event, EventKind, Flags, FlowId, FlowKey, Instant, Segment, StreamOffset};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Losses kept of a direction; a transfer with more is not fitted.
pub const MOST_LOSSES: usize = 20_000;

/// Flows traced: the first ones.
const MOST_FLOWS: usize = 1000;

/// Segments in flight that are remembered: 1 Gbyte in full segments of Ethernet.
const MOST_IN_FLIGHT: usize = 700_000;

/// Segments of the shortest train of ACKs: an initial window has ten (RFC 6928).
const LEAST_TRAIN: u64 = 6;

/// Segments of a longest train: a late ACK at its end then matters less than 2 %.
const MOST_TRAIN: u64 = 64;

/// ... and the least time of the shortest and of a longest one, in nanoseconds: interrupts of a NIC bunch ACKs up for 50 µs.
const LEAST_TRAIN_NS: i64 = 200_000;
const MOST_TRAIN_NS: i64 = 4_000_000;

/// ACKs may come so much earlier or later, in nanoseconds: a NIC raises its interrupt after 50 µs at most (ixgbe).
const BUNCHED_NS: f64 = 60_000.0;

/// A pause longer than this part of the shortest RTT ends a train.
const PAUSE_PART: i64 = 4;

/// An ACK that takes longer than those before it by this factor, per byte, follows a pause.
const UNEVEN: f64 = 2.0;

/// Classes of the histogram of rates per factor e: each is 1 % wide.
const CLASSES: f64 = 100.0;

/// Classes within 3 % of each other agree.
const NEAR: i32 = 3;

/// Trains that have to agree on the quickest pace, and the part of the data in them: chance, and ACKs that bunched up on their
/// way, make single quick ones.
const LEAST_TRAINS: u64 = 3;
const LEAST_PART: f64 = 0.02;

/// Data that was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Its first byte, counted from the first of the stream.
    pub from: u64,
    /// One past its last byte.
    pub to: u64,
    /// When it was retransmitted.
    pub at: Instant,
    /// The RTT of data just before it.
    pub rtt: Option<Duration>,
    frame: u64,
}

/// What one direction showed.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    first_byte: Option<StreamOffset>,
    /// Unacknowledged segments: the end of each, and when it left; `None` once it was retransmitted.
    in_flight: VecDeque<(StreamOffset, Option<Instant>)>,
    next: StreamOffset,
    acknowledged: StreamOffset,
    /// The losses, in order of their repair.
    pub losses: Vec<Loss>,
    /// There were more losses than are kept.
    pub is_cut: bool,
    /// The shortest and the longest RTT of data that was neither lost nor behind a hole.
    pub rtts: Option<(Duration, Duration)>,
    last_rtt: Option<Duration>,
    /// Payload sent before the first of it was acknowledged.
    pub first_flight: u64,
    is_answered: bool,
    /// Largest payload of one segment.
    largest: u32,
    train: Option<Train>,
    /// By class: the data, and the number of trains.
    rates: BTreeMap<i32, (u64, u64)>,
    /// The rate of the first train, that of the initial window, which leaves at once.
    first_train: Option<f64>,
    /// The window field, unscaled: in the first ACK of data, and the largest after that.
    pub windows: Option<(u16, u16)>,
    ended: bool,
    /// The requests that it answers.
    exchanges: Exchanges,
}

/// ACKs without a pause between them.
#[derive(Clone, Copy, Debug)]
struct Train {
    first: (Instant, StreamOffset),
    last: (Instant, StreamOffset),
}

impl Train {
    fn bytes(&self) -> u64 {
        self.last.1.distance_from(self.first.1).max(0).cast_unsigned()
    }

    /// In nanoseconds.
    fn lasted(&self) -> i64 {
        self.last.0.nanos_since(self.first.0)
    }

    /// How much longer it took than at so many nanoseconds per byte, in nanoseconds.
    fn longer_than(&self, usual: f64) -> f64 {
        self.lasted() as f64 - usual * self.bytes() as f64
    }

    /// In nanoseconds; `None` for a single ACK.
    fn time_per_byte(&self) -> Option<f64> {
        let lasted = self.lasted();
        (lasted > 0 && self.bytes() > 0).then(|| lasted as f64 / self.bytes() as f64)
    }
}

/// At what pace ACKs without a pause between them came, in bits of payload per second.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// The most common pace.
    pub usual: f64,
    /// The part of the data in trains within 3 % of it.
    pub share: f64,
    /// The highest one that several trains agree on.
    pub quickest: Option<f64>,
    /// That of the initial window.
    pub first: Option<f64>,
    /// The data in trains, by class of pace.
    trains: Vec<(i32, u64)>,
}

impl Pace {
    /// How much another transfer's pace differs: the mean factor over the spread of trains above a pace, less 1. It is infinite
    /// if only one of them has such trains.
    pub fn distance(&self, other: &Self, above: f64) -> f64 {
        let (Some(own), Some(others)) = (self.spread(above), other.spread(above)) else {
            return f64::INFINITY;
        };
        let factors = own.iter().zip(others).map(|(a, b)| (a / b).ln().abs());
        (factors.sum::<f64>() / own.len() as f64).exp() - 1.0
    }

    /// Below these lie a tenth, a quarter, half, three quarters and nine tenths of the data in trains above a pace.
    fn spread(&self, above: f64) -> Option<[f64; 5]> {
        let pace = |class: i32| (f64::from(class) / CLASSES).exp();
        let trains = || self.trains.iter().filter(|(class, _)| pace(*class) >= above);
        let all: u64 = trains().map(|(_, bytes)| bytes).sum();
        let (slowest, quickest) = (trains().next()?.0, trains().next_back()?.0);
        let quantile = |part: f64| {
            let mut below = 0.0;
            let found = trains().find(|(_, bytes)| {
                below += *bytes as f64;
                below >= part * all as f64
            });
            found.map_or(quickest, |(class, _)| *class).max(slowest)
        };
        Some([0.1, 0.25, 0.5, 0.75, 0.9].map(|part| pace(quantile(part))))
    }
}

impl Trace {
    fn on_data(&mut self, at: Instant, segment: &Segment, label: Option<Label>) {
        let (low, high) = (segment.first_byte(), segment.first_byte() + segment.len);
        let first = *self.first_byte.get_or_insert(low);
        self.largest = self.largest.max(segment.len);
        match label {
            Some(Label::New) => {
                if high.distance_from(self.next) > 0 || self.next == StreamOffset(0) {
                    self.next = high;
                    self.in_flight.push_back((high, Some(at)));
                    if self.in_flight.len() > MOST_IN_FLIGHT {
                        self.in_flight.pop_front();
                    }
                }
                if !self.is_answered {
                    self.first_flight += u64::from(segment.len);
                }
            }
            Some(Label::Retransmission | Label::Spurious) => {
                self.untime(low, high);
                if label == Some(Label::Retransmission) {
                    let offset = |place: StreamOffset| place.distance_from(first).max(0).cast_unsigned();
                    let (from, to) = (offset(low), offset(high));
                    if self.losses.len() < MOST_LOSSES {
                        self.losses.push(Loss { from, to, at, rtt: self.last_rtt, frame: segment.frame });
                    } else {
                        self.is_cut = true;
                    }
                }
            }
            _ => {}
        }
    }

    /// What was retransmitted has no RTT (Karn's algorithm).
    fn untime(&mut self, low: StreamOffset, high: StreamOffset) {
        let from = self.in_flight.partition_point(|(end, _)| end.distance_from(low) <= 0);
        for (end, sent) in self.in_flight.range_mut(from..) {
            *sent = None;
            if end.distance_from(high) >= 0 {
                break;
            }
        }
    }

    fn on_ack(&mut self, at: Instant, segment: &Segment) {
        let Some(ack) = segment.ack.filter(|_| self.first_byte.is_some()) else { return };
        // The ACK of a FIN is not one of data.
        let ack = if ack.distance_from(self.next) > 0 { self.next } else { ack };
        if ack.distance_from(self.acknowledged) <= 0 || ack.distance_from(self.first_byte.unwrap_or(ack)) <= 0
        {
            return;
        }
        self.acknowledged = ack;
        self.is_answered = true;
        let (first, largest) = self.windows.unwrap_or((segment.window, segment.window));
        self.windows = Some((first, largest.max(segment.window)));
        let mut newest = None;
        let mut was_repaired = false;
        while let Some((_, sent)) = self.in_flight.front().filter(|(end, _)| end.distance_from(ack) <= 0) {
            was_repaired |= sent.is_none();
            newest = *sent;
            self.in_flight.pop_front();
        }
        // Behind a hole, an ACK comes late for what it acknowledges.
        let is_clean = segment.sack.is_empty() && !was_repaired;
        if let Some(sent) = newest.filter(|_| is_clean) {
            let rtt = at.since(sent).unwrap_or_default();
            let (least, most) = self.rtts.unwrap_or((rtt, rtt));
            self.rtts = Some((least.min(rtt), most.max(rtt)));
            self.last_rtt = Some(rtt);
        }
        self.extend_train(at, ack, is_clean);
    }

    fn extend_train(&mut self, at: Instant, ack: StreamOffset, is_clean: bool) {
        let pause = self
            .rtts
            .map_or(i64::MAX, |(least, _)| i64::try_from(least.as_nanos()).unwrap_or(i64::MAX) / PAUSE_PART);
        let fresh = Train { first: (at, ack), last: (at, ack) };
        let Some(mut train) = self.train.filter(|train| is_clean && at.nanos_since(train.last.0) <= pause)
        else {
            self.end_train();
            self.train = is_clean.then_some(fresh);
            return;
        };
        let step = Train { first: train.last, last: (at, ack) };
        match train.time_per_byte().zip(step.time_per_byte()) {
            // A pause within the burst: the sender had sent in two parts.
            Some((usual, now)) if now > usual * UNEVEN && step.longer_than(usual) > BUNCHED_NS => {
                self.end_train();
                train = fresh;
            }
            // What came before was slower: that was the pause.
            Some((usual, now)) if now < usual / UNEVEN && -step.longer_than(usual) > BUNCHED_NS => {
                self.end_train();
                train = step;
            }
            _ => train.last = (at, ack),
        }
        self.train = Some(train);
        let is_long = train.bytes() >= MOST_TRAIN * u64::from(self.largest.clamp(1, 1500));
        if is_long && train.lasted() >= MOST_TRAIN_NS {
            self.end_train();
            self.train = Some(fresh);
        }
    }

    fn end_train(&mut self) {
        let Some(train) = self.train.take() else { return };
        let Some(time) = train.time_per_byte() else { return };
        let is_short = train.bytes() < LEAST_TRAIN * u64::from(self.largest.clamp(1, 1500));
        if is_short || train.lasted() < LEAST_TRAIN_NS {
            return;
        }
        let rate = 8e9 / time;
        self.first_train.get_or_insert(rate);
        let (bytes, trains) = self.rates.entry((rate.ln() * CLASSES).round() as i32).or_default();
        *bytes += train.bytes();
        *trains += 1;
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.end_train();
        }
    }

    /// The requests that it answers, if they are alike.
    pub fn requests(&self) -> Option<Requests> {
        self.exchanges.alike()
    }

    /// The pace of its trains; `None` without any.
    pub fn pace(&self) -> Option<Pace> {
        let all: u64 = self.rates.values().map(|(bytes, _)| bytes).sum();
        let near = |class: i32| self.rates.range(class - NEAR..=class + NEAR);
        let weight = |class: i32| near(class).map(|(_, (bytes, _))| bytes).sum::<u64>();
        let centre = |class: i32| {
            let sum: f64 = near(class).map(|(at, (bytes, _))| f64::from(*at) * *bytes as f64).sum();
            (sum / weight(class) as f64 / CLASSES).exp()
        };
        let classes = || self.rates.keys().copied();
        let usual = classes().max_by_key(|class| (weight(*class), *class))?;
        let several = |class: &i32| {
            let trains: u64 = near(*class).map(|(_, (_, trains))| trains).sum();
            trains >= LEAST_TRAINS && weight(*class) as f64 >= LEAST_PART * all as f64
        };
        // Of the classes near the highest, the one that most of them agree on.
        let highest = classes().rev().find(several);
        let quickest = highest
            .and_then(|highest| (highest - 2 * NEAR..=highest).max_by_key(|class| (weight(*class), *class)));
        Some(Pace {
            usual: centre(usual),
            share: weight(usual) as f64 / all as f64,
            quickest: quickest.map(centre),
            first: self.first_train,
            trains: self.rates.iter().map(|(class, (bytes, _))| (*class, *bytes)).collect(),
        })
    }
}

/// Traces both directions of each flow, or of one.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    only: Option<FlowId>,
    flows: BTreeMap<FlowId, Box<[Trace; 2]>>,
}

impl Traces {
    /// Traces all flows, or `only` one.
    pub fn new(only: Option<FlowId>) -> Self {
        Self { only, flows: BTreeMap::new() }
    }

    /// What the direction from `from` of a flow showed; `None` if it was not traced.
    pub fn take(&mut self, flow: FlowId, from: End) -> Option<Trace> {
        let mut trace = std::mem::take(&mut self.flows.get_mut(&flow)?[from.index()]);
        trace.end();
        Some(trace)
    }
}

impl Labels for Traces {
    fn open(&mut self, flow: FlowId, _: &FlowKey) {
        if self.flows.len() < MOST_FLOWS && self.only.is_none_or(|only| only == flow) {
            self.flows.insert(flow, Box::default());
        }
    }

    fn judged(&mut self, flow: FlowId, event: &Event, judged: Judged) {
        let EventKind::Seen(segment) = &event.kind else { return };
        let Some(ends) = self.flows.get_mut(&flow) else { return };
        if segment.len > 0 {
            ends[segment.from.index()].on_data(event.at, segment, judged.label);
        }
        for answers in [End::A, End::B] {
            let exchanges = &mut ends[answers.index()].exchanges;
            if segment.len > 0 && judged.label == Some(Label::New) {
                exchanges.on_data(event.at, segment, answers);
            } else {
                exchanges.on_ack(event.at, segment, answers);
            }
        }
        if !segment.flags.has_any(Flags::SYN.with(Flags::RST)) {
            ends[(!segment.from).index()].on_ack(event.at, segment);
        }
    }

    fn found_spurious(&mut self, flow: FlowId, from: End, spurious: &SpuriousRetransmission) {
        let Some(ends) = self.flows.get_mut(&flow) else { return };
        let losses = &mut ends[from.index()].losses;
        // It is among the last.
        if let Some(place) = losses.iter().rposition(|loss| loss.frame == spurious.frame) {
            losses.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(trains: &[(f64, u64)]) -> Pace {
        let trains =
            trains.iter().map(|(rate, bytes)| ((rate.ln() * CLASSES).round() as i32, *bytes)).collect();
        Pace { usual: 90e6, share: 0.5, quickest: Some(90e6), first: None, trains }
    }

    #[test]
    fn trains_at_the_pace_of_a_window_can_be_left_out() {
        // How much of a window's data follows its own ACKs differs; the path's pace does not.
        let (some, more) = (pace(&[(20e6, 10), (90e6, 90)]), pace(&[(20e6, 60), (90e6, 40)]));
        assert!(some.distance(&more, 0.0) > 0.8);
        assert!(some.distance(&more, 30e6) < 0.01);
        // Another path does.
        assert!(some.distance(&pace(&[(20e6, 10), (45e6, 90)]), 30e6) > 0.9);
    }

    #[test]
    fn a_transfer_without_quick_trains_is_far_from_one_with_them() {
        assert!(pace(&[(90e6, 1)]).distance(&pace(&[(20e6, 1)]), 30e6).is_infinite());
    }
}
