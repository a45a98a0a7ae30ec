//! The work of a host while a profile of it was taken: with it a share of the CPU becomes a cost for each packet.

use std::collections::BTreeMap;

/// What a host did meanwhile. What was not seen is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// For how long.
    pub seconds: Option<f64>,
    /// How many CPUs were online.
    pub cpus: Option<u32>,
    /// At how many cycles a second they ran.
    pub cpu_hz: Option<f64>,
    /// Whether the profile is of all that ran there, and not of some process or CPU.
    pub is_whole_host: Option<bool>,
    /// By how much the kernel's counters grew in one network namespace, by table and name as in `/proc/net/snmp` and `netstat`:
    /// `Tcp.InSegs`; and of the whole host `Stat.ctxt`, as in `/proc/stat`. A counter that did not grow is 0; one that the kernel does not have is absent.
    pub counters: BTreeMap<String, u64>,
    /// What its network devices carried, by name.
    pub devices: BTreeMap<String, Carried>,
}

/// What a network device carried, as `/proc/net/dev` counts it: a super-packet is one.
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
    /// By how much a counter grew.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }

    /// TCP segments received and sent, retransmissions included; `None` where one of them is not known.
    ///
    /// `OutSegs` is counted in `tcp_transmit_skb` by segments of the wire, `InSegs` in `tcp_v4_rcv` by what GRO left.
    pub fn segments(&self) -> Option<u64> {
        let sent = self.counter("Tcp.OutSegs")?.saturating_add(self.counter("Tcp.RetransSegs")?);
        Some(sent.saturating_add(self.counter("Tcp.InSegs")?))
    }
}
