//! Queueing delay between two recordings, in columns.

use super::picture::deltas;
use crate::diagnosis::Paired;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::pairing::DirectionPair;
use slowpath_model::Instant;
use slowpath_model::nanos;

/// One-way delay above its least, from the sender's side to the receiver's, and what was lost between them. A row of
/// the delays is a short stretch of time; those in which no packet passed are left out.
#[derive(Serialize, JsonSchema)]
pub struct QueueingData {
    /// When a stretch began.
    pub from_ns_delta: Vec<i64>,
    /// How long each of them is.
    pub step_ns: u64,
    /// The shortest time that queues held a packet.
    pub min_ns: Vec<u64>,
    /// The mean.
    pub mean_ns: Vec<u64>,
    /// The longest.
    pub max_ns: Vec<u64>,
    /// The least delay, which is taken for that of the path without queues.
    pub least_delay_ns: i64,
    /// When packets were lost, as they passed the sender's side: the first ones, at most 4096.
    pub lost_ns_delta: Vec<i64>,
    /// How many were lost in all.
    pub lost: u64,
}

impl QueueingData {
    /// The columns of `way`, on the clock of the reported recording.
    pub(super) fn of(paired: &Paired, way: &DirectionPair) -> Option<Self> {
        let delays = way.delay.as_ref()?;
        let here = |at: Instant| {
            if way.near == paired.base { Some(at) } else { paired.pairing.translate(way.near, at) }
        };
        let rows: Vec<_> =
            delays.queueing.iter().filter_map(|row| Some((here(row.from)?.nanos(), row))).collect();
        Some(Self {
            from_ns_delta: deltas(rows.iter().map(|(from, _)| *from)),
            step_ns: nanos(delays.queueing_step),
            min_ns: rows.iter().map(|(_, row)| nanos(row.min)).collect(),
            mean_ns: rows.iter().map(|(_, row)| nanos(row.mean)).collect(),
            max_ns: rows.iter().map(|(_, row)| nanos(row.max)).collect(),
            least_delay_ns: delays.delay.min_ns,
            lost_ns_delta: deltas(way.lost.instants.iter().filter_map(|at| Some(here(*at)?.nanos()))),
            lost: way.lost.count,
        })
    }
}
