//! IPv4 and IPv6: addresses, lengths, fragments, extension headers.
//!
//! Reading list: RFC 791, RFC 8200 (section 4: extension headers), RFC 2675 (jumbograms), RFC 4302 (AH).

use crate::addresses::Addresses;
use crate::layer::{Fragment, Header, Layer, Outer, Skip, Step, Walk};
use crate::oddity::Oddity;
use crate::protocol::Protocol;
use slowpath_model::{Ecn, IpFacts};
use slowpath_wire::bytes::{be16, be32};
use slowpath_wire::ip::{ICMP, ICMPV6, TCP, UDP, V4, V4_BYTES, V6, V6_BYTES};

/// The IP version in the first four bits.
pub(crate) fn any(layer: Layer<'_>) -> Step<'_> {
    match layer.need(1)?[0] >> 4 {
        4 => Ok((Header::Ipv4, layer)),
        6 => Ok((Header::Ipv6, layer)),
        _ => Err(Skip::NotIp(Protocol::NotIp)),
    }
}

pub(crate) fn v4<'a>(layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    walk.deeper()?;
    let ip = V4(layer.first()?);
    let header = ip.header_bytes();
    if ip.version() != 4 || header < V4_BYTES {
        return Err(Skip::Malformed);
    }
    let total = match ip.total_bytes() {
        // Linux passes 0 to captures for packets above 64 KiB, and older drivers for offloaded ones.
        0 => {
            walk.oddities.add(Oddity::LengthFromFrame);
            layer.wire
        }
        total => total,
    };
    if total < header {
        return Err(Skip::Malformed);
    }
    let protocol = ip.protocol();
    let addresses = Addresses::V4 { source: ip.source(), destination: ip.destination() };
    walk.is_nested |= walk.first.is_some();
    let fragment = ip.is_fragment().then(|| Fragment {
        addresses,
        protocol,
        id: ip.id().into(),
        start: u32::from(ip.fragment_offset()) * 8,
        length: (total - header) as u32,
        is_last: !ip.has_more_fragments(),
    });
    if let Some(later) = fragment.filter(|fragment| fragment.start > 0) {
        return Err(Skip::LaterFragment(later));
    }
    let body = claimed(layer, total, walk).after(header)?;
    if let Some(first) = fragment {
        walk.begins(first);
    }
    // A source route would be an option.
    walk.detour |= header > V4_BYTES;
    let outer = Outer {
        addresses,
        facts: IpFacts { id: Some(ip.id()), ttl: ip.ttl(), ecn: Ecn::from_bits(ip.class()) },
    };
    Ok((Header::Inside(protocol, outer), body))
}

pub(crate) fn v6<'a>(layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    walk.deeper()?;
    let ip = V6(layer.first()?);
    if ip.version() != 6 {
        return Err(Skip::Malformed);
    }
    walk.is_nested |= walk.first.is_some();
    let total = match ip.payload_bytes() {
        // A jumbogram (RFC 2675, section 3; Linux "BIG TCP"). The frame's length is as good as that of a possible
        // hop-by-hop option.
        0 => {
            walk.oddities.add(Oddity::LengthFromFrame);
            layer.wire.max(V6_BYTES)
        }
        length => length + V6_BYTES,
    };
    let body = claimed(layer, total, walk).after(V6_BYTES)?;
    let outer = Outer {
        addresses: Addresses::V6 { source: ip.source(), destination: ip.destination() },
        facts: IpFacts { id: None, ttl: ip.hop_limit(), ecn: Ecn::from_bits(ip.class()) },
    };
    Ok((Header::Inside(ip.next_header(), outer), body))
}

/// The part of the frame within the IP header's length; the rest is Ethernet's padding.
///
/// If the length exceeds the frame, it is used anyway: tools that truncate frames often do not record the length on the
/// wire. Only if an outer header states less, that counts.
fn claimed<'a>(layer: Layer<'a>, total: usize, walk: &mut Walk) -> Layer<'a> {
    let stated = std::mem::take(&mut walk.stated);
    if total <= layer.wire {
        return layer.limit(total);
    }
    // The rest of an encapsulated packet may be in the outer packet's later fragments.
    if !walk.oddities.has(Oddity::FirstFragment) {
        walk.oddities.add(Oddity::LengthBeyondFrame);
    }
    Layer { data: layer.data, wire: if stated { layer.wire } else { total } }
}

/// The header announced by an IP header: an extension header, or the payload's. The numbers are IANA's.
pub(crate) fn inside<'a>(protocol: u8, outer: Outer, layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    walk.deeper()?;
    let length = match protocol {
        4 => return Ok((Header::Ipv4, layer)),
        TCP => return Ok((Header::Tcp(outer), layer)),
        UDP => return Ok((Header::Udp, layer)),
        ICMP | ICMPV6 => return Ok((Header::Icmp(protocol, outer), layer)),
        41 => return Ok((Header::Ipv6, layer)),
        47 => return Ok((Header::Gre, layer)),
        137 => return Ok((Header::Mpls, layer)),
        // Routing; after the length and the type is the number of addresses left (RFC 8200, section 4.4).
        43 => {
            let header = layer.need(4)?;
            walk.detour |= header[3] > 0;
            8 + usize::from(header[1]) * 8
        }
        // Hop-by-hop, destination, mobility, HIP, shim6 (RFC 8200, section 4; RFC 6564).
        0 | 60 | 135 | 139 | 140 => 8 + usize::from(layer.need(2)?[1]) * 8,
        // Authentication header: in 4-byte units, minus 2 (RFC 4302, section 2.2).
        51 => 8 + usize::from(layer.need(2)?[1]) * 4,
        // Fragment (RFC 8200, section 4.5).
        44 => {
            let header = layer.need(8)?;
            let place = be16(header, 2);
            let fragment = Fragment {
                addresses: outer.addresses,
                protocol: header[0],
                id: be32(header, 4),
                start: u32::from(place & 0xfff8),
                length: layer.wire.saturating_sub(8) as u32,
                is_last: place & 1 == 0,
            };
            if fragment.start > 0 {
                return Err(Skip::LaterFragment(fragment));
            }
            if !fragment.is_last {
                walk.begins(fragment);
            }
            8
        }
        other => return Err(Skip::NotTcp(other)),
    };
    Ok((Header::Inside(layer.need(1)?[0], outer), layer.after(length)?))
}
