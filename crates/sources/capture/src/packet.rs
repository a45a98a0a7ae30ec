//! A TCP segment as it was found in a frame.

use crate::addresses::Addresses;
use crate::oddity::Oddities;
use slowpath_model::IpFacts;
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
    /// What was odd about it.
    pub oddities: Oddities,
}
