//! How hosts, connections and packets appear outside the simulator: addresses, ports, TTL, segments of the model.

use crate::wire::Frame;
use slowpath_model::{End, Endpoint, FlowKey, IpFacts, SackBlock, SackBlocks, Segment};
use slowpath_tcp::packet::TcpOptions;
use std::net::{IpAddr, Ipv4Addr};

/// Ephemeral ports (`net.ipv4.ip_local_port_range`).
const FIRST_PORT: u32 = 32_768;
const PORTS: u32 = 28_232;
/// The port of every server: iperf3's.
const SERVER_PORT: u16 = 5201;
/// The initial TTL of Linux (`IPDEFTTL`), and the TTL after the one router of a path.
const SENT_TTL: u8 = 64;

/// The address of a host: 10.0.0.1 for the first.
pub fn address(host: usize) -> Ipv4Addr {
    let [.., high, low] = (host as u32 + 1).to_be_bytes();
    Ipv4Addr::new(10, 0, high, low)
}

/// The client's port of a connection.
pub fn client_port(connection: u32) -> u16 {
    (FIRST_PORT + connection % PORTS) as u16
}

/// The addresses and ports of a connection between two hosts.
pub fn key(connection: u32, hosts: [usize; 2]) -> FlowKey {
    let endpoint = |host: usize, port| Endpoint { address: IpAddr::V4(address(host)), port };
    FlowKey {
        a: endpoint(hosts[0], client_port(connection)),
        b: endpoint(hosts[1], SERVER_PORT),
        occurrence: connection / PORTS,
    }
}

/// The TTL of a packet where it is captured.
pub fn ttl(sent: bool) -> u8 {
    if sent { SENT_TTL } else { SENT_TTL - 1 }
}

/// The port of an end of a connection.
pub fn port(connection: u32, end: End) -> u16 {
    match end {
        End::A => client_port(connection),
        End::B => SERVER_PORT,
    }
}

/// A packet as captured, without its number.
pub fn segment(frame: &Frame, from: End, sent: bool) -> Segment {
    let packet = &frame.packet;
    let mut segment = Segment::new(from, packet.flags, packet.seq, packet.len);
    segment.ack = packet.acknowledges();
    segment.window = packet.window;
    segment.timestamps = packet.timestamps;
    segment.ip = IpFacts { id: Some(frame.id), ttl: ttl(sent), ecn: packet.ecn };
    match packet.options {
        TcpOptions::None => {}
        TcpOptions::Sack(sack) => {
            let mut blocks = SackBlocks::NONE;
            for block in sack.blocks(packet.ack) {
                blocks.push(SackBlock { start: block.start, end: block.end });
            }
            segment.sack = blocks;
        }
        TcpOptions::Syn(syn) => {
            segment.mss = syn.mss;
            segment.window_scale = syn.window_scale;
            segment.sack_permitted = syn.sack_permitted;
        }
    }
    segment
}
