//! The headers of a frame, one inside the other: what each reads, and what it says is inside it.

use crate::addresses::Addresses;
use crate::link_type::LinkType;
use crate::oddity::Oddities;
use crate::protocol::Protocol;
use slowpath_model::{IcmpKind, IpFacts};
use slowpath_wire::tcp::HeaderFault;
use std::net::IpAddr;

/// Why a frame holds no TCP segment that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Neither IPv4 nor IPv6, but this.
    NotIp(Protocol),
    /// Another protocol over IP, by its IANA number.
    NotTcp(u8),
    /// An ICMP error, about a TCP segment.
    IcmpError(Quote),
    /// A fragment of a TCP segment other than its first.
    LaterFragment,
    /// The snapshot length cut a header off.
    Truncated,
    /// A header contradicts itself.
    Malformed,
    /// The link type is not known.
    UnsupportedLink(LinkType),
    /// More headers inside each other than are followed.
    TooDeep,
}

impl From<HeaderFault> for Skip {
    fn from(fault: HeaderFault) -> Self {
        match fault {
            HeaderFault::Truncated => Self::Truncated,
            HeaderFault::Malformed => Self::Malformed,
        }
    }
}

/// An ICMP error that quotes a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The protocol that it came in: ICMP or ICMPv6.
    pub protocol: u8,
    /// The sender.
    pub from: IpAddr,
    /// What it says.
    pub kind: IcmpKind,
    /// Between whom the segment went.
    pub addresses: Addresses,
    /// The ports of the segment's sender and receiver.
    pub ports: (u16, u16),
    /// The segment's sequence number.
    pub seq: u32,
}

/// Headers inside each other that are followed, of whatever kind. Ordinary traffic has 2 to 4, a provider's
/// tunnel of tunnels some 12.
const DEPTH: u8 = 24;

/// The rest of a frame inside the headers passed so far.
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

    /// The first `N` bytes, if they were captured.
    pub(crate) fn first<const N: usize>(self) -> Result<&'a [u8; N], Skip> {
        self.data.first_chunk().ok_or_else(|| self.too_short(N))
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
    /// Whether the packet goes by way of other addresses than its last one.
    pub(crate) detour: bool,
    left: u8,
}

impl Walk {
    pub(crate) const fn new() -> Self {
        Self { oddities: Oddities::NONE, stated: false, detour: false, left: DEPTH }
    }

    /// Goes one header deeper.
    pub(crate) fn deeper(&mut self) -> Result<(), Skip> {
        self.left = self.left.checked_sub(1).ok_or(Skip::TooDeep)?;
        Ok(())
    }
}

/// A header, by what announced it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Header {
    Ethernet,
    /// What an EtherType announces.
    Typed(u16),
    /// IEEE 802.2.
    Llc,
    /// Linux's "cooked" one.
    Cooked,
    /// Its second version.
    Cooked2,
    /// The loopback's address family.
    Family,
    Fddi,
    CiscoHdlc,
    Nflog,
    /// IP over InfiniBand.
    Ipoib,
    Radiotap,
    Ppi,
    /// IEEE 802.11, perhaps with padding behind its header.
    Wifi {
        is_padded: bool,
    },
    Ppp,
    Pppoe,
    Mpls,
    /// IP of either version.
    Ip,
    Ipv4,
    Ipv6,
    /// What an IP header announces, by IANA's number.
    Inside(u8, Outer),
    /// Of either version, by IANA's number.
    Icmp(u8, Outer),
    Udp,
    GtpU,
    Gre,
    /// The segment that was looked for.
    Tcp(Outer),
}

/// What an IP header says to the headers inside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outer {
    pub(crate) addresses: Addresses,
    pub(crate) facts: IpFacts,
}

/// What is inside a header, and where it begins.
pub(crate) type Step<'a> = Result<(Header, Layer<'a>), Skip>;
