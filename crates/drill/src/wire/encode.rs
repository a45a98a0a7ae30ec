//! Packets into bytes, from the network to the kernel under test.

use super::{Addresses, ICMP, ICMPV6, TCP, UDP, checksum, options};
use crate::packet::{Body, Datagram, Echoed, Icmp, Segment};
use std::net::IpAddr;

/// A packet that does not fit into IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a packet of {0} bytes does not fit into IP")]
pub struct TooLong(usize);

/// A packet with its IP header and its checksums.
///
/// # Errors
/// If it is longer than IP can say.
pub fn datagram(datagram: &Datagram, addresses: Addresses) -> Result<Vec<u8>, TooLong> {
    let v6 = addresses.local.is_ipv6();
    let (protocol, payload) = match &datagram.body {
        Body::Tcp(segment) => (TCP, tcp(datagram, segment, addresses)),
        Body::Udp { len } => (UDP, udp(datagram, *len, addresses)),
        Body::Icmp(message) => (if v6 { ICMPV6 } else { ICMP }, icmp(datagram, message, addresses)),
    };
    let from = (addresses.remote, addresses.local);
    let mut packet = ip(datagram, protocol, payload.len(), from)?;
    packet.extend(payload);
    Ok(packet)
}

/// The IP header of a packet between two addresses.
fn ip(datagram: &Datagram, protocol: u8, payload: usize, from: (IpAddr, IpAddr)) -> Result<Vec<u8>, TooLong> {
    let mut header = Vec::with_capacity(40);
    match from {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let length = u16::try_from(payload + 20).map_err(|_| TooLong(payload + 20))?;
            header.extend([0x45, datagram.class]);
            header.extend(length.to_be_bytes());
            // No identification, and not to be fragmented.
            header.extend([0, 0, 0x40, 0, datagram.ttl, protocol, 0, 0]);
            header.extend(source.octets());
            header.extend(destination.octets());
            let sum = checksum::of(&[&header]);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (source, destination) => {
            let length = u16::try_from(payload).map_err(|_| TooLong(payload))?;
            let first = 6 << 28 | u32::from(datagram.class) << 20 | (datagram.flow_label & 0xf_ffff);
            header.extend(first.to_be_bytes());
            header.extend(length.to_be_bytes());
            header.extend([protocol, datagram.ttl]);
            for address in [source, destination] {
                header.extend(match address {
                    IpAddr::V6(address) => address.octets(),
                    IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                });
            }
        }
    }
    Ok(header)
}

fn tcp_header(ports: (u16, u16), segment: &Segment) -> Vec<u8> {
    let options = options::encode(&segment.options);
    let words = u8::try_from(5 + options.len().div_ceil(4)).unwrap_or(15).min(15);
    let mut header = Vec::with_capacity(60);
    header.extend(ports.0.to_be_bytes());
    header.extend(ports.1.to_be_bytes());
    header.extend(segment.seq.to_be_bytes());
    header.extend(segment.ack.to_be_bytes());
    header.extend((u16::from(words) << 12 | segment.flags.0 & 0xfff).to_be_bytes());
    header.extend(segment.window.to_be_bytes());
    header.extend([0, 0]);
    header.extend(segment.urgent.to_be_bytes());
    header.extend(options);
    header.resize(usize::from(words) * 4, 0);
    header
}

fn tcp(datagram: &Datagram, segment: &Segment, addresses: Addresses) -> Vec<u8> {
    let mut bytes = tcp_header((datagram.source_port, datagram.destination_port), segment);
    bytes.resize(bytes.len() + segment.len as usize, 0);
    let sum = checksum::of_transport(addresses, TCP, &bytes);
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    bytes
}

fn udp_header(ports: (u16, u16), len: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8);
    bytes.extend(ports.0.to_be_bytes());
    bytes.extend(ports.1.to_be_bytes());
    bytes.extend(u16::try_from(len + 8).unwrap_or(u16::MAX).to_be_bytes());
    bytes.extend([0, 0]);
    bytes
}

fn udp(datagram: &Datagram, len: u32, addresses: Addresses) -> Vec<u8> {
    let mut bytes = udp_header((datagram.source_port, datagram.destination_port), len);
    bytes.resize(bytes.len() + len as usize, 0);
    // A sum of zero would say that there is none (RFC 768).
    let sum = match checksum::of_transport(addresses, UDP, &bytes) {
        0 => 0xffff,
        sum => sum,
    };
    bytes[6..8].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// An ICMP message with what it says of the packet that it is about: that one's IP header and its first eight bytes.
/// The ports of the datagram are that packet's own.
fn icmp(datagram: &Datagram, message: &Icmp, addresses: Addresses) -> Vec<u8> {
    let v6 = addresses.local.is_ipv6();
    let mut bytes = vec![message.kind, message.code, 0, 0];
    match message.mtu {
        Some(mtu) => bytes.extend(mtu.to_be_bytes()),
        None => {
            bytes.extend(message.echo_id.to_be_bytes());
            bytes.extend([0, 0]);
        }
    }
    bytes.extend(echoed(datagram, message.echoed, addresses));
    let sum = if v6 { checksum::of_transport(addresses, ICMPV6, &bytes) } else { checksum::of(&[&bytes]) };
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    bytes
}

fn echoed(datagram: &Datagram, echoed: Echoed, addresses: Addresses) -> Vec<u8> {
    let ports = (datagram.source_port, datagram.destination_port);
    let (protocol, len, mut start) = match echoed {
        Echoed::Raw { len } => return vec![0; (len as usize).saturating_sub(8)],
        Echoed::Udp { len } => (UDP, 8 + len, udp_header(ports, len)),
        Echoed::Tcp { seq, len } => {
            (TCP, 20 + len, tcp_header(ports, &Segment { seq, ..Segment::default() }))
        }
    };
    start.truncate(8);
    let about = Datagram { class: 0, flow_label: 0, ..datagram.clone() };
    // It was sent the other way; one too long to be sent cannot be echoed either.
    let mut bytes =
        ip(&about, protocol, len as usize, (addresses.local, addresses.remote)).unwrap_or_default();
    bytes.extend(start);
    bytes
}
