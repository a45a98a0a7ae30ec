//! Labels: what connections have in common, in words that are few and short whatever foreign names say.

use crate::cgroup::Cgroup;
use slowpath_live::Process;
use slowpath_model::{FlowKey, shown};
use std::collections::HashSet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// What is not known.
pub const UNKNOWN: &str = "unknown";
/// Every label of the connections for which there are no series left.
pub const OTHER: &str = "other";
/// The most characters of a label: of a longer one, the middle is left out.
const MOST_CHARACTERS: usize = 120;
/// From here on, Linux gives ports to clients, unless told otherwise (`net.ipv4.ip_local_port_range`).
const CLIENTS_PORTS: u16 = 32768;
/// Ports below are servers' (RFC 6335, section 6: system ports).
const SYSTEM_PORTS: u16 = 1024;

/// What connections can have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// The server's port.
    Service,
    /// The name of the process on this host.
    Process,
    /// Its control group; of a pod's, the pod's.
    Cgroup,
    /// Its Kubernetes pod.
    Pod,
    /// The network of the other host.
    Remote,
}

impl Label {
    /// All labels.
    pub const ALL: [Self; 5] = [Self::Service, Self::Process, Self::Cgroup, Self::Pod, Self::Remote];

    /// Its name in a metric.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Process => "process",
            Self::Cgroup => "cgroup",
            Self::Pod => "pod",
            Self::Remote => "remote",
        }
    }
}

/// The labels that metrics have unless others are named: without `remote`, of which a public server has too many.
pub const LABELS: &str = "service,process,cgroup,pod";

/// A text that is not a label.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a label; write service, process, cgroup, pod or remote, separated by commas")]
pub struct BadLabel(String);

impl FromStr for Label {
    type Err = BadLabel;

    fn from_str(text: &str) -> Result<Self, BadLabel> {
        Self::ALL.into_iter().find(|label| label.name() == text).ok_or_else(|| BadLabel(text.to_owned()))
    }
}

/// How much of an address is a label: the bits of IPv4 and of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefixes {
    v4: u8,
    v6: u8,
}

impl Default for Prefixes {
    /// A site gets as much, as a rule (RFC 6177 for IPv6).
    fn default() -> Self {
        Self { v4: 24, v6: 48 }
    }
}

/// A text that is not two prefix lengths.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0:?} is not two prefix lengths; write that of IPv4 (0 to 32) and that of IPv6 (0 to 128), such as 24,48"
)]
pub struct BadPrefixes(String);

impl FromStr for Prefixes {
    type Err = BadPrefixes;

    fn from_str(text: &str) -> Result<Self, BadPrefixes> {
        let bits = |text: &str, most: u8| text.parse().ok().filter(|bits| *bits <= most);
        let read = || {
            let (v4, v6) = text.split_once(',')?;
            Some(Self { v4: bits(v4, 32)?, v6: bits(v6, 128)? })
        };
        read().ok_or_else(|| BadPrefixes(text.to_owned()))
    }
}

impl fmt::Display for Prefixes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.v4, self.v6)
    }
}

impl Prefixes {
    /// The network of an address: `192.0.2.0/24`.
    fn network(self, address: IpAddr) -> String {
        match address.to_canonical() {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.v4)).unwrap_or(0);
                format!("{}/{}", IpAddr::from((u32::from(address) & mask).to_be_bytes()), self.v4)
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.v6)).unwrap_or(0);
                format!("{}/{}", IpAddr::from((u128::from(address) & mask).to_be_bytes()), self.v6)
            }
        }
    }
}

/// The server's port, if one can be distinguished from the client's: one on which this host listens, otherwise the only
/// one that clients do not get. A port that may be a client's is no label: there are too many of them.
pub fn service_port(key: &FlowKey, own: u16, listening: &HashSet<u16>) -> Option<u16> {
    let (a, b) = (key.a.port, key.b.port);
    let other = if own == a { b } else { a };
    if listening.contains(&own) {
        return Some(own);
    }
    // Of a connection within this host, the other end listens here too.
    if key.a.address == key.b.address && listening.contains(&other) {
        return Some(other);
    }
    let only_below = |bound: u16| match (own < bound, other < bound) {
        (true, false) => Some(own),
        (false, true) => Some(other),
        _ => None,
    };
    only_below(CLIENTS_PORTS).or_else(|| only_below(SYSTEM_PORTS))
}

/// The values of a connection's labels, in the order of `wanted`.
pub fn values(
    wanted: &[Label],
    prefixes: Prefixes,
    service: Option<u16>,
    process: Option<&Process>,
    cgroup: Option<&Cgroup>,
    remote: IpAddr,
) -> Box<[Box<str>]> {
    let value = |label: &Label| -> Box<str> {
        match label {
            Label::Service => service.map_or_else(|| UNKNOWN.into(), |port| port.to_string().into()),
            Label::Process => name(process.map_or("", |process| &process.name)),
            Label::Cgroup => name(cgroup.map_or("", |cgroup| &cgroup.path)),
            // Most hosts have none: an empty label is as good as no label.
            Label::Pod => cgroup.and_then(|cgroup| cgroup.pod.as_deref()).unwrap_or("").into(),
            Label::Remote => prefixes.network(remote).into(),
        }
    };
    wanted.iter().map(value).collect()
}

/// A foreign name as a label: short, on one line, and without what a terminal would obey.
fn name(name: &str) -> Box<str> {
    if name.is_empty() {
        return UNKNOWN.into();
    }
    shown::shortened(&shown::line(name), MOST_CHARACTERS).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::Endpoint;

    fn key(a: u16, b: u16, is_within: bool) -> FlowKey {
        let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
        FlowKey { a: end(1, a), b: end(if is_within { 1 } else { 2 }, b), occurrence: 0 }
    }

    #[test]
    fn a_port_that_may_be_a_clients_is_no_service() {
        let listening = HashSet::from([443, 40_000]);
        for (a, b, own, expected) in [
            (50_000, 443, 443, Some(443)),
            (50_000, 443, 50_000, Some(443)),
            (50_000, 40_000, 40_000, Some(40_000)),
            (50_000, 40_000, 50_000, None),
            (50_000, 45_000, 45_000, None),
            (50_000, 8080, 50_000, Some(8080)),
            (20_000, 8080, 8080, None),
            (20_000, 80, 20_000, Some(80)),
            (900, 80, 900, None),
        ] {
            assert_eq!(service_port(&key(a, b, false), own, &listening), expected, "{a} {b}, own {own}");
        }
        assert_eq!(service_port(&key(50_000, 40_000, true), 50_000, &listening), Some(40_000));
    }

    #[test]
    fn addresses_are_cut_to_networks() {
        let network = |prefixes: &str, address: &str| {
            let prefixes: Prefixes = prefixes.parse().expect("two lengths");
            prefixes.network(address.parse().expect("an address"))
        };
        assert_eq!(network("24,48", "192.0.2.77"), "192.0.2.0/24");
        assert_eq!(network("24,48", "::ffff:192.0.2.77"), "192.0.2.0/24");
        assert_eq!(network("24,48", "2001:db8:1:2::3"), "2001:db8:1::/48");
        assert_eq!(network("0,0", "192.0.2.77"), "0.0.0.0/0");
        assert_eq!(network("32,128", "2001:db8::3"), "2001:db8::3/128");
        for bad in ["24", "33,48", "24,129", "a,b", "24,48,1", ""] {
            let error = bad.parse::<Prefixes>().expect_err(bad).to_string();
            assert!(error.contains("such as 24,48"), "{error}");
        }
    }

    #[test]
    fn hostile_names_are_short_and_on_one_line() {
        let long = "x".repeat(5000);
        for text in ["a\nb", "\x1b[31mred", "\u{202e}evil", long.as_str()] {
            let label = name(text);
            assert!(label.chars().count() <= MOST_CHARACTERS, "{label}");
            assert!(!label.contains(['\n', '\x1b', '\u{202e}']), "{label:?}");
        }
        assert_eq!(&*name(""), UNKNOWN);
        assert_eq!(&*name("quoted \" and \\"), "quoted \" and \\", "the encoder escapes these");
    }
}
