//! The JSON of `slowpath probe`.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_probe::findings::Found;
use slowpath_probe::measure::{Available, Capacity, Direction, Ramp, RoundTrip};
use slowpath_probe::real::bulk::Transfer;

/// What a path gave (schema slowpath/probe/1).
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document<'a> {
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
    /// The round trip; null if it was not measured.
    round_trip: Option<&'a RoundTrip>,
    /// What the narrowest link carries.
    capacity: Option<&'a Capacity>,
    /// What others leave of it.
    available: Option<&'a Available>,
    /// UDP at one rate after the other.
    ramp: Option<&'a Ramp>,
    /// Transfers by TCP.
    transfers: &'a [Transfer],
    /// What a transfer can hope for: the middle of what is available, up to the capacity, or else the capacity, in bit/s.
    rate: Option<u64>,
    /// That rate times the shortest round trip, in bytes: what a transfer's window has to hold.
    window: Option<u64>,
    /// Whether all that was asked was measured.
    complete: bool,
}

impl<'a> Document<'a> {
    /// What is printed of what was found.
    pub fn new(target: &'a str, found: &'a Found) -> Self {
        Self {
            schema: "slowpath/probe/1",
            target,
            far_end: found.far_end.map(|address| address.to_string()),
            direction: found.wanted.direction,
            packet_bytes: found.packet_bytes,
            cap: found.limits.map(|limits| limits.rate_bit_per_s),
            round_trip: found.round_trip.as_ref(),
            capacity: found.capacity.as_ref(),
            available: found.available.as_ref(),
            ramp: found.ramp.as_ref(),
            transfers: &found.transfers,
            rate: found.rate().map(slowpath_model::Rate::get),
            window: found.window().map(slowpath_model::Bytes::get),
            complete: found.is_whole(),
        }
    }
}
