//! The headers of a frame, one after the other, for a program that writes the frame anew. They are found as the reader
//! of captures finds them, so such a program can copy what is read, and nothing else.

use crate::decode::{self, Whole};
use crate::icmp::QuotingError;
use crate::layer::{Header, Layer, Skip, Walk};
use crate::link;
use crate::link_type::LinkType;
use slowpath_model::Checksum;

/// A header of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Visited<'a> {
    /// Which header.
    pub header: Header,
    /// Where it begins in the frame.
    pub begin: usize,
    /// The captured bytes from there, within the lengths that the headers before it state.
    pub data: &'a [u8],
    /// The length of these on the wire.
    pub wire: usize,
    /// Where the next header begins; why there is none. The innermost headers, those of TCP and ICMP, end at their
    /// beginning.
    pub next: Result<usize, Skip>,
    /// Which header that is.
    pub then: Option<Header>,
    /// Whether an ICMP error quotes it.
    pub is_quoted: bool,
    /// Of TCP, whether the segment's checksum is correct; `None` if that cannot be verified, because not all of it was
    /// captured, or its length or its receiver's address is not sure.
    pub checksum: Option<Checksum>,
}

impl Visited<'_> {
    /// Whether it is cut off or contradicts itself.
    pub const fn is_broken(&self) -> bool {
        matches!(self.next, Err(Skip::Truncated | Skip::Malformed))
    }
}

/// Shows each header of a frame to `each`, from the outermost to the innermost. An ICMP error is followed by the headers of
/// the packet that it quotes.
pub fn headers<'a>(link: LinkType, frame: &'a [u8], wire: u32, each: &mut impl FnMut(&Visited<'a>)) {
    let walk = &mut Walk::new();
    let Ok(mut header) = link::first(link) else { return };
    let mut layer = Layer { data: frame, wire: wire as usize };
    let begin = |layer: Layer<'_>| layer.data.as_ptr().addr() - frame.as_ptr().addr();
    let mut is_quoted = false;
    loop {
        let here = Visited {
            header,
            begin: begin(layer),
            data: layer.data,
            wire: layer.wire,
            next: Ok(begin(layer)),
            then: None,
            is_quoted,
            checksum: None,
        };
        let next = match header {
            Header::Tcp(outer) => {
                let whole = if is_quoted { None } else { Whole::of(outer, layer, walk) };
                return each(&Visited { checksum: whole.map(Whole::verify), ..here });
            }
            Header::Icmp(protocol, outer) => {
                each(&here);
                match QuotingError::parse(protocol, outer, layer) {
                    // No error is sent about an error.
                    Some(error) if !is_quoted => {
                        is_quoted = true;
                        (header, layer) = error.quoted;
                        continue;
                    }
                    _ => return,
                }
            }
            _ => decode::inside(header, layer, walk),
        };
        let then = next.ok().map(|(header, _)| header);
        each(&Visited { next: next.map(|(_, layer)| begin(layer)), then, ..here });
        match next {
            Ok(next) => (header, layer) = next,
            Err(_) => return,
        }
    }
}
