//! Captures written as pcapng (draft-ietf-opsawg-pcapng): a section, two interfaces, a block a frame.
//!
//! The interfaces differ in everything that may differ, so that a reader that confuses their resolutions or origins is
//! detected.

use crate::pcap::Frame;
use slowpath_wire::{pcap, pcapng};

/// The timestamps of an interface.
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
    // The finest power of two whose timestamps still identify the nanosecond.
    Clock { name: "from-receiver", resolution: 0x80 | 30, ticks_per_s: 1 << 30, origin_s: 1_000_000_000 },
];

/// Writes frames; `interface` returns which of the two each came over.
pub fn write(frames: &[Frame], interface: impl Fn(&Frame) -> usize) -> Vec<u8> {
    let mut file = Vec::new();
    pcapng::put_section(&mut file, &[]);
    for clock in &CLOCKS {
        let options: [(u16, &[u8]); 3] = [
            (pcapng::IF_NAME, clock.name.as_bytes()),
            (pcapng::IF_TSRESOL, &[clock.resolution]),
            (pcapng::IF_TSOFFSET, &clock.origin_s.to_le_bytes()),
        ];
        pcapng::put_interface(&mut file, pcap::ETHERNET, &options);
    }
    for frame in frames {
        let number = interface(frame).min(CLOCKS.len() - 1);
        let ticks = ticks(&CLOCKS[number], frame.at_ns);
        pcapng::put_packet(&mut file, number as u32, ticks, frame.length_bytes, frame.bytes);
    }
    file
}

/// A timestamp on an interface's clock, rounded up, so that a reader that rounds down gets the same nanosecond.
fn ticks(clock: &Clock, at_ns: u64) -> u64 {
    let since_ns = u128::from(at_ns) - u128::from(clock.origin_s) * 1_000_000_000;
    u64::try_from((since_ns * u128::from(clock.ticks_per_s)).div_ceil(1_000_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_timestamps_keep_nanoseconds() {
        let clock = &CLOCKS[1];
        for at_ns in 1_700_000_000_000_000_000..1_700_000_000_000_001_000 {
            let ns = u128::from(ticks(clock, at_ns)) * 1_000_000_000 / u128::from(clock.ticks_per_s);
            assert_eq!(ns as u64 + clock.origin_s * 1_000_000_000, at_ns);
        }
    }
}
