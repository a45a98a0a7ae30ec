//! From a frame to the TCP segment in it, if there is one.
//!
//! Two ways lead there, and a property test holds them to the same result: the short way ([`crate::short`]) takes the frame that
//! nearly every frame is, TCP over IP over Ethernet with at most two VLAN tags, no options but TCP's timestamps and SACK, and
//! nothing else unusual; the long way ([`headers`]) takes any, one header after the other.

use crate::layer::{Header, Layer, Outer, Skip, Step, Walk};
use crate::link::{self, LinkType};
use crate::oddity::Oddity;
use crate::packet::Packet;
use crate::short::{self, Datagram, Ip};
use crate::tcp::{self, OptionFault};
use crate::{ip, tunnel};

/// Takes what a frame holds: for each frame, exactly one of its functions is called once.
pub trait Taker<'a> {
    /// The segment that the short way found.
    fn on_short_way(&mut self, packet: &Packet<'a>);
    /// What the long way found, where the short way found nothing.
    fn on_long_way(&mut self, found: Result<&Packet<'a>, Skip>);
}

/// Finds the TCP segment in `frame`, which had `wire` bytes before the snapshot length cut it, and gives it to `taker`.
///
/// The segment is not returned: most frames are decoded without leaving the caller's function, so that no packet is copied.
#[inline(always)]
pub fn decode<'a>(link: LinkType, frame: &'a [u8], wire: u32, taker: &mut impl Taker<'a>) {
    let datagram = match link {
        LinkType::ETHERNET => Datagram::of_ethernet(frame, wire),
        _ => None,
    };
    let is_taken = match datagram {
        Some(Datagram::V4(body)) => short_way::<short::V4<'a>>(body, taker),
        Some(Datagram::V6(body)) => short_way::<short::V6<'a>>(body, taker),
        None => false,
    };
    if !is_taken {
        long_way(link, frame, wire, taker);
    }
}

/// Whether the short way found a segment.
#[inline(always)]
fn short_way<'a, I: Ip<'a>>(body: short::Body<'a>, taker: &mut impl Taker<'a>) -> bool {
    let packet = short::packet::<I>(body);
    if let Some(packet) = &packet {
        taker.on_short_way(packet);
    }
    packet.is_some()
}

/// Kept out of the short way's function, which is the hot one.
#[inline(never)]
fn long_way<'a>(link: LinkType, frame: &'a [u8], wire: u32, taker: &mut impl Taker<'a>) {
    match headers(link, frame, wire) {
        Ok(packet) => taker.on_long_way(Ok(&packet)),
        Err(skip) => taker.on_long_way(Err(skip)),
    }
}

/// The long way: whatever the headers are, each says what is inside it.
pub fn headers(link: LinkType, frame: &[u8], wire: u32) -> Result<Packet<'_>, Skip> {
    let mut layer = Layer { data: frame, wire: wire as usize };
    let mut header = link::first(link)?;
    let walk = &mut Walk::new();
    loop {
        if let Header::Tcp(outer) = header {
            return segment(outer, layer, walk);
        }
        (header, layer) = inside(header, layer, walk)?;
    }
}

/// What is inside a header.
fn inside<'a>(header: Header, layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    match header {
        Header::Ethernet => link::ethernet(layer, walk),
        Header::Typed(kind) => link::typed(kind, layer, walk),
        Header::Llc => link::llc(layer, walk),
        Header::Cooked => link::cooked(layer),
        Header::Cooked2 => link::cooked2(layer),
        Header::Family => link::family(layer),
        Header::Fddi => link::fddi(layer),
        Header::Ppp => tunnel::ppp(layer, walk),
        Header::Pppoe => tunnel::pppoe(layer, walk),
        Header::Mpls => tunnel::mpls(layer, walk),
        Header::Ip => ip::any(layer),
        Header::Ipv4 => ip::v4(layer, walk),
        Header::Ipv6 => ip::v6(layer, walk),
        Header::Inside(protocol, outer) => ip::inside(protocol, outer, layer, walk),
        Header::Udp => tunnel::udp(layer, walk),
        Header::Gre => tunnel::gre(layer, walk),
        Header::Tcp(_) => Ok((header, layer)),
    }
}

fn segment<'a>(outer: Outer, layer: Layer<'a>, walk: &mut Walk) -> Result<Packet<'a>, Skip> {
    let length = u32::try_from(layer.wire).map_err(|_| Skip::Malformed)?;
    let tcp = tcp::Header::parse(layer.data, length)?;
    match tcp.options.fault {
        OptionFault::None => {}
        OptionFault::Cut => walk.oddities.add(Oddity::OptionsCut),
        OptionFault::Malformed => walk.oddities.add(Oddity::MalformedOptions),
    }
    Ok(Packet { addresses: outer.addresses, ip: outer.facts, tcp, oddities: walk.oddities })
}
