//! The kernel's SNMP-style counters of one namespace, as `nstat` shows them.

use crate::error::LabError;
use crate::namespaces::{Namespaces, Place};
use std::collections::BTreeMap;

/// Counter name, such as `TcpExtTCPTimeouts`, and value. One that is absent is 0.
pub type Counters = BTreeMap<String, u64>;

/// Reads the counters of a namespace. A fresh namespace starts with all of them at 0.
///
/// # Errors
/// If the namespace cannot be entered or /proc cannot be read.
pub fn read(namespaces: &Namespaces, place: Place) -> Result<Counters, LabError> {
    namespaces.inside(place, of_this_thread)
}

/// Reads the counters of the namespace that the calling thread is in.
///
/// # Errors
/// If /proc cannot be read.
pub fn of_this_thread() -> Result<Counters, LabError> {
    let mut counters = Counters::new();
    // /proc/net would be that of the process, not of this thread.
    for path in ["/proc/thread-self/net/netstat", "/proc/thread-self/net/snmp"] {
        parse(&std::fs::read_to_string(path).map_err(LabError::file(path))?, &mut counters);
    }
    Ok(counters)
}

/// What grew, and by how much.
pub fn growth(before: &Counters, after: &Counters) -> Counters {
    after
        .iter()
        .map(|(name, value)| (name.clone(), value.saturating_sub(before.get(name).copied().unwrap_or(0))))
        .filter(|(_, grown)| *grown > 0)
        .collect()
}

/// Pairs of lines: names, then values, both behind the same prefix.
fn parse(text: &str, counters: &mut Counters) {
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let Some((prefix, names)) = names.split_once(':') else { continue };
        let Some((_, values)) = values.split_once(':') else { continue };
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            // -1 stands for "no limit" (MaxConn), which is no count.
            if let Ok(value) = value.parse::<u64>()
                && value > 0
            {
                counters.insert(format!("{prefix}{name}"), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_paired_and_zeros_left_out() {
        let mut counters = Counters::new();
        parse(
            "Tcp: MaxConn ActiveOpens InErrs\nTcp: -1 12 0\nTcpExt: TCPTimeouts\nTcpExt: 3\n",
            &mut counters,
        );
        assert_eq!(
            counters,
            Counters::from([("TcpActiveOpens".into(), 12), ("TcpExtTCPTimeouts".into(), 3)])
        );
    }

    #[test]
    fn growth_is_the_difference() {
        let before = Counters::from([("a".into(), 1), ("b".into(), 2)]);
        let after = Counters::from([("a".into(), 4), ("b".into(), 2), ("c".into(), 1)]);
        assert_eq!(growth(&before, &after), Counters::from([("a".into(), 3), ("c".into(), 1)]));
    }
}
