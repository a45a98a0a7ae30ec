//! What the kernel counts of the whole host, or of this network namespace.

use crate::host::{tcp_mem, tcp_pages};
use slowpath_live::{Counters, HostSoFar, Listener};
use std::collections::BTreeMap;

/// Ticks a second in /proc/stat (`USER_HZ`, include/asm-generic/param.h).
pub const USER_HZ: f64 = 100.0;
/// Listening addresses that have an accept queue of their own. What is beyond is summed up.
const MOST_LISTENERS: usize = 50;

/// The host's counters and gauges now. What cannot be read is unknown, and not exported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostTotals {
    /// The number of each CPU, and its time in softirqs since boot, in hundredths of a second (`USER_HZ`).
    pub softirqs: Vec<(u32, u64)>,
    /// As nstat(8) names them, of this network namespace.
    pub counters: Counters,
    /// TCP's memory in bytes.
    pub tcp_bytes: Option<u64>,
    /// The three numbers of `net.ipv4.tcp_mem`, in bytes.
    pub tcp_limits: Option<[u64; 3]>,
    /// The sockets that listen in this network namespace.
    pub listeners: Vec<Listener>,
    /// What the probe counts; `None` without it.
    pub probe: Option<HostSoFar>,
}

/// TCP's bytes from /proc/net/sockstat, by the size of a page.
pub fn tcp_bytes(sockstat: &str, page: u64) -> Option<u64> {
    Some(tcp_pages(sockstat)?.saturating_mul(page))
}

/// The three numbers of `net.ipv4.tcp_mem`, which are in pages, in bytes.
pub fn tcp_limits(text: &str, page: u64) -> Option<[u64; 3]> {
    Some(tcp_mem(text)?.map(|pages| pages.saturating_mul(page)))
}

/// The accept queues by address: length and limit, of sockets that share an address together; the fullest first.
pub fn accept_queues(listeners: &[Listener]) -> Vec<(String, u64, u64)> {
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for one in listeners {
        let sum = sums.entry(one.at.to_string()).or_default();
        *sum = (sum.0 + u64::from(one.length), sum.1 + u64::from(one.limit));
    }
    let mut queues: Vec<_> = sums.into_iter().map(|(at, (length, limit))| (at, length, limit)).collect();
    if queues.len() > MOST_LISTENERS {
        queues.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let rest = queues.split_off(MOST_LISTENERS);
        let sum = |of: fn(&(String, u64, u64)) -> u64| rest.iter().map(of).sum();
        queues.push((super::labels::OTHER.to_owned(), sum(|one| one.1), sum(|one| one.2)));
    }
    queues
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::Endpoint;

    #[test]
    fn proc_files_are_read() {
        let sockstat = "sockets: used 100\nTCP: inuse 5 orphan 0 tw 1 alloc 9 mem 50\n";
        assert_eq!((tcp_bytes(sockstat, 4096), tcp_bytes("", 4096)), (Some(204_800), None));
        assert_eq!(tcp_limits("1\t2\t3\n", 4096), Some([4096, 8192, 12_288]));
        assert_eq!(tcp_limits("1 2", 4096), None);
    }

    #[test]
    fn accept_queues_are_bounded() {
        let listener =
            |port, length| Listener { at: Endpoint { address: [0; 4].into(), port }, length, limit: 128 };
        let shared = [listener(80, 3), listener(80, 4), listener(443, 0)];
        let expected = [("0.0.0.0:443".to_owned(), 0, 128), ("0.0.0.0:80".to_owned(), 7, 256)];
        assert_eq!(accept_queues(&shared), expected);
        let many: Vec<Listener> = (1..=200).map(|port| listener(port, u32::from(port))).collect();
        let queues = accept_queues(&many);
        assert_eq!((queues.len(), queues[0].1, queues[50].0.as_str()), (51, 200, "other"));
        assert_eq!(queues.iter().map(|one| one.1).sum::<u64>(), 201 * 100);
    }
}
