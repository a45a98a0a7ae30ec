//! What a fit needs of a flow beyond its report: the pace of ACKs, RTTs at losses, which bytes were lost.
//!
//! A tap next to the sender sees when each segment left and when its ACK came. Memory is bounded: a trace keeps what is
//! in flight, [`MOST_LOSSES`] losses, and one histogram.

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

/// A pause longer than this part of the shortest RTT ends a train.
const PAUSE_PART: i64 = 4;

/// Classes of the histogram of rates per factor e: each is 1 % wide.
const CLASSES: f64 = 100.0;

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
    rates: BTreeMap<i32, u64>,
    /// The window field, unscaled: in the first ACK of data, and the largest after that.
    pub windows: Option<(u16, u16)>,
    /// When data was first sent, and last acknowledged.
    pub span: Option<(Instant, Instant)>,
    ended: bool,
}

/// ACKs without a pause between them.
#[derive(Clone, Copy, Debug)]
struct Train {
    first: (Instant, StreamOffset),
    last: (Instant, StreamOffset),
}

/// A rate of delivery, in bits of payload per second, that trains of ACKs agree on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// The most common one.
    pub rate: f64,
    /// The part of the data in trains within 3 % of it.
    pub share: f64,
}

impl Trace {
    fn on_data(&mut self, at: Instant, segment: &Segment, label: Option<Label>) {
        let (low, high) = (segment.first_byte(), segment.first_byte() + segment.len);
        let first = *self.first_byte.get_or_insert(low);
        self.span.get_or_insert((at, at));
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
        if ack.distance_from(self.acknowledged) <= 0 || ack.distance_from(self.first_byte.unwrap_or(ack)) <= 0 {
            return;
        }
        self.acknowledged = ack;
        self.is_answered = true;
        if let Some((_, last)) = &mut self.span {
            *last = at;
        }
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
        let pause = self.rtts.map_or(i64::MAX, |(least, _)| {
            i64::try_from(least.as_nanos()).unwrap_or(i64::MAX) / PAUSE_PART
        });
        let segment = u64::from(self.largest.clamp(1, 1500));
        match &mut self.train {
            Some(train) if is_clean && at.nanos_since(train.last.0) <= pause => {
                train.last = (at, ack);
                let bytes = ack.distance_from(train.first.1).max(0).cast_unsigned();
                if bytes >= MOST_TRAIN * segment {
                    self.end_train();
                    self.train = Some(Train { first: (at, ack), last: (at, ack) });
                }
            }
            _ => {
                self.end_train();
                self.train = is_clean.then_some(Train { first: (at, ack), last: (at, ack) });
            }
        }
    }

    fn end_train(&mut self) {
        let Some(train) = self.train.take() else { return };
        let bytes = train.last.1.distance_from(train.first.1).max(0).cast_unsigned();
        let lasted = train.last.0.nanos_since(train.first.0);
        if lasted <= 0 || bytes < LEAST_TRAIN * u64::from(self.largest.clamp(1, 1500)) {
            return;
        }
        let rate = bytes as f64 * 8e9 / lasted as f64;
        *self.rates.entry((rate.ln() * CLASSES).round() as i32).or_default() += bytes;
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.end_train();
        }
    }

    /// The pace that most of the data came at.
    pub fn pace(&self) -> Option<Pace> {
        const NEAR: i32 = 3;
        let all: u64 = self.rates.values().sum();
        let near = |class: i32| self.rates.range(class - NEAR..=class + NEAR);
        let weight = |class: i32| near(class).map(|(_, bytes)| bytes).sum::<u64>();
        let class = *self.rates.keys().max_by_key(|class| (weight(**class), **class))?;
        let sum: f64 = near(class).map(|(at, bytes)| f64::from(*at) * *bytes as f64).sum();
        let rate = (sum / weight(class) as f64 / CLASSES).exp();
        Some(Pace { rate, share: weight(class) as f64 / all as f64 })
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
