//! The JSON of `slowpath probe`.

use super::measured::{Available, Capacity, Direction, Ramp, RoundTrip, Transfer};
use crate::mirror::{each, one};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_probe::findings::Found;

/// The measurements of a path (schema slowpath/probe/1).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Document")]
pub struct ProbeDocument<'a> {
    /// Version of this layout.
    schema: &'static str,
    /// The host or the scenario, as it was written.
    target: &'a str,
    /// The far end's address and port; null for a scenario.
    far_end: Option<String>,
    /// The direction of capacity, available bandwidth and ramp.
    direction: Direction,
    /// Length of the packets, as IP counts it.
    packet_bytes: u32,
    /// The highest rate that the far end serves, in bit/s.
    cap: Option<u64>,
    /// The RTT; null if it was not measured.
    round_trip: Option<RoundTrip>,
    /// The capacity of the bottleneck link.
    capacity: Option<Capacity>,
    /// The available bandwidth.
    available: Option<Available>,
    /// UDP at increasing rates.
    ramp: Option<Ramp>,
    /// Transfers by TCP.
    transfers: Vec<Transfer>,
    /// The rate that a transfer can expect: the middle of the available range, up to the capacity; without it, the
    /// capacity; in bit/s.
    rate: Option<u64>,
    /// That rate times the minimum RTT, in bytes: what a transfer's window has to hold.
    window: Option<u64>,
    /// Whether all requested measurements were completed.
    complete: bool,
}

impl<'a> ProbeDocument<'a> {
    /// The document of the measurements.
    pub fn new(target: &'a str, found: &Found) -> Self {
        Self {
            schema: "slowpath/probe/1",
            target,
            far_end: found.far_end.map(|address| address.to_string()),
            direction: found.wanted.direction.into(),
            packet_bytes: found.packet_bytes,
            cap: found.limits.map(|limits| limits.rate_bit_per_s),
            round_trip: one(found.round_trip.clone()),
            capacity: one(found.capacity.clone()),
            available: one(found.available.clone()),
            ramp: one(found.ramp.clone()),
            transfers: each(found.transfers.clone()),
            rate: found.rate().map(slowpath_model::Rate::get),
            window: found.window().map(slowpath_model::Bytes::get),
            complete: found.is_whole(),
        }
    }
}
