//! The addresses of a run: those that scripts expect, packetdrill's for Linux's own tests.

use slowpath_drill::config::{Config, IpVersion};
use slowpath_drill::wire::Addresses;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Addresses, and the sockets that use them.
#[derive(Clone, Debug)]
pub struct Network {
    pub addresses: Addresses,
    pub version: IpVersion,
}

const LOCAL_V4: Ipv4Addr = Ipv4Addr::new(192, 168, 0, 1);
/// From the block for documentation (RFC 5737): private addresses are treated specially in places.
const REMOTE_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const LOCAL_V6: Ipv6Addr = Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, 0, 0, 0, 0, 1);
const REMOTE_V6: Ipv6Addr = Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1);

impl Network {
    /// The default addresses, unless a script sets others.
    pub fn of(config: &Config) -> Self {
        let (local, remote) = match config.ip_version {
            IpVersion::V6 => (IpAddr::V6(LOCAL_V6), IpAddr::V6(REMOTE_V6)),
            IpVersion::V4 | IpVersion::V4MappedV6 => (IpAddr::V4(LOCAL_V4), IpAddr::V4(REMOTE_V4)),
        };
        let of_version = |address: &IpAddr| address.is_ipv4() == local.is_ipv4();
        let addresses = Addresses {
            local: config.local.filter(of_version).unwrap_or(local),
            remote: config.remote.filter(of_version).unwrap_or(remote),
        };
        Self { addresses, version: config.ip_version }
    }

    /// The family of sockets.
    pub fn family(&self) -> i32 {
        match self.version {
            IpVersion::V4 => libc::AF_INET,
            IpVersion::V4MappedV6 | IpVersion::V6 => libc::AF_INET6,
        }
    }

    /// The socket address of an address and a port, in this family.
    pub fn socket_address(&self, address: IpAddr, port: u16) -> SocketAddr {
        match (self.version, address) {
            (IpVersion::V4MappedV6, IpAddr::V4(address)) => (address.to_ipv6_mapped(), port).into(),
            (_, address) => (address, port).into(),
        }
    }
}
