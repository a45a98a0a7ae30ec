//! Counters that the kernel prints in /proc (proc_stat(5), proc_net(5)). What cannot be read is left out: files of
//! other kernels have other lines and columns.

use serde::{Deserialize, Serialize};

/// A CPU's time since boot by what it did, in `USER_HZ` (10 ms).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CpuTime {
    /// In programs. Time in guests is included.
    pub user: u64,
    /// In programs with a nice value above zero.
    pub nice: u64,
    /// In system calls.
    pub system: u64,
    /// Idle, or waiting only for a disk.
    pub idle: u64,
    /// Interrupts.
    pub interrupts: u64,
    /// Softirqs.
    pub softirqs: u64,
    /// Another virtual machine, or the host, had the CPU.
    pub steal: u64,
}

impl CpuTime {
    /// The sum of all CPUs, from the text of /proc/stat.
    pub fn of_all(stat: &str) -> Option<Self> {
        lines(stat).find(|(cpu, _)| cpu.is_empty())?.1
    }

    /// Each CPU's number and time, from the text of /proc/stat.
    pub fn of_each(stat: &str) -> impl Iterator<Item = (u32, Self)> {
        lines(stat).filter_map(|(cpu, time)| Some((cpu.parse().ok()?, time?)))
    }

    /// What it did since then. A counter that decreased counts as zero.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let grown = |of: fn(Self) -> u64| of(self).saturating_sub(of(before));
        Self {
            user: grown(|time| time.user),
            nice: grown(|time| time.nice),
            system: grown(|time| time.system),
            idle: grown(|time| time.idle),
            interrupts: grown(|time| time.interrupts),
            softirqs: grown(|time| time.softirqs),
            steal: grown(|time| time.steal),
        }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        [self.user, self.nice, self.system, self.idle, self.interrupts, self.softirqs, self.steal]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// The share of it in which the CPU was idle.
    pub fn idle_share(&self) -> f64 {
        self.share(self.idle)
    }

    /// A part of it as a share, 0 to 1.
    pub fn share(&self, part: u64) -> f64 {
        part as f64 / self.total().max(1) as f64
    }
}

/// The lines of CPUs: what follows `cpu`, and user, nice, system, idle, iowait, irq, softirq and steal. Further columns
/// are included in these.
fn lines(stat: &str) -> impl Iterator<Item = (&str, Option<CpuTime>)> {
    let cpus = stat.lines().filter_map(|line| line.strip_prefix("cpu")?.split_once(' '));
    cpus.map(|(cpu, columns)| {
        let mut numbers = columns.split_whitespace().map_while(|word| word.parse::<u64>().ok());
        let mut time = || {
            let mut next = || numbers.next();
            let (user, nice, system) = (next()?, next()?, next()?);
            let idle = next()?.saturating_add(next()?);
            Some(CpuTime { user, nice, system, idle, interrupts: next()?, softirqs: next()?, steal: next()? })
        };
        (cpu, time())
    })
}

/// The counters of /proc/net/snmp or /proc/net/netstat: table, name and value, as `TcpExt`, `TCPTimeouts` and 3. A table
/// is a line of names and a line of values. `MaxConn` is -1, which is no count, and is left out.
pub fn counters(text: &str) -> impl Iterator<Item = (&str, &str, u64)> {
    let mut lines = text.lines();
    let pairs = std::iter::from_fn(move || lines.next().zip(lines.next()));
    let tables = pairs.filter_map(|(names, values)| {
        let ((table, names), (of, values)) = (names.split_once(':')?, values.split_once(':')?);
        (table == of).then(|| (table, names.split_whitespace().zip(values.split_whitespace())))
    });
    tables.flat_map(|(table, both)| {
        both.filter_map(move |(name, value)| Some((table, name, value.parse().ok()?)))
    })
}

/// A CPU's receive processing since boot: a line of /proc/net/softnet_stat (`softnet_seq_show`, net/core/net-procfs.c).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Softnet {
    /// Packets processed.
    pub processed: u64,
    /// Packets dropped because the CPU's queue (`netdev_max_backlog`) was full.
    pub dropped: u64,
    /// Times that packets remained when time or budget ran out (`time_squeeze`).
    pub squeezed: u64,
    /// The CPU, since Linux 5.10.
    pub cpu: Option<u32>,
}

/// The lines of /proc/net/softnet_stat, whose numbers are hexadecimal.
pub fn softnet(text: &str) -> impl Iterator<Item = Softnet> {
    text.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map_while(|word| u64::from_str_radix(word, 16).ok());
        let mut next = || numbers.next();
        let (processed, dropped, squeezed) = (next()?, next()?, next()?);
        Some(Softnet {
            processed,
            dropped,
            squeezed,
            cpu: numbers.nth(9).and_then(|cpu| cpu.try_into().ok()),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  30 2 4 150 20 6 7 3 5 0\n\
        cpu0 10 1 2 40 10 3 4 1 5 0\n\
        cpu11 20 1 2 110 10 3 3 2 0 0\n\
        cpu12 1 2\n\
        intr 5 6 7 8 9 1 2 3\n";

    #[test]
    fn cpu_time_is_read_by_what_it_was_spent_on() {
        let first = CpuTime { user: 10, nice: 1, system: 2, idle: 50, interrupts: 3, softirqs: 4, steal: 1 };
        let second =
            CpuTime { user: 20, nice: 1, system: 2, idle: 120, interrupts: 3, softirqs: 3, steal: 2 };
        assert_eq!(CpuTime::of_each(STAT).collect::<Vec<_>>(), [(0, first), (11, second)]);
        assert_eq!(CpuTime::of_all(STAT).map(|time| time.total()), Some(222));
        assert_eq!(CpuTime::of_all("cpu 1 2\nnonsense"), None);
        assert_eq!(second.since(first).softirqs, 0, "it decreased");
        assert_eq!(second.since(first).idle, 70);
        assert!((first.share(first.idle) - 50.0 / 71.0).abs() < 1e-12);
        assert_eq!(CpuTime::default().share(0), 0.0);
    }

    #[test]
    fn names_and_values_of_counters_are_paired() {
        let text = "Tcp: MaxConn ActiveOpens InErrs\nTcp: -1 12 0\nUdp: Lost\nIcmp: 3\nTcpExt: TCPTimeouts\n\
            TcpExt: 3\nUnpaired: A\n";
        let expected = [("Tcp", "ActiveOpens", 12), ("Tcp", "InErrs", 0), ("TcpExt", "TCPTimeouts", 3)];
        assert_eq!(counters(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn softnet_counters_are_hexadecimal() {
        let text = "0000001f 00000002 00000010 0 0 0 0 0 0 0 0 0 0000000b\nzz 1 1\n1 2 3\n";
        let first = Softnet { processed: 31, dropped: 2, squeezed: 16, cpu: Some(11) };
        let second = Softnet { processed: 1, dropped: 2, squeezed: 3, cpu: None };
        assert_eq!(softnet(text).collect::<Vec<_>>(), [first, second]);
    }
}
