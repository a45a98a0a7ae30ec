//! The kernel's counters, per host and for each of the two CPUs.

use super::hosts::HOSTS;
use super::{Server, server};
use crate::error::LabError;
use crate::host::DEVICE;
use crate::namespaces::Namespaces;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

/// A CPU's time by what it did, in clock ticks (`USER_HZ`, 10 ms; proc_stat(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CpuTime {
    /// In programs.
    pub user: u64,
    /// In programs with a nice value above zero: none of the two that run here.
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
    /// The lines of /proc/stat have user, nice, system, idle, iowait, irq, softirq and steal; further columns are
    /// included in these.
    fn read(stat: &str, cpu: u32) -> Option<Self> {
        let name = format!("cpu{cpu}");
        let line = stat.lines().find_map(|line| line.strip_prefix(&name)?.strip_prefix(' '))?;
        let mut numbers = line.split_whitespace().map_while(|word| word.parse::<u64>().ok());
        let mut next = || numbers.next();
        let (user, nice, system) = (next()?, next()?, next()?);
        let idle = next()? + next()?;
        Some(Self { user, nice, system, idle, interrupts: next()?, softirqs: next()?, steal: next()? })
    }

    fn since(self, before: Self) -> Self {
        let less = |of: fn(Self) -> u64| of(self).saturating_sub(of(before));
        Self {
            user: less(|time| time.user),
            nice: less(|time| time.nice),
            system: less(|time| time.system),
            idle: less(|time| time.idle),
            interrupts: less(|time| time.interrupts),
            softirqs: less(|time| time.softirqs),
            steal: less(|time| time.steal),
        }
    }

    fn total(&self) -> u64 {
        self.user + self.nice + self.system + self.idle + self.interrupts + self.softirqs + self.steal
    }

    /// The part of its time in which it was idle.
    pub fn idle_share(&self) -> f64 {
        self.share(self.idle)
    }

    /// The part of its time in which another virtual machine, or the host, had it.
    pub fn stolen_share(&self) -> f64 {
        self.share(self.steal)
    }

    fn share(&self, part: u64) -> f64 {
        if self.total() == 0 { 0.0 } else { part as f64 / self.total() as f64 }
    }
}

/// The counters at one time.
#[derive(Clone, Debug)]
pub(super) struct Look {
    at: Instant,
    cpus: [CpuTime; 2],
    /// Requests that the server has answered.
    requests: u64,
    /// Packets that each of the two CPUs received, and that any CPU dropped because its queue was full (softnet_stat).
    received: [u64; 2],
    dropped: u64,
    /// Packets that arrived at each host's device.
    came: [u64; 2],
    /// The server's counters, by their names in /proc/net/snmp and netstat.
    tcp: BTreeMap<String, u64>,
}

impl Look {
    pub(super) fn at(namespaces: &Namespaces, cpus: [u32; 2], server: Server) -> Result<Self, LabError> {
        let requests = server::served(namespaces, server)?;
        let of_device = |place| namespaces.inside(place, || packets("/proc/thread-self/net/dev"));
        let tcp = namespaces.inside(HOSTS[0], || {
            let mut all = named(&read("/proc/thread-self/net/snmp")?);
            all.extend(named(&read("/proc/thread-self/net/netstat")?));
            Ok(all)
        })?;
        let softnet = softnet(&read("/proc/net/softnet_stat")?);
        let stat = read("/proc/stat")?;
        let time = |cpu| {
            CpuTime::read(&stat, cpu)
                .ok_or_else(|| LabError::Unfit(format!("/proc/stat has no line for CPU {cpu}")))
        };
        let received = cpus.map(|cpu| softnet.get(&cpu).map_or(0, |row| row.0));
        Ok(Self {
            at: Instant::now(),
            cpus: [time(cpus[0])?, time(cpus[1])?],
            requests,
            received,
            dropped: softnet.values().map(|row| row.1).sum(),
            came: [of_device(HOSTS[0])?, of_device(HOSTS[1])?],
            tcp,
        })
    }
}

/// The growth of the counters between two samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Counted {
    /// The time between them.
    pub seconds: f64,
    /// Requests that the server answered.
    pub requests: u64,
    /// Connections that it accepted (`PassiveOpens`).
    pub connections: u64,
    /// Segments that it received (`InSegs`).
    pub segments_in: u64,
    /// Segments that it sent; a super-packet counts as its segments (`OutSegs`).
    pub segments_out: u64,
    /// Segments that it retransmitted (`RetransSegs`).
    pub retransmitted: u64,
    /// ACKs without data for connections (`TCPPureAcks`) that header prediction had not already processed.
    pub pure_acks_in: u64,
    /// ACKs that took the fast path through TCP (`TCPHPAcks`).
    pub predicted_acks_in: u64,
    /// Bytes that it sent, with their IP headers (`OutOctets`).
    pub bytes_out: u64,
    /// Packets that arrived at the server's device.
    pub packets_to_server: u64,
    /// Packets that arrived at the client's.
    pub packets_to_client: u64,
    /// Packets for any host that the server's CPU received.
    pub received_on_server_cpu: u64,
    /// Packets for any host that the client's CPU received.
    pub received_on_client_cpu: u64,
    /// Packets that were dropped because a CPU's queue was full.
    pub dropped: u64,
    /// The server's CPU.
    pub server: CpuTime,
    /// The client's CPU.
    pub client: CpuTime,
}

impl Counted {
    pub(super) fn between(before: &Look, after: &Look) -> Self {
        let tcp = |name: &str| {
            let of = |look: &Look| look.tcp.get(name).copied().unwrap_or(0);
            of(after).saturating_sub(of(before))
        };
        let each = |of: fn(&Look) -> [u64; 2]| {
            let (after, before) = (of(after), of(before));
            [0, 1].map(|host| after[host].saturating_sub(before[host]))
        };
        let [came_to_server, came_to_client] = each(|look| look.came);
        let [on_server, on_client] = each(|look| look.received);
        Self {
            seconds: after.at.duration_since(before.at).as_secs_f64(),
            requests: after.requests.saturating_sub(before.requests),
            connections: tcp("Tcp.PassiveOpens"),
            segments_in: tcp("Tcp.InSegs"),
            segments_out: tcp("Tcp.OutSegs"),
            retransmitted: tcp("Tcp.RetransSegs"),
            pure_acks_in: tcp("TcpExt.TCPPureAcks"),
            predicted_acks_in: tcp("TcpExt.TCPHPAcks"),
            bytes_out: tcp("IpExt.OutOctets"),
            packets_to_server: came_to_server,
            packets_to_client: came_to_client,
            received_on_server_cpu: on_server,
            received_on_client_cpu: on_client,
            dropped: after.dropped.saturating_sub(before.dropped),
            server: after.cpus[0].since(before.cpus[0]),
            client: after.cpus[1].since(before.cpus[1]),
        }
    }
}

/// Packets of any device that a CPU has received since boot.
///
/// # Errors
/// If the kernel does not report it.
pub(super) fn received_by(cpu: u32) -> Result<u64, LabError> {
    const FILE: &str = "/proc/net/softnet_stat";
    softnet(&read(FILE)?)
        .get(&cpu)
        .map(|row| row.0)
        .ok_or_else(|| LabError::Unfit(format!("{FILE} has no line for CPU {cpu}")))
}

fn read(path: &str) -> Result<String, LabError> {
    fs::read_to_string(path).map_err(LabError::file(path))
}

/// Pairs of lines, names and then numbers, each after a group and a colon (proc_net(5)).
fn named(text: &str) -> BTreeMap<String, u64> {
    let lines: Vec<&str> = text.lines().collect();
    let mut all = BTreeMap::new();
    for pair in lines.chunks_exact(2) {
        let (Some((group, names)), Some((_, numbers))) = (pair[0].split_once(':'), pair[1].split_once(':'))
        else {
            continue;
        };
        for (name, number) in names.split_whitespace().zip(numbers.split_whitespace()) {
            // `MaxConn` is −1.
            if let Ok(number) = number.parse() {
                all.insert(format!("{group}.{name}"), number);
            }
        }
    }
    all
}

/// The packets received by the device: the second number after its name.
fn packets(path: &str) -> Result<u64, LabError> {
    let text = read(path)?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix(DEVICE)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .ok_or_else(|| LabError::Unfit(format!("{path} has no {DEVICE}")))
}

/// The packets that each CPU received and those dropped before it, in hexadecimal; its number is the thirteenth
/// (`softnet_seq_show`, since 5.10).
fn softnet(text: &str) -> BTreeMap<u32, (u64, u64)> {
    let row = |line: &str| {
        let words: Vec<u64> =
            line.split_whitespace().map_while(|word| u64::from_str_radix(word, 16).ok()).collect();
        let cpu = u32::try_from(*words.get(12)?).ok()?;
        Some((cpu, (*words.first()?, *words.get(1)?)))
    };
    text.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_by_cpu_number() {
        let stat =
            "cpu  10 20 30 40 50 60 70 80 0 0\ncpu1 1 2 3 4 5 6 7 8 0 0\ncpu11 9 9 9 9 9 9 9 9 0 0\nintr 5\n";
        let time = CpuTime::read(stat, 1).expect("its line");
        let expected = CpuTime { user: 1, nice: 2, system: 3, idle: 9, interrupts: 6, softirqs: 7, steal: 8 };
        assert_eq!(time, expected);
        assert_eq!((time.idle_share(), time.stolen_share()), (9.0 / 36.0, 8.0 / 36.0));
        assert_eq!(CpuTime::read(stat, 2), None);
        assert_eq!(CpuTime::default().idle_share(), 0.0);
    }

    #[test]
    fn snmp_counters_are_read_by_name() {
        let text = "Ip: Forwarding InReceives\nIp: 1 7\nTcp: RtoAlgorithm MaxConn InSegs\nTcp: 1 -1 9\n";
        let all = named(text);
        assert_eq!((all.get("Ip.InReceives"), all.get("Tcp.InSegs")), (Some(&7), Some(&9)));
        assert!(!all.contains_key("Tcp.MaxConn"));
    }

    #[test]
    fn softnet_rows_are_read_by_cpu_number() {
        let text = "0000000a 00000002 0 0 0 0 0 0 0 0 0 0 00000003 0 0\n000000ff 0 0 0 0 0 0 0 0 0 0 0 00000000\n1 2 3\n";
        assert_eq!(softnet(text), BTreeMap::from([(0, (255, 0)), (3, (10, 2))]));
    }
}
