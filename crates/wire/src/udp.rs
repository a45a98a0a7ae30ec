//! The header of UDP (RFC 768).

/// The header's length.
pub const HEADER: usize = 8;
/// The offset of the checksum.
pub const CHECKSUM: usize = 6;

/// Writes the header of a datagram of `length` bytes, including the header, without a checksum.
pub fn put(into: &mut Vec<u8>, (source, destination): (u16, u16), length: u16) {
    for field in [source, destination, length, 0] {
        into.extend(field.to_be_bytes());
    }
}

/// A checksum as sent in the header: zero would mean that there is none.
pub fn checksum(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}
