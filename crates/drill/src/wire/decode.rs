//! Decodes packets that the kernel under test sends.

use super::{Addresses, options};
use crate::packet::{Body, Datagram, Echoed, Icmp, Segment};
use slowpath_wire::bytes::be16;
use slowpath_wire::ip::{ICMP, ICMPV6, Ip, TCP, UDP};
use slowpath_wire::tcp::{Fixed, HEADER};

/// A packet sent by the kernel from its address to the network's; `None` for anything else, or if it is cut short.
pub fn datagram(bytes: &[u8], addresses: Addresses) -> Option<Datagram> {
    let ip = Ip::parse(bytes)?;
    if ip.between() != (addresses.local, addresses.remote) {
        return None;
    }
    let payload = bytes.get(ip.header_bytes()..ip.total_bytes())?;
    let (source_port, destination_port, body) = match ip.protocol() {
        TCP => {
            let (source, destination) = ports(payload)?;
            (source, destination, Body::Tcp(tcp(payload)?))
        }
        UDP => {
            let (source, destination) = ports(payload)?;
            (source, destination, Body::Udp { len: u32::try_from(payload.len().checked_sub(8)?).ok()? })
        }
        ICMP | ICMPV6 => (0, 0, Body::Icmp(icmp(payload)?)),
        _ => return None,
    };
    Some(Datagram {
        source_port,
        destination_port,
        class: ip.class(),
        ttl: ip.ttl(),
        flow_label: match ip {
            Ip::V4(_) => 0,
            Ip::V6(v6) => v6.flow_label(),
        },
        body,
    })
}

fn ports(bytes: &[u8]) -> Option<(u16, u16)> {
    let ports = bytes.get(..4)?;
    Some((be16(ports, 0), be16(ports, 2)))
}

fn tcp(bytes: &[u8]) -> Option<Segment> {
    let fixed = Fixed(bytes.first_chunk()?);
    let header = fixed.header_bytes();
    let options = options::decode(bytes.get(HEADER..header)?)?;
    Some(Segment {
        flags: fixed.control(),
        seq: fixed.seq(),
        ack: fixed.ack(),
        len: u32::try_from(bytes.len().checked_sub(header)?).ok()?,
        window: fixed.window(),
        urgent: fixed.urgent(),
        options,
    })
}

/// The packet quoted by an ICMP message is not compared, and not parsed.
fn icmp(bytes: &[u8]) -> Option<Icmp> {
    let len = u32::try_from(bytes.len()).ok()?;
    Some(Icmp {
        kind: *bytes.first()?,
        code: *bytes.get(1)?,
        mtu: None,
        echo_id: be16(bytes.get(4..6)?, 0),
        echoed: Echoed::Raw { len },
    })
}
