//! Addresses as sockets have them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The bytes from which [`address`] reads this address.
pub fn bytes_like(family: u16, address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V6(address) => address.octets(),
        IpAddr::V4(address) if i32::from(family) == libc::AF_INET6 => address.to_ipv6_mapped().octets(),
        IpAddr::V4(address) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&address.octets());
            bytes
        }
    }
}

/// The address in the first of these bytes, or in all of them. IPv4 packets at an IPv6 socket have their IPv4 addresses
/// (RFC 4291, section 2.5.5.2).
pub fn address(family: u16, bytes: [u8; 16]) -> IpAddr {
    if i32::from(family) == libc::AF_INET6 {
        Ipv6Addr::from(bytes).to_canonical()
    } else {
        IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))
    }
}
