//! A TCP segment as it was found in a frame.

use crate::addresses::Addresses;
use crate::oddity::Oddities;
use slowpath_model::{Checksum, IpFacts};
use slowpath_wire::tcp;

/// A TCP segment and the IP header around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Between whom.
    pub addresses: Addresses,
    /// What else the IP header says.
    pub ip: IpFacts,
    /// The TCP header.
    pub tcp: tcp::Header<'a>,
    /// The segment, as far as it was captured; nothing where that cannot tell whether its checksum is right.
    pub data: &'a [u8],
    /// What was odd about it.
    pub oddities: Oddities,
}

/// Whether the checksum is right of a segment that was captured as `data`, with so many bytes of payload on the wire.
#[cold]
pub(crate) fn checksum(addresses: Addresses, data: &[u8], payload: u32) -> Checksum {
    let header = data.first_chunk().map_or(0, |fixed| tcp::Fixed(fixed).header_bytes());
    let is_whole = header + payload as usize == data.len();
    if is_whole { tcp::verify(data, addresses.sum()) } else { Checksum::Unknown }
}
