//! The fixed-point numbers of BBR.

/// Rates are in segments a microsecond times 2^24 (`BW_SCALE`), gains in 256ths (`BBR_SCALE`).
pub(super) const RATE_SHIFT: u32 = 24;
pub(super) const RATE_ONE: u64 = 1 << RATE_SHIFT;
pub(super) const GAIN_SHIFT: u32 = 8;
pub(super) const GAIN_ONE: u32 = 1 << GAIN_SHIFT;

/// `bbr_rate_bytes_per_sec`: a hundredth less, so that no queue grows.
pub(super) fn bytes_per_second(rate: u64, mss: u32, gain: u32) -> u64 {
    let bytes = (u128::from(rate) * u128::from(mss) * u128::from(gain)) >> GAIN_SHIFT;
    u64::try_from((bytes * 10_000 * 99) >> RATE_SHIFT).unwrap_or(u64::MAX)
}
