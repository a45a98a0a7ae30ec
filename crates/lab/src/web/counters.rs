//! The kernel's counters, per host and for each of the two CPUs.

use super::hosts::HOSTS;
use super::{Server, server};
use crate::error::LabError;
use crate::host::DEVICE;
use crate::namespaces::Namespaces;
use serde::{Deserialize, Serialize};
use slowpath_uapi::proc::{self, CpuTime, Softnet};
use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

const SOFTNET: &str = "/proc/net/softnet_stat";

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
            let texts = [read("/proc/thread-self/net/snmp")?, read("/proc/thread-self/net/netstat")?];
            let all = texts.iter().flat_map(|text| proc::counters(text));
            Ok(all.map(|(table, name, value)| (format!("{table}.{name}"), value)).collect())
        })?;
        let softnet: Vec<Softnet> = proc::softnet(&read(SOFTNET)?).collect();
        let stat = read("/proc/stat")?;
        let time = |cpu| {
            CpuTime::of_each(&stat)
                .find_map(|(number, time)| (number == cpu).then_some(time))
                .ok_or_else(|| LabError::Unfit(format!("/proc/stat has no line for CPU {cpu}")))
        };
        let received = cpus.map(|cpu| received(&softnet, cpu).unwrap_or(0));
        Ok(Self {
            at: Instant::now(),
            cpus: [time(cpus[0])?, time(cpus[1])?],
            requests,
            received,
            dropped: softnet.iter().map(|row| row.dropped).sum(),
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
    let softnet: Vec<Softnet> = proc::softnet(&read(SOFTNET)?).collect();
    received(&softnet, cpu).ok_or_else(|| LabError::Unfit(format!("{SOFTNET} has no line for CPU {cpu}")))
}

fn received(softnet: &[Softnet], cpu: u32) -> Option<u64> {
    softnet.iter().find_map(|row| (row.cpu == Some(cpu)).then_some(row.processed))
}

fn read(path: &str) -> Result<String, LabError> {
    fs::read_to_string(path).map_err(LabError::file(path))
}

/// The packets received by the device: the second number after its name.
fn packets(path: &str) -> Result<u64, LabError> {
    let text = read(path)?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix(DEVICE)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .ok_or_else(|| LabError::Unfit(format!("{path} has no {DEVICE}")))
}
