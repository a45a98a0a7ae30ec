//! The nested headers of a frame: parsing each, and the type of the next.

use crate::addresses::Addresses;
use crate::link_type::LinkType;
use crate::oddity::{Oddities, Oddity};
use crate::protocol::Protocol;
use slowpath_model::{IcmpKind, IpFacts};
use slowpath_wire::tcp::HeaderFault;
use std::net::IpAddr;

/// Why a frame has no usable TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Neither IPv4 nor IPv6, but this protocol.
    NotIp(Protocol),
    /// Another protocol over IP, by its IANA number.
    NotTcp(u8),
    /// An ICMP error, about a TCP segment.
    IcmpError(Quote),
    /// A fragment of an IP datagram other than its first.
    LaterFragment(Fragment),
    /// The snapshot length cut a header off.
    Truncated,
    /// A header contradicts itself.
    Malformed,
    /// An unsupported link type.
    UnsupportedLink(LinkType),
    /// Too many nested headers.
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
    /// The protocol that carried it: ICMP or ICMPv6.
    pub protocol: u8,
    /// The sender.
    pub from: IpAddr,
    /// The error.
    pub kind: IcmpKind,
    /// The segment's addresses.
    pub addresses: Addresses,
    /// The ports of the segment's sender and receiver.
    pub ports: (u16, u16),
    /// The segment's sequence number.
    pub seq: u32,
}

/// A fragment of an IP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The datagram's addresses.
    pub addresses: Addresses,
    /// The datagram's protocol, by its IANA number.
    pub protocol: u8,
    /// The datagram's identification.
    pub id: u32,
    /// The offset of its data in the datagram, in bytes.
    pub start: u32,
    /// Bytes of data.
    pub length: u32,
    /// Whether no fragment follows it.
    pub is_last: bool,
}

impl Fragment {
    /// Whether `other` is a fragment of the same datagram (RFC 791, section 3.2).
    pub(crate) fn is_of_datagram(&self, other: &Self) -> bool {
        (self.id, self.protocol, self.addresses) == (other.id, other.protocol, other.addresses)
    }
}

/// The first fragment of a datagram that contains a TCP segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First<'a> {
    pub(crate) fragment: Fragment,
    /// The captured bytes of the segment.
    pub(crate) tcp: &'a [u8],
    /// The segment's length, as far as this fragment shows it.
    pub(crate) length: u32,
    /// Whether the rest of the datagram is the segment's; in a tunnel, the segment's own IP header states its length.
    pub(crate) is_open_ended: bool,
}

/// The maximum number of nested headers, of any kind. Ordinary traffic has 2 to 4, a provider's nested tunnels some 12.
const DEPTH: u8 = 24;

/// The rest of a frame after the parsed headers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer<'a> {
    /// The captured bytes.
    pub(crate) data: &'a [u8],
    /// Its length on the wire.
    pub(crate) wire: usize,
}

impl<'a> Layer<'a> {
    /// The captured bytes, if they include the first `n`.
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

    /// The part after the first `n` bytes.
    pub(crate) fn after(self, n: usize) -> Result<Self, Skip> {
        match self.data.get(n..) {
            Some(data) => Ok(Self { data, wire: self.wire.saturating_sub(n) }),
            None => Err(self.too_short(n)),
        }
    }

    /// At most the first `n` bytes.
    pub(crate) fn limit(self, n: usize) -> Self {
        Self { data: &self.data[..self.data.len().min(n)], wire: self.wire.min(n) }
    }
}

/// The path through one frame: oddities so far, and how many more headers may follow.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) oddities: Oddities,
    /// Whether the previous header stated the layer's length, not only the record.
    pub(crate) stated: bool,
    /// Whether the packet is source-routed.
    pub(crate) detour: bool,
    /// The outermost datagram of which this is the first fragment.
    pub(crate) first: Option<Fragment>,
    /// Whether that datagram has another IP header inside.
    pub(crate) is_nested: bool,
    left: u8,
}

impl Walk {
    pub(crate) const fn new() -> Self {
        Self {
            oddities: Oddities::NONE,
            stated: false,
            detour: false,
            first: None,
            is_nested: false,
            left: DEPTH,
        }
    }

    /// Notes the first fragment of a datagram.
    pub(crate) fn begins(&mut self, fragment: Fragment) {
        self.oddities.add(Oddity::FirstFragment);
        self.first.get_or_insert(fragment);
    }

    /// Goes one header deeper.
    pub(crate) fn deeper(&mut self) -> Result<(), Skip> {
        self.left = self.left.checked_sub(1).ok_or(Skip::TooDeep)?;
        Ok(())
    }
}

/// A header, by its type in the previous one.
#[derive(Clone, Copy, Debug)]
pub enum Header {
    /// Ethernet's two addresses and EtherType.
    Ethernet,
    /// By EtherType.
    Typed(u16),
    /// IEEE 802.2.
    Llc,
    /// Linux's "cooked" one.
    Cooked,
    /// Its second version.
    Cooked2,
    /// The loopback's address family.
    Family,
    /// FDDI.
    Fddi,
    /// Cisco HDLC.
    CiscoHdlc,
    /// The attributes of netfilter's log.
    Nflog,
    /// IP over InfiniBand.
    Ipoib,
    /// Radiotap's.
    Radiotap,
    /// Per-packet information.
    Ppi,
    /// IEEE 802.11, perhaps with padding after its header.
    Wifi {
        /// Whether its length is rounded up to a multiple of 4.
        is_padded: bool,
    },
    /// PPP.
    Ppp,
    /// PPP over Ethernet, a session's data.
    Pppoe,
    /// A stack of MPLS labels.
    Mpls,
    /// IP of either version.
    Ip,
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// By IP protocol number.
    Inside(u8, Outer),
    /// ICMP of either version, by protocol number.
    Icmp(u8, Outer),
    /// UDP, with the header of the tunnel that its port names.
    Udp,
    /// GTP-U.
    GtpU,
    /// GRE.
    Gre,
    /// The TCP segment.
    Tcp(Outer),
}

/// Fields of an IP header for the headers inside it.
#[derive(Clone, Copy, Debug)]
pub struct Outer {
    /// Its addresses.
    pub addresses: Addresses,
    /// Other fields of it.
    pub facts: IpFacts,
}

/// The next header, and its bytes.
pub(crate) type Step<'a> = Result<(Header, Layer<'a>), Skip>;
