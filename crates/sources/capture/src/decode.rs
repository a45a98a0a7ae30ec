//! From a frame to its TCP segment, if there is one.
//!
//! There are two decoders that agree (checked by a property test): [`fast`] accepts the most common frame, TCP over IP
//! over Ethernet with at most two VLAN tags, no options except TCP's timestamps and SACK, and nothing else unusual;
//! [`headers`] accepts any, one header after the other.

use crate::addresses::Addresses;
use crate::icmp::QuotingError;
use crate::layer::{First, Header, Layer, Outer, Quote, Skip, Step, Walk};
use crate::link;
use crate::link_type::LinkType;
use crate::oddity::Oddity;
use crate::packet::Packet;
use crate::short::{self, Datagram};
use crate::{ip, tunnel, wifi};
use slowpath_model::Checksum;
use slowpath_wire::ip::{V4, V6};
use slowpath_wire::tcp::{self, OptionFault};

/// The fast path, for Ethernet only, to the TCP segment in `frame`, whose length on the wire was `wire` bytes. `None`
/// if the frame is not the common kind.
///
/// `Frames` takes the same path, step by step, to avoid copying the packet.
pub fn fast(frame: &[u8], wire: u32) -> Option<Packet<'_>> {
    match Datagram::of_ethernet(frame, wire)? {
        Datagram::V4(body) => short::packet::<V4<'_>>(body),
        Datagram::V6(body) => short::packet::<V6<'_>>(body),
    }
}

/// The general path to the TCP segment in `frame`: each header determines the next.
pub fn headers(link: LinkType, frame: &[u8], wire: u32) -> Result<Packet<'_>, Skip> {
    decode(link, frame, wire).map(|decoded| decoded.packet)
}

/// A decoded frame.
pub(crate) struct Decoded<'a> {
    pub(crate) packet: Packet<'a>,
    /// The data to verify the checksum.
    pub(crate) whole: Option<Whole<'a>>,
    /// The fragment that it is, if the rest of its datagram is in other frames.
    pub(crate) first: Option<First<'a>>,
}

/// The general path, with more than the packet.
pub(crate) fn decode(link: LinkType, frame: &[u8], wire: u32) -> Result<Decoded<'_>, Skip> {
    let walk = &mut Walk::new();
    let (outer, layer) = tcp_in(link, frame, wire, walk)?;
    let whole = Whole::of(outer, layer, walk);
    let packet = segment(outer, layer, walk)?;
    let first = walk.first.map(|fragment| First {
        fragment,
        tcp: layer.data,
        // `segment` refuses longer ones.
        length: layer.wire as u32,
        is_open_ended: !walk.is_nested,
    });
    Ok(Decoded { packet, whole, first })
}

/// The data to verify the checksum of the TCP segment in `frame`.
#[cold]
pub(crate) fn whole(link: LinkType, frame: &[u8], wire: u32) -> Option<Whole<'_>> {
    let walk = &mut Walk::new();
    let (outer, layer) = tcp_in(link, frame, wire, walk).ok()?;
    Whole::of(outer, layer, walk)
}

/// A fully captured TCP segment, and its addresses.
#[derive(Clone, Copy)]
pub(crate) struct Whole<'a> {
    segment: &'a [u8],
    addresses: Addresses,
}

impl<'a> Whole<'a> {
    /// With a guessed length, or an address that is not the last one of a source route, the checksum is not conclusive.
    pub(crate) fn of(outer: Outer, layer: Layer<'a>, walk: &Walk) -> Option<Self> {
        let is_sure = layer.data.len() == layer.wire && walk.oddities.is_empty() && !walk.detour;
        is_sure.then_some(Self { segment: layer.data, addresses: outer.addresses })
    }

    /// Whether the checksum is correct.
    #[cold]
    pub(crate) fn verify(self) -> Checksum {
        tcp::verify(self.segment, self.addresses.sum())
    }
}

/// The contents after all headers before TCP's.
fn tcp_in<'a>(
    link: LinkType,
    frame: &'a [u8],
    wire: u32,
    walk: &mut Walk,
) -> Result<(Outer, Layer<'a>), Skip> {
    let mut layer = Layer { data: frame, wire: wire as usize };
    let mut header = link::first(link)?;
    loop {
        if let Header::Tcp(outer) = header {
            return Ok((outer, layer));
        }
        (header, layer) = inside(header, layer, walk)?;
    }
}

/// The innermost header that is about TCP, a segment's or an ICMP message's, and the contents after all before it.
pub(crate) fn innermost<'a>(link: LinkType, frame: &'a [u8], wire: u32, walk: &mut Walk) -> Step<'a> {
    let mut layer = Layer { data: frame, wire: wire as usize };
    let mut header = link::first(link)?;
    loop {
        if matches!(header, Header::Tcp(_) | Header::Icmp(..)) {
            return Ok((header, layer));
        }
        (header, layer) = inside(header, layer, walk)?;
    }
}

/// The contents of a header.
pub(crate) fn inside<'a>(header: Header, layer: Layer<'a>, walk: &mut Walk) -> Step<'a> {
    match header {
        Header::Ethernet => link::ethernet(layer, walk),
        Header::Typed(kind) => link::typed(kind, layer, walk),
        Header::Llc => link::llc(layer, walk),
        Header::Cooked => link::cooked(layer),
        Header::Cooked2 => link::cooked2(layer),
        Header::Family => link::family(layer),
        Header::Fddi => link::fddi(layer),
        Header::CiscoHdlc => link::cisco_hdlc(layer),
        Header::Nflog => link::nflog(layer),
        Header::Ipoib => link::ipoib(layer),
        Header::Radiotap => wifi::radiotap(layer, walk),
        Header::Ppi => wifi::ppi(layer, walk),
        Header::Wifi { is_padded } => wifi::frame(is_padded, layer, walk),
        Header::Ppp => tunnel::ppp(layer, walk),
        Header::Pppoe => tunnel::pppoe(layer, walk),
        Header::Mpls => tunnel::mpls(layer, walk),
        Header::Ip => ip::any(layer),
        Header::Ipv4 => ip::v4(layer, walk),
        Header::Ipv6 => ip::v6(layer, walk),
        Header::Inside(protocol, outer) => ip::inside(protocol, outer, layer, walk),
        Header::Icmp(protocol, outer) => {
            Err(quote(protocol, outer, layer, walk).map_or(Skip::NotTcp(protocol), Skip::IcmpError))
        }
        Header::Udp => tunnel::udp(layer, walk),
        Header::GtpU => tunnel::gtp_u(layer, walk),
        Header::Gre => tunnel::gre(layer, walk),
        Header::Tcp(_) => Ok((header, layer)),
    }
}

/// The segment that an ICMP error quotes. It may have been in a tunnel's packet, if enough of that is quoted.
fn quote(protocol: u8, outer: Outer, layer: Layer<'_>, walk: &mut Walk) -> Option<Quote> {
    let error = QuotingError::parse(protocol, outer, layer)?;
    let (mut header, mut quoted) = error.quoted;
    loop {
        match header {
            Header::Tcp(segment) => return error.about(segment, quoted),
            // No error is sent about an error.
            Header::Icmp(..) => return None,
            _ => (header, quoted) = inside(header, quoted, walk).ok()?,
        }
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
