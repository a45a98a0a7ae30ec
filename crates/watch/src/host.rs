//! What /proc reports of the host.

use slowpath_uapi::proc::CpuTime;
use std::time::Duration;

/// The host in an interval. What /proc does not have is unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostNow {
    /// The share of each CPU's time in softirqs.
    pub softirq: Vec<f64>,
    /// TCP's memory as a share of the amount from which it is under pressure (`net.ipv4.tcp_mem`).
    pub memory: Option<f64>,
    /// Connections that were dropped since the accept queue was full (`ListenOverflows`).
    pub accept_overflows: Option<u64>,
    /// Times a receive queue was collapsed or pruned for lack of room (`TCPRcvCollapsed`, `RcvPruned`).
    pub pruned: Option<u64>,
}

/// The share of softirqs in each CPU's time between two states.
pub(crate) fn softirq_shares(before: &[(u32, CpuTime)], now: &[(u32, CpuTime)]) -> Vec<f64> {
    // A CPU that was added or removed in between changes what the places mean.
    if before.len() != now.len() {
        return Vec::new();
    }
    let spent = before.iter().zip(now).map(|((_, before), (_, now))| now.since(*before));
    spent.map(|spent| spent.share(spent.softirqs)).collect()
}

/// TCP's pages from /proc/net/sockstat.
pub(crate) fn tcp_pages(sockstat: &str) -> Option<u64> {
    let tcp = sockstat.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    tcp.split_whitespace().skip_while(|word| *word != "mem").nth(1)?.parse().ok()
}

/// The three numbers of `net.ipv4.tcp_mem`, in pages.
pub(crate) fn tcp_mem(text: &str) -> Option<[u64; 3]> {
    let pages: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    pages.try_into().ok()
}

/// TCP's pages from /proc/net/sockstat as a share of the second number of `tcp_mem`.
pub(crate) fn memory(sockstat: &str, limits: &str) -> Option<f64> {
    let (pages, [_, pressure, _]) = (tcp_pages(sockstat)?, tcp_mem(limits)?);
    (pressure > 0).then(|| pages as f64 / pressure as f64)
}

/// A time as it is shown: `1 min 5 s`.
pub(crate) fn ago(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 { format!("{seconds} s") } else { format!("{} min {} s", seconds / 60, seconds % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softirq_time_is_a_share_of_each_cpu() {
        let of = |idle, softirqs| CpuTime { idle, softirqs, ..CpuTime::default() };
        let before = [(0, of(100, 0)), (1, of(0, 0))];
        let now = [(0, of(175, 25)), (1, of(0, 0))];
        assert_eq!(softirq_shares(&before, &now), [0.25, 0.0]);
        assert_eq!(softirq_shares(&before, &now[..1]), [0.0; 0]);
    }

    #[test]
    fn memory_is_a_share_of_the_pressure_threshold() {
        let sockstat = "sockets: used 100\nTCP: inuse 5 orphan 0 tw 1 alloc 9 mem 50\nUDP: inuse 3 mem 1\n";
        assert_eq!(memory(sockstat, "100 200 300\n"), Some(0.25));
        assert_eq!(memory("", "1 2 3"), None);
        assert_eq!(memory(sockstat, "1"), None);
    }
}
