//! The fast path from a frame to its TCP segment, for the most common frame: TCP over IP over Ethernet with at most two
//! VLAN tags, no options except TCP's timestamps and SACK, and nothing else unusual. Other frames take the general path
//! ([`crate::decode::headers`]).

use crate::addresses::Addresses;
use crate::oddity::Oddities;
use crate::packet::Packet;
use slowpath_model::{Ecn, IpFacts};
use slowpath_wire::bytes::be16;
use slowpath_wire::ip::{self, V4, V6};
use slowpath_wire::tcp;

/// Ethernet's header (IEEE 802.3).
const ETHERNET: usize = 14;
/// A VLAN tag (IEEE 802.1Q).
const VLAN_TAG: usize = 4;
/// A frame after its Ethernet header, by the type stated there.
#[derive(Clone, Copy)]
pub(crate) enum Datagram<'a> {
    V4(Body<'a>),
    V6(Body<'a>),
}

/// The contents of an Ethernet frame.
#[derive(Clone, Copy)]
pub(crate) struct Body<'a> {
    pub(crate) captured: &'a [u8],
    pub(crate) wire: usize,
}

impl<'a> Datagram<'a> {
    /// Parses the Ethernet header of `frame`, whose length on the wire was `wire` bytes.
    #[inline(always)]
    pub(crate) fn of_ethernet(frame: &'a [u8], wire: u32) -> Option<Self> {
        let mut at = ETHERNET;
        loop {
            let kind = be16(frame.get(at - 2..at)?, 0);
            let body = Body { captured: frame.get(at..)?, wire: (wire as usize).checked_sub(at)? };
            match kind {
                0x0800 => return Some(Self::V4(body)),
                0x86dd => return Some(Self::V6(body)),
                0x8100 | 0x88a8 | 0x9100 if at < ETHERNET + 2 * VLAN_TAG => at += VLAN_TAG,
                _ => return None,
            }
        }
    }
}

/// The IP header of a whole TCP segment, directly followed by TCP.
///
/// One function per version takes a packet from its bytes to its flow: with the version known at compile time,
/// addresses of the other size need not be carried along.
pub(crate) trait Ip<'a>: Copy + Sized {
    /// Its length.
    const HEADER: usize;

    /// The header at the start of `bytes`, and the packet's length stated there. `None` for other protocols, fragments,
    /// options.
    fn first(bytes: &'a [u8]) -> Option<(Self, usize)>;

    fn addresses(self) -> Addresses;

    fn facts(self) -> IpFacts;
}

impl<'a> Ip<'a> for V4<'a> {
    const HEADER: usize = ip::V4_BYTES;

    #[inline(always)]
    fn first(bytes: &'a [u8]) -> Option<(Self, usize)> {
        let ip = V4(bytes.first_chunk()?);
        let usual = ip.0[0] == 0x45 && ip.protocol() == ip::TCP && !ip.is_fragment();
        usual.then_some((ip, ip.total_bytes()))
    }

    #[inline(always)]
    fn addresses(self) -> Addresses {
        Addresses::V4 { source: self.source(), destination: self.destination() }
    }

    #[inline(always)]
    fn facts(self) -> IpFacts {
        IpFacts { id: Some(self.id()), ttl: self.ttl(), ecn: Ecn::from_bits(self.class()) }
    }
}

impl<'a> Ip<'a> for V6<'a> {
    const HEADER: usize = ip::V6_BYTES;

    #[inline(always)]
    fn first(bytes: &'a [u8]) -> Option<(Self, usize)> {
        let ip = V6(bytes.first_chunk()?);
        let length = ip.payload_bytes();
        let usual = ip.version() == 6 && ip.next_header() == ip::TCP && length != 0;
        usual.then_some((ip, ip::V6_BYTES + length))
    }

    #[inline(always)]
    fn addresses(self) -> Addresses {
        Addresses::V6 { source: self.source(), destination: self.destination() }
    }

    #[inline(always)]
    fn facts(self) -> IpFacts {
        IpFacts { id: None, ttl: self.hop_limit(), ecn: Ecn::from_bits(self.class()) }
    }
}

/// The packet in `body`.
#[inline(always)]
pub(crate) fn packet<'a, I: Ip<'a>>(body: Body<'a>) -> Option<Packet<'a>> {
    let (ip, total) = I::first(body.captured)?;
    // Wrong lengths take the general path as well.
    if total < I::HEADER || total > body.wire {
        return None;
    }
    // Ethernet's padding may follow the IP packet.
    let data = body.captured.get(I::HEADER..body.captured.len().min(total))?;
    let fixed = tcp::Fixed(data.first_chunk()?);
    let length = (total - I::HEADER) as u32;
    let header = fixed.sound_header_bytes(length)?;
    let options = tcp::Options::usual(data, header)?;
    let tcp = tcp::Header::new(fixed, length - header as u32, options);
    Some(Packet { addresses: ip.addresses(), ip: ip.facts(), tcp, oddities: Oddities::NONE })
}
