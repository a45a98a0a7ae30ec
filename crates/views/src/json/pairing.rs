//! What two recordings of the same transfer show together.

use super::measures::SynOptions;
use crate::diagnosis::Paired;
use crate::words;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::pairing::report::{self, OneWay};
use slowpath_analyses::pairing::{DirectionPair, FlowPair};
use slowpath_model::End;
use slowpath_model::nanos;

/// The offset of the second recording's clock from the first's, for a time in which both ran evenly.
#[derive(Serialize, JsonSchema)]
pub struct Clocks {
    /// From this instant of the first recording on.
    from_ns: i64,
    /// Until this one.
    to_ns: i64,
    /// How far the second clock is ahead at the start.
    offset_ns: i64,
    /// What is assumed to know it: `equal-clocks`, where no packet contradicts that both clocks show the same time, or
    /// `equal-ways`, that the shortest delay is the same in both directions.
    offset_basis: &'static str,
    /// The least that it can be: with less, a packet to the first recording would have arrived before it was sent.
    offset_least_ns: i64,
    /// The most that it can be: with more, a packet to the second recording would have.
    offset_most_ns: i64,
    /// The uncertainty of the offset, at any time until `to_ns`.
    offset_uncertainty_ns: u64,
    /// How much faster the second clock runs, in parts per million.
    drift_ppm: f64,
    /// The uncertainty of the drift.
    drift_uncertainty_ppm: f64,
}

/// One flow in both recordings.
#[derive(Serialize, JsonSchema)]
pub struct Pair {
    /// Its number in the first and in the second recording.
    flows: [u32; 2],
    /// How the two were matched: by `addresses`, by the `handshake` or by its `packets`.
    identified_by: &'static str,
    /// One in this many stretches of the stream was compared.
    one_in: u32,
    /// SYNs whose options were changed between the two recordings.
    rewritten: Vec<Rewritten>,
    /// The fate of A's packets, then of B's.
    directions: Vec<Way>,
}

/// A SYN whose options were changed on the path.
#[derive(Serialize, JsonSchema)]
pub struct Rewritten {
    /// The end that sent it, `a` or `b`.
    from: &'static str,
    /// Its options where it was sent.
    sent: SynOptions,
    /// Its options where it arrived.
    arrived: SynOptions,
}

/// The fate of the packets of one direction between the two recordings.
#[derive(Serialize, JsonSchema)]
pub struct Way {
    /// The end that sent, `a` or `b`.
    from: &'static str,
    /// The recording nearer to it: 0 or 1.
    near: usize,
    /// Packets that passed the near recording.
    packets: u64,
    /// Of these, with payload, SYN or FIN.
    data_packets: u64,
    /// Packets in both recordings.
    arrived: u64,
    /// Packets lost between the two.
    lost: u64,
    /// Of these, with payload, SYN or FIN.
    lost_data: u64,
    /// When the first ones were lost, by the near recording's clock; at most 4096.
    lost_at_ns: Vec<i64>,
    /// Packets that arrived, but are missing in the far recording.
    missed_by_far: u64,
    /// Packets that are missing in the near recording.
    missed_by_near: u64,
    /// Packets that arrived, or were recorded, twice.
    twice: u64,
    /// Packets reordered on the way.
    overtaken: u64,
    /// The longest time by which a packet arrived after one sent later.
    overtaken_by_ns: u64,
    /// Packets that arrived and were not accepted by the receiving host.
    ignored: u64,
    /// Of these, those with a timestamp older than one before, which PAWS drops (RFC 7323, section 5).
    ignored_stale: u64,
    /// Packets that were retransmitted although they had passed the second recording, if that was not made next to the receiver.
    lost_beyond: u64,
    /// From the near to the far recording; `null` where the clocks could not be aligned.
    delay: Option<Spread>,
    /// The uncertainty of each of these delays, in either direction, because of what is assumed of the clocks.
    delay_uncertainty_ns: Option<u64>,
    /// What queues added to the minimum delay, at the 95th percentile.
    queueing_p95_ns: Option<u64>,
    /// From the arrival of data to its ACK, both at the far recording.
    answer: Option<Spread>,
}

/// Times of many packets.
#[derive(Serialize, JsonSchema)]
pub struct Spread {
    /// How many.
    count: u64,
    /// The least.
    min_ns: i64,
    /// The median.
    median_ns: i64,
    /// The 95th percentile.
    p95_ns: i64,
    /// The most.
    max_ns: i64,
}

impl Clocks {
    pub(super) fn of(paired: &Paired) -> Vec<Self> {
        let stretches = words::aligned(paired).map(|clocks| clocks.stretches.as_slice()).unwrap_or_default();
        let one = |stretch: &slowpath_analyses::pairing::clock::Stretch| Self {
            from_ns: stretch.from.nanos(),
            to_ns: stretch.to.nanos(),
            offset_ns: stretch.offset_ns,
            offset_basis: stretch.basis.slug(),
            offset_least_ns: stretch.offset_bounds_ns[0],
            offset_most_ns: stretch.offset_bounds_ns[1],
            offset_uncertainty_ns: nanos(stretch.uncertainty),
            drift_ppm: stretch.drift_ppm,
            drift_uncertainty_ppm: stretch.drift_uncertainty_ppm,
        };
        stretches.iter().map(one).collect()
    }
}

impl Pair {
    pub(super) fn of(paired: &Paired, pair: &FlowPair) -> Self {
        Self {
            flows: pair.flows.map(|id| id.0),
            identified_by: pair.identified.slug(),
            one_in: pair.one_in,
            rewritten: End::BOTH
                .into_iter()
                .filter_map(|from| {
                    let rewritten = pair.rewritten[pair.named(from, paired.base).index()]?;
                    let [sent, arrived] = [rewritten.sent, rewritten.arrived].map(SynOptions::of);
                    Some(Rewritten { from: from.letter(), sent, arrived })
                })
                .collect(),
            directions: End::BOTH
                .into_iter()
                .map(|from| Way::of(from, words::direction(paired, pair, from)))
                .collect(),
        }
    }
}

impl Way {
    fn of(from: End, way: &DirectionPair) -> Self {
        Self {
            from: from.letter(),
            near: way.near,
            packets: way.packets,
            data_packets: way.data_packets,
            arrived: way.arrived,
            lost: way.lost.count,
            lost_data: way.lost_data,
            lost_at_ns: way.lost.instants.iter().map(|at| at.nanos()).collect(),
            missed_by_far: way.missed_far.count,
            missed_by_near: way.missed_near.count,
            twice: way.twice.count,
            overtaken: way.overtaken.count,
            overtaken_by_ns: nanos(way.overtaken_by),
            ignored: way.ignored.count,
            ignored_stale: way.ignored_stale,
            lost_beyond: way.lost_beyond.count,
            delay: way.delay.as_ref().map(|way| Spread::of(&way.delay)),
            delay_uncertainty_ns: way.delay.as_ref().map(|way| nanos(way.uncertainty)),
            queueing_p95_ns: way.delay.as_ref().map(|way: &OneWay| nanos(way.queueing_p95)),
            answer: way.answer.as_ref().map(Spread::of),
        }
    }
}

impl Spread {
    const fn of(times: &report::Quantiles) -> Self {
        Self {
            count: times.count,
            min_ns: times.min_ns,
            median_ns: times.median_ns,
            p95_ns: times.p95_ns,
            max_ns: times.max_ns,
        }
    }
}
