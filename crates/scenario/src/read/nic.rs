//! `[hosts.NAME.nic]`.

use crate::file::Place;
use crate::host::Nic;
use crate::read::cpu;
use crate::schema::quantity::Affinity;
use crate::schema::{Key, Reader, Section, Sub};
use slowpath_kernels::KernelProfile;
use slowpath_model::{Bytes, Rate};
use std::time::Duration;

static RATE: Key<Rate> = Key::new("rate", "Its rate in each direction, in bits of IP packet per second.")
    .range("1 kbit/s", "1 Tbit/s")
    .default("10 Gbit/s", "what servers have had since about 2010");
static MTU: Key<Bytes> =
    Key::new("mtu", "Largest IP packet.").range("576 B", "9216 B").default("1500 B", "RFC 894; Ethernet");
static RX_RING: Key<u32> =
    Key::new("rx-ring", "Descriptors for packets that arrive; one without a descriptor is dropped.")
        .range("1", "65536")
        .default("512", "drivers/net/ethernet/intel/ixgbe/ixgbe.h: IXGBE_DEFAULT_RXD");
static TX_RING: Key<u32> = Key::new("tx-ring", "Descriptors for packets to send.")
    .range("1", "65536")
    .default("512", "drivers/net/ethernet/intel/ixgbe/ixgbe.h: IXGBE_DEFAULT_TXD");
static INTERRUPT_DELAY: Key<Duration> =
    Key::new("interrupt-delay", "How long after a packet's arrival the interrupt is raised at the latest.")
        .range("0 s", "100 ms")
        .default("50 us", "20,000 interrupts a second (ixgbe's IXGBE_20K_ITR)");
static INTERRUPT_PACKETS: Key<u32> =
    Key::new("interrupt-packets", "How many packets raise the interrupt before that time is over.")
        .range("1", "65536")
        .default("64", "one poll's worth (NAPI_POLL_WEIGHT)");
static INTERRUPT_CPU: Key<u32> = Key::new(
    "interrupt-cpu",
    "The CPU that takes its interrupts and runs its softirqs; of several, the one that takes the first.",
)
.default("0", "the first CPU");
static INTERRUPT_AFFINITY: Key<Affinity> = Key::new(
    "interrupt-affinity",
    "Which CPUs take its interrupts: `one`, or all `in-turn`, as a board delivers them that gives each to a CPU of lowest \
     priority, while all have the same.",
)
.default("one", "what irqbalance and MSI leave; two Pentium III took them in turn (I/O APIC, lowest-priority delivery)");
static TSO: Key<bool> = Key::new("tso", "Whether it cuts super-packets into packets itself.")
    .computed("whether the kernel makes super-packets", "every card since about 2005 can");
static GRO: Key<bool> = Key::new("gro", "Whether packets of a flow are merged before the stack sees them.")
    .computed("whether the kernel does that", "ethtool -k: generic-receive-offload is on");
static CHECKSUM_OFFLOAD: Key<bool> = Key::new(
    "checksum-offload",
    "Whether it makes and checks checksums; otherwise the CPU does, for every byte.",
)
.default("true", "ethtool -k: tx-checksumming and rx-checksumming are on");

/// A network card.
pub static NIC: Section = Section {
    heading: "[hosts.NAME.nic]",
    meaning: "A host's network card and its driver. All of the host's paths use it.",
    keys: &[
        &RATE,
        &MTU,
        &RX_RING,
        &TX_RING,
        &INTERRUPT_DELAY,
        &INTERRUPT_PACKETS,
        &INTERRUPT_CPU,
        &INTERRUPT_AFFINITY,
        &TSO,
        &GRO,
        &CHECKSUM_OFFLOAD,
    ],
    also: None,
};

/// Reads a host's network card.
pub fn read(host: &Reader<'_>, key: &'static Sub, kernel: &KernelProfile, cpus: u32) -> Nic {
    let start = Place::in_file(0..0);
    let (table, place) = host.table(key).map_or((None, &start), |(table, place)| (Some(table), place));
    let prefix = host.prefix_of(key);
    let reader = Reader::new(host.context(), &NIC, table, place, &prefix);
    let nic = Nic {
        rate: reader.get(&RATE),
        mtu: reader.get(&MTU),
        rx_ring: reader.get(&RX_RING),
        tx_ring: reader.get(&TX_RING),
        interrupt_delay: reader.get(&INTERRUPT_DELAY),
        interrupt_packets: reader.get(&INTERRUPT_PACKETS),
        interrupt_cpu: reader.get(&INTERRUPT_CPU),
        interrupt_affinity: reader.get(&INTERRUPT_AFFINITY),
        tso: reader.or(&TSO, kernel.tcp.super_packets, "as the kernel makes super-packets or not"),
        gro: reader.or(&GRO, kernel.receive.gro, "as the kernel merges or not"),
        checksum_offload: reader.get(&CHECKSUM_OFFLOAD),
    };
    cpu::check(&reader, &INTERRUPT_CPU, Some(nic.interrupt_cpu), cpus);
    if nic.tso && !kernel.tcp.super_packets {
        reader.refuse(
            &TSO,
            format!("{} makes no super-packets that could be cut", kernel.name),
            "leave this out",
        );
    }
    if nic.gro && !kernel.receive.gro {
        reader.refuse(&GRO, format!("{} does not merge packets", kernel.name), "leave this out");
    }
    nic
}
