//! Addresses as sockets have them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address in the first of these bytes, or in all of them. IPv4 packets at an IPv6 socket have their IPv4 addresses
/// (RFC 4291, section 2.5.5.2).
pub fn address(family: u16, bytes: [u8; 16]) -> IpAddr {
    if i32::from(family) == libc::AF_INET6 {
        Ipv6Addr::from(bytes).to_canonical()
    } else {
        IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))
    }
}
