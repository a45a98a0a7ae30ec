//! A TCP segment found in a frame.

use crate::addresses::Addresses;
use crate::oddity::Oddities;
use slowpath_model::IpFacts;
use slowpath_wire::tcp;

/// A TCP segment and the IP header around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Source and destination.
    pub addresses: Addresses,
    /// Other fields of the IP header.
    pub ip: IpFacts,
    /// The TCP header.
    pub tcp: tcp::Header<'a>,
    /// Its oddities.
    pub oddities: Oddities,
}
