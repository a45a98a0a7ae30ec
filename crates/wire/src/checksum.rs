//! The Internet checksum (RFC 1071).

use std::net::IpAddr;

/// The sum of 16-bit words for a checksum. Sums of several pieces may be added, if all but the last have an even number
/// of bytes.
pub fn sum(bytes: &[u8]) -> u64 {
    // Words of any width give the same sum; 32-bit words in 64 bits need no carry.
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

/// The sum of the pseudo-header of a transport checksum (RFC 9293, section 3.1; RFC 8200, section 8.1), from that of
/// the addresses. `length` is that of the transport's header and payload.
pub fn pseudo_header(addresses: u64, protocol: u8, length: u32) -> u64 {
    addresses + u64::from(protocol) + u64::from(length)
}

/// A sum folded to 16 bits: the field's value with checksum offload, from the pseudo-header only.
pub fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum of a sum: 0 if it includes a correct checksum.
pub fn of(sum: u64) -> u16 {
    !folded(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 1071, section 3, and a length that is not a multiple of a word.
    #[test]
    fn checksum_matches_the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(folded(sum(&bytes)), 0xddf2);
        assert_eq!(of(sum(&[0x12, 0x34, 0x56])), !(0x1234 + 0x5600));
    }
}
