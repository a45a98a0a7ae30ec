//! The observed state of a host: plain data, as reported by the kernel.
//!
//! `None`, or a missing map entry, could not be read; [`Host::unseen`] says why. Nothing here is a default that means
//! "not known".

pub use slowpath_uapi::proc::Softnet;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// A host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    /// The kernel's release: `6.18.0`.
    pub release: Option<String>,
    /// Sysctls by their dotted names, as `sysctl` prints them.
    pub sysctls: BTreeMap<String, String>,
    /// The page size in bytes, the unit of `net.ipv4.tcp_mem`.
    pub page: Option<u64>,
    /// The route to the destination, or the default route.
    pub route: Option<Route>,
    /// The interface of the route, and those below it (of a VLAN, of a bond).
    pub interfaces: Vec<Interface>,
    /// The parameter cache: `ip tcp_metrics`. `None` if it could not be read.
    pub metrics: Option<Vec<Metrics>>,
    /// Counters since boot by nstat's names: `TcpExtTCPTimeouts`.
    pub counters: BTreeMap<String, u64>,
    /// Softirq counters since boot, a row per CPU.
    pub softnet: Vec<Softnet>,
    /// The CPUs' clocks.
    pub clocks: Vec<Clock>,
    /// BPF programs that set socket parameters (`BPF_CGROUP_SOCK_OPS`); `None` without the privilege to query.
    pub sock_ops: Option<u32>,
    /// What could not be read.
    pub unseen: Vec<Unseen>,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// Its name.
    pub what: String,
    /// Why not.
    pub why: String,
    /// The capability needed to read it.
    pub needs: Option<&'static str>,
}

/// The route to a destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// The destination; `None` for the default route.
    pub to: Option<IpAddr>,
    /// The interface index.
    pub interface: u32,
    /// The next hop, if any.
    pub gateway: Option<IpAddr>,
    /// Attributes for connections over this route (`RTAX_*`), by their names in `ip route`.
    pub attributes: BTreeMap<String, u32>,
    /// Locked attributes: TCP may not change them.
    pub locked: Vec<String>,
    /// The congestion control set on the route.
    pub congestion_control: Option<String>,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: u32,
    /// The kind of virtual device: `veth`, `vlan`; `None` for a NIC.
    pub kind: Option<String>,
    /// Whether it is up and has a carrier.
    pub running: Option<bool>,
    /// Bytes.
    pub mtu: Option<u32>,
    /// `txqueuelen`, in packets.
    pub queue_length: Option<u32>,
    /// The maximum super-packet, in segments.
    pub gso_max_segments: Option<u32>,
    /// The maximum super-packet, in bytes (`gso_max_size`).
    pub gso_max_bytes: Option<u32>,
    /// The link rate in bit/s; `None` if the driver does not know it.
    pub speed: Option<u64>,
    /// Whether it is full duplex.
    pub full_duplex: Option<bool>,
    /// Its offloads, by the names of `ethtool -k`; empty if unknown.
    pub offloads: BTreeMap<String, Offload>,
    /// Slots of the receive ring.
    pub receive_ring: Option<Ring>,
    /// Slots of the transmit ring.
    pub transmit_ring: Option<Ring>,
    /// Receive queues in use.
    pub receive_queues: Option<u32>,
    /// Queues with an RPS mask.
    pub steered_queues: Option<u32>,
    /// The CPUs that take each of its interrupts; empty if unknown.
    pub interrupts: Vec<Interrupt>,
    /// Counters since the interface was created.
    pub statistics: Statistics,
    /// Its qdiscs, the root first; `None` if they could not be queried.
    pub queues: Option<Vec<Queue>>,
}

/// An offload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// Whether it is on.
    pub on: bool,
    /// Whether it can be changed.
    pub can_change: bool,
}

/// A ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ring {
    /// The current number of slots.
    pub slots: u32,
    /// The maximum number of slots.
    pub most: u32,
}

/// An interrupt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number.
    pub number: u32,
    /// The CPUs that take it, in the kernel's list format: `0-3`.
    pub cpus: String,
}

/// The fields of `struct rtnl_link_stats64` that are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "include/uapi/linux/if_link.h has them by these names")]
pub struct Statistics {
    pub rx_packets: u64,
    pub tx_packets: u64,
    pub rx_crc_errors: u64,
    pub rx_over_errors: u64,
    pub rx_fifo_errors: u64,
    pub rx_missed_errors: u64,
    pub rx_dropped: u64,
    pub tx_dropped: u64,
    pub tx_carrier_errors: u64,
    pub collisions: u64,
}

/// A qdisc.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// `fq_codel`.
    pub kind: String,
    /// `MAJOR:MINOR`.
    pub handle: u32,
    /// Its parent; `u32::MAX` for the root (`TC_H_ROOT`).
    pub parent: u32,
    /// Its limit in packets; `None` without one.
    pub limit_packets: Option<u64>,
    /// Its limit in bytes.
    pub limit_bytes: Option<u64>,
    /// The maximum rate, in bit/s.
    pub rate: Option<u64>,
    /// The maximum rate of a flow, in bit/s.
    pub flow_rate: Option<u64>,
    /// The delay it adds, in ns.
    pub delay_ns: Option<u64>,
    /// The share of packets that it drops deliberately, of 2^32.
    pub loss: Option<u32>,
    /// Packets sent.
    pub packets: u64,
    /// Packets dropped.
    pub drops: u64,
}

/// An entry of the parameter cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// The destination.
    pub to: Option<IpAddr>,
    /// `ssthresh`, in packets.
    pub ssthresh: Option<u32>,
    /// The smoothed RTT, in µs.
    pub rtt_us: Option<u32>,
}

/// Frequency scaling of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// The CPU.
    pub cpu: u32,
    /// `performance`.
    pub governor: String,
    /// `intel_pstate`.
    pub driver: String,
    /// The maximum allowed frequency, in kHz.
    pub allowed_khz: Option<u64>,
    /// The maximum frequency of the CPU, in kHz.
    pub most_khz: Option<u64>,
}

impl Host {
    /// A setting with one number.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.sysctls.get(name)?.trim().parse().ok()
    }

    /// One of the numbers of a setting with several.
    pub fn part(&self, name: &str, place: usize) -> Option<u64> {
        self.sysctls.get(name)?.split_whitespace().nth(place)?.parse().ok()
    }

    /// A setting with a word.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.sysctls.get(name).map(|text| text.trim())
    }

    /// The kernel's version: 6.18 is `(6, 18)`.
    pub fn version(&self) -> Option<(u32, u32)> {
        let mut parts = self.release.as_deref()?.split(|c: char| !c.is_ascii_digit());
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }

    /// Whether the kernel is at least this one; an unknown kernel counts as today's.
    pub fn since(&self, major: u32, minor: u32) -> bool {
        self.version().is_none_or(|version| version >= (major, minor))
    }

    /// The outgoing interface of the route.
    pub fn outgoing(&self) -> Option<&Interface> {
        self.interfaces.first()
    }

    /// The interface whose link limits the rate: the first that reports its rate. The slaves of a bond are skipped:
    /// each may be slower than all together, and one may be down.
    pub fn link(&self) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.speed.is_some())
    }

    /// The kernel's cached RTT of the destination.
    pub fn remembered_rtt(&self) -> Option<Duration> {
        let to = self.route.as_ref()?.to?;
        let entry = self.metrics.as_ref()?.iter().find(|entry| entry.to == Some(to))?;
        entry.rtt_us.filter(|rtt| *rtt > 0).map(|rtt| Duration::from_micros(rtt.into()))
    }

    /// Records that something could not be read, and why.
    pub fn missed(&mut self, what: impl Into<String>, why: impl Into<String>, needs: Option<&'static str>) {
        self.unseen.push(Unseen { what: what.into(), why: why.into(), needs });
    }
}

impl Interface {
    /// Whether an offload is on; `None` if the interface does not report it, or does not have it.
    pub fn offload(&self, name: &str) -> Option<Offload> {
        self.offloads.get(name).copied()
    }

    /// Whether packets leave it for a wire, rather than for another part of the same machine.
    pub fn is_wired(&self) -> bool {
        !matches!(self.kind.as_deref(), Some("veth" | "dummy" | "ifb" | "tun"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        let host = |release: &str| Host { release: Some(release.to_owned()), ..Host::default() };
        assert_eq!(host("6.18.44-fc").version(), Some((6, 18)));
        assert!(host("6.18.44").since(6, 6) && !host("5.15.0-91-generic").since(6, 6));
        assert!(host("10.0").since(6, 18), "compared by number");
        assert_eq!(host("six").version(), None);
        assert!(host("").since(6, 6), "an unknown version counts as today's");
    }
}
