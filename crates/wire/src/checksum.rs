//! The Internet checksum (RFC 1071).

use std::net::IpAddr;

/// The sum of the 16-bit words that a checksum is of. Sums of several pieces may be added, if all but the last have an
/// even number of bytes.
pub fn sum(bytes: &[u8]) -> u64 {
    // Words of any width add up to the same; those of 32 bits, in 64, need no carry.
    let mut words = bytes.chunks_exact(4);
    let wide: u64 = words.by_ref().map(|w| u64::from(u32::from_be_bytes([w[0], w[1], w[2], w[3]]))).sum();
    let mut last = [0; 4];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    wide + u64::from(u32::from_be_bytes(last))
}

/// The sum of a packet's addresses.
pub fn addresses(source: IpAddr, destination: IpAddr) -> u64 {
    let of = |address| match address {
        IpAddr::V4(address) => sum(&address.octets()),
        IpAddr::V6(address) => sum(&address.octets()),
    };
    of(source) + of(destination)
}

/// The sum of the pseudo-header that a transport's checksum covers (RFC 9293, section 3.1; RFC 8200, section 8.1), from
/// that of the addresses. `length` is that of the transport's header and payload.
pub fn pseudo_header(addresses: u64, protocol: u8, length: u32) -> u64 {
    addresses + u64::from(protocol) + u64::from(length)
}

/// A sum in 16 bits: what the field holds of the pseudo-header while the rest is left to the network card.
pub fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum of what was summed up: 0 where the checksum among it is right.
pub fn of(sum: u64) -> u16 {
    !folded(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 1071, section 3, and a length that is no multiple of a word.
    #[test]
    fn sums_are_those_of_the_rfc() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(folded(sum(&bytes)), 0xddf2);
        assert_eq!(of(sum(&[0x12, 0x34, 0x56])), !(0x1234 + 0x5600));
    }
}
