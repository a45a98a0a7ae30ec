//! The fixed-point numbers of BBR, and its random draws.

use crate::congestion::Moment;

/// Rates are in segments a microsecond times 2^24 (`BW_SCALE`), gains in 256ths (`BBR_SCALE`).
pub(in crate::congestion) const RATE_SHIFT: u32 = 24;
pub(in crate::congestion) const RATE_ONE: u64 = 1 << RATE_SHIFT;
pub(in crate::congestion) const GAIN_SHIFT: u32 = 8;
pub(in crate::congestion) const GAIN_ONE: u32 = 1 << GAIN_SHIFT;

/// `bbr_rate_bytes_per_sec`: a hundredth less, so that no queue grows.
pub(in crate::congestion) fn bytes_per_second(rate: u64, mss: u32, gain: u32) -> u64 {
    let bytes = (u128::from(rate) * u128::from(mss) * u128::from(gain)) >> GAIN_SHIFT;
    u64::try_from((bytes * 10_000 * 99) >> RATE_SHIFT).unwrap_or(u64::MAX)
}

/// A share of a whole, in 256ths, rounded down.
pub(in crate::congestion) fn share(of: u32, gain: u32) -> u32 {
    u32::try_from((u64::from(of) * u64::from(gain)) >> GAIN_SHIFT).unwrap_or(u32::MAX)
}

/// `bbr_bdp`, in segments, rounded up: a rate for the minimum RTT.
pub(in crate::congestion) fn pipe(rate: u64, least_rtt_us: u32, gain: u32) -> u32 {
    let pipe = (((u128::from(rate) * u128::from(least_rtt_us)) * u128::from(gain)) >> GAIN_SHIFT)
        .div_ceil(u128::from(RATE_ONE));
    u32::try_from(pipe).unwrap_or(u32::MAX)
}

/// What a rate delivers in a time, in segments, rounded down.
pub(in crate::congestion) fn delivers(rate: u64, micros: u128) -> u32 {
    u32::try_from((u128::from(rate) * micros) >> RATE_SHIFT).unwrap_or(u32::MAX)
}

/// `bbr_packets_in_net_at_edt`: the packets in flight when the next segment may leave. `next` is its size, in segments,
/// if the flight is to grow.
pub(in crate::congestion) fn in_flight_then(in_flight: u32, next: u32, rate: u64, moment: &Moment) -> u32 {
    let waits_us = moment.wire_at.since(moment.now).map_or(0, |wait| wait.as_micros());
    (in_flight + next).saturating_sub(delivers(rate, waits_us))
}

/// A number below `bound`: random in the kernel (`get_random_u32_below`), here a function of time, so that runs are
/// reproducible.
pub(in crate::congestion) fn drawn(moment: &Moment, bound: u64) -> u64 {
    (moment.now.nanos().unsigned_abs().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % bound
}
