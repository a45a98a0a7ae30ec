//! Times, shares and counts as text. Amounts and rates have their own `Display` in the model.

use slowpath_model::Instant;
pub use slowpath_model::units::{count, counted, duration_text as duration};
use std::time::Duration;

/// Nanoseconds that may be negative, such as differences between two clocks.
pub fn duration_nanos(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    format!("{sign}{}", duration(Duration::from_nanos(nanos.unsigned_abs())))
}

/// A time, or `-` if it is unknown.
pub fn duration_or_dash(time: Option<Duration>) -> String {
    time.map_or_else(|| "-".to_owned(), duration)
}

/// A share in whole percent; `< 1 %` if it is small but not zero, `> 99 %` if it is nearly all.
pub fn share(part: f64) -> String {
    let percent = part * 100.0;
    if percent <= 0.0 {
        "0 %".to_owned()
    } else if percent < 0.95 {
        "< 1 %".to_owned()
    } else if percent > 99.05 && percent < 99.95 {
        "> 99 %".to_owned()
    } else {
        format!("{percent:.0} %")
    }
}

/// An instant for `--from`: seconds, rounded down to a millisecond so that the event itself is shown.
pub fn from_argument(at: Instant) -> String {
    let millis = at.nanos().div_euclid(1_000_000);
    let sign = if millis < 0 { "-" } else { "" };
    let (whole, rest) = (millis.unsigned_abs() / 1000, millis.unsigned_abs() % 1000);
    let text = format!("{sign}{whole}.{rest:03}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_is_0_or_100_percent_only_when_exact() {
        let shown = [0.0, 0.002, 0.012, 0.908, 0.9951, 1.0].map(share);
        assert_eq!(shown, ["0 %", "< 1 %", "1 %", "91 %", "> 99 %", "100 %"]);
    }

    #[test]
    fn from_argument_rounds_down() {
        let shown = [0, 3_200_999_999, -1, 5_000_000_000].map(|n| from_argument(Instant::from_nanos(n)));
        assert_eq!(shown, ["0", "3.2", "-0.001", "5"]);
    }
}
