//! From a frame to the TCP segment in it, if there is one.
//!
//! Two ways lead there and agree (a property test holds them to it): [`fast`] takes the frame that nearly every
//! frame is, TCP over IP over Ethernet with at most two VLAN tags and nothing unusual; [`decode`] takes any.

use crate::bytes::{be16, be32, be128};
use crate::link::{self, LinkType};
use crate::summary::Oddity;
use crate::tcp::{self, OptionFault};
use slowpath_model::{Ecn, IpFacts};

/// Why a frame holds no TCP segment that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Neither IPv4 nor IPv6.
    NotIp,
    /// Another protocol over IP, by its IANA number.
    NotTcp(u8),
    /// A fragment of a TCP segment other than its first.
    LaterFragment,
    /// The snapshot length cut a header off.
    Truncated,
    /// A header contradicts itself.
    Malformed,
    /// The link type is not known.
    UnsupportedLink,
    /// More headers inside each other than are followed.
    TooDeep,
}

/// The addresses of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// IPv4.
    V4 {
        /// The sender's.
        source: u32,
        /// The receiver's.
        destination: u32,
    },
    /// IPv6.
    V6 {
        /// The sender's.
        source: u128,
        /// The receiver's.
        destination: u128,
    },
}

/// What was odd about a frame that could be used all the same: a set of [`Oddity`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities(u32);

impl Oddities {
    /// None.
    pub(crate) const NONE: Self = Self(0);

    /// Whether there are none.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `oddity` is one of them.
    pub const fn has(self, oddity: Oddity) -> bool {
        self.0 & (1 << oddity as u32) != 0
    }

    pub(crate) const fn add(&mut self, oddity: Oddity) {
        self.0 |= 1 << oddity as u32;
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Oddity> {
        Oddity::ALL.into_iter().filter(move |oddity| self.has(*oddity))
    }
}

/// A TCP segment and the IP header around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Between whom.
    pub addresses: Addresses,
    /// What else the IP header says.
    pub ip: IpFacts,
    /// The TCP header.
    pub tcp: tcp::Header<'a>,
    /// What was odd about it.
    pub oddities: Oddities,
}

/// Finds the TCP segment in `frame`, which had `wire` bytes before the snapshot length cut it.
pub fn decode(link: LinkType, frame: &[u8], wire: u32) -> Result<Packet<'_>, Skip> {
    if link == LinkType::ETHERNET
        && let Some(packet) = fast(frame, wire)
    {
        return Ok(packet);
    }
    link::decode(link, frame, wire)
}

/// Ethernet's header (IEEE 802.3).
const ETHERNET: usize = 14;
/// An IPv4 header without options (RFC 791).
const IPV4: usize = 20;
/// The IPv6 header (RFC 8200).
const IPV6: usize = 40;

/// TCP's number among the IP protocols.
const TCP: u8 = 6;

/// The short way, for Ethernet only. `None` where the frame is not what nearly every frame is.
pub fn fast(frame: &[u8], wire: u32) -> Option<Packet<'_>> {
    let located = Located::find(frame, wire)?;
    let mut packet = located.without_options();
    located.options(&mut packet);
    (packet.tcp.options.fault == OptionFault::None).then_some(packet)
}

/// Where in a frame that the short way can take the headers are.
///
/// Found first and read afterwards, step by step into the same packet: handed from function to function in pieces,
/// each copy would wait for the pieces (20 ns a frame).
#[derive(Clone, Copy)]
pub(crate) struct Located<'a> {
    ip: Ip<'a>,
    tcp: &'a [u8],
    fixed: &'a [u8; tcp::HEADER],
    header: usize,
    length: u32,
}

#[derive(Clone, Copy)]
enum Ip<'a> {
    V4(&'a [u8; IPV4]),
    V6(&'a [u8; IPV6]),
}

impl<'a> Located<'a> {
    /// Finds the headers.
    #[inline(always)]
    pub(crate) fn find(frame: &'a [u8], wire: u32) -> Option<Self> {
        let mut at = ETHERNET;
        let mut kind = be16(frame.get(12..14)?, 0);
        for _ in 0..2 {
            if !matches!(kind, 0x8100 | 0x88a8 | 0x9100) {
                break;
            }
            kind = be16(frame.get(at + 2..at + 4)?, 0);
            at += 4;
        }
        let rest = frame.get(at..)?;
        let wire = (wire as usize).checked_sub(at)?;
        let (ip, header, total) = match kind {
            0x0800 => {
                let ip = rest.first_chunk::<IPV4>()?;
                // Options, other protocols and fragments go the long way.
                if ip[0] != 0x45 || ip[9] != TCP || be16(ip, 6) & 0x3fff != 0 {
                    return None;
                }
                (Ip::V4(ip), IPV4, usize::from(be16(ip, 2)))
            }
            0x86dd => {
                let ip = rest.first_chunk::<IPV6>()?;
                let length = usize::from(be16(ip, 4));
                if ip[0] >> 4 != 6 || ip[6] != TCP || length == 0 {
                    return None;
                }
                (Ip::V6(ip), IPV6, IPV6 + length)
            }
            _ => return None,
        };
        // Wrong lengths go the long way as well.
        if total < header || total > wire {
            return None;
        }
        // Behind the IP packet there may be Ethernet's padding.
        let tcp = rest.get(header..rest.len().min(total))?;
        let fixed = tcp.first_chunk()?;
        let length = (total - header) as u32;
        Some(Self { ip, tcp, fixed, header: tcp::header_length(fixed, length)?, length })
    }

    /// Reads the headers but for the options.
    #[inline(always)]
    pub(crate) fn without_options(&self) -> Packet<'a> {
        let (addresses, ip) = match self.ip {
            Ip::V4(ip) => (
                Addresses::V4 { source: be32(ip, 12), destination: be32(ip, 16) },
                IpFacts { id: Some(be16(ip, 4)), ttl: ip[8], ecn: Ecn::from_bits(ip[1]) },
            ),
            Ip::V6(ip) => (
                Addresses::V6 { source: be128(ip, 8), destination: be128(ip, 24) },
                IpFacts { id: None, ttl: ip[7], ecn: Ecn::from_bits(ip[1] >> 4) },
            ),
        };
        let tcp = tcp::Header::without_options(self.fixed, self.length - self.header as u32);
        Packet { addresses, ip, tcp, oddities: Oddities::NONE }
    }

    /// Reads the options. They may turn out to be faulty; then the long way has to say how.
    #[inline(always)]
    pub(crate) fn options(&self, packet: &mut Packet<'a>) {
        packet.tcp.options.read(self.tcp, self.header);
    }
}
