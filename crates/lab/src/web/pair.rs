//! The link between server and client: a pair of veth devices.

use super::hosts::HOSTS;
use super::{Requested, WebCase, card};
use crate::cpus;
use crate::error::LabError;
use crate::host::{DEVICE, Host, MAC};
use crate::namespaces::Namespaces;
use crate::settings::Family;
use crate::testbed;
use crate::workload::programs::prefer;

/// Connects the two hosts, each of which receives on its own CPU.
///
/// # Errors
/// If a command fails, as all do without root, or the kernel cannot make a host receive on its own CPU.
pub fn lay(namespaces: &Namespaces, cpus: [u32; 2]) -> Result<(), LabError> {
    let client = namespaces.path(HOSTS[1]);
    namespaces.ip(
        HOSTS[0],
        &format!(
            "link add {DEVICE} address {} type veth peer name {DEVICE} address {} netns {client}",
            MAC[0], MAC[1]
        ),
    )?;
    for (at, place) in HOSTS.into_iter().enumerate() {
        namespaces.sysctl(place, "net.ipv6.conf.all.disable_ipv6", "1")?;
        card::prepare(namespaces, place)?;
        namespaces.ip(place, &format!("link set {DEVICE} up"))?;
        let own = testbed::address(Family::V4, Host::BOTH[at]);
        let peer = testbed::address(Family::V4, Host::BOTH[1 - at]);
        namespaces.ip(place, &format!("addr add {own}/24 dev {DEVICE}"))?;
        namespaces
            .ip(place, &format!("neigh replace {peer} lladdr {} dev {DEVICE} nud permanent", MAC[1 - at]))?;
        for (name, value) in testbed::PINNED {
            namespaces.sysctl(place, name, value)?;
        }
        // Nearest to the paper's BIC, and the default of most kernels; with BBR, a timer would send TCP's packets.
        prefer(namespaces, Host::BOTH[at], "cubic", peer)?;
    }
    // Super-packets do not wait for a poll.
    cpus::steer_to(namespaces, HOSTS[1], cpus[1])?;
    card::start(namespaces, cpus)?;
    // Connections closed by the server keep their ports for a minute (TCP_TIMEWAIT_LEN); the more ports there are, the
    // rarer one is reused in that time.
    namespaces.sysctl(HOSTS[1], "net.ipv4.ip_local_port_range", "1024 65535")
}

/// Maximum number of segments of a super-packet (`GSO_MAX_SEGS`).
const MOST_SEGMENTS: u32 = 65535;

/// Makes the server's TCP produce super-packets, which the device takes as they are, or single segments.
///
/// Switching off the device's offloads is not enough: since 4.17 TCP produces super-packets whatever the device
/// supports (`sk_setup_caps`), and the stack cuts them just before the device (`validate_xmit_skb`). In 2.6.14 buffers
/// were single segments without TSO (`tcp_current_mss`); that is a `gso_max_segs` of one.
///
/// # Errors
/// If ethtool or the device refuses.
pub fn segmentation(namespaces: &Namespaces, tso: bool) -> Result<(), LabError> {
    let [server, _] = HOSTS;
    let (switch, most) = if tso { ("on", MOST_SEGMENTS) } else { ("off", 1) };
    namespaces.execute(server, &format!("ethtool -K {DEVICE} tso {switch} gso {switch}"))?;
    namespaces.ip(server, &format!("link set {DEVICE} gso_max_segs {most}"))
}

/// Connections open at a time. Enough that the server always has one to serve; and few enough that what is in flight, a
/// file in segments for each, fits the client's backlog (`net.core.netdev_max_backlog`, 1000 packets for the whole
/// machine, which the lab must not change).
pub fn connections(case: WebCase) -> u32 {
    const BACKLOG_PACKETS: u32 = 1000;
    // With 1448 bytes in each; a super-packet has no more than fits (`GSO_LEGACY_MAX_SIZE`).
    let packet_bytes = if case.tso { 65_536 } else { 1448 };
    // Large files have most of what is in flight; but of each no more than the client's first window, of 64 KiB, when
    // most connections are young.
    let kib = match case.requested {
        Requested::FileKib(kib) => kib,
        Requested::Mixed => 64,
    };
    // One more for the header of the answer.
    let packets = (kib * 1024).div_ceil(packet_bytes) + 1;
    (BACKLOG_PACKETS * 3 / 4 / packets).clamp(8, 128)
}

#[cfg(test)]
mod tests {
    use super::super::Server;
    use super::*;

    #[test]
    fn packets_in_flight_fit_the_netdev_backlog() {
        let of = |tso| {
            let requested = [1, 8, 64, 1024].map(Requested::FileKib);
            requested.map(|requested| {
                let server = Server::Nginx;
                connections(WebCase { requested, requests: 1, sendfile: true, tso, server })
            })
        };
        assert_eq!((of(false), of(true)), ([128, 107, 15, 8], [128, 128, 128, 44]));
    }
}
