//! Measured gains, in words and as JSON.

use crate::quantity::{count, duration};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::Rate;
use slowpath_tune::gain::{CONFIDENCE, Gain, Measure, ReadingUnit};
use slowpath_tune::journal::Measured;
use std::time::Duration;

/// A gain with its interval of confidence.
#[derive(Serialize, JsonSchema)]
pub(super) struct Interval {
    /// The estimate (Hodges and Lehmann).
    estimate: f64,
    /// The lower end; null with too few runs.
    lower: Option<f64>,
    /// The upper end; null with too few runs.
    upper: Option<f64>,
    /// The confidence of the interval, as a share.
    confidence: f64,
}

impl Interval {
    pub(super) fn of(gain: &Gain) -> Self {
        Self { estimate: gain.estimate, lower: gain.lower, upper: gain.upper, confidence: CONFIDENCE }
    }
}

/// The unit of measurements in JSON.
pub(super) const fn unit_name(unit: ReadingUnit) -> Option<&'static str> {
    match unit {
        ReadingUnit::Seconds => Some("s"),
        ReadingUnit::BitsPerSecond => Some("bit/s"),
        ReadingUnit::Plain => None,
    }
}

/// By how much a plan that is kept helped.
pub(super) fn gained(measured: &Measured) -> String {
    let [old, new] = [measured.old, measured.new].map(|value| reading(value, measured.unit));
    format!("{}; medians {old} before, {new} after", interval(&measured.gain, measured.measure))
}

/// A gain with its interval.
pub(super) fn interval(gain: &Gain, measure: Measure) -> String {
    let between = match gain.lower.zip(gain.upper) {
        Some((lower, upper)) => {
            let ends = [lower, upper].map(|end| change(end, measure));
            format!("{:.0} % confidence: {} to {}", CONFIDENCE * 100.0, ends[0], ends[1])
        }
        None => "too few runs for an interval".to_owned(),
    };
    format!("{} ({between})", change(gain.estimate, measure))
}

/// A gain in words: `12 % less time`.
pub(super) fn change(gain: f64, measure: Measure) -> String {
    let (better, worse) = match measure {
        Measure::Time => ("less time", "more time"),
        Measure::Rate => ("more", "less"),
    };
    let number = percent(gain.abs());
    if number == percent(0.0) {
        return "no change".to_owned();
    }
    format!("{number} {}", if gain > 0.0 { better } else { worse })
}

/// A share to a tenth of a percent where it is small.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = usize::from(percent < 9.95);
    format!("{percent:.decimals$} %").replace(".0 %", " %")
}

/// A measurement in its unit.
pub(super) fn reading(value: f64, unit: ReadingUnit) -> String {
    match unit {
        ReadingUnit::Seconds => Duration::try_from_secs_f64(value).map_or_else(|_| "-".to_owned(), duration),
        ReadingUnit::BitsPerSecond => Rate::bits_per_second(value as u64).to_string(),
        ReadingUnit::Plain if (0.001..1e6).contains(&value) => {
            let decimals = (3 - value.log10().floor() as i32).clamp(0, 6) as usize;
            let text = format!("{value:.decimals$}");
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        }
        // The digits that say nothing are zero.
        ReadingUnit::Plain if (1e6..1e15).contains(&value) => {
            let last = 10_u64.pow((value.log10().floor() as u32).saturating_sub(3));
            count((value / last as f64).round() as u64 * last)
        }
        ReadingUnit::Plain => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_words() {
        assert_eq!(change(0.1234, Measure::Time), "12 % less time");
        assert_eq!(change(-0.0312, Measure::Time), "3.1 % more time");
        assert_eq!(change(0.02, Measure::Rate), "2 % more");
        assert_eq!(change(3.2, Measure::Rate), "320 % more");
        assert_eq!(change(0.000_04, Measure::Rate), "no change");
    }

    #[test]
    fn measurements_have_four_figures() {
        let plain = |value| reading(value, ReadingUnit::Plain);
        assert_eq!(
            [plain(941.53), plain(5.0), plain(0.012_345), plain(941_234_567.0)],
            ["941.5", "5", "0.01235", "941,200,000"]
        );
        assert_eq!(reading(1.234_56, ReadingUnit::Seconds), "1.23 s");
        assert_eq!(reading(9.41e8, ReadingUnit::BitsPerSecond), "941 Mbit/s");
    }
}
