//! What the kernel counts of a whole network namespace, as nstat(8) shows it.

use std::collections::BTreeMap;
use std::os::linux::fs::MetadataExt;
use std::{fs, io};

/// Name, such as `TcpExtTCPTimeouts`, and value, of each counter that this kernel has.
pub type Counters = BTreeMap<String, u64>;

/// Where they are. /proc/net would be that of the process, not of this thread.
const FILES: [&str; 2] = ["/proc/thread-self/net/netstat", "/proc/thread-self/net/snmp"];

/// The number of this thread's network namespace.
pub fn own_netns() -> Option<u32> {
    u32::try_from(fs::metadata("/proc/thread-self/ns/net").ok()?.st_ino()).ok()
}

/// The counters of this thread's network namespace.
///
/// # Errors
/// If /proc cannot be read.
pub fn counters() -> io::Result<Counters> {
    let mut counters = Counters::new();
    for path in FILES {
        counters.extend(parse(&fs::read_to_string(path)?));
    }
    Ok(counters)
}

/// Pairs of lines: names, then values, both behind the same prefix.
fn parse(text: &str) -> Counters {
    let mut counters = Counters::new();
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((prefix, names)), Some((_, values))) = (names.split_once(':'), values.split_once(':'))
        else {
            continue;
        };
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            // -1 means "no limit" (MaxConn), which is no count.
            if let Ok(value) = value.parse() {
                counters.insert(format!("{prefix}{name}"), value);
            }
        }
    }
    counters
}

/// What grew, and by how much.
pub fn growth(before: &Counters, after: &Counters) -> Counters {
    let grown = after.iter().map(|(name, value)| {
        (name.clone(), value.saturating_sub(before.get(name).copied().unwrap_or_default()))
    });
    grown.filter(|(_, grown)| *grown > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters_of(pairs: &[(&str, u64)]) -> Counters {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn nstat_names_and_values_are_paired() {
        let text = "Tcp: MaxConn ActiveOpens InErrs\nTcp: -1 12 0\nTcpExt: TCPTimeouts\nTcpExt: 3\n";
        let expected = [("TcpActiveOpens", 12), ("TcpInErrs", 0), ("TcpExtTCPTimeouts", 3)];
        assert_eq!(parse(text), counters_of(&expected));
        assert!(counters().unwrap().contains_key("TcpExtTCPLossUndo"), "on this kernel");
    }

    #[test]
    fn counter_growth_is_the_difference() {
        let (before, after) = ([("a", 1), ("b", 2)], [("a", 4), ("b", 2), ("c", 1)]);
        assert_eq!(growth(&counters_of(&before), &counters_of(&after)), counters_of(&[("a", 3), ("c", 1)]));
    }
}
