//! What /proc reports of the host.

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

/// The counters of a CPU in /proc/stat: its softirq time, and all of its time, in ticks.
type Ticks = [u64; 2];

/// The CPUs' ticks from /proc/stat.
pub(crate) fn cpu_ticks(stat: &str) -> Vec<Ticks> {
    let cpus = stat.lines().filter_map(|line| line.strip_prefix("cpu")?.split_once(' '));
    let of = |(_, fields): (&str, &str)| {
        // user nice system idle iowait irq softirq steal; guest time is in user time (proc_stat(5)).
        let ticks: Vec<u64> =
            fields.split_whitespace().take(8).filter_map(|field| field.parse().ok()).collect();
        Some([*ticks.get(6)?, ticks.iter().fold(0, |sum, ticks| sum.saturating_add(*ticks))])
    };
    cpus.filter(|(number, _)| !number.is_empty()).filter_map(of).collect()
}

/// The share of softirqs between two states of /proc/stat.
pub(crate) fn softirq_shares(before: &[Ticks], now: &[Ticks]) -> Vec<f64> {
    // A CPU that was added or removed in between changes what the places mean.
    if before.len() != now.len() {
        return Vec::new();
    }
    let share = |([soft_before, all_before], [soft, all]): (&Ticks, &Ticks)| {
        let all = all.saturating_sub(*all_before);
        if all == 0 { 0.0 } else { soft.saturating_sub(*soft_before) as f64 / all as f64 }
    };
    before.iter().zip(now).map(share).collect()
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
        let before =
            cpu_ticks("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 10 0 0 90 0 0 0 0 5 0\ncpu1 0 0 0 0 0 0 0 0\nintr 5\n");
        let now = cpu_ticks("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 60 0 0 115 0 0 25 0 5 0\ncpu1 0 0 0 0 0 0 0 0\n");
        assert_eq!(before, [[0, 100], [0, 0]]);
        assert_eq!(softirq_shares(&before, &now), [0.25, 0.0]);
        assert_eq!(softirq_shares(&before, &now[..1]), [0.0; 0]);
        assert_eq!(cpu_ticks("cpu0 1 2\nnonsense"), [[0; 2]; 0]);
    }

    #[test]
    fn memory_is_a_share_of_the_pressure_threshold() {
        let sockstat = "sockets: used 100\nTCP: inuse 5 orphan 0 tw 1 alloc 9 mem 50\nUDP: inuse 3 mem 1\n";
        assert_eq!(memory(sockstat, "100 200 300\n"), Some(0.25));
        assert_eq!(memory("", "1 2 3"), None);
        assert_eq!(memory(sockstat, "1"), None);
    }
}
