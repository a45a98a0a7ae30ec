//! What the kernel counts of a whole network namespace, as nstat(8) shows it.

use slowpath_uapi::proc;
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
        let text = fs::read_to_string(path)?;
        counters.extend(proc::counters(&text).map(|(table, name, value)| (format!("{table}{name}"), value)));
    }
    Ok(counters)
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
    fn counters_have_the_names_of_nstat() {
        let counters = counters().expect("/proc is there");
        assert!(counters.contains_key("TcpExtTCPLossUndo"), "on this kernel");
        assert!(counters.contains_key("TcpActiveOpens"));
    }

    #[test]
    fn counter_growth_is_the_difference() {
        let (before, after) = ([("a", 1), ("b", 2)], [("a", 4), ("b", 2), ("c", 1)]);
        assert_eq!(growth(&counters_of(&before), &counters_of(&after)), counters_of(&[("a", 3), ("c", 1)]));
    }
}
