//! IPv4 and IPv6: addresses, lengths, fragments, extension headers.
//!
//! Reading list: RFC 791, RFC 8200 (section 4: extension headers), RFC 2675 (jumbograms), RFC 4302 (AH).

use crate::bytes::{be16, be32, be128};
use crate::decode::{Addresses, Oddities, Packet, Skip};
use crate::summary::Oddity;
use crate::tcp::OptionFault;
use crate::{tcp, tunnel};
use slowpath_model::{Ecn, IpFacts};

/// Headers inside each other that are followed, of whatever kind. Ordinary traffic has 2 to 4, a provider's
/// tunnel of tunnels some 12.
const DEPTH: u8 = 24;

/// What is left of a frame inside the headers passed so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer<'a> {
    /// What was captured of it.
    pub(crate) data: &'a [u8],
    /// Its length on the wire.
    pub(crate) wire: usize,
}

impl<'a> Layer<'a> {
    /// The captured bytes, if the first `n` are among them.
    pub(crate) fn need(self, n: usize) -> Result<&'a [u8], Skip> {
        if self.data.len() >= n { Ok(self.data) } else { Err(self.too_short(n)) }
    }

    /// Why the first `n` bytes were not all captured.
    fn too_short(self, n: usize) -> Skip {
        if self.wire >= n { Skip::Truncated } else { Skip::Malformed }
    }

    /// What follows the first `n` bytes.
    pub(crate) fn after(self, n: usize) -> Result<Self, Skip> {
        match self.data.get(n..) {
            Some(data) => Ok(Self { data, wire: self.wire.saturating_sub(n) }),
            None => Err(self.too_short(n)),
        }
    }

    /// The first `n` bytes at most.
    pub(crate) fn limit(self, n: usize) -> Self {
        Self { data: &self.data[..self.data.len().min(n)], wire: self.wire.min(n) }
    }
}

/// The way through one frame: what was odd so far, and how many more headers may follow.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) oddities: Oddities,
    /// Whether the layer's length was stated by the header before it, not only by the record.
    pub(crate) stated: bool,
    left: u8,
}

impl Walk {
    pub(crate) const fn new() -> Self {
        Self { oddities: Oddities::NONE, stated: false, left: DEPTH }
    }

    /// Goes one header deeper.
    pub(crate) fn deeper(&mut self) -> Result<(), Skip> {
        self.left = self.left.checked_sub(1).ok_or(Skip::TooDeep)?;
        Ok(())
    }
}

/// What an IP header says to the headers behind it.
struct Outer {
    addresses: Addresses,
    facts: IpFacts,
}

/// Whichever IP version the first four bits name.
pub(crate) fn any<'a>(layer: Layer<'a>, walk: &mut Walk) -> Result<Packet<'a>, Skip> {
    match layer.need(1)?[0] >> 4 {
        4 => v4(layer, walk),
        6 => v6(layer, walk),
        _ => Err(Skip::NotIp),
    }
}

pub(crate) fn v4<'a>(layer: Layer<'a>, walk: &mut Walk) -> Result<Packet<'a>, Skip> {
    walk.deeper()?;
    let ip = layer.need(20)?;
    let header = usize::from(ip[0] & 0xf) * 4;
    if ip[0] >> 4 != 4 || header < 20 {
        return Err(Skip::Malformed);
    }
    let total = match usize::from(be16(ip, 2)) {
        // Linux sends 0 up the capture tap for packets above 64 KiB, and older drivers for offloaded ones.
        0 => {
            walk.oddities.add(Oddity::LengthFromFrame);
            layer.wire
        }
        total => total,
    };
    if total < header {
        return Err(Skip::Malformed);
    }
    let (flags, protocol) = (be16(ip, 6), ip[9]);
    let fragmented = flags & 0x3fff != 0;
    if flags & 0x1fff != 0 {
        return Err(later_fragment(protocol));
    }
    let body = claimed(layer, total, walk).after(header)?;
    if fragmented {
        walk.oddities.add(Oddity::FirstFragment);
    }
    let outer = Outer {
        addresses: Addresses::V4 { source: be32(ip, 12), destination: be32(ip, 16) },
        facts: IpFacts { id: Some(be16(ip, 4)), ttl: ip[8], ecn: Ecn::from_bits(ip[1]) },
    };
    payload(protocol, body, &outer, walk)
}

pub(crate) fn v6<'a>(layer: Layer<'a>, walk: &mut Walk) -> Result<Packet<'a>, Skip> {
    walk.deeper()?;
    let ip = layer.need(40)?;
    if ip[0] >> 4 != 6 {
        return Err(Skip::Malformed);
    }
    let total = match usize::from(be16(ip, 4)) {
        // A jumbogram (RFC 2675, section 3; Linux "BIG TCP"). The frame knows its length as well as the
        // hop-by-hop option that may be there.
        0 => {
            walk.oddities.add(Oddity::LengthFromFrame);
            layer.wire.max(40)
        }
        length => length + 40,
    };
    let body = claimed(layer, total, walk).after(40)?;
    let outer = Outer {
        addresses: Addresses::V6 { source: be128(ip, 8), destination: be128(ip, 24) },
        facts: IpFacts { id: None, ttl: ip[7], ecn: Ecn::from_bits(ip[1] >> 4) },
    };
    payload(ip[6], body, &outer, walk)
}

/// The part of the frame that the IP header claims; what is behind it is Ethernet's padding.
///
/// If it claims more than there was, it is believed nonetheless: tools that shorten frames often forget to leave
/// their length on the wire. Only where the header before it states less, that one is believed.
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

fn later_fragment(protocol: u8) -> Skip {
    if protocol == 6 { Skip::LaterFragment } else { Skip::NotTcp(protocol) }
}

/// What follows an IP header. Protocol numbers are IANA's.
fn payload<'a>(
    mut protocol: u8,
    mut layer: Layer<'a>,
    outer: &Outer,
    walk: &mut Walk,
) -> Result<Packet<'a>, Skip> {
    loop {
        walk.deeper()?;
        let length = match protocol {
            6 => {
                let length = u32::try_from(layer.wire).map_err(|_| Skip::Malformed)?;
                let tcp = tcp::Header::parse(layer.data, length)?;
                match tcp.options.fault {
                    OptionFault::None => {}
                    OptionFault::Cut => walk.oddities.add(Oddity::OptionsCut),
                    OptionFault::Malformed => walk.oddities.add(Oddity::MalformedOptions),
                }
                let oddities = walk.oddities;
                return Ok(Packet { addresses: outer.addresses, ip: outer.facts, tcp, oddities });
            }
            4 => return v4(layer, walk),
            17 => return tunnel::udp(layer, walk),
            41 => return v6(layer, walk),
            47 => return tunnel::gre(layer, walk),
            137 => return tunnel::mpls(layer, walk),
            // Hop-by-hop, routing, destination, mobility, HIP, shim6 (RFC 8200, section 4; RFC 6564).
            0 | 43 | 60 | 135 | 139 | 140 => 8 + usize::from(layer.need(2)?[1]) * 8,
            // Authentication header: in 4-byte units, minus 2 (RFC 4302, section 2.2).
            51 => 8 + usize::from(layer.need(2)?[1]) * 4,
            // Fragment (RFC 8200, section 4.5).
            44 => {
                let header = layer.need(8)?;
                let place = be16(header, 2);
                if place & 0xfff8 != 0 {
                    return Err(later_fragment(header[0]));
                }
                if place & 1 != 0 {
                    walk.oddities.add(Oddity::FirstFragment);
                }
                8
            }
            other => return Err(Skip::NotTcp(other)),
        };
        protocol = layer.need(1)?[0];
        layer = layer.after(length)?;
    }
}
