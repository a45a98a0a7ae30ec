//! The result of comparing two recordings of the same connections.

use super::clock::Alignment;
use super::identify::Identified;
use crate::report::SynOptions;
use slowpath_model::statistics::nearest_rank;
use slowpath_model::{End, FlowId, Instant};
use std::collections::HashMap;
use std::time::Duration;

/// Two recordings, compared.
#[derive(Clone, Debug)]
pub struct Pairing {
    /// The relation of the second recording's clock to the first's; `None` if unknown, and then there are no one-way
    /// delays.
    pub clocks: Option<Alignment>,
    /// The wall-clock times of the two recordings' instants 0, in nanoseconds since 1970.
    pub epochs_ns: [i64; 2],
    /// Connections in both, in the order of the first recording.
    pub flows: Vec<FlowPair>,
    /// Flows that only the first, and only the second recording has.
    pub alone: [Vec<FlowId>; 2],
    /// Flows of each that were not compared for lack of memory.
    pub not_kept: [u64; 2],
    /// Where in `flows` the flows of each recording are.
    pub(super) places: [HashMap<FlowId, usize>; 2],
}

impl Pairing {
    /// Where the flows of each recording are in `flows`.
    pub(super) fn places(flows: &[FlowPair]) -> [HashMap<FlowId, usize>; 2] {
        [0, 1].map(|n: usize| flows.iter().enumerate().map(|(place, pair)| (pair.flows[n], place)).collect())
    }

    /// What the other recording's clock shows at instant `at` of recording `of` (0 or 1); `None` if the clocks are not
    /// aligned, or one of them was being set.
    pub fn translate(&self, of: usize, at: Instant) -> Option<Instant> {
        let clocks = self.clocks.as_ref()?;
        let apart = self.epochs_ns[0].saturating_sub(self.epochs_ns[1]);
        let nanos = if of == 0 {
            at.nanos().saturating_add(apart).saturating_add(clocks.ahead(at.nanos())?)
        } else {
            // The offset at that time is needed, but that time is by the other clock; drift is small, so the iteration
            // converges.
            let mut first = at.nanos().saturating_sub(apart);
            for _ in 0..3 {
                first = at.nanos().saturating_sub(apart).saturating_sub(clocks.ahead(first)?);
            }
            first
        };
        Some(Instant::from_nanos(nanos))
    }

    /// The pair that flow `id` of recording `recording` (0 or 1) belongs to.
    pub fn of(&self, recording: usize, id: FlowId) -> Option<&FlowPair> {
        self.flows.get(*self.places.get(recording)?.get(&id)?)
    }
}

/// One connection in both recordings.
#[derive(Clone, Debug)]
pub struct FlowPair {
    /// Its number in the first and in the second.
    pub flows: [FlowId; 2],
    /// How they were identified as the same.
    pub identified: Identified,
    /// Whether A in the one is B in the other: one of them starts in the middle. Ends below are those of the first.
    pub swapped: bool,
    /// Which recording was made nearer to A, and which nearer to B: 0 or 1. `None` if unknown.
    pub nearer: Option<[usize; 2]>,
    /// What A sent, and what B sent.
    pub directions: [DirectionPair; 2],
    /// The options of the SYN of A, and of B, if they differ between the recordings.
    pub rewritten: [Option<Rewritten>; 2],
    /// One in how many stretches of the stream was compared: 1 unless there were too many packets to keep.
    pub one_in: u32,
}

/// The options of a SYN that something between the two recordings changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// As the recording near its sender has them.
    pub sent: SynOptions,
    /// As the other one has them.
    pub arrived: SynOptions,
}

impl FlowPair {
    /// The recording made on the side of `end`: 0 or 1.
    pub fn beside(&self, end: End) -> Option<usize> {
        self.nearer.map(|nearer| nearer[end.index()])
    }

    /// The name of `end` (of the first recording) in `recording`.
    pub fn named(&self, end: End, recording: usize) -> End {
        super::collect::mirrored(end, self.swapped && recording == 1)
    }
}

/// Something counted, and when it happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many packets.
    pub count: u64,
    /// When the first ones passed, in order: on the clock of the recording that has them.
    pub instants: Vec<Instant>,
}

impl Tally {
    /// Instants kept.
    pub const MOST: usize = 4096;

    pub(super) fn of(mut all: Vec<(i64, u64)>) -> Self {
        all.sort_unstable();
        let count = all.iter().map(|(_, packets)| packets).sum();
        let instants = all.iter().take(Self::MOST).map(|(at, _)| Instant::from_nanos(*at)).collect();
        Self { count, instants }
    }
}

/// One direction: what became of the packets that the recording near the sender (`near`) has, by the one near the
/// receiver (`far`). Packets as on the wire: a super-packet counts as those it is cut into.
#[derive(Clone, Debug)]
pub struct DirectionPair {
    /// The end that sent.
    pub from: End,
    /// The recording nearer to it: 0 or 1.
    pub near: usize,
    /// Packets in near that far would have if they arrived.
    pub packets: u64,
    /// Of these, with payload, SYN or FIN.
    pub data_packets: u64,
    /// Packets in both.
    pub arrived: u64,
    /// Not in far: lost between the two, by near's clock.
    pub lost: Tally,
    /// Of the lost ones, those with payload, SYN or FIN.
    pub lost_data: u64,
    /// Of the lost ones, SYNs or SYN-ACKs.
    pub lost_syns: u64,
    /// SYNs or SYN-ACKs that arrived half a second or more later than the fastest packet would have.
    pub late_syns: u64,
    /// Not in far, but the receiver acknowledged their data before it came again: far's recording missed them. (A lost
    /// ACK does not show this, so it counts as lost.) By near's clock.
    pub missed_far: Tally,
    /// In far and not in near: near's recording missed them. By far's clock.
    pub missed_near: Tally,
    /// Arrived twice, or were captured twice: by far's clock.
    pub twice: Tally,
    /// In near twice: captured twice. Not counted in `packets`.
    pub copies_near: u64,
    /// Reordered, arriving after a packet sent later: by far's clock.
    pub overtaken: Tally,
    /// The longest time by which one came after a packet sent later.
    pub overtaken_by: Duration,
    /// Passed far, which is next to the receiver, was not accepted by the receiving host, and came again: by far's
    /// clock, its first arrival.
    pub ignored: Tally,
    /// Passed far and came again, where far is not known to be next to the receiver: lost further on, or not accepted.
    pub lost_beyond: Tally,
    /// Of these, how many had an older timestamp than a packet that came before: the receiver may have taken them for
    /// packets of an earlier connection (PAWS: RFC 7323, section 5).
    pub ignored_stale: u64,
    /// Packets that passed one recording before the other began, or after it ended: they do not count above.
    pub outside: u64,
    /// Packets that could have been one of several identical ones, and were distinguished by time.
    pub told_by_time: u64,
    /// From near to far; `None` where the clocks are not aligned.
    pub delay: Option<OneWay>,
    /// From the arrival of data at far to the ACK for it at far; `None` where no ACK was seen there.
    pub answer: Option<Quantiles>,
}

impl DirectionPair {
    /// The share of packets lost on the way, 0 to 1.
    pub fn loss(&self) -> f64 {
        if self.packets == 0 { 0.0 } else { self.lost.count as f64 / self.packets as f64 }
    }
}

/// Times of many packets, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantiles {
    /// Samples.
    pub count: u64,
    /// The least.
    pub min_ns: i64,
    /// The median.
    pub median_ns: i64,
    /// The 95th percentile.
    pub p95_ns: i64,
    /// The most.
    pub max_ns: i64,
}

impl Quantiles {
    pub(super) fn of(mut samples: Vec<i64>) -> Option<Self> {
        let mut at = |permille: usize| nearest_rank(&mut samples, permille);
        let (min_ns, median_ns, p95_ns, max_ns) = (at(0)?, at(500)?, at(950)?, at(1000)?);
        Some(Self { count: samples.len() as u64, min_ns, median_ns, p95_ns, max_ns })
    }
}

/// How long packets took from one recording to the other.
#[derive(Clone, Debug, PartialEq)]
pub struct OneWay {
    /// One-way delay, never negative. It depends on what is assumed of the clocks ([`Basis`](super::clock::Basis));
    /// differences between delays do not.
    pub delay: Quantiles,
    /// How far each delay may be off, in either direction.
    pub uncertainty: Duration,
    /// Queueing delay over time: the delay less the least one. Times in which no packet passed are left out.
    pub queueing: Vec<Queueing>,
    /// How long each of these times is.
    pub queueing_step: Duration,
    /// The 95th percentile of the queueing delay.
    pub queueing_p95: Duration,
}

/// Queueing delay in a short time, by near's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queueing {
    /// Its start.
    pub from: Instant,
    /// Packets in it.
    pub packets: u64,
    /// The least.
    pub min: Duration,
    /// The mean.
    pub mean: Duration,
    /// The most.
    pub max: Duration,
}
