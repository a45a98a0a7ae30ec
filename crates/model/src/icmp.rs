//! Errors of ICMP and ICMPv6 about a segment of a flow.
//!
//! Reading list: RFC 792, RFC 1191 (section 4), RFC 1812 (section 5.2.7), RFC 4443 (section 3), RFC 8201, RFC 5927
//! (TCP's reaction; anybody can send one).

use crate::flow::End;
use crate::sequence::StreamOffset;
use std::net::IpAddr;

/// A router or host reports that it did not deliver a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpError {
    /// The end that sent the segment, which receives the error.
    pub about: End,
    /// Where the segment began; `None` if its number is far from those of the flow.
    pub seq: Option<StreamOffset>,
    /// The error.
    pub kind: IcmpKind,
    /// The sender of the message, if known.
    pub from: Option<IpAddr>,
    /// The frame's number in the recording, from 1.
    pub frame: u64,
}

/// The type of an ICMP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpKind {
    /// The packet exceeds the next link's MTU, and must not be fragmented (ICMP 3/4, ICMPv6 2).
    PacketTooBig {
        /// The MTU of that link; `None` from a router older than RFC 1191.
        mtu: Option<u32>,
    },
    /// No route to the network (ICMP 3/0, 3/6, 3/11; ICMPv6 1/0).
    NetworkUnreachable,
    /// The host does not answer on its link (ICMP 3/1, 3/7, 3/12; ICMPv6 1/3).
    HostUnreachable,
    /// The host does not support the protocol (ICMP 3/2; ICMPv6 4/1).
    ProtocolUnreachable,
    /// No listener on the port; also sent by rejecting firewalls (ICMP 3/3; ICMPv6 1/4).
    PortUnreachable,
    /// A firewall forbids it (ICMP 3/9, 3/10, 3/13; ICMPv6 1/1, 1/5, 1/6).
    AdministrativelyProhibited,
    /// Unreachable for another reason.
    Unreachable {
        /// The code of ICMP 3 or ICMPv6 1.
        code: u8,
    },
    /// The TTL or hop limit ran out (ICMP 11/0; ICMPv6 3/0).
    TimeExceeded,
    /// Fragments were missing at the reassembly timeout (ICMP 11/1; ICMPv6 3/1).
    ReassemblyTimeExceeded,
    /// Another error.
    Other {
        /// The type, of ICMP or ICMPv6 by the flow's addresses.
        kind: u8,
        /// The code.
        code: u8,
    },
}

impl IcmpKind {
    /// The error of an ICMP message (RFC 792) with the second word of its header; `None` if it is not about delivery.
    pub const fn of_v4(kind: u8, code: u8, word: u32) -> Option<Self> {
        Some(match (kind, code) {
            (3, 0 | 6 | 11) => Self::NetworkUnreachable,
            (3, 1 | 7 | 12) => Self::HostUnreachable,
            (3, 2) => Self::ProtocolUnreachable,
            (3, 3) => Self::PortUnreachable,
            // The low half is the MTU, 0 before RFC 1191 (section 4).
            (3, 4) => Self::PacketTooBig { mtu: mtu(word & 0xffff) },
            (3, 9 | 10 | 13) => Self::AdministrativelyProhibited,
            (3, code) => Self::Unreachable { code },
            (11, 0) => Self::TimeExceeded,
            (11, 1) => Self::ReassemblyTimeExceeded,
            // Source quench, and a parameter problem.
            (4 | 11 | 12, code) => Self::Other { kind, code },
            _ => return None,
        })
    }

    /// The error of an ICMPv6 message (RFC 4443, section 3) with the second word of its header; `None` if it is no
    /// error.
    pub const fn of_v6(kind: u8, code: u8, word: u32) -> Option<Self> {
        Some(match (kind, code) {
            (1, 0) => Self::NetworkUnreachable,
            (1, 1 | 5 | 6) => Self::AdministrativelyProhibited,
            (1, 3) => Self::HostUnreachable,
            (1, 4) => Self::PortUnreachable,
            (1, code) => Self::Unreachable { code },
            (2, _) => Self::PacketTooBig { mtu: mtu(word) },
            (3, 0) => Self::TimeExceeded,
            (3, 1) => Self::ReassemblyTimeExceeded,
            (4, 1) => Self::ProtocolUnreachable,
            (0..128, code) => Self::Other { kind, code },
            _ => return None,
        })
    }

    /// Its name in text and in data.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PacketTooBig { .. } => "packet-too-big",
            Self::NetworkUnreachable => "network-unreachable",
            Self::HostUnreachable => "host-unreachable",
            Self::ProtocolUnreachable => "protocol-unreachable",
            Self::PortUnreachable => "port-unreachable",
            Self::AdministrativelyProhibited => "administratively-prohibited",
            Self::Unreachable { .. } => "unreachable",
            Self::TimeExceeded => "time-exceeded",
            Self::ReassemblyTimeExceeded => "reassembly-time-exceeded",
            Self::Other { .. } => "other",
        }
    }
}

const fn mtu(field: u32) -> Option<u32> {
    if field == 0 { None } else { Some(field) }
}
