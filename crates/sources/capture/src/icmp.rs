//! Errors of ICMP and ICMPv6, which quote the packet that they are about.
//!
//! Reading list: RFC 792 (at least the first eight bytes behind the IP header are quoted), RFC 1812 (section 4.3.2.3),
//! RFC 4443 (section 2.4).

use crate::addresses::Addresses;
use crate::decode;
use crate::layer::{Header, Layer, Outer, Skip, Walk};
use slowpath_model::IcmpKind;
use slowpath_wire::bytes::{be16, be32};
use slowpath_wire::ip::ICMP;
use std::net::IpAddr;

/// An ICMP error that quotes a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The protocol that it came in: ICMP or ICMPv6.
    pub protocol: u8,
    /// Who sent it.
    pub from: IpAddr,
    /// What it says.
    pub kind: IcmpKind,
    /// Between whom the segment went.
    pub addresses: Addresses,
    /// The ports of the segment's sender and receiver.
    pub ports: (u16, u16),
    /// The segment's sequence number.
    pub seq: u32,
}

/// The type, the code and four more bytes, or eight bytes of TCP.
const HEADER: usize = 8;

/// Why a packet of ICMP or ICMPv6 is no TCP segment.
pub(crate) fn skip(protocol: u8, outer: Outer, layer: Layer<'_>, walk: &mut Walk) -> Skip {
    quote(protocol, outer, layer, walk).map_or(Skip::NotTcp(protocol), Skip::IcmpError)
}

/// The segment may have been inside a tunnel's packet, if enough of that is quoted.
fn quote(protocol: u8, outer: Outer, layer: Layer<'_>, walk: &mut Walk) -> Option<Quote> {
    let icmp = layer.data.first_chunk::<HEADER>()?;
    let (kind, code, word) = (icmp[0], icmp[1], be32(icmp, 4));
    let (kind, mut header) = match protocol {
        ICMP => (IcmpKind::of_v4(kind, code, word)?, Header::Ipv4),
        _ => (IcmpKind::of_v6(kind, code, word)?, Header::Ipv6),
    };
    let mut quoted = layer.after(HEADER).ok()?;
    let segment = loop {
        match header {
            Header::Tcp(segment) => break segment,
            // No error is sent about an error.
            Header::Icmp(..) => return None,
            _ => (header, quoted) = decode::inside(header, quoted, walk).ok()?,
        }
    };
    let tcp = quoted.data.first_chunk::<HEADER>()?;
    Some(Quote {
        protocol,
        from: outer.addresses.source(),
        kind,
        addresses: segment.addresses,
        ports: (be16(tcp, 0), be16(tcp, 2)),
        seq: be32(tcp, 4),
    })
}
