//! From a frame to the TCP segment in it, if there is one.
//!
//! Two ways lead there and agree (a property test holds them to it): [`fast`] takes the frame that nearly every
//! frame is, TCP over IP over Ethernet with at most two VLAN tags, no options but TCP's timestamps and nothing else
//! unusual; [`decode`] takes any.

use crate::link::{self, LinkType};
use crate::short::{self, Datagram};
use crate::summary::Oddity;
use crate::tcp;
use slowpath_model::IpFacts;

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

/// The short way, for Ethernet only. `None` where the frame is not what nearly every frame is.
pub fn fast(frame: &[u8], wire: u32) -> Option<Packet<'_>> {
    match Datagram::of_ethernet(frame, wire)? {
        Datagram::V4(body) => short::packet::<short::V4<'_>>(body),
        Datagram::V6(body) => short::packet::<short::V6<'_>>(body),
    }
}
