//! Encodes packets for the kernel under test.

use super::{Addresses, options};
use crate::packet::{Body, Datagram, Echoed, Icmp, Segment};
use slowpath_wire::ip::{Fields, ICMP, ICMPV6, TCP, UDP, V4_BYTES, V6_BYTES};
use slowpath_wire::{checksum, tcp, udp};
use std::net::IpAddr;

/// A packet that does not fit into IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a packet of {0} bytes does not fit into IP")]
pub struct TooLong(usize);

/// A packet with its IP header and its checksums.
///
/// # Errors
/// If it is too long for IP.
pub fn datagram(datagram: &Datagram, addresses: Addresses) -> Result<Vec<u8>, TooLong> {
    let v6 = addresses.local.is_ipv6();
    let (protocol, payload) = match &datagram.body {
        Body::Tcp(segment) => (TCP, segment_bytes(datagram, segment, addresses)),
        Body::Udp { len } => (UDP, datagram_bytes(datagram, *len, addresses)),
        Body::Icmp(message) => (if v6 { ICMPV6 } else { ICMP }, icmp(datagram, message, addresses)),
    };
    let from = (addresses.remote, addresses.local);
    let mut packet = ip(datagram, protocol, payload.len(), from)?;
    packet.extend(payload);
    Ok(packet)
}

/// The IP header of a packet between two addresses.
fn ip(datagram: &Datagram, protocol: u8, payload: usize, from: (IpAddr, IpAddr)) -> Result<Vec<u8>, TooLong> {
    let counted = if from.0.is_ipv4() { payload + V4_BYTES } else { payload };
    u16::try_from(counted).map_err(|_| TooLong(counted))?;
    // No identification.
    let fields =
        Fields { class: datagram.class, flow_label: datagram.flow_label, id: 0, ttl: datagram.ttl, protocol };
    let mut header = Vec::with_capacity(V6_BYTES);
    fields.put(&mut header, from, payload as u32);
    Ok(header)
}

fn tcp_header(ports: (u16, u16), segment: &Segment) -> Vec<u8> {
    let Segment { seq, ack, window, urgent, .. } = *segment;
    let (source, destination) = ports;
    let fields = tcp::Fields { source, destination, seq, ack, control: segment.flags, window, urgent };
    let mut header = Vec::with_capacity(60);
    fields.put(&mut header, &options::encode(&segment.options));
    header
}

/// The checksum of a transport packet, including the addresses. It is the same in both directions.
fn checksum_of(addresses: Addresses, protocol: u8, packet: &[u8]) -> u16 {
    let between = checksum::addresses(addresses.remote, addresses.local);
    let length = u32::try_from(packet.len()).unwrap_or(u32::MAX);
    checksum::of(checksum::sum(packet) + checksum::pseudo_header(between, protocol, length))
}

fn segment_bytes(datagram: &Datagram, segment: &Segment, addresses: Addresses) -> Vec<u8> {
    let mut bytes = tcp_header((datagram.source_port, datagram.destination_port), segment);
    bytes.resize(bytes.len() + segment.len as usize, 0);
    let sum = checksum_of(addresses, TCP, &bytes);
    bytes[tcp::CHECKSUM..][..2].copy_from_slice(&sum.to_be_bytes());
    bytes
}

fn udp_header(ports: (u16, u16), len: u32) -> Vec<u8> {
    let mut header = Vec::with_capacity(udp::HEADER);
    udp::put(&mut header, ports, u16::try_from(len + udp::HEADER as u32).unwrap_or(u16::MAX));
    header
}

fn datagram_bytes(datagram: &Datagram, len: u32, addresses: Addresses) -> Vec<u8> {
    let mut bytes = udp_header((datagram.source_port, datagram.destination_port), len);
    bytes.resize(bytes.len() + len as usize, 0);
    let sum = udp::checksum(checksum_of(addresses, UDP, &bytes));
    bytes[udp::CHECKSUM..][..2].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// An ICMP message with the quoted packet: its IP header and first eight bytes. The datagram's ports are the quoted
/// packet's.
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
    let sum = if v6 { checksum_of(addresses, ICMPV6, &bytes) } else { checksum::of(checksum::sum(&bytes)) };
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
    // It was sent in the other direction; one too long to send cannot be quoted either.
    let mut bytes =
        ip(&about, protocol, len as usize, (addresses.local, addresses.remote)).unwrap_or_default();
    bytes.extend(start);
    bytes
}
