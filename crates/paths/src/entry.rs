//! What can be known of a path, and one measurement of it. Pure.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);

/// The two hosts of a path. A path has a direction: rates and loss of the other one may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The host that sends.
    pub from: IpAddr,
    /// The host that receives.
    pub to: IpAddr,
}

impl Pair {
    /// A pair, with IPv4 addresses as such, also where a socket has them in IPv6.
    pub fn new(from: IpAddr, to: IpAddr) -> Self {
        Self { from: from.to_canonical(), to: to.to_canonical() }
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {}", self.from, self.to)
    }
}

/// What is asked about a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The addresses of the host that receives.
    pub to: Vec<IpAddr>,
    /// The addresses of the host that sends; any host if empty.
    pub from: Vec<IpAddr>,
    /// Parallel connections; 0 counts as 1.
    pub streams: u32,
}

/// Where a value is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// `slowpath probe`'s procedures, between the two hosts.
    Probe,
    /// A capture of a transfer.
    Capture,
    /// A recording of events.
    Recording,
    /// A transfer as a host saw it while it ran.
    Live,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Probe, Self::Capture, Self::Recording, Self::Live];

    /// The name in JSON and in the store.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Capture => "capture",
            Self::Recording => "recording",
            Self::Live => "live",
        }
    }

    /// The source of this name.
    pub fn of_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.slug() == slug)
    }
}

/// What is measured of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The smallest RTT, in nanoseconds: the path without its queues.
    RttMin,
    /// The typical RTT, in nanoseconds.
    Rtt,
    /// The rate of the bottleneck link, in bit/s.
    Capacity,
    /// The rate that other traffic leaves, in bit/s.
    Available,
    /// A rate at which a transfer moved data that something else than the path limited, in bit/s: the path gives at least this.
    Delivered,
    /// The share of packets that were lost, in parts per billion.
    Loss,
    /// The length of packets that pass, as IP counts it, in bytes.
    Mtu,
}

impl Measure {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 7] =
        [Self::RttMin, Self::Rtt, Self::Capacity, Self::Available, Self::Delivered, Self::Loss, Self::Mtu];

    /// The name in JSON and in the store.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::RttMin => "rtt-min",
            Self::Rtt => "rtt",
            Self::Capacity => "capacity",
            Self::Available => "available",
            Self::Delivered => "delivered",
            Self::Loss => "loss",
            Self::Mtu => "mtu",
        }
    }

    /// The measure of this name.
    pub fn of_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.slug() == slug)
    }

    /// Values that a path can have: RTTs from 1 µs to 100 s and rates from 1 kbit/s to 1 Tbit/s, as in the options of all commands;
    /// packets from IPv4's least MTU (RFC 791, section 3.2) to the longest of IP.
    pub const fn range(self) -> RangeInclusive<u64> {
        match self {
            Self::RttMin | Self::Rtt => 1_000..=100_000_000_000,
            Self::Capacity | Self::Available | Self::Delivered => 1_000..=1_000_000_000_000,
            Self::Loss => 0..=PARTS,
            Self::Mtu => 68..=65_535,
        }
    }

    /// For how long a value is trusted, unless its entry says otherwise. What links decide changes when routes do; what other
    /// traffic decides changes by the hour. These are choices: a wrong one costs a measurement too many, or buffers for
    /// a path as it was.
    pub const fn trusted_for(self) -> Duration {
        match self {
            Self::Capacity | Self::Mtu => Duration::from_secs(7 * DAY.as_secs()),
            Self::RttMin | Self::Delivered => DAY,
            Self::Rtt | Self::Available | Self::Loss => HOUR,
        }
    }
}

/// The unit of loss: parts per billion.
pub const PARTS: u64 = 1_000_000_000;
/// The longest time for which a value can be trusted.
pub const MOST_TRUST: Duration = Duration::from_secs(90 * DAY.as_secs());
/// Times from here on have no date in a calendar of four digits.
pub const MOST_TIME: u64 = 253_402_300_799;

/// One value of a path, at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The host that sends.
    pub from: IpAddr,
    /// The host that receives.
    pub to: IpAddr,
    /// When, in seconds since 1970.
    pub at: u64,
    /// What is measured.
    pub measure: Measure,
    /// Where it is from.
    pub source: Source,
    /// The value, in the unit of the measure.
    pub value: u64,
    /// For how many seconds it is trusted.
    pub trusted_s: u32,
}

/// Why an entry is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadEntry {
    /// No path has this value.
    #[error("{} {value} is not from {} to {}", measure.slug(), measure.range().start(), measure.range().end())]
    Value {
        /// What is measured.
        measure: Measure,
        /// The value.
        value: u64,
    },
    /// It is of the future, or of no year.
    #[error("time {at} is later than now ({now})")]
    Future {
        /// When it claims to be from.
        at: u64,
        /// The time.
        now: u64,
    },
    /// It is to be trusted for too long.
    #[error("trusted for {0} s is more than {most} s", most = MOST_TRUST.as_secs())]
    Trust(u32),
    /// An address is no host's.
    #[error("{0} is not the address of a host")]
    Address(IpAddr),
}

impl Entry {
    /// A value that is trusted for as long as its measure usually is.
    pub fn new(pair: Pair, at: u64, source: Source, measure: Measure, value: u64) -> Self {
        let Pair { from, to } = Pair::new(pair.from, pair.to);
        let trusted_s = u32::try_from(measure.trusted_for().as_secs()).unwrap_or(u32::MAX);
        Self { from, to, at, measure, source, value, trusted_s }
    }

    /// Its path.
    pub fn pair(&self) -> Pair {
        Pair::new(self.from, self.to)
    }

    /// Whether it is trusted at this time, in seconds since 1970.
    pub fn is_trusted(&self, now: u64) -> bool {
        now < self.at.saturating_add(u64::from(self.trusted_s))
    }

    /// Refuses what no path has, and what comes from the future by more than clocks differ.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, now: u64) -> Result<(), BadEntry> {
        /// How far the clocks of two hosts may be apart.
        const CLOCKS: u64 = 300;
        let no_host = |address: &IpAddr| address.is_unspecified() || address.is_multicast();
        if let Some(address) = [self.from, self.to].into_iter().find(no_host) {
            return Err(BadEntry::Address(address));
        }
        if !self.measure.range().contains(&self.value) {
            return Err(BadEntry::Value { measure: self.measure, value: self.value });
        }
        if self.at > now.saturating_add(CLOCKS).min(MOST_TIME) {
            return Err(BadEntry::Future { at: self.at, now });
        }
        if u64::from(self.trusted_s) > MOST_TRUST.as_secs() {
            return Err(BadEntry::Trust(self.trusted_s));
        }
        Ok(())
    }
}

/// Values to record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The values.
    pub entries: Vec<Entry>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(measure: Measure, value: u64) -> Entry {
        let pair = Pair::new([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        Entry::new(pair, 1000, Source::Probe, measure, value)
    }

    #[test]
    fn names_are_read_back_and_equal_those_in_json() {
        for measure in Measure::ALL {
            assert_eq!(Measure::of_slug(measure.slug()), Some(measure));
            assert_eq!(serde_json::to_string(&measure).expect("JSON"), format!("{:?}", measure.slug()));
        }
        for source in Source::ALL {
            assert_eq!(Source::of_slug(source.slug()), Some(source));
            assert_eq!(serde_json::to_string(&source).expect("JSON"), format!("{:?}", source.slug()));
        }
    }

    #[test]
    fn values_that_no_path_has_are_refused() {
        assert_eq!(entry(Measure::Mtu, 1500).check(1000), Ok(()));
        for (bad, why) in [
            (entry(Measure::Mtu, 67), "mtu 67 is not from 68 to 65535"),
            (entry(Measure::Rtt, 0), "rtt 0 is not from 1000 to 100000000000"),
            (entry(Measure::Loss, PARTS + 1), "loss 1000000001 is not from 0 to 1000000000"),
            (Entry { at: 1301, ..entry(Measure::Mtu, 1500) }, "time 1301 is later than now (1000)"),
            (
                Entry { trusted_s: u32::MAX, ..entry(Measure::Mtu, 1500) },
                "trusted for 4294967295 s is more than 7776000 s",
            ),
            (
                Entry { to: [224, 0, 0, 1].into(), ..entry(Measure::Mtu, 1500) },
                "224.0.0.1 is not the address of a host",
            ),
        ] {
            assert_eq!(bad.check(1000).map_err(|error| error.to_string()), Err(why.to_owned()));
        }
    }

    #[test]
    fn trust_ends_and_never_overflows() {
        let entry = entry(Measure::Rtt, 5_000);
        assert!(entry.is_trusted(1000) && entry.is_trusted(4599) && !entry.is_trusted(4600));
        assert!(Entry { at: u64::MAX, ..entry }.is_trusted(u64::MAX - 1));
    }

    #[test]
    fn ipv4_in_ipv6_is_ipv4() {
        let mapped = "::ffff:192.0.2.1".parse().expect("an address");
        assert_eq!(Pair::new(mapped, mapped).from, IpAddr::from([192, 0, 2, 1]));
    }
}
