//! Blocks of the next generation capture format (draft-ietf-opsawg-pcapng). They are read in either byte order, and
//! written in little-endian.

use crate::bytes::Order;

/// The type of a section header block as bytes, the same in both byte orders.
pub const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Type and total length before a block's body, total length after it.
pub const FRAME: usize = 12;
/// The first bytes of a section header's body, in the section's byte order.
pub const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

// Block types (section 10.1).
/// Interface description.
pub const INTERFACE: u32 = 1;
/// Packet, obsolete.
pub const OBSOLETE_PACKET: u32 = 2;
/// Simple packet.
pub const SIMPLE_PACKET: u32 = 3;
/// Name resolution.
pub const NAME_RESOLUTION: u32 = 4;
/// Interface statistics.
pub const INTERFACE_STATISTICS: u32 = 5;
/// Enhanced packet.
pub const ENHANCED_PACKET: u32 = 6;
/// Decryption secrets.
pub const DECRYPTION_SECRETS: u32 = 10;

// Options (sections 3.5, 4.2 and 4.6).
/// `opt_endofopt`.
pub const OPT_END: u16 = 0;
/// `opt_comment`.
pub const OPT_COMMENT: u16 = 1;
/// `if_name`.
pub const IF_NAME: u16 = 2;
/// `if_tsresol`: a negative power of ten, or of two if the highest bit is set.
pub const IF_TSRESOL: u16 = 9;
/// `if_tsoffset`: seconds to add.
pub const IF_TSOFFSET: u16 = 14;
/// `isb_ifdrop`.
pub const ISB_IFDROP: u16 = 5;
/// `isb_osdrop`.
pub const ISB_OSDROP: u16 = 7;

/// The options of a block after its fixed part, by code and value, up to their end.
pub fn options(order: Order, bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.len() < 4 {
            return None;
        }
        let (code, length) = (order.u16(rest, 0), usize::from(order.u16(rest, 2)));
        let value = rest.get(4..4 + length)?;
        rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        (code != OPT_END).then_some((code, value))
    })
}

/// Writes a section header block without a section length.
pub fn put_section(file: &mut Vec<u8>, options: &[(u16, &[u8])]) {
    let [magic, version] = [BYTE_ORDER_MAGIC, 1].map(u32::to_le_bytes);
    put_block(file, u32::from_le_bytes(SECTION), &[&magic, &version, &[0xff; 8], &encoded(options)]);
}

/// Writes an interface description block without a snapshot length.
pub fn put_interface(file: &mut Vec<u8>, link_type: u16, options: &[(u16, &[u8])]) {
    let link_type = u32::from(link_type).to_le_bytes();
    put_block(file, INTERFACE, &[&link_type, &[0; 4], &encoded(options)]);
}

/// Writes an enhanced packet block: a frame with its length on the wire, and its captured bytes `kept`. The timestamp
/// is in ticks of the interface's clock.
pub fn put_packet(file: &mut Vec<u8>, interface: u32, ticks: u64, length: u32, kept: &[u8]) {
    let words = [interface, (ticks >> 32) as u32, ticks as u32, kept.len() as u32, length];
    let mut fixed = [0; 20];
    for (bytes, word) in fixed.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    put_block(file, ENHANCED_PACKET, &[&fixed, kept]);
}

fn encoded(options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (code, value) in options.iter().chain(&[(OPT_END, &[][..])]) {
        bytes.extend([*code, value.len() as u16].map(u16::to_le_bytes).concat());
        bytes.extend(*value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

/// Writes a block whose body consists of `parts`.
fn put_block(file: &mut Vec<u8>, kind: u32, parts: &[&[u8]]) {
    let body: usize = parts.iter().map(|part| part.len()).sum();
    let length = ((body.next_multiple_of(4) + FRAME) as u32).to_le_bytes();
    file.extend(kind.to_le_bytes());
    file.extend(length);
    for part in parts {
        file.extend_from_slice(part);
    }
    file.resize(file.len() + body.next_multiple_of(4) - body, 0);
    file.extend(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pcapng_options_round_trip() {
        let options: [(u16, &[u8]); 2] = [(IF_NAME, b"eth0+"), (IF_TSRESOL, &[9])];
        assert_eq!(super::options(Order::Little, &encoded(&options)).collect::<Vec<_>>(), options);
    }

    #[test]
    fn pcapng_block_lengths_lead_to_the_next_block() {
        let mut file = Vec::new();
        put_section(&mut file, &[(OPT_COMMENT, b"a comment")]);
        put_interface(&mut file, crate::pcap::ETHERNET, &[]);
        put_packet(&mut file, 0, 1 << 40, 1514, &[7; 13]);
        let (mut at, mut kinds) = (0, Vec::new());
        while at < file.len() {
            let length = Order::Little.u32(&file, at + 4) as usize;
            assert_eq!(Order::Little.u32(&file, at + length - 4) as usize, length, "both lengths of a block");
            kinds.push(Order::Little.u32(&file, at));
            at += length;
        }
        assert_eq!(kinds, [u32::from_le_bytes(SECTION), INTERFACE, ENHANCED_PACKET]);
    }
}
