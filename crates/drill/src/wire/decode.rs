//! Bytes into packets, from the kernel under test to the network.

use super::{Addresses, ICMP, ICMPV6, TCP, UDP, options};
use crate::packet::{Body, Datagram, Echoed, Icmp, Segment};
use slowpath_model::Flags;
use std::net::IpAddr;

/// A packet that the kernel sent from its address to the network's; `None` for what is none, is cut short, or is
/// between other addresses.
pub fn datagram(bytes: &[u8], addresses: Addresses) -> Option<Datagram> {
    let header = ip(bytes)?;
    if (header.source, header.destination) != (addresses.local, addresses.remote) {
        return None;
    }
    let payload = header.payload;
    let (source_port, destination_port, body) = match header.protocol {
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
        class: header.class,
        ttl: header.ttl,
        flow_label: header.flow_label,
        body,
    })
}

struct Ip<'a> {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    class: u8,
    ttl: u8,
    flow_label: u32,
    payload: &'a [u8],
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn ip(bytes: &[u8]) -> Option<Ip<'_>> {
    match bytes.first()? >> 4 {
        4 => {
            let header = usize::from(bytes[0] & 15) * 4;
            let address = |at: usize| -> Option<IpAddr> {
                let octets: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
                Some(octets.into())
            };
            Some(Ip {
                source: address(12)?,
                destination: address(16)?,
                protocol: bytes[9],
                class: bytes[1],
                ttl: bytes[8],
                flow_label: 0,
                payload: bytes.get(header..usize::from(u16_at(bytes, 2)?))?,
            })
        }
        6 => {
            let first = u32_at(bytes, 0)?;
            let address = |at: usize| -> Option<IpAddr> {
                let octets: [u8; 16] = bytes.get(at..at + 16)?.try_into().ok()?;
                Some(octets.into())
            };
            Some(Ip {
                source: address(8)?,
                destination: address(24)?,
                protocol: bytes[6],
                class: (first >> 20) as u8,
                ttl: bytes[7],
                flow_label: first & 0xf_ffff,
                payload: bytes.get(40..40 + usize::from(u16_at(bytes, 4)?))?,
            })
        }
        _ => None,
    }
}

fn ports(bytes: &[u8]) -> Option<(u16, u16)> {
    Some((u16_at(bytes, 0)?, u16_at(bytes, 2)?))
}

fn tcp(bytes: &[u8]) -> Option<Segment> {
    let control = u16_at(bytes, 12)?;
    let header = usize::from(control >> 12) * 4;
    let options = options::decode(bytes.get(20..header)?)?;
    Some(Segment {
        flags: Flags(control & 0xfff),
        seq: u32_at(bytes, 4)?,
        ack: u32_at(bytes, 8)?,
        len: u32::try_from(bytes.len().checked_sub(header)?).ok()?,
        window: u16_at(bytes, 14)?,
        urgent: u16_at(bytes, 18)?,
        options,
    })
}

/// What an ICMP message is about is not compared, and not read.
fn icmp(bytes: &[u8]) -> Option<Icmp> {
    let len = u32::try_from(bytes.len()).ok()?;
    Some(Icmp {
        kind: *bytes.first()?,
        code: *bytes.get(1)?,
        mtu: None,
        echo_id: u16_at(bytes, 4)?,
        echoed: Echoed::Raw { len },
    })
}
