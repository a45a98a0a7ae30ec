//! The Internet checksum (RFC 1071).

use super::Addresses;
use std::net::IpAddr;

/// The checksum of several pieces; all but the last have an even number of bytes.
pub fn of(pieces: &[&[u8]]) -> u16 {
    let mut sum = 0u64;
    for piece in pieces {
        for pair in piece.chunks(2) {
            sum += u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The checksum of a transport's packet, with the addresses that it covers (RFC 9293, section 3.1; RFC 8200,
/// section 8.1). From the network to the kernel; the sum is the same the other way.
pub fn of_transport(addresses: Addresses, protocol: u8, packet: &[u8]) -> u16 {
    let mut covered = Vec::with_capacity(40);
    for address in [addresses.remote, addresses.local] {
        match address {
            IpAddr::V4(address) => covered.extend(address.octets()),
            IpAddr::V6(address) => covered.extend(address.octets()),
        }
    }
    let length = u32::try_from(packet.len()).unwrap_or(u32::MAX);
    covered.extend(length.to_be_bytes());
    covered.extend([0, 0, 0, protocol]);
    of(&[&covered, packet])
}
