//! The procedures in order: each starts from the results of the previous one.

use crate::measure::ramp::Rates;
use crate::measure::{
    Available, Capacity, Channel, Direction, Limits, Progress, Ramp, RoundTrip, Setting, available, capacity,
    ramp, round_trip,
};
use crate::real::bulk::Transfer;
use slowpath_model::{Bytes, Rate};
use std::net::SocketAddr;
use std::time::Duration;

/// The wanted measurements.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The direction of capacity, available bandwidth and ramp.
    pub direction: Direction,
    /// Whether to measure the capacity.
    pub capacity: bool,
    /// Whether to measure the available bandwidth.
    pub available: bool,
    /// Whether to send UDP at increasing rates.
    pub ramp: bool,
    /// The ramp's rates, if not derived from the capacity.
    pub rates: Option<Rates>,
    /// How many rates the ramp has.
    pub steps: u32,
}

/// The RTT assumed if no echo returned: long enough for queues to empty on most paths.
const UNKNOWN_ROUND_TRIP_NS: u64 = 100_000_000;
/// The ramp starts at this part of the capacity.
const RAMP_FROM: u64 = 10;

/// The measurements.
pub struct Found {
    /// The wanted measurements.
    pub wanted: Wanted,
    /// Length of the packets, as IP counts it.
    pub packet_bytes: u32,
    /// The far end; `None` in a scenario.
    pub far_end: Option<SocketAddr>,
    /// The limits of the channel.
    pub limits: Option<Limits>,
    /// Echoes.
    pub round_trip: Option<RoundTrip>,
    /// The capacity of the bottleneck link.
    pub capacity: Option<Capacity>,
    /// The available bandwidth.
    pub available: Option<Available>,
    /// UDP at increasing rates.
    pub ramp: Option<Ramp>,
    /// Transfers by TCP.
    pub transfers: Vec<Transfer>,
    /// Whether all procedures were completed.
    pub is_done: bool,
}

impl Found {
    /// No results yet.
    pub fn new(wanted: Wanted, packet_bytes: u32) -> Self {
        Self {
            wanted,
            packet_bytes,
            far_end: None,
            limits: None,
            round_trip: None,
            capacity: None,
            available: None,
            ramp: None,
            transfers: Vec::new(),
            is_done: false,
        }
    }

    /// Measures what is wanted, and calls `on_progress` for each step.
    ///
    /// # Errors
    /// If the channel cannot continue; results so far are kept.
    pub fn fill<C: Channel>(
        &mut self,
        channel: &mut C,
        mut on_progress: &mut dyn FnMut(Progress),
    ) -> Result<(), C::Error> {
        let wanted = self.wanted;
        let limits = channel.limits();
        self.limits = Some(limits);
        let round_trip = round_trip::measure(channel, &mut on_progress)?;
        let setting = Setting {
            direction: wanted.direction,
            packet_bytes: self.packet_bytes,
            round_trip_ns: round_trip.median_ns.unwrap_or(UNKNOWN_ROUND_TRIP_NS),
        };
        self.round_trip = Some(round_trip);
        if wanted.capacity {
            self.capacity = Some(capacity::measure(channel, &setting, &mut on_progress)?);
        }
        let guess = self
            .capacity
            .as_ref()
            .and_then(|capacity| capacity.rate)
            .map(|rate| rate.min(limits.rate_bit_per_s));
        if let Some(guess) = guess.filter(|_| wanted.available) {
            self.available = Some(available::measure(channel, &setting, guess, &mut on_progress)?);
        }
        let to_capacity = guess.map(|rate| Rates {
            from: rate / RAMP_FROM,
            to: rate + rate / RAMP_FROM,
            steps: wanted.steps,
        });
        if let Some(rates) = wanted.rates.or(to_capacity).filter(|_| wanted.ramp) {
            self.ramp = Some(ramp::measure(channel, &setting, rates, &mut on_progress)?);
        }
        self.is_done = true;
        Ok(())
    }

    /// Whether everything requested was measured.
    pub fn is_whole(&self) -> bool {
        self.is_done
            && self.round_trip.as_ref().is_some_and(|found| found.min_ns.is_some())
            && (!self.wanted.capacity || self.capacity.as_ref().is_some_and(|found| found.rate.is_some()))
            && self.wanted.available == self.available.is_some()
            && self.wanted.ramp == self.ramp.is_some()
    }

    /// Itself, or `None` if it has no results.
    pub fn or_nothing(mut self) -> Option<Self> {
        self.is_done = false;
        self.round_trip.is_some().then_some(self)
    }

    /// The minimum RTT.
    pub fn round_trip(&self) -> Option<Duration> {
        self.round_trip.as_ref()?.min_ns.map(Duration::from_nanos)
    }

    /// The rate that a transfer can expect: the available bandwidth, but no more than the capacity unless that much has
    /// passed; otherwise the capacity.
    pub fn rate(&self) -> Option<Rate> {
        let capacity = self.capacity.as_ref().and_then(|capacity| capacity.rate);
        let Some(available) = &self.available else { return capacity.map(Rate::bits_per_second) };
        let most = capacity.map_or(u64::MAX, |capacity| capacity.max(available.low));
        Some(Rate::bits_per_second(available.estimate().min(most)))
    }

    /// The window that a transfer needs for that rate.
    pub fn window(&self) -> Option<Bytes> {
        Some(self.rate()?.amount_in(self.round_trip()?))
    }

    /// Whether the far end's cap may hide a higher rate.
    pub fn is_capped(&self) -> bool {
        self.rate().zip(self.limits).is_some_and(|(rate, limits)| is_cap(rate.get(), &limits))
    }
}

/// Whether a rate is the highest that the far end serves.
fn is_cap(rate: u64, limits: &Limits) -> bool {
    rate >= limits.rate_bit_per_s / 100 * 97
}
