//! Errors of ICMP and ICMPv6, which quote the packet that caused them.
//!
//! Reading list: RFC 792 (at least the first eight bytes after the IP header are quoted), RFC 1812 (section 4.3.2.3),
//! RFC 4443 (section 2.4).

use crate::layer::{Header, Layer, Outer, Quote};
use slowpath_model::IcmpKind;
use slowpath_wire::bytes::{be16, be32};
use slowpath_wire::ip::ICMP;
use std::net::IpAddr;

/// Type, code, checksum and four more bytes, or eight bytes of TCP.
const HEADER: usize = 8;

/// An ICMP error: its kind, and the packet that it quotes.
pub(crate) struct QuotingError<'a> {
    protocol: u8,
    from: IpAddr,
    kind: IcmpKind,
    /// The first header of the quoted packet, and the quoted bytes.
    pub(crate) quoted: (Header, Layer<'a>),
}

impl<'a> QuotingError<'a> {
    /// The error in a packet of ICMP or ICMPv6, if it is one.
    pub(crate) fn parse(protocol: u8, outer: Outer, layer: Layer<'a>) -> Option<Self> {
        let icmp = layer.data.first_chunk::<HEADER>()?;
        let (kind, code, word) = (icmp[0], icmp[1], be32(icmp, 4));
        let (kind, header) = match protocol {
            ICMP => (IcmpKind::of_v4(kind, code, word)?, Header::Ipv4),
            _ => (IcmpKind::of_v6(kind, code, word)?, Header::Ipv6),
        };
        let quoted = (header, layer.after(HEADER).ok()?);
        Some(Self { protocol, from: outer.addresses.source(), kind, quoted })
    }

    /// The error with the quoted TCP segment, after all headers before it.
    pub(crate) fn about(&self, segment: Outer, layer: Layer<'_>) -> Option<Quote> {
        let tcp = layer.data.first_chunk::<HEADER>()?;
        Some(Quote {
            protocol: self.protocol,
            from: self.from,
            kind: self.kind,
            addresses: segment.addresses,
            ports: (be16(tcp, 0), be16(tcp, 2)),
            seq: be32(tcp, 4),
        })
    }
}
