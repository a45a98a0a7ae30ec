//! Amounts of data and rates.
//!
//! Units are combined only in named methods that state rounding and the zero case. Text without a unit is refused,
//! since `65536` in a configuration has meant bytes, bits and packets to three different people.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;
use std::time::Duration;

/// An amount of data, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// No data.
    pub const ZERO: Self = Self(0);

    /// `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// `kib` times 1024 bytes.
    pub const fn kib(kib: u64) -> Self {
        Self(kib * 1024)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of bits; saturates at `u64::MAX`.
    pub const fn bits(self) -> u64 {
        self.0.saturating_mul(8)
    }

    /// `self` minus `other`; zero if `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Bytes {
    /// At most three significant figures and a binary unit (`1.45 KiB`), or all digits below 1 KiB.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        if self.0 < 1024 {
            return f.pad(&format!("{} B", self.0));
        }
        let mut amount = self.0 as f64;
        let mut unit = "B";
        for next in UNITS {
            if amount < 1023.5 {
                break;
            }
            amount /= 1024.0;
            unit = next;
        }
        f.pad(&three_figures(amount, unit))
    }
}

/// Text that is not a number followed by a unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not {quantity}; write a number and a unit, such as \"{example}\"")]
pub struct UnitError {
    text: String,
    quantity: &'static str,
    example: &'static str,
}

impl FromStr for Bytes {
    type Err = UnitError;

    /// `1500 B`, `64 KiB`, `4MiB`, `1 GiB`, and the decimal `kB`, `MB`, `GB`. Fractions round down to a byte.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { text: text.to_owned(), quantity: "an amount of data", example: "64 KiB" };
        let (number, unit) = number_and_unit(text).ok_or_else(error)?;
        let factor = match unit {
            "B" => 1.0,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            "kB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            _ => return Err(error()),
        };
        let bytes = number * factor;
        if bytes >= u64::MAX as f64 { Err(error()) } else { Ok(Self(bytes as u64)) }
    }
}

/// A rate of data, in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// `rate` bits per second.
    pub const fn bits_per_second(rate: u64) -> Self {
        Self(rate)
    }

    /// `rate` million bits per second.
    pub const fn mbit(rate: u64) -> Self {
        Self(rate * 1_000_000)
    }

    /// The number of bits per second.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The rate at which `amount` passes in `lasted`, rounded down to a bit per second; `None` if no time passed.
    pub fn of(amount: Bytes, lasted: Duration) -> Option<Self> {
        let nanos = lasted.as_nanos();
        if nanos == 0 {
            return None;
        }
        let rate = u128::from(amount.get()) * 8 * 1_000_000_000 / nanos;
        Some(Self(u64::try_from(rate).unwrap_or(u64::MAX)))
    }

    /// How long `amount` takes at this rate, rounded up to a nanosecond; `None` at rate zero.
    pub fn time_for(self, amount: Bytes) -> Option<Duration> {
        if self.0 == 0 {
            return None;
        }
        let nanos = (u128::from(amount.get()) * 8 * 1_000_000_000).div_ceil(u128::from(self.0));
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// The amount that passes in `time` at this rate, rounded down: with an RTT, the bandwidth-delay product.
    pub fn amount_in(self, time: Duration) -> Bytes {
        let bytes = u128::from(self.0).saturating_mul(time.as_nanos()) / 8 / 1_000_000_000;
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Rate {
    /// Three significant figures and a decimal unit: `94.2 Mbit/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut amount = self.0 as f64;
        let mut unit = "bit/s";
        for next in ["kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"] {
            if amount < 999.5 {
                break;
            }
            amount /= 1000.0;
            unit = next;
        }
        f.pad(&three_figures(amount, unit))
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    /// `512 kbit/s`, `100 Mbit/s`, `1.5Gbit/s`, `8000 bit/s`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { text: text.to_owned(), quantity: "a rate", example: "100 Mbit/s" };
        let (number, unit) = number_and_unit(text).ok_or_else(error)?;
        let factor = match unit {
            "bit/s" => 1.0,
            "kbit/s" => 1e3,
            "Mbit/s" => 1e6,
            "Gbit/s" => 1e9,
            "Tbit/s" => 1e12,
            _ => return Err(error()),
        };
        let rate = number * factor;
        if rate >= u64::MAX as f64 { Err(error()) } else { Ok(Self(rate as u64)) }
    }
}

/// Two values of one unit, which is written once: `17.5 to 19.1 Mbit/s`.
pub fn range(low: &dyn fmt::Display, high: &dyn fmt::Display) -> String {
    let (low, high) = (low.to_string(), high.to_string());
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        _ if low == high => high,
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// At most three significant figures and a unit: `850 ns`, `12.3 ms`, `4.5 s`, `2 min 5 s`, `1 h 3 min`.
pub fn duration_text(time: Duration) -> String {
    let nanos = time.as_nanos() as f64;
    if nanos == 0.0 {
        return "0 s".to_owned();
    }
    for (unit, size) in [("ns", 1.0), ("µs", 1e3), ("ms", 1e6)] {
        if nanos < size * 999.5 {
            return three_figures(nanos / size, unit);
        }
    }
    let seconds = time.as_secs_f64();
    if seconds < 59.95 {
        return three_figures(seconds, "s");
    }
    let whole = seconds.round() as u64;
    let (days, hours, minutes) = (whole / 86_400, whole / 3600, whole / 60);
    let (large, large_unit, small, small_unit) = if days > 0 {
        (days, "d", hours % 24, "h")
    } else if hours > 0 {
        (hours, "h", minutes % 60, "min")
    } else {
        (minutes, "min", whole % 60, "s")
    };
    if small == 0 {
        format!("{large} {large_unit}")
    } else {
        format!("{large} {large_unit} {small} {small_unit}")
    }
}

/// The time in text such as `40 ms`, `2.5 s`, `700 us` (or `µs`), `90 ns`, `5 min` or `1 h`, rounded to a nanosecond.
/// [`duration_text`] writes such text, but not always every digit.
///
/// # Errors
///
/// Text that is not a number and one of these units, or more than 584 years.
pub fn duration_from_text(text: &str) -> Result<Duration, UnitError> {
    let error = || UnitError { text: text.to_owned(), quantity: "a time", example: "40 ms" };
    let (number, unit) = number_and_unit(text).ok_or_else(error)?;
    let factor = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        _ => return Err(error()),
    };
    let nanos = (number * factor).round();
    if nanos >= u64::MAX as f64 { Err(error()) } else { Ok(Duration::from_nanos(nanos as u64)) }
}

/// A non-negative decimal number and its unit, with or without a space between.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let number: f64 = text[..split].parse().ok()?;
    Some((number, text[split..].trim_start()))
}

/// `amount` with at most three significant figures, and its unit: `9.41 s`, `94.1 s`, `941 s`.
fn three_figures(amount: f64, unit: &str) -> String {
    if amount.fract() == 0.0 && amount < 1e15 {
        // The standard library is slowest at writing a whole number with decimals.
        return format!("{} {unit}", amount as u64);
    }
    let decimals = if amount >= 99.95 {
        0
    } else if amount >= 9.995 {
        1
    } else {
        2
    };
    let mut text = format!("{amount:.decimals$}");
    if decimals > 0 {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    text.push(' ');
    text + unit
}

/// A number with thousands separators: `48,211`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    if number < 1000 {
        return digits;
    }
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number and what it counts, with a plural unless it is one: `1 flow`, `2 flows`.
pub fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(number))
}

/// A number and what it counts, as the subject of a sentence: `1 segment was`, `2 segments were`.
pub fn counted_were(number: u64, thing: &str) -> String {
    format!("{} {}", counted(number, thing), if number == 1 { "was" } else { "were" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_its_unit_once() {
        let rate = Rate::mbit;
        assert_eq!(range(&rate(17), &rate(19)), "17 to 19 Mbit/s");
        assert_eq!(range(&rate(900), &rate(1100)), "900 Mbit/s to 1.1 Gbit/s");
        assert_eq!(range(&rate(17), &rate(17)), "17 Mbit/s");
    }

    #[test]
    fn rounding_never_makes_a_link_exceed_its_rate() {
        let rate = Rate::bits_per_second(3);
        assert_eq!(rate.time_for(Bytes::new(1)), Some(Duration::from_nanos(2_666_666_667)));
        assert_eq!(Rate::of(Bytes::new(1), Duration::from_nanos(2_666_666_667)), Some(Rate(2)));
        assert_eq!(Rate::bits_per_second(0).time_for(Bytes::new(1)), None);
        assert_eq!(Rate::of(Bytes::new(1), Duration::ZERO), None);
    }

    #[test]
    fn thousands_are_separated() {
        let shown = [7, 999, 1000, 48_211, 1_234_567].map(count);
        assert_eq!(shown, ["7", "999", "1,000", "48,211", "1,234,567"]);
        assert_eq!([1, 2].map(|number| counted(number, "flow")), ["1 flow", "2 flows"]);
    }

    #[test]
    fn bandwidth_delay_product() {
        // ubik V: 1000 Mb/s * 40 ms = 5 MB
        assert_eq!(Rate::mbit(1000).amount_in(Duration::from_millis(40)), Bytes::new(5_000_000));
    }

    #[test]
    fn text_without_a_unit_is_refused() {
        assert_eq!(
            "65536".parse::<Bytes>().unwrap_err().to_string(),
            "\"65536\" is not an amount of data; write a number and a unit, such as \"64 KiB\""
        );
        assert!("10 Mb".parse::<Rate>().is_err());
        assert!("1e400 B".parse::<Bytes>().is_err());
        assert_eq!("64 KiB".parse::<Bytes>(), Ok(Bytes::kib(64)));
        assert_eq!("1.5Gbit/s".parse::<Rate>(), Ok(Rate::mbit(1500)));
    }

    #[test]
    fn durations_are_parsed_in_every_unit() {
        let read = |text| duration_from_text(text).map(|time| time.as_nanos()).ok();
        assert_eq!(read("90 ns"), Some(90));
        assert_eq!(read("0.1us"), Some(100));
        assert_eq!(read("700 µs"), Some(700_000));
        assert_eq!(read("0.3 ms"), Some(300_000));
        assert_eq!(read("5 min"), Some(300_000_000_000));
        assert_eq!(read("1 h"), Some(3_600_000_000_000));
        for wrong in ["40", "ms", "-1 ms", "1e3 s", "4 parsecs", "99999999999999999999 h", "1.2.3 s", "NaN s"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(
            duration_from_text("40").unwrap_err().to_string(),
            "\"40\" is not a time; write a number and a unit, such as \"40 ms\""
        );
    }

    #[test]
    fn amounts_and_rates_have_three_figures() {
        let shown: Vec<_> = [0, 1023, 1024, 1_536, 4 << 20, 1_048_500]
            .map(|n| Bytes::new(n).to_string())
            .into_iter()
            .collect();
        assert_eq!(shown, ["0 B", "1023 B", "1 KiB", "1.5 KiB", "4 MiB", "1 MiB"]);
        assert_eq!(Rate::bits_per_second(94_150_000).to_string(), "94.2 Mbit/s");
        assert_eq!(Rate::bits_per_second(999_999_999).to_string(), "1 Gbit/s");
    }

    #[test]
    fn durations_have_three_figures_and_a_unit() {
        let shown: Vec<_> =
            [0, 850, 12_345, 999_600, 250_000_000, 999_700_000, 12_345_000_000, 59_960_000_000]
                .map(|nanos| duration_text(Duration::from_nanos(nanos)))
                .into_iter()
                .collect();
        assert_eq!(shown, ["0 s", "850 ns", "12.3 µs", "1 ms", "250 ms", "1 s", "12.3 s", "1 min"]);
        let long = [125, 3780, 90_000, 172_800].map(|seconds| duration_text(Duration::from_secs(seconds)));
        assert_eq!(long, ["2 min 5 s", "1 h 3 min", "1 d 1 h", "2 d"]);
    }
}
