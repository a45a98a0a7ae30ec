//! Instants on a recording's own clock.

use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;
use std::time::Duration;

/// A point in time, in nanoseconds since the recording's first event.
///
/// Signed, since clocks of captures do step back: a frame stamped before the first one is at a negative instant instead
/// of being silently moved. The range is ±292 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(i64);

impl Instant {
    /// The recording's start.
    pub const START: Self = Self(0);

    /// `nanos` nanoseconds after the start; before it if negative.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Seconds since the start.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Nanoseconds from `earlier` to `self`; negative if `earlier` is later.
    #[inline]
    pub const fn nanos_since(self, earlier: Self) -> i64 {
        // Saturating arithmetic takes five more instructions.
        match self.0.checked_sub(earlier.0) {
            Some(nanos) => nanos,
            None => self.at_the_end_of_time_since(earlier),
        }
    }

    #[cold]
    const fn at_the_end_of_time_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// `nanos` nanoseconds later; earlier if negative. Saturates at the ends of the range.
    #[inline]
    pub const fn plus_nanos(self, nanos: i64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// The time from `earlier` to `self`; `None` if `earlier` is later.
    pub fn since(self, earlier: Self) -> Option<Duration> {
        u64::try_from(self.nanos_since(earlier)).ok().map(Duration::from_nanos)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    /// Saturates at the end of the range.
    fn add(self, time: Duration) -> Self {
        Self(self.0.saturating_add(signed_nanos(time)))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    /// Saturates at the start of the range.
    fn sub(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(signed_nanos(time)))
    }
}

/// Nanoseconds of a duration; saturates at 584 years.
pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn signed_nanos(time: Duration) -> i64 {
    // Not `as_nanos`, which is 128-bit: this runs several times per simulated packet.
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(time.subsec_nanos()))
}

impl fmt::Display for Instant {
    /// Seconds with nine decimals: `12.000345678`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
    }
}

/// Text that is not an [`Instant`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write seconds since the first packet, such as 3.25")]
pub struct InstantError;

impl FromStr for Instant {
    type Err = InstantError;

    /// Seconds with up to nine decimals, with or without their unit: `12.5`, `-0.000345678`, `3s`.
    fn from_str(text: &str) -> Result<Self, InstantError> {
        let number = text.strip_suffix('s').map_or(text, str::trim_end);
        let (is_negative, digits) = number.strip_prefix('-').map_or((false, number), |rest| (true, rest));
        let (seconds, decimals) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if seconds.is_empty() || decimals.len() > 9 || !plain(seconds) || !plain(decimals) {
            return Err(InstantError);
        }
        let nanos: i128 = format!("{seconds}{decimals:0<9}").parse().map_err(|_| InstantError)?;
        let nanos = i64::try_from(if is_negative { -nanos } else { nanos });
        nanos.map(Self).map_err(|_| InstantError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_seconds() {
        for (text, nanos) in [("3.25", 3_250_000_000), ("-0.5s", -500_000_000), ("7 s", 7_000_000_000)] {
            assert_eq!(text.parse(), Ok(Instant::from_nanos(nanos)), "{text}");
        }
        for text in ["soon", "inf", "", "s", "-", ".5", "1e3", "0.1234567890", "9223372037", "--1"] {
            assert_eq!(text.parse::<Instant>(), Err(InstantError), "{text}");
        }
    }

    #[test]
    fn reversed_time_is_not_made_positive() {
        let (early, late) = (Instant::from_nanos(-5), Instant::from_nanos(7));
        assert_eq!(late.since(early), Some(Duration::from_nanos(12)));
        assert_eq!(early.since(late), None);
        assert_eq!(early.nanos_since(late), -12);
        assert_eq!(early.to_string(), "-0.000000005");
        assert_eq!(Instant::from_nanos(i64::MIN).to_string(), "-9223372036.854775808");
    }
}
