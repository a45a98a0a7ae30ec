//! The work of a host during a profile: with it, a share of the CPU becomes a cost per packet.

use std::collections::BTreeMap;

/// The host's work meanwhile. Unknown values are absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// The duration.
    pub seconds: Option<f64>,
    /// The number of online CPUs.
    pub cpus: Option<u32>,
    /// Their clock rate, in cycles per second.
    pub cpu_hz: Option<f64>,
    /// Whether the profile covers everything that ran there, and not some process or CPU.
    pub is_whole_host: Option<bool>,
    /// The growth of the kernel's counters in one network namespace, by table and name as in `/proc/net/snmp` and
    /// `netstat`: `Tcp.InSegs`; and of the whole host `Stat.ctxt`, as in `/proc/stat`. A counter that did not grow is
    /// 0; one that the kernel does not have is absent.
    pub counters: BTreeMap<String, u64>,
    /// The traffic of its network devices, by name.
    pub devices: BTreeMap<String, Carried>,
}

/// The traffic of a network device, as counted by `/proc/net/dev`: a super-packet is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Bytes received.
    pub received_bytes: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
}

impl Work {
    /// The growth of a counter.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }

    /// TCP segments received and sent, including retransmissions; `None` if one of them is not known.
    ///
    /// `OutSegs` is counted in `tcp_transmit_skb` by wire segments, `InSegs` in `tcp_v4_rcv` after GRO.
    pub fn segments(&self) -> Option<u64> {
        let sent = self.counter("Tcp.OutSegs")?.saturating_add(self.counter("Tcp.RetransSegs")?);
        Some(sent.saturating_add(self.counter("Tcp.InSegs")?))
    }
}
