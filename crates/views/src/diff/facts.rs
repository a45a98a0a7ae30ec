//! Facts in words: their names, and their values with units.

use crate::quantity::{count, duration, share};
use slowpath_model::{Bytes, Rate};
use slowpath_remedies::percent;
use slowpath_runs::diff::fact::{Events, Fact, Measured, Place, Unit};
use std::time::Duration;

/// A fact's name in tables and sentences.
pub(super) const fn title(fact: Fact) -> &'static str {
    match fact {
        Fact::Rtt => "shortest RTT",
        Fact::LoadedRtt => "mean RTT",
        Fact::Handshake => "handshake",
        Fact::Mss => "largest payload of a segment",
        Fact::WindowScaling => "window scaling",
        Fact::WindowScale => "window scale of the receiver",
        Fact::Sack => "SACK",
        Fact::Timestamps => "timestamps",
        Fact::Ecn => "ECN",
        Fact::Window => "largest receive window",
        Fact::WindowClosed => "time with a closed window",
        Fact::InFlight => "most data in flight",
        Fact::Lost => "lost segments",
        Fact::Recoveries => "loss recoveries",
        Fact::Timeouts => "retransmission timeouts",
        Fact::Spurious => "spurious retransmissions",
        Fact::Reordered => "reordered segments",
        Fact::Marked => "segments with an ECN mark",
        Fact::SynRetransmitted => "retransmitted SYNs",
        Fact::CapturedSegment => "mean payload as captured",
        Fact::PeakRate => "highest rate that was held",
        Fact::PolicedRate => "rate of a policer",
        Fact::PacedRate => "rate of the sending host",
        Fact::ReadRate => "rate of the reading program",
        Fact::LongestPause => "longest pause in the data",
        Fact::FlowData => "data of a flow",
    }
}

/// The name of a place.
pub(super) const fn place(place: Place) -> &'static str {
    match place {
        Place::Sender => "at the sender",
        Place::Receiver => "at the receiver",
        Place::Between => "between the two ends",
        Place::Unknown => "at an unknown place",
    }
}

/// The time of a number of seconds.
pub(super) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

/// The amount of a number of bytes.
pub(super) const fn bytes(number: f64) -> Bytes {
    Bytes::new(number as u64)
}

/// A value with its unit.
pub(super) fn value(fact: Fact, measured: Measured) -> String {
    match measured {
        Measured::Typical { value, .. } => match fact.unit() {
            Unit::Time => duration(seconds(value)),
            // Sizes of segments are known by their bytes: 1,448 B.
            Unit::Bytes if matches!(fact, Fact::Mss | Fact::CapturedSegment) => {
                format!("{} B", count(value as u64))
            }
            Unit::Bytes => bytes(value).to_string(),
            Unit::Rate => Rate::bits_per_second(value as u64).to_string(),
            Unit::Share => share(value),
            Unit::Events | Unit::Flag | Unit::Number => format!("{value:.0}"),
        },
        Measured::Events(events) if is_part_of_segments(fact) => part(events),
        Measured::Events(events) => count(events.count),
        Measured::Flag(Events { of: 1, count, .. }) => if count == 1 { "yes" } else { "no" }.to_owned(),
        Measured::Flag(events) => format!("{} of flows", share(events.share().unwrap_or(0.0))),
    }
}

/// Whether a number of events is read as a part of the segments.
const fn is_part_of_segments(fact: Fact) -> bool {
    matches!(fact, Fact::Lost | Fact::Spurious | Fact::Reordered | Fact::Marked)
}

fn part(events: Events) -> String {
    match events.count {
        0 => "none".to_owned(),
        number => format!("{} ({})", count(number), percent(events.share().unwrap_or(0.0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_units() {
        let typical = |value| Measured::Typical { value, off: 0.0, flows: 1 };
        assert_eq!(value(Fact::Rtt, typical(0.0402)), "40.2 ms");
        assert_eq!(value(Fact::Window, typical(65_536.0)), "64 KiB");
        assert_eq!(value(Fact::Mss, typical(1448.0)), "1,448 B");
        assert_eq!(value(Fact::PeakRate, typical(9.4e6)), "9.4 Mbit/s");
        assert_eq!(value(Fact::Lost, Measured::Events(Events::single(12, 1000))), "12 (1.2 %)");
        assert_eq!(value(Fact::Lost, Measured::Events(Events::single(0, 1000))), "none");
        assert_eq!(value(Fact::Timeouts, Measured::Events(Events::single(3, 1000))), "3");
        assert_eq!(value(Fact::Sack, Measured::Flag(Events::single(0, 1))), "no");
        assert_eq!(value(Fact::Sack, Measured::Flag(Events::single(3, 4))), "75 % of flows");
    }

    #[test]
    fn each_fact_has_a_name_of_its_own() {
        let titles: std::collections::BTreeSet<_> = Fact::ALL.map(title).into_iter().collect();
        assert_eq!(titles.len(), Fact::ALL.len());
        let slugs: std::collections::BTreeSet<_> = Fact::ALL.map(Fact::slug).into_iter().collect();
        assert_eq!(slugs.len(), Fact::ALL.len());
    }
}
