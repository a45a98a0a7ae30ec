//! The headers of IPv4 (RFC 791) and IPv6 (RFC 8200), read in place and written.

use crate::bytes::{be16, be32, be128};
use crate::checksum;
use std::net::IpAddr;

/// The length of an IPv4 header without options.
pub const V4_BYTES: usize = 20;
/// The length of the IPv6 header.
pub const V6_BYTES: usize = 40;

// Protocols, as IANA numbers them.
/// ICMP.
pub const ICMP: u8 = 1;
/// TCP.
pub const TCP: u8 = 6;
/// UDP.
pub const UDP: u8 = 17;
/// ICMPv6.
pub const ICMPV6: u8 = 58;

/// The DF bit in an IPv4 header's flags and offset.
const DONT_FRAGMENT: u16 = 0x4000;

/// The fixed part of an IPv4 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct V4<'a>(pub &'a [u8; V4_BYTES]);

/// The header of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct V6<'a>(pub &'a [u8; V6_BYTES]);

impl V4<'_> {
    /// 4 in a valid header.
    #[inline(always)]
    pub fn version(self) -> u8 {
        self.0[0] >> 4
    }

    /// The header length field, in bytes: less than 20 if it is malformed.
    #[inline(always)]
    pub fn header_bytes(self) -> usize {
        usize::from(self.0[0] & 0xf) * 4
    }

    /// The traffic class: DSCP and ECN.
    #[inline(always)]
    pub fn class(self) -> u8 {
        self.0[1]
    }

    /// The packet's length, including the header. 0 in a capture of a packet that a NIC will segment.
    #[inline(always)]
    pub fn total_bytes(self) -> usize {
        usize::from(be16(self.0, 2))
    }

    /// The identification.
    #[inline(always)]
    pub fn id(self) -> u16 {
        be16(self.0, 4)
    }

    /// The fragment's offset in units of 8 bytes; 0 in a whole packet and in the first fragment.
    #[inline(always)]
    pub fn fragment_offset(self) -> u16 {
        be16(self.0, 6) & 0x1fff
    }

    /// Whether it is a fragment, including the first.
    #[inline(always)]
    pub fn is_fragment(self) -> bool {
        be16(self.0, 6) & 0x3fff != 0
    }

    /// Whether it is a fragment other than the last.
    #[inline(always)]
    pub fn has_more_fragments(self) -> bool {
        be16(self.0, 6) & 0x2000 != 0
    }

    /// Time to live.
    #[inline(always)]
    pub fn ttl(self) -> u8 {
        self.0[8]
    }

    /// The protocol number.
    #[inline(always)]
    pub fn protocol(self) -> u8 {
        self.0[9]
    }

    /// The sender's address.
    #[inline(always)]
    pub fn source(self) -> u32 {
        be32(self.0, 12)
    }

    /// The receiver's address.
    #[inline(always)]
    pub fn destination(self) -> u32 {
        be32(self.0, 16)
    }
}

impl V6<'_> {
    /// 6 in a valid header.
    #[inline(always)]
    pub fn version(self) -> u8 {
        self.0[0] >> 4
    }

    /// The traffic class: DSCP and ECN.
    #[inline(always)]
    pub fn class(self) -> u8 {
        (be16(self.0, 0) >> 4) as u8
    }

    /// The flow label, 20 bits.
    #[inline(always)]
    pub fn flow_label(self) -> u32 {
        be32(self.0, 0) & 0xf_ffff
    }

    /// The payload length, in bytes. 0 in a jumbogram.
    #[inline(always)]
    pub fn payload_bytes(self) -> usize {
        usize::from(be16(self.0, 4))
    }

    /// The protocol number, or the first extension header.
    #[inline(always)]
    pub fn next_header(self) -> u8 {
        self.0[6]
    }

    /// The hop limit.
    #[inline(always)]
    pub fn hop_limit(self) -> u8 {
        self.0[7]
    }

    /// The sender's address.
    #[inline(always)]
    pub fn source(self) -> u128 {
        be128(self.0, 8)
    }

    /// The receiver's address.
    #[inline(always)]
    pub fn destination(self) -> u128 {
        be128(self.0, 24)
    }
}

/// A header of either version, for readers of ordinary packets only: no fragments, no extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ip<'a> {
    /// IPv4.
    V4(V4<'a>),
    /// IPv6.
    V6(V6<'a>),
}

impl<'a> Ip<'a> {
    /// The header at the start of `packet`; `None` if it is cut short, of another version, or states a length shorter
    /// than a header.
    pub fn parse(packet: &'a [u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => packet.first_chunk().map(V4).filter(|v4| v4.header_bytes() >= V4_BYTES).map(Self::V4),
            6 => packet.first_chunk().map(V6).map(Self::V6),
            _ => None,
        }
    }

    /// Source and destination.
    pub fn between(self) -> (IpAddr, IpAddr) {
        match self {
            Self::V4(v4) => (v4.source().to_be_bytes().into(), v4.destination().to_be_bytes().into()),
            Self::V6(v6) => (v6.source().to_be_bytes().into(), v6.destination().to_be_bytes().into()),
        }
    }

    /// The protocol number.
    pub fn protocol(self) -> u8 {
        match self {
            Self::V4(v4) => v4.protocol(),
            Self::V6(v6) => v6.next_header(),
        }
    }

    /// The traffic class.
    pub fn class(self) -> u8 {
        match self {
            Self::V4(v4) => v4.class(),
            Self::V6(v6) => v6.class(),
        }
    }

    /// Time to live, or hop limit.
    pub fn ttl(self) -> u8 {
        match self {
            Self::V4(v4) => v4.ttl(),
            Self::V6(v6) => v6.hop_limit(),
        }
    }

    /// The header's length.
    pub fn header_bytes(self) -> usize {
        match self {
            Self::V4(v4) => v4.header_bytes(),
            Self::V6(_) => V6_BYTES,
        }
    }

    /// The packet's length, including the header.
    pub fn total_bytes(self) -> usize {
        match self {
            Self::V4(v4) => v4.total_bytes(),
            Self::V6(v6) => V6_BYTES + v6.payload_bytes(),
        }
    }
}

/// The fields of a header to write: not fragmented, without options or extension headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// The traffic class.
    pub class: u8,
    /// The flow label; IPv6 only.
    pub flow_label: u32,
    /// The identification; IPv4 only.
    pub id: u16,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// The protocol number.
    pub protocol: u8,
}

impl Fields {
    /// Writes the header of a packet with `payload` bytes after it; IPv6 unless both addresses are IPv4. If the packet
    /// is too long for IP, the length field holds the low 16 bits.
    pub fn put(&self, into: &mut Vec<u8>, (source, destination): (IpAddr, IpAddr), payload: u32) {
        let begin = into.len();
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                into.extend([0x45, self.class]);
                into.extend(((payload + V4_BYTES as u32) as u16).to_be_bytes());
                into.extend(self.id.to_be_bytes());
                into.extend(DONT_FRAGMENT.to_be_bytes());
                into.extend([self.ttl, self.protocol, 0, 0]);
                into.extend(source.octets());
                into.extend(destination.octets());
                let checksum = checksum::of(checksum::sum(&into[begin..]));
                into[begin + 10..begin + 12].copy_from_slice(&checksum.to_be_bytes());
            }
            _ => {
                let first = 6 << 28 | u32::from(self.class) << 20 | (self.flow_label & 0xf_ffff);
                into.extend(first.to_be_bytes());
                into.extend((payload as u16).to_be_bytes());
                into.extend([self.protocol, self.ttl]);
                for address in [source, destination] {
                    into.extend(match address {
                        IpAddr::V6(address) => address.octets(),
                        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ip_headers_round_trip() {
        let fields = Fields { class: 0xb9, flow_label: 0xabcde, id: 0x1234, ttl: 63, protocol: TCP };
        for between in [
            ("192.0.2.1".parse().unwrap(), "198.51.100.2".parse().unwrap()),
            ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap()),
        ] {
            let mut packet = Vec::new();
            fields.put(&mut packet, between, 7);
            let ip = Ip::parse(&packet).expect("whole");
            assert_eq!((ip.between(), ip.class(), ip.ttl(), ip.protocol()), (between, 0xb9, 63, TCP));
            assert_eq!((ip.header_bytes(), ip.total_bytes()), (packet.len(), packet.len() + 7));
            match ip {
                Ip::V4(v4) => {
                    assert_eq!((v4.id(), v4.is_fragment(), v4.fragment_offset()), (0x1234, false, 0));
                    assert_eq!(checksum::of(checksum::sum(&packet)), 0);
                }
                Ip::V6(v6) => assert_eq!(v6.flow_label(), 0xabcde),
            }
            assert_eq!(Ip::parse(&packet[..packet.len() - 1]), None);
        }
        assert_eq!(Ip::parse(&[0x44; 20]), None, "a header of 16 bytes");
    }
}
