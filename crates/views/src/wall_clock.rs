//! Wall-clock times as text, in UTC: which zone a capture is from is not recorded.

use slowpath_model::Instant;

/// A date and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utc {
    days: i64,
    nanos_of_day: i64,
}

const DAY: i64 = 86_400_000_000_000;

impl Utc {
    /// When `at` was, if the recording's instant 0 was `epoch_ns` nanoseconds after 1970 began.
    pub fn of(epoch_ns: i64, at: Instant) -> Self {
        let nanos = epoch_ns.saturating_add(at.nanos());
        Self { days: nanos.div_euclid(DAY), nanos_of_day: nanos.rem_euclid(DAY) }
    }

    /// Year, month and day. After Howard Hinnant's `civil_from_days`: years begin in March, so that the leap day is the
    /// last one.
    fn date(self) -> (i64, i64, i64) {
        let days = self.days + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        (year + era * 400 + i64::from(month <= 2), month, day)
    }

    /// For people, rounded down to a millisecond: `2026-11-29 03:32:25.123`.
    pub fn text(self) -> String {
        self.written(' ', format!("{:03}", self.nanos_of_day % 1_000_000_000 / 1_000_000))
    }

    /// For programs (RFC 3339): `2026-11-29T03:32:25.123456789Z`.
    pub fn rfc3339(self) -> String {
        self.written('T', format!("{:09}Z", self.nanos_of_day % 1_000_000_000))
    }

    fn written(self, between: char, rest: String) -> String {
        let ((year, month, day), seconds) = (self.date(), self.nanos_of_day / 1_000_000_000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        format!("{year:04}-{month:02}-{day:02}{between}{hour:02}:{minute:02}:{second:02}.{rest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let at = |seconds: i64, nanos| Utc::of(seconds * 1_000_000_000, Instant::from_nanos(nanos));
        // date -u -d @N
        assert_eq!(at(0, 0).text(), "1970-01-01 00:00:00.000");
        assert_eq!(at(1_078_012_800, 0).text(), "2004-02-29 00:00:00.000");
        assert_eq!(at(4_107_542_400, 0).text(), "2100-03-01 00:00:00.000");
        assert_eq!(at(1_795_923_145, 123_999_999).text(), "2026-11-29 03:32:25.123");
        assert_eq!(at(1_795_923_145, 123_456_789).rfc3339(), "2026-11-29T03:32:25.123456789Z");
        assert_eq!(at(1_798_761_599, 1_000_000_001).rfc3339(), "2027-01-01T00:00:00.000000001Z");
        assert_eq!(at(0, -1).rfc3339(), "1969-12-31T23:59:59.999999999Z");
        assert!(!Utc::of(i64::MAX, Instant::from_nanos(i64::MAX)).text().is_empty());
    }
}
