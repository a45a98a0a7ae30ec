//! Captures written as pcapng (draft-ietf-opsawg-pcapng): a section, two interfaces, a block a frame.
//!
//! The interfaces differ in all that may differ, so that a reader that takes one's resolution or origin for the
//! other's is found out.

use crate::pcap::Frame;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const LINKTYPE_ETHERNET: u16 = 1;

const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;

/// How an interface stamps its frames.
struct Clock {
    name: &'static str,
    /// `if_tsresol`: a negative power of ten, or of two where the highest bit is set (section 4.2).
    resolution: u8,
    ticks_per_s: u64,
    /// `if_tsoffset`: seconds to add.
    origin_s: u64,
}

const CLOCKS: [Clock; 2] = [
    Clock { name: "from-sender", resolution: 9, ticks_per_s: 1_000_000_000, origin_s: 0 },
    // The finest power of two whose stamps still name the nanosecond.
    Clock { name: "from-receiver", resolution: 0x80 | 30, ticks_per_s: 1 << 30, origin_s: 1_000_000_000 },
];

/// Writes frames; `interface` says which of the two each came over.
pub fn write(frames: &[Frame], interface: impl Fn(&Frame) -> usize) -> Vec<u8> {
    let mut file = Vec::new();
    let mut section = Vec::new();
    section.extend(BYTE_ORDER_MAGIC.to_ne_bytes());
    section.extend([1_u16, 0].map(u16::to_ne_bytes).concat());
    // The section's length is not stated.
    section.extend(u64::MAX.to_ne_bytes());
    block(&mut file, SECTION_HEADER, &section);
    for clock in &CLOCKS {
        let mut description = [LINKTYPE_ETHERNET, 0].map(u16::to_ne_bytes).concat();
        // No limit to what is kept of a frame.
        description.extend(0_u32.to_ne_bytes());
        option(&mut description, IF_NAME, clock.name.as_bytes());
        option(&mut description, IF_TSRESOL, &[clock.resolution]);
        option(&mut description, IF_TSOFFSET, &clock.origin_s.to_ne_bytes());
        option(&mut description, 0, &[]);
        block(&mut file, INTERFACE_DESCRIPTION, &description);
    }
    for frame in frames {
        let number = interface(frame).min(CLOCKS.len() - 1);
        let ticks = ticks(&CLOCKS[number], frame.at_ns);
        let words =
            [number as u32, (ticks >> 32) as u32, ticks as u32, frame.bytes.len() as u32, frame.length_bytes];
        let mut packet = words.map(u32::to_ne_bytes).concat();
        packet.extend(frame.bytes);
        block(&mut file, ENHANCED_PACKET, &packet);
    }
    file
}

/// A stamp on an interface's clock, rounded up, so that a reader that rounds down has the nanosecond again.
fn ticks(clock: &Clock, at_ns: u64) -> u64 {
    let since_ns = u128::from(at_ns) - u128::from(clock.origin_s) * 1_000_000_000;
    u64::try_from((since_ns * u128::from(clock.ticks_per_s)).div_ceil(1_000_000_000)).unwrap_or(u64::MAX)
}

fn padded(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

fn option(bytes: &mut Vec<u8>, code: u16, value: &[u8]) {
    bytes.extend([code, value.len() as u16].map(u16::to_ne_bytes).concat());
    bytes.extend(value);
    padded(bytes);
}

fn block(file: &mut Vec<u8>, kind: u32, body: &[u8]) {
    const FRAME_BYTES: usize = 12;
    let mut body = body.to_vec();
    padded(&mut body);
    let length = (body.len() + FRAME_BYTES) as u32;
    file.extend([kind, length].map(u32::to_ne_bytes).concat());
    file.extend(body);
    file.extend(length.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcap::tests::frame_from;

    #[test]
    fn blocks_follow_each_other_by_the_lengths_they_state() {
        let frames: Vec<[u8; 14]> = (0..5).map(|n| frame_from(1 + n % 2)).collect();
        let frames: Vec<Frame> = frames
            .iter()
            .enumerate()
            .map(|(n, bytes)| Frame { at_ns: 1_700_000_000_000_000_000 + n as u64, length_bytes: 60, bytes })
            .collect();
        let file = write(&frames, |frame| usize::from(frame.bytes[11] == 2));
        let word = |at: usize| u32::from_ne_bytes(file[at..at + 4].try_into().unwrap());
        let (mut at, mut kinds) = (0, Vec::new());
        while at < file.len() {
            let length = word(at + 4) as usize;
            assert_eq!(word(at + length - 4) as usize, length, "both lengths of a block are the same");
            kinds.push(word(at));
            at += length;
        }
        assert_eq!(kinds, [SECTION_HEADER, 1, 1, 6, 6, 6, 6, 6]);
    }

    #[test]
    fn no_nanosecond_is_lost_on_the_coarser_clock() {
        let clock = &CLOCKS[1];
        for at_ns in 1_700_000_000_000_000_000..1_700_000_000_000_001_000 {
            let ns = u128::from(ticks(clock, at_ns)) * 1_000_000_000 / u128::from(clock.ticks_per_s);
            assert_eq!(ns as u64 + clock.origin_s * 1_000_000_000, at_ns);
        }
    }
}
