//! Names of protocols other than TCP.
//!
//! Reading list: IANA's "Assigned Internet Protocol Numbers", "IEEE 802 Numbers" and "PPP DLL Protocol Numbers".

use crate::link_type::LinkType;
use std::fmt;

/// The innermost recognised protocol of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Over IP, by IANA number.
    Ip(u8),
    /// Over Ethernet or similar, by EtherType.
    EtherType(u16),
    /// Over IEEE 802.2, by destination service access point.
    Llc(u8),
    /// Over PPP, by protocol number.
    Ppp(u16),
    /// A BSD loopback's address family.
    Family(u8),
    /// An IEEE 802.11 frame without data.
    WifiManagement,
    /// Encrypted or fragmented IEEE 802.11 data.
    WifiUnreadable,
    /// Below MPLS labels, neither IP nor Ethernet.
    Mpls,
    /// Another version instead of an IP header.
    NotIp,
    /// An unsupported link type.
    Link(LinkType),
}

/// Known IP protocols.
const OVER_IP: [(u8, &str); 15] = [
    (1, "ICMP"),
    (2, "IGMP"),
    (17, "UDP"),
    (33, "DCCP"),
    (46, "RSVP"),
    (47, "GRE"),
    (50, "ESP"),
    (58, "ICMPv6"),
    (59, "IPv6 without content"),
    (88, "EIGRP"),
    (89, "OSPF"),
    (103, "PIM"),
    (112, "VRRP"),
    (115, "L2TP"),
    (132, "SCTP"),
];

/// Known EtherTypes.
const ETHER_TYPES: [(u16, &str); 19] = [
    (0x0806, "ARP"),
    (0x0842, "Wake-on-LAN"),
    (0x2000, "CDP"),
    (0x8035, "RARP"),
    (0x809b, "AppleTalk"),
    (0x8137, "IPX"),
    (0x8808, "Ethernet flow control"),
    (0x8809, "LACP"),
    (0x8863, "PPPoE discovery"),
    (0x8864, "PPPoE"),
    (0x888e, "EAPOL"),
    (0x8892, "PROFINET"),
    (0x88cc, "LLDP"),
    (0x88e5, "MACsec"),
    (0x88f7, "PTP"),
    (0x8902, "CFM"),
    (0x8906, "FCoE"),
    (0x8915, "RoCE"),
    (0x9000, "Ethernet loopback"),
];

/// Known service access points.
const OVER_LLC: [(u8, &str); 5] =
    [(0x42, "STP"), (0xaa, "SNAP"), (0xe0, "IPX"), (0xf0, "NetBIOS"), (0xfe, "IS-IS")];

/// Known PPP protocols.
const OVER_PPP: [(u16, &str); 8] = [
    (0x002d, "compressed TCP (RFC 1144)"),
    (0x00fd, "compressed PPP"),
    (0x8021, "IPCP"),
    (0x8057, "IPV6CP"),
    (0xc021, "LCP"),
    (0xc023, "PAP"),
    (0xc025, "PPP link quality"),
    (0xc223, "CHAP"),
];

fn name<N: PartialEq>(names: &[(N, &'static str)], number: N) -> Option<&'static str> {
    names.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

impl fmt::Display for Protocol {
    /// `UDP`, `ARP`, `EtherType 0x1234`, `link type 127`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = match *self {
            Self::Ip(number) => name(&OVER_IP, number),
            Self::EtherType(number) => name(&ETHER_TYPES, number),
            Self::Llc(number) => name(&OVER_LLC, number),
            Self::Ppp(number) => name(&OVER_PPP, number),
            Self::WifiManagement => Some("802.11 management and control"),
            Self::WifiUnreadable => Some("802.11 data, encrypted or in fragments"),
            Self::Mpls => Some("MPLS without IP or Ethernet in it"),
            Self::NotIp => Some("neither IPv4 nor IPv6"),
            Self::Family(_) | Self::Link(_) => None,
        };
        match (*self, known) {
            (_, Some(name)) => f.write_str(name),
            (Self::Ip(number), _) => write!(f, "IP protocol {number}"),
            (Self::EtherType(number), _) => write!(f, "EtherType {number:#06x}"),
            (Self::Llc(number), _) => write!(f, "LLC {number:#04x}"),
            (Self::Ppp(number), _) => write!(f, "PPP protocol {number:#06x}"),
            (Self::Family(number), _) => write!(f, "address family {number}"),
            (Self::Link(LinkType(number)), _) => write!(f, "link type {number}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_without_a_name_show_their_number() {
        let names = [
            Protocol::Ip(17),
            Protocol::Ip(200),
            Protocol::EtherType(0x0806),
            Protocol::EtherType(0x1ce),
            Protocol::Llc(0x42),
            Protocol::Llc(4),
            Protocol::Ppp(0xc021),
            Protocol::Ppp(0x4b),
            Protocol::Family(7),
            Protocol::Link(LinkType(147)),
        ];
        assert_eq!(
            names.map(|protocol| protocol.to_string()),
            [
                "UDP",
                "IP protocol 200",
                "ARP",
                "EtherType 0x01ce",
                "STP",
                "LLC 0x04",
                "LCP",
                "PPP protocol 0x004b",
                "address family 7",
                "link type 147"
            ]
        );
    }
}
