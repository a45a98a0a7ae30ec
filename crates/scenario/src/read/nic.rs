//! `[hosts.NAME.nic]`.

use crate::file::Place;
use crate::host::{Bus, Nic};
use crate::read::cpu;
use crate::schema::quantity::Affinity;
use crate::schema::{Key, Reader, Section, Sub};
use slowpath_kernels::KernelProfile;
use slowpath_model::{Bytes, Rate};
use std::time::Duration;

static RATE: Key<Rate> = Key::new("rate", "Rate in each direction, in bits of IP packets per second.")
    .range("1 kbit/s", "1 Tbit/s")
    .default("10 Gbit/s", "usual for servers since about 2010");
static MTU: Key<Bytes> =
    Key::new("mtu", "Largest IP packet.").range("576 B", "9216 B").default("1500 B", "RFC 894; Ethernet");
static RX_RING: Key<u32> = Key::new("rx-ring", "Receive descriptors. A packet that finds none is dropped.")
    .range("1", "65536")
    .default("512", "drivers/net/ethernet/intel/ixgbe/ixgbe.h: IXGBE_DEFAULT_RXD");
static TX_RING: Key<u32> = Key::new("tx-ring", "Transmit descriptors.")
    .range("1", "65536")
    .default("512", "drivers/net/ethernet/intel/ixgbe/ixgbe.h: IXGBE_DEFAULT_TXD");
static INTERRUPT_DELAY: Key<Duration> =
    Key::new("interrupt-delay", "Longest time between a packet's arrival and the interrupt.")
        .range("0 s", "100 ms")
        .default("50 us", "20,000 interrupts per second (ixgbe's IXGBE_20K_ITR)");
static INTERRUPT_PACKETS: Key<u32> =
    Key::new("interrupt-packets", "Number of packets that raise the interrupt before that time is over.")
        .range("1", "65536")
        .default("64", "one poll's worth (NAPI_POLL_WEIGHT)");
static INTERRUPT_CPU: Key<u32> = Key::new(
    "interrupt-cpu",
    "The CPU that handles its interrupts and softirqs. With `in-turn`, the CPU that handles the first.",
)
.default("0", "the first CPU");
static INTERRUPT_AFFINITY: Key<Affinity> = Key::new(
    "interrupt-affinity",
    "Which CPUs handle its interrupts: `one`, or all `in-turn`. A board does the latter if it delivers each interrupt \
     to a CPU of lowest priority and all have the same priority.",
)
.default("one", "the result of irqbalance and MSI; two Pentium III took them in turn (I/O APIC, lowest-priority \
                 delivery)");
static TSO: Key<bool> = Key::new("tso", "Whether the NIC splits super-packets into packets.")
    .computed("whether the kernel makes super-packets", "every NIC since about 2005 can");
static GRO: Key<bool> = Key::new("gro", "Whether packets of a flow are merged before they reach the stack.")
    .computed("whether the kernel supports it", "ethtool -k: generic-receive-offload is on");
static CHECKSUM_OFFLOAD: Key<bool> = Key::new(
    "checksum-offload",
    "Whether the NIC computes and checks checksums. Otherwise the CPU does, for every byte.",
)
.default("true", "ethtool -k: tx-checksumming and rx-checksumming are on");

static BUS: Sub = Sub::table("bus", "The bus between NIC and memory. Default: it takes no time.");
static BUS_RATE: Key<Rate> = Key::new("rate", "Rate within a burst: width times clock.")
    .range("1 Mbit/s", "1 Tbit/s")
    .default("1066 Mbit/s", "PCI of 32 bit at 33.3 MHz");
static BURST: Key<Bytes> = Key::new("burst", "Largest number of bytes in one transaction.")
    .range("4 B", "4 KiB")
    .default("64 B", "two cache lines of a Pentium III");
static LOST: Key<Duration> = Key::new(
    "transaction-time",
    "Time of each transaction besides its data: arbitration, address, the target's latency, turnaround.",
)
.range("0 s", "100 us")
.default("240 ns", "8 clocks of 33.3 MHz");
static DESCRIPTOR: Key<Bytes> =
    Key::new("descriptor", "Size of a frame's descriptor, which is read from memory and written back.")
        .range("0 B", "4 KiB")
        .default("32 B", "drivers/net/skge.h: struct skge_rx_desc of 2.6.14");
static MEMORY: Key<Bytes> =
    Key::new("memory", "What the NIC can hold of received frames that wait for the bus. Others are dropped.")
        .range("2 KiB", "1 GiB")
        .default("512 KiB", "a card with memory for frames of both directions");

/// The bus of a NIC.
pub static BUS_SECTION: Section = Section {
    heading: "[hosts.NAME.nic.bus]",
    meaning: "A bus that carries one transaction at a time, in either direction, such as PCI.",
    keys: &[&BUS_RATE, &BURST, &LOST, &DESCRIPTOR, &MEMORY],
    also: None,
};

/// A NIC.
pub static NIC: Section = Section {
    heading: "[hosts.NAME.nic]",
    meaning: "A host's NIC and its driver. All paths of the host use it.",
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
        &BUS,
    ],
    also: None,
};

fn read_bus(nic: &Reader<'_>) -> Option<Bus> {
    let (table, place) = nic.table(&BUS)?;
    let prefix = nic.prefix_of(&BUS);
    let reader = Reader::new(nic.context(), &BUS_SECTION, Some(table), place, &prefix);
    Some(Bus {
        rate: reader.get(&BUS_RATE),
        burst: reader.get(&BURST),
        lost: reader.get(&LOST),
        descriptor: reader.get(&DESCRIPTOR),
        memory: reader.get(&MEMORY),
    })
}

/// Reads a host's NIC.
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
        bus: read_bus(&reader),
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
