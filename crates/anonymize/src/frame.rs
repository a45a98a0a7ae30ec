//! A frame, written anew.

use crate::draft::Draft;
use crate::names::Names;
use crate::{ip, link, tcp};
use slowpath_capture::layer::{Header, Outer, Skip};
use slowpath_capture::visit::{self, Visited};
use slowpath_capture::{LinkType, Protocol};
use slowpath_model::IcmpKind;
use slowpath_wire::bytes::be32;
use slowpath_wire::{checksum, ip as wire_ip};

/// Bytes of a header that decide whether it can be read.
const MOST_EXAMINED: usize = 48;

/// What a frame was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A TCP segment with so many captured bytes of payload.
    Segment {
        /// Bytes of payload that the copy has not.
        payload: u64,
    },
    /// An ICMP message, of ICMP or ICMPv6 by protocol number.
    Icmp(u8),
    /// Another protocol, of which the copy has the headers before it.
    Other(Protocol),
    /// Headers that contradict themselves or were cut off, or a later fragment.
    Unreadable,
}

/// An ICMP message whose checksum is written when all of the message is.
struct Message {
    at: usize,
    protocol: u8,
    outer: Outer,
    wire: usize,
}

/// Writes frames anew.
pub struct Frames<'n> {
    names: &'n mut Names,
    copy: Vec<u8>,
}

impl<'n> Frames<'n> {
    /// With these replacements.
    pub fn new(names: &'n mut Names) -> Self {
        Self { names, copy: Vec::new() }
    }

    /// The copy of a frame of this link type, with its length on the wire, and what it was. The copy is not longer than
    /// the original, and `in_full` as long, with zeros.
    pub fn copy(&mut self, link: LinkType, frame: &[u8], wire: u32, in_full: bool) -> (&[u8], Content) {
        let Self { names, copy } = self;
        let mut draft = Draft::new(frame, std::mem::take(copy));
        // No header is shown of a link type that cannot be read.
        let mut content = Content::Other(Protocol::Link(link));
        let mut outer: Option<Outer> = None;
        let mut message: Option<Message> = None;
        visit::headers(link, frame, wire, &mut |here| {
            match here.header {
                Header::Ipv4 => ip::v4(here, &mut draft, names),
                Header::Ipv6 => ip::v6(here, &mut draft, names),
                Header::Inside(protocol, inside) => {
                    outer = Some(inside);
                    ip::extension(protocol, here, &mut draft);
                }
                Header::Tcp(between) if here.is_quoted => tcp::quoted(here, between, &mut draft, names),
                Header::Tcp(between) => {
                    content = Content::Segment { payload: tcp::segment(here, between, &mut draft, names) };
                }
                Header::Icmp(protocol, outer) => {
                    if !here.is_quoted {
                        content = Content::Icmp(protocol);
                    }
                    if icmp(protocol, here, &mut draft) {
                        message = Some(Message { at: here.begin, protocol, outer, wire: here.wire });
                    }
                }
                Header::Udp => link::udp(here, outer, &mut draft, names),
                // One that is cut off or contradicts itself is cut off in the copy.
                _ if here.is_broken() => {}
                _ => link::header(here, &mut draft, names),
            }
            if here.next.is_err()
                && !here.is_broken()
                && !matches!(here.header, Header::Typed(_) | Header::Inside(..))
            {
                // Why it cannot be read is to be seen in the copy: not because it is cut off.
                draft.reach(here.begin + here.data.len().min(MOST_EXAMINED));
            }
            if !here.is_quoted {
                content = match here.next {
                    Err(Skip::NotIp(protocol)) => Content::Other(protocol),
                    Err(Skip::NotTcp(number)) => Content::Other(Protocol::Ip(number)),
                    Err(_) => Content::Unreadable,
                    Ok(_) => content,
                };
            }
        });
        if let Some(message) = message {
            sum(&message, &mut draft, names);
        }
        if in_full {
            draft.reach(frame.len());
        }
        *copy = draft.finish();
        (copy, content)
    }
}

/// The header of an ICMP message: type and code, and the MTU of the one that is about that. Returns whether the message
/// quotes a packet.
fn icmp(protocol: u8, here: &Visited<'_>, draft: &mut Draft<'_>) -> bool {
    let at = here.begin;
    draft.keep(at..at + here.data.len().min(2));
    let Some(header) = here.data.first_chunk::<8>().filter(|_| !here.is_quoted) else { return false };
    let (kind, code, word) = (header[0], header[1], be32(header, 4));
    let error = match protocol {
        wire_ip::ICMP => IcmpKind::of_v4(kind, code, word),
        _ => IcmpKind::of_v6(kind, code, word),
    };
    draft.reach(at + if error.is_some() { 8 } else { 0 });
    if let Some(IcmpKind::PacketTooBig { .. }) = error {
        draft.keep(at + if protocol == wire_ip::ICMP { 6 } else { 4 }..at + 8);
    }
    error.is_some()
}

/// The checksum of an ICMP error, as if what is not quoted were zeros.
fn sum(Message { at, protocol, outer, wire }: &Message, draft: &mut Draft<'_>, names: &mut Names) {
    let mut sum = checksum::sum(draft.written(*at));
    if *protocol == wire_ip::ICMPV6 {
        let (source, destination) = (outer.addresses.source(), outer.addresses.destination());
        let addresses = checksum::addresses(names.address(source), names.address(destination));
        sum += checksum::pseudo_header(addresses, *protocol, *wire as u32);
    }
    draft.put(at + 2, &checksum::of(sum).to_be_bytes());
}
