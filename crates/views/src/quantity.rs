//! Times, shares and counts as text. Amounts and rates have their own `Display` in the model.

use slowpath_model::Instant;
use std::time::Duration;

/// At most three significant figures and a unit: `850 ns`, `12.3 ms`, `4.5 s`, `2 min 5 s`, `1 h 3 min`.
pub fn duration(time: Duration) -> String {
    let nanos = time.as_nanos() as f64;
    if nanos == 0.0 {
        return "0 s".to_owned();
    }
    for (unit, size) in [("ns", 1.0), ("µs", 1e3), ("ms", 1e6)] {
        if nanos < size * 999.5 {
            return format!("{} {unit}", three_figures(nanos / size));
        }
    }
    let seconds = time.as_secs_f64();
    if seconds < 59.95 {
        return format!("{} s", three_figures(seconds));
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

/// Nanoseconds that may be negative, as differences between two clocks may.
pub fn duration_nanos(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    format!("{sign}{}", duration(Duration::from_nanos(nanos.unsigned_abs())))
}

/// A time that may not be known: `-` where it is not.
pub fn duration_or_dash(time: Option<Duration>) -> String {
    time.map_or_else(|| "-".to_owned(), duration)
}

/// A part of 1 in whole per cent; `< 1 %` for what is more than nothing, `> 99 %` for what is less than all.
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

/// A number with its thousands set apart: `48,211`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number and what it counts, in the plural unless it is one: `1 flow`, `2 flows`.
pub fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(number))
}

/// An instant as `--from` takes it: seconds, rounded down to a millisecond so that the event itself is shown.
pub fn from_argument(at: Instant) -> String {
    let millis = at.nanos().div_euclid(1_000_000);
    let sign = if millis < 0 { "-" } else { "" };
    let (whole, rest) = (millis.unsigned_abs() / 1000, millis.unsigned_abs() % 1000);
    let text = format!("{sign}{whole}.{rest:03}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn three_figures(amount: f64) -> String {
    let decimals = if amount >= 99.95 {
        0
    } else if amount >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{amount:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_figures_and_a_unit() {
        let shown: Vec<_> =
            [0, 850, 12_345, 999_600, 250_000_000, 999_700_000, 12_345_000_000, 59_960_000_000]
                .map(|nanos| duration(Duration::from_nanos(nanos)))
                .into_iter()
                .collect();
        assert_eq!(shown, ["0 s", "850 ns", "12.3 µs", "1 ms", "250 ms", "1 s", "12.3 s", "1 min"]);
        let long = [125, 3780, 90_000, 172_800].map(|seconds| duration(Duration::from_secs(seconds)));
        assert_eq!(long, ["2 min 5 s", "1 h 3 min", "1 d 1 h", "2 d"]);
    }

    #[test]
    fn a_share_is_nothing_or_all_only_where_it_is() {
        let shown = [0.0, 0.002, 0.012, 0.908, 0.9951, 1.0].map(share);
        assert_eq!(shown, ["0 %", "< 1 %", "1 %", "91 %", "> 99 %", "100 %"]);
    }

    #[test]
    fn an_instant_to_look_from_is_not_after_the_event() {
        let shown = [0, 3_200_999_999, -1, 5_000_000_000].map(|n| from_argument(Instant::from_nanos(n)));
        assert_eq!(shown, ["0", "3.2", "-0.001", "5"]);
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(
            [7, 999, 1000, 48_211, 1_234_567].map(count),
            ["7", "999", "1,000", "48,211", "1,234,567"]
        );
        assert_eq!(counted(1, "flow"), "1 flow");
    }
}
