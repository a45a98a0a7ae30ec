//! The two hosts and the link between them, configured as the case requires.

use crate::error::LabError;
use crate::host::{DEVICE, Host, MAC, PATH_DEVICES};
use crate::namespaces::{Namespaces, Place};
use crate::path::PathConfig;
use crate::path::link::{LinkConfig, QueueLimit};
use crate::relay::{Way, tap};
use crate::settings::{Carrier, Family, MTU_BYTES, Offload, Settings};
use crate::vlan;
use crate::workload::stream::Hosts;
use slowpath_model::Rate;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

// Addresses for documentation: RFC 5737 and RFC 3849.
const V4: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
const V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)];

/// A host's address.
pub fn address(family: Family, host: Host) -> IpAddr {
    match family {
        Family::V4 => V4[host as usize].into(),
        Family::V6 => V6[host as usize].into(),
    }
}

/// The broadcast address of both hosts' network of 24 bits.
pub fn broadcast() -> Ipv4Addr {
    Ipv4Addr::from(u32::from(V4[0]) | 0xff)
}

/// Maximum number of packets that wait for the card (`txqueuelen`, `ether_setup`).
const CARD_QUEUE_PACKETS: u64 = 1000;
/// A card's descriptors hold as much as it sends in this time, in fractions of a second: byte queue limits keep a ring
/// no fuller than the time between two interrupts needs.
const CARD_RINGS_PER_S: u64 = 1000;
/// What the queue of [`direction`] holds at least.
const LEAST_QUEUE: Duration = Duration::from_millis(5);

/// Settings that every case pins, so that the machine's own do not matter: Linux 6.18's defaults, but without the
/// metrics cache.
pub(crate) const PINNED: [(&str, &str); 11] = [
    ("net.ipv4.tcp_rmem", "4096 131072 33554432"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ("net.ipv4.tcp_window_scaling", "1"),
    ("net.ipv4.tcp_timestamps", "1"),
    ("net.ipv4.tcp_sack", "1"),
    ("net.ipv4.tcp_dsack", "1"),
    ("net.ipv4.tcp_frto", "2"),
    ("net.ipv4.tcp_moderate_rcvbuf", "1"),
    ("net.ipv4.tcp_slow_start_after_idle", "1"),
    ("net.ipv4.tcp_ecn", "2"),
    ("net.ipv4.tcp_no_metrics_save", "1"),
];

/// Creates the three namespaces and configures them.
///
/// # Errors
/// If a command fails, as all do without root.
pub fn build(settings: &Settings) -> Result<(Namespaces, Hosts), LabError> {
    let mut namespaces = Namespaces::create()?;
    match settings.carrier {
        Carrier::Veth | Carrier::Netem => pairs(&namespaces, settings)?,
        Carrier::Tap => taps(&mut namespaces, settings)?,
    }
    let addresses = Host::BOTH.map(|host| address(settings.family, host));
    for (place, own, sysctls) in
        [(Place::Sender, 0, &settings.sender_sysctls), (Place::Receiver, 1, &settings.receiver_sysctls)]
    {
        for (name, value) in PINNED {
            namespaces.sysctl(place, name, value)?;
        }
        for (name, value) in sysctls {
            namespaces.sysctl(place, name, value)?;
        }
        offload(&namespaces, place, settings.offload_of(place))?;
        if settings.napi_of(place) {
            napi(&namespaces, place)?;
        }
        card(&namespaces, place, settings)?;
        host(&mut namespaces, place, settings, addresses[own], (addresses[1 - own], MAC[1 - own]))?;
    }
    if let Some(route) = &settings.sender_route {
        let to = addresses[1];
        namespaces.ip(Place::Sender, &format!("route add {to} dev {DEVICE} {route}"))?;
    }
    let hosts = Hosts {
        sender: addresses[0],
        receiver: addresses[1],
        sender_options: settings.sender_socket.clone(),
        receiver_options: settings.receiver_socket.clone(),
    };
    Ok((namespaces, hosts))
}

/// A pair of interfaces for each host, one of them on the path.
fn pairs(namespaces: &Namespaces, settings: &Settings) -> Result<(), LabError> {
    let (left, right) = PATH_DEVICES;
    for (place, mac, peer) in [(Place::Sender, MAC[0], left), (Place::Receiver, MAC[1], right)] {
        let path = namespaces.path(Place::Path);
        namespaces
            .ip(place, &format!("link add {DEVICE} address {mac} type veth peer name {peer} netns {path}"))?;
    }
    // Keeps the path's own stack out of it.
    namespaces.sysctl(Place::Path, "net.ipv6.conf.all.disable_ipv6", "1")?;
    for (device, host) in [(left, Place::Sender), (right, Place::Receiver)] {
        // Packets joined by the relay must reach the hosts unchanged. With TSO, a veth does without GRO on the other
        // side (drivers/net/veth.c: veth_skb_is_eligible_for_gro).
        let joins = if settings.offload_of(host) == Offload::SuperPackets { "on" } else { "off" };
        namespaces.execute(
            Place::Path,
            &format!("ethtool -K {device} tso {joins} gso {joins} gro off txvlan off"),
        )?;
        namespaces.ip(Place::Path, &format!("link set {device} up"))?;
    }
    Ok(())
}

/// An interface for each host, whose other end the path has as a file. Written frames reach the host unchanged: they
/// would pass through GRO only with `IFF_NAPI`.
fn taps(namespaces: &mut Namespaces, settings: &Settings) -> Result<(), LabError> {
    for (place, mac) in [(Place::Sender, MAC[0]), (Place::Receiver, MAC[1])] {
        let offload = settings.offload_of(place);
        let file = namespaces.inside(place, || tap::create(DEVICE, offload))?;
        namespaces.keep_tap(place, file);
        let queue = tap::QUEUE_FRAMES;
        namespaces.ip(place, &format!("link set {DEVICE} address {mac} txqueuelen {queue}"))?;
    }
    Ok(())
}

/// Address, route and neighbour; the network need not be asked for anything.
fn host(
    namespaces: &mut Namespaces,
    place: Place,
    settings: &Settings,
    own: IpAddr,
    (peer, peer_mac): (IpAddr, &str),
) -> Result<(), LabError> {
    match settings.family {
        Family::V4 => namespaces.sysctl(place, "net.ipv6.conf.all.disable_ipv6", "1")?,
        Family::V6 => {
            // There is no router to solicit.
            namespaces.sysctl(place, "net.ipv6.conf.all.router_solicitations", "0")?;
            namespaces.sysctl(place, "net.ipv6.conf.default.router_solicitations", "0")?;
        }
    }
    namespaces.ip(place, &format!("link set {DEVICE} up"))?;
    if let Some(id) = settings.vlan {
        let programs = namespaces.inside(place, || vlan::tag(id))?;
        namespaces.keep(programs);
    }
    let (prefix, nodad) = match settings.family {
        Family::V4 => (24, ""),
        Family::V6 => (64, " nodad"),
    };
    namespaces.ip(place, &format!("addr add {own}/{prefix} dev {DEVICE}{nodad}"))?;
    namespaces.ip(place, &format!("neigh replace {peer} lladdr {peer_mac} dev {DEVICE} nud permanent"))
}

/// Gives a host's interface the rate of its card. The relay spreads the token bucket's bursts at that rate; the socket
/// sees a queue that empties no faster, so that TCP small queues and pacing have something to work against. A veth
/// alone takes a packet from the sender before its send call returns.
fn card(namespaces: &Namespaces, place: Place, settings: &Settings) -> Result<(), LabError> {
    let Some(rate_bit_per_s) = settings.card_bit_per_s(place) else { return Ok(()) };
    // Ethernet's header counts at the device, not at the card's rate.
    const FRAME_BYTES: u64 = MTU_BYTES + 14;
    let rate = rate_bit_per_s.saturating_mul(FRAME_BYTES) / MTU_BYTES;
    let burst = (rate / 8 / CARD_RINGS_PER_S).max(2 * FRAME_BYTES);
    let limit = CARD_QUEUE_PACKETS * FRAME_BYTES;
    let tc = |line: String| namespaces.execute(place, &format!("tc qdisc add dev {DEVICE} {line}"));
    tc(format!("root handle 1: tbf rate {rate}bit burst {burst} limit {limit}"))?;
    tc(format!("parent 1: pfifo limit {CARD_QUEUE_PACKETS}"))
}

/// One direction of a path with a bottleneck of this rate, whose queue holds half an RTT, and never less than 5 ms.
pub fn direction(rate: Rate, rtt: Duration) -> PathConfig {
    let queue = rate.amount_in((rtt / 2).max(LEAST_QUEUE));
    let link = LinkConfig { rate, queue: QueueLimit::Bytes(queue), stalls: vec![] };
    PathConfig { link: Some(link), delay: rtt / 2, ..PathConfig::default() }
}

/// Both directions of the path between such hosts.
pub fn ways(settings: &Settings, configs: [&PathConfig; 2], seeds: [u64; 2]) -> [Way; 2] {
    let way = |n: usize, from: Place, to: Place| {
        let mut way = Way::new(configs[n], seeds[n]);
        way.joined_within_ns = match settings.offload_of(to) {
            Offload::SuperPackets => settings.joined_within_ns,
            Offload::PerPacket => 0,
        };
        way.card_bit_per_s = settings.card_bit_per_s(from);
        way
    };
    [way(0, Place::Sender, Place::Receiver), way(1, Place::Receiver, Place::Sender)]
}

/// Makes a host's veth device pass packets up through NAPI, as a card's driver does, instead of its CPU's backlog: only
/// NAPI has an id that a socket learns from its packets, and only with that can its reader poll (`sk_napi_id`). A veth
/// has NAPI while it has GRO, for packets from a device without TSO (`veth_enable_napi`, since 5.13;
/// `veth_skb_is_eligible_for_gro`). With so small a limit nothing is merged: a packet without PSH waits for the next
/// one or for the end of the poll.
fn napi(namespaces: &Namespaces, place: Place) -> Result<(), LabError> {
    namespaces.execute(place, &format!("ethtool -K {DEVICE} gro on"))?;
    namespaces.ip(place, &format!("link set {DEVICE} gro_max_size 1"))
}

/// Sets one host's offloads.
///
/// # Errors
/// If ethtool or the device refuses.
pub fn offload(namespaces: &Namespaces, place: Place, offload: Offload) -> Result<(), LabError> {
    match offload {
        Offload::PerPacket => namespaces
            .execute(place, &format!("ethtool -K {DEVICE} tx off rx off tso off gso off gro off txvlan off")),
        Offload::SuperPackets => {
            namespaces.execute(place, &format!("ethtool -K {DEVICE} tso on gso on gro on txvlan off"))
        }
    }
}
