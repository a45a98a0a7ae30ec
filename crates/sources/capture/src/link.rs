//! Link layers: the headers before the IP header.
//!
//! Reading list: the link-layer header types of the Tcpdump group, IEEE 802.1Q, 802.2 and 802.3, RFC 1042 (SNAP),
//! RFC 2516 (PPPoE), RFC 1547 (section 4.3.1: Cisco HDLC), RFC 4391 (section 6: IP over InfiniBand), Linux
//! `nfnetlink_log.h`, IEEE 802.1BR (E-Tag), IEEE 802.1ah (backbone bridges), Cisco's VN-Tag.

use crate::layer::{Header, Layer, Skip, Step, Walk};
use crate::link_type::LinkType;
use crate::protocol::Protocol;
use slowpath_wire::bytes::Order::{Big, Little};
use slowpath_wire::bytes::{be16, be32};

/// The first header of a frame with this link type.
pub(crate) fn first(link: LinkType) -> Result<Header, Skip> {
    Ok(match link {
        LinkType::ETHERNET => Header::Ethernet,
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD => Header::Ip,
        LinkType::IPV4 => Header::Ipv4,
        LinkType::IPV6 => Header::Ipv6,
        LinkType::LINUX_SLL => Header::Cooked,
        LinkType::LINUX_SLL2 => Header::Cooked2,
        LinkType::NULL | LinkType::LOOP => Header::Family,
        LinkType::FDDI => Header::Fddi,
        LinkType::PPP | LinkType::PPP_HDLC => Header::Ppp,
        LinkType::PPP_ETHERNET => Header::Pppoe,
        LinkType::C_HDLC => Header::CiscoHdlc,
        LinkType::NFLOG => Header::Nflog,
        LinkType::IPOIB => Header::Ipoib,
        LinkType::RADIOTAP => Header::Radiotap,
        LinkType::PPI => Header::Ppi,
        LinkType::IEEE802_11 => Header::Wifi { is_padded: false },
        _ => return Err(Skip::UnsupportedLink(link)),
    })
}

pub(crate) fn ethernet<'a>(layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    walk.deeper()?;
    Ok((Header::Typed(be16(layer.need(14)?, 12)), layer.after(14)?))
}

pub(crate) fn cooked(layer: Layer<'_>) -> Step<'_> {
    Ok((Header::Typed(be16(layer.need(16)?, 14)), layer.after(16)?))
}

pub(crate) fn cooked2(layer: Layer<'_>) -> Step<'_> {
    Ok((Header::Typed(be16(layer.need(20)?, 0)), layer.after(20)?))
}

/// Frame control and two addresses (RFC 1188); then LLC.
pub(crate) fn fddi(layer: Layer<'_>) -> Step<'_> {
    Ok((Header::Llc, layer.after(13)?))
}

/// By EtherType (IANA, "IEEE 802 numbers"); up to 1500 it is a length instead, followed by LLC.
pub(crate) fn typed<'a>(kind: u16, layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    let header = match kind {
        0x0800 => Header::Ipv4,
        0x86dd => Header::Ipv6,
        // 802.1Q, 802.1ad, and their predecessors
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
            walk.deeper()?;
            return Ok((Header::Typed(be16(layer.need(4)?, 2)), layer.after(4)?));
        }
        // E-Tag (IEEE 802.1BR), and its predecessor VN-Tag
        0x893f => {
            walk.deeper()?;
            return Ok((Header::Typed(be16(layer.need(8)?, 6)), layer.after(8)?));
        }
        0x8926 => {
            walk.deeper()?;
            return Ok((Header::Typed(be16(layer.need(6)?, 4)), layer.after(6)?));
        }
        // The service's tag of a backbone bridge, then the customer's frame (IEEE 802.1ah)
        0x88e7 => return Ok((Header::Ethernet, layer.after(4)?)),
        0x8864 => Header::Pppoe,
        0x8847 | 0x8848 => Header::Mpls,
        // Transparent Ethernet bridging (RFC 7637, RFC 1701)
        0x6558 => Header::Ethernet,
        // 4: Linux's ETH_P_802_2 in a cooked capture
        0..=1500 => Header::Llc,
        _ => return Err(Skip::NotIp(Protocol::EtherType(kind))),
    };
    Ok((header, layer))
}

/// IEEE 802.2 with the subnetwork access protocol (RFC 1042); anything else over LLC is not IP.
pub(crate) fn llc<'a>(layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    walk.deeper()?;
    let header = layer.need(3)?;
    match header {
        [0xaa, 0xaa, 0x03, ..] => {
            let header = layer.need(8)?;
            let kind = be16(header, 6);
            // Ethernet's types (OUI 0), or bridged Ethernet's (0000f8: IEEE 802.1H)
            match &header[3..6] {
                [0, 0, 0 | 0xf8] => Ok((Header::Typed(kind), layer.after(8)?)),
                // Cisco's discovery protocol
                [0, 0, 0x0c] if kind == 0x2000 => Err(Skip::NotIp(Protocol::EtherType(kind))),
                _ => Err(Skip::NotIp(Protocol::Llc(0xaa))),
            }
        }
        // IP by its own LLC address (RFC 948)
        [0x06, 0x06, 0x03, ..] => Ok((Header::Ipv4, layer.after(3)?)),
        [destination, ..] => Err(Skip::NotIp(Protocol::Llc(*destination))),
        [] => Err(Skip::Truncated),
    }
}

/// The loopback's address family: 2 is IPv4 everywhere; IPv6 is 10 in Linux, 24 in NetBSD and OpenBSD, 28 in FreeBSD,
/// 30 in Darwin. In either byte order, as the file does not say which.
pub(crate) fn family(layer: Layer<'_>) -> Step<'_> {
    let family = be32(layer.need(4)?, 0);
    let family = if family > 0xffff { family.swap_bytes() } else { family };
    match family {
        2 => Ok((Header::Ipv4, layer.after(4)?)),
        10 | 24 | 28 | 30 => Ok((Header::Ipv6, layer.after(4)?)),
        other => Err(Skip::NotIp(u8::try_from(other).map_or(Protocol::NotIp, Protocol::Family))),
    }
}

/// An address, a byte of control, and an EtherType; or PPP in the same framing.
pub(crate) fn cisco_hdlc(layer: Layer<'_>) -> Step<'_> {
    match *layer.first::<4>()? {
        [0xff, ..] => Ok((Header::Ppp, layer)),
        [.., high, low] => Ok((Header::Typed(u16::from_be_bytes([high, low])), layer.after(4)?)),
    }
}

/// The packet among netfilter's attributes (`NFULA_PAYLOAD`).
const NFULA_PAYLOAD: u16 = 9;

/// An address family, a version, the group's number; then attributes, one of which is an IP packet. Their lengths and
/// types are in the byte order of the capturing host, which the frame does not state: types are below 256.
pub(crate) fn nflog(layer: Layer<'_>) -> Step<'_> {
    layer.need(4)?;
    let mut rest = layer.after(4)?;
    loop {
        let attribute = *rest.first::<4>()?;
        let order = if attribute[2] == 0 { Big } else { Little };
        let length = usize::from(order.u16(&attribute, 0));
        if length < 4 {
            return Err(Skip::Malformed);
        }
        if order.u16(&attribute, 2) == NFULA_PAYLOAD {
            return Ok((Header::Ip, rest.limit(length).after(4)?));
        }
        rest = rest.after(length.next_multiple_of(4))?;
    }
}

/// Possible lengths before the EtherType of IP over InfiniBand: the global route header written by libpcap (tcpdump's
/// `print-ipoib.c`), the receiver's address added by Linux (`IPOIB_PSEUDO_LEN`), or nothing.
const BEFORE_IPOIB: [usize; 3] = [40, 20, 0];

/// An EtherType and two reserved bytes, with or without an address before: found where IP's version fits the type.
pub(crate) fn ipoib(layer: Layer<'_>) -> Step<'_> {
    let fits = |at: &usize| match layer.data.get(*at..at + 5) {
        Some([0x08, 0x00, _, _, ip]) => ip >> 4 == 4,
        Some([0x86, 0xdd, _, _, ip]) => ip >> 4 == 6,
        _ => false,
    };
    let at = BEFORE_IPOIB.into_iter().find(fits).unwrap_or(BEFORE_IPOIB[0]);
    Ok((Header::Typed(be16(layer.need(at + 4)?, at)), layer.after(at + 4)?))
}
