//! The state of a host, as JSON.

use crate::mirror::{each, mirrored, one};
use slowpath_doctor::host;
use std::collections::BTreeMap;
use std::net::IpAddr;

mirrored! {
    /// A host.
    struct Host of host::Host {
        /// The kernel's release: `6.18.0`.
        release: Option<String>,
        /// Settings by their dotted names, as `sysctl` prints them.
        sysctls: BTreeMap<String, String>,
        /// Bytes of a page, in which `net.ipv4.tcp_mem` counts.
        page: Option<u64>,
        /// The route to the destination, or the default route.
        route: Option<Route> => one,
        /// The interface of the route, and those below it (of a VLAN, of a bond).
        interfaces: Vec<Interface> => each,
        /// The parameter cache: `ip tcp_metrics`. `None` where it could not be read.
        metrics: Option<Vec<Metrics>> => some,
        /// Counters since boot by the names that `nstat` has: `TcpExtTCPTimeouts`.
        counters: BTreeMap<String, u64>,
        /// What the CPUs' softirqs did since boot, a row for each CPU.
        softnet: Vec<Softnet> => each,
        /// The CPUs' clocks.
        clocks: Vec<Clock> => each,
        /// Programs that decide on sockets' settings (`BPF_CGROUP_SOCK_OPS`); `None` without the right to ask.
        sock_ops: Option<u32>,
        /// What could not be read.
        unseen: Vec<Unseen> => each,
    }

    /// Something that could not be read.
    struct Unseen of host::Unseen {
        /// Its name.
        what: String,
        /// Why not.
        why: String,
        /// The capability that is needed to read it.
        needs: Option<&'static str>,
    }

    /// The route to a destination.
    struct Route of host::Route {
        /// The destination; `None` where it is the default route.
        to: Option<IpAddr>,
        /// The number of the interface.
        interface: u32,
        /// The next hop, where there is one.
        gateway: Option<IpAddr>,
        /// Attributes that hold for connections of this route (`RTAX_*`), by the names that `ip route` has.
        attributes: BTreeMap<String, u32>,
        /// The attributes that are locked: TCP may not change them.
        locked: Vec<String>,
        /// The congestion control that the route names.
        congestion_control: Option<String>,
    }

    /// A network interface.
    struct Interface of host::Interface {
        /// Its name.
        name: String,
        /// Its number.
        index: u32,
        /// The kind of virtual device: `veth`, `vlan`; `None` for a NIC.
        kind: Option<String>,
        /// Whether it is up and has a carrier.
        running: Option<bool>,
        /// Bytes.
        mtu: Option<u32>,
        /// `txqueuelen`, in packets.
        queue_length: Option<u32>,
        /// The largest super-packet that it is handed, in segments.
        gso_max_segments: Option<u32>,
        /// The largest super-packet that it is handed, in bytes (`gso_max_size`).
        gso_max_bytes: Option<u32>,
        /// Its link's rate in bit/s; `None` where the driver does not know one.
        speed: Option<u64>,
        /// Whether it is full duplex.
        full_duplex: Option<bool>,
        /// Its offloads, by the names of `ethtool -k`; empty where unknown.
        offloads: BTreeMap<String, Offload> => by_name,
        /// Slots of the receive ring.
        receive_ring: Option<Ring> => one,
        /// Slots of the transmit ring.
        transmit_ring: Option<Ring> => one,
        /// Receive queues in use.
        receive_queues: Option<u32>,
        /// Queues with an RPS mask.
        steered_queues: Option<u32>,
        /// The CPUs that take each of its interrupts; empty where that is unknown.
        interrupts: Vec<Interrupt> => each,
        /// Counters since the interface was made.
        statistics: Statistics,
        /// Its queueing disciplines, the root first; `None` where they could not be asked for.
        queues: Option<Vec<Queue>> => some,
    }

    /// An offload.
    struct Offload of host::Offload {
        /// Whether it is on.
        on: bool,
        /// Whether it can be changed.
        can_change: bool,
    }

    /// A ring.
    struct Ring of host::Ring {
        /// Slots it has.
        slots: u32,
        /// Slots at most.
        most: u32,
    }

    /// An interrupt.
    struct Interrupt of host::Interrupt {
        /// Its number.
        number: u32,
        /// The CPUs that take it, as the kernel lists them: `0-3`.
        cpus: String,
    }

    /// `struct rtnl_link_stats64`, as far as it is judged.
    struct Statistics of host::Statistics {
        rx_packets: u64,
        tx_packets: u64,
        rx_crc_errors: u64,
        rx_over_errors: u64,
        rx_fifo_errors: u64,
        rx_missed_errors: u64,
        rx_dropped: u64,
        tx_dropped: u64,
        tx_carrier_errors: u64,
        collisions: u64,
    }

    /// A queueing discipline.
    struct Queue of host::Queue {
        /// `fq_codel`.
        kind: String,
        /// `MAJOR:MINOR`.
        handle: u32,
        /// Its parent; `u32::MAX` for the root (`TC_H_ROOT`).
        parent: u32,
        /// Its limit in packets; `None` where it has none.
        limit_packets: Option<u64>,
        /// Its limit in bytes.
        limit_bytes: Option<u64>,
        /// The maximum rate, in bit/s.
        rate: Option<u64>,
        /// The maximum rate of a flow, in bit/s.
        flow_rate: Option<u64>,
        /// The delay it adds, in ns.
        delay_ns: Option<u64>,
        /// The share of packets that it drops on purpose, of 2^32.
        loss: Option<u32>,
        /// Packets that it sent.
        packets: u64,
        /// Packets it dropped.
        drops: u64,
    }

    /// An entry of the parameter cache.
    struct Metrics of host::Metrics {
        /// The destination.
        to: Option<IpAddr>,
        /// `ssthresh`, in packets.
        ssthresh: Option<u32>,
        /// The smoothed RTT, in µs.
        rtt_us: Option<u32>,
    }

    /// A row of /proc/net/softnet_stat.
    struct Softnet of host::Softnet {
        /// Packets.
        processed: u64,
        /// Packets for which `net.core.netdev_max_backlog` had no room.
        dropped: u64,
        /// Runs that ended with packets left (`time_squeeze`).
        squeezed: u64,
        /// The CPU, since Linux 5.10.
        cpu: Option<u32>,
    }

    /// Frequency scaling of a CPU.
    struct Clock of host::Clock {
        /// The CPU.
        cpu: u32,
        /// `performance`.
        governor: String,
        /// `intel_pstate`.
        driver: String,
        /// The highest frequency that is allowed, in kHz.
        allowed_khz: Option<u64>,
        /// The highest frequency of the CPU, in kHz.
        most_khz: Option<u64>,
    }
}

fn some<A, B: From<A>>(all: Option<Vec<A>>) -> Option<Vec<B>> {
    all.map(each)
}

fn by_name<A, B: From<A>>(all: BTreeMap<String, A>) -> BTreeMap<String, B> {
    all.into_iter().map(|(name, one)| (name, one.into())).collect()
}
