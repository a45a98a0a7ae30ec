//! Source and destination address of a packet.

use slowpath_wire::checksum::sum;
use std::net::IpAddr;

/// The addresses of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

impl Addresses {
    /// The sender's.
    pub fn source(self) -> IpAddr {
        match self {
            Self::V4 { source, .. } => source.to_be_bytes().into(),
            Self::V6 { source, .. } => source.to_be_bytes().into(),
        }
    }

    /// The receiver's.
    pub fn destination(self) -> IpAddr {
        match self {
            Self::V4 { destination, .. } => destination.to_be_bytes().into(),
            Self::V6 { destination, .. } => destination.to_be_bytes().into(),
        }
    }

    /// Their sum, for checksums.
    pub(crate) fn sum(self) -> u64 {
        match self {
            Self::V4 { source, destination } => sum(&source.to_be_bytes()) + sum(&destination.to_be_bytes()),
            Self::V6 { source, destination } => sum(&source.to_be_bytes()) + sum(&destination.to_be_bytes()),
        }
    }
}
