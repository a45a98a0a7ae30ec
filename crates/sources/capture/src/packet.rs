//! A TCP segment as it was found in a frame.

use crate::oddity::Oddities;
use crate::tcp;
use slowpath_model::IpFacts;

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
