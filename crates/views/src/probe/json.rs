//! The JSON of `slowpath probe`.

use super::measured::{Available, Capacity, Direction, Ramp, RoundTrip, Transfer};
use crate::mirror::{each, one};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_probe::findings::Found;

/// What a path gave (schema slowpath/probe/1).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Document")]
pub struct ProbeDocument<'a> {
    /// Version of this layout.
    schema: &'static str,
    /// The host or the scenario, as it was written.
    target: &'a str,
    /// The far end's address and port; null for a scenario.
    far_end: Option<String>,
    /// The way that capacity, available bandwidth and ramp are of.
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
    /// UDP at one rate after the other.
    ramp: Option<Ramp>,
    /// Transfers by TCP.
    transfers: Vec<Transfer>,
    /// What a transfer can hope for: the middle of what is available, up to the capacity, or else the capacity, in bit/s.
    rate: Option<u64>,
    /// That rate times the minimum RTT, in bytes: what a transfer's window has to hold.
    window: Option<u64>,
    /// Whether all that was asked was measured.
    complete: bool,
}

impl<'a> ProbeDocument<'a> {
    /// What is printed of what was found.
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
