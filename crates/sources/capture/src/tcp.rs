//! The TCP header and its options.
//!
//! Reading list: RFC 9293 section 3.1 (header) and 3.2 (options), RFC 7323 (window scale, timestamps), RFC 2018
//! (SACK), Linux `tcp_parse_options` in `net/ipv4/tcp_input.c` (what a receiver makes of nonsense).

use crate::bytes::{be16, be32};
use crate::layer::Skip;
use slowpath_model::{Flags, Timestamps};

/// A TCP header as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// The sender's port.
    pub source: u16,
    /// The receiver's port.
    pub destination: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number; means something only with the ACK flag.
    pub ack: u32,
    /// Control bits.
    pub flags: Flags,
    /// The window field.
    pub window: u16,
    /// Bytes of payload on the wire.
    pub payload: u32,
    /// The options.
    pub options: Options<'a>,
}

/// What is wrong with the options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptionFault {
    /// Nothing.
    #[default]
    None,
    /// The snapshot length cut them off.
    Cut,
    /// A length below 2, or beyond the header's end.
    Malformed,
}

/// The options that slowpath knows; the last of a kind counts, as in Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options<'a> {
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// The shift count as sent, even above 14.
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// The edges of the SACK blocks, eight bytes per block.
    pub sack: &'a [u8],
    /// What is wrong with the options; those before the fault are kept.
    pub fault: OptionFault,
}

/// The length of a header without options.
pub(crate) const HEADER: usize = 20;

// Option kinds of the IANA registry "TCP Option Kind Numbers".
const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// How the timestamps option starts where it stands alone, aligned (RFC 7323, appendix A; Linux
/// `TCPOLEN_TSTAMP_ALIGNED`).
const STAMPS_ALIGNED: [u8; 4] = [NOP, NOP, TIMESTAMPS, 10];
/// Its length then.
const STAMPED: usize = 12;
/// How SACK blocks start behind it, before their length (Linux `TCPOLEN_SACK_BASE_ALIGNED`).
const SACK_ALIGNED: [u8; 3] = [NOP, NOP, SACK];

impl<'a> Header<'a> {
    /// Reads the header at the start of `data`. `length` is that of the whole segment by its IP header, which may
    /// be more than was captured.
    pub fn parse(data: &'a [u8], length: u32) -> Result<Self, Skip> {
        let Some(fixed) = data.first_chunk::<HEADER>() else {
            return Err(if length < HEADER as u32 { Skip::Malformed } else { Skip::Truncated });
        };
        match header_length(fixed, length) {
            Some(header) => Ok(Self::new(fixed, length - header as u32, Options::of_header(data, header))),
            None => Err(Skip::Malformed),
        }
    }

    /// From the fixed part of a header, and what was read of the rest.
    #[inline(always)]
    pub(crate) fn new(fixed: &[u8; HEADER], payload: u32, options: Options<'a>) -> Self {
        Self {
            source: be16(fixed, 0),
            destination: be16(fixed, 2),
            seq: be32(fixed, 4),
            ack: be32(fixed, 8),
            // The low nine bits: RFC 9293 and AE of RFC 9768; the three above are reserved.
            flags: Flags(be16(fixed, 12) & 0x1ff),
            window: be16(fixed, 14),
            payload,
            options,
        }
    }
}

/// The header's length, if it is sound: at least 20 bytes, and within the segment.
#[inline(always)]
pub(crate) fn header_length(fixed: &[u8; HEADER], length: u32) -> Option<usize> {
    let header = usize::from(fixed[12] >> 4) * 4;
    (header >= HEADER && header as u32 <= length).then_some(header)
}

impl<'a> Options<'a> {
    /// Reads options. `cut` says that the snapshot length left only a part of them.
    pub fn parse(bytes: &'a [u8], cut: bool) -> Self {
        let mut options = Self::default();
        options.walk(bytes, cut);
        options
    }

    /// Reads the options of a header of `header` bytes at the start of `data`.
    fn of_header(data: &'a [u8], header: usize) -> Self {
        match data.get(HEADER..header) {
            Some(bytes) => Self::parse(bytes, false),
            None => Self::parse(data.get(HEADER..).unwrap_or_default(), true),
        }
    }

    /// The same where there are none, or timestamps alone or before SACK blocks, as in nearly every segment of an
    /// established connection. `None` for others.
    #[inline(always)]
    pub(crate) fn usual(data: &'a [u8], header: usize) -> Option<Self> {
        if header == HEADER {
            return Some(Self::default());
        }
        let (stamps, rest) = data.get(HEADER..header)?.split_first_chunk::<STAMPED>()?;
        if !stamps.starts_with(&STAMPS_ALIGNED) {
            return None;
        }
        let timestamps = Some(Timestamps { val: be32(stamps, 4), ecr: be32(stamps, 8) });
        let sack = if rest.is_empty() { rest } else { Self::sack_alone(rest)? };
        Some(Self { timestamps, sack, ..Self::default() })
    }

    /// The SACK blocks, if `options` are them, aligned, and nothing else.
    #[cold]
    fn sack_alone(options: &'a [u8]) -> Option<&'a [u8]> {
        let (length, blocks) = options.strip_prefix(&SACK_ALIGNED)?.split_first()?;
        let sound = !blocks.is_empty() && blocks.len() % 8 == 0 && usize::from(*length) == blocks.len() + 2;
        sound.then_some(blocks)
    }

    /// Takes the options one by one, whatever their layout.
    fn walk(&mut self, bytes: &'a [u8], cut: bool) {
        let mut rest = bytes;
        let beyond = if cut { OptionFault::Cut } else { OptionFault::Malformed };
        self.fault = loop {
            match *rest {
                [] if cut => break OptionFault::Cut,
                [] | [END, ..] => break OptionFault::None,
                [NOP, ..] => rest = &rest[1..],
                [_] => break beyond,
                [_, 0 | 1, ..] => break OptionFault::Malformed,
                [kind, length, ..] => {
                    let Some((option, after)) = rest.split_at_checked(usize::from(length)) else {
                        break beyond;
                    };
                    self.take(kind, &option[2..]);
                    rest = after;
                }
            }
        };
    }

    /// An option of a wrong length is passed over, as Linux does.
    fn take(&mut self, kind: u8, body: &'a [u8]) {
        match (kind, body) {
            (MSS, [a, b]) => self.mss = Some(u16::from_be_bytes([*a, *b])),
            (WINDOW_SCALE, [shift]) => self.window_scale = Some(*shift),
            (SACK_PERMITTED, []) => self.sack_permitted = true,
            (SACK, blocks) if !blocks.is_empty() && blocks.len() % 8 == 0 => self.sack = blocks,
            (TIMESTAMPS, body) if body.len() == 8 => {
                self.timestamps = Some(Timestamps { val: be32(body, 0), ecr: be32(body, 4) });
            }
            _ => {}
        }
    }

    /// The SACK blocks' edges, left and right.
    pub fn sack_edges(&self) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        self.sack.chunks_exact(8).map(|block| (be32(block, 0), be32(block, 4)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_syn_of_linux() {
        let bytes = [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 100, 0, 0, 0, 0, 1, 3, 3, 7];
        let options = Options::parse(&bytes, false);
        assert_eq!(options.mss, Some(1460));
        assert!(options.sack_permitted);
        assert_eq!(options.timestamps, Some(Timestamps { val: 100, ecr: 0 }));
        assert_eq!(options.window_scale, Some(7));
        assert_eq!(options.fault, OptionFault::None);
    }

    #[test]
    fn sack_beside_timestamps() {
        let mut bytes = vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 26];
        for edge in [10u32, 20, 30, 40, 50, 60] {
            bytes.extend(edge.to_be_bytes());
        }
        let options = Options::parse(&bytes, false);
        assert_eq!(options.timestamps, Some(Timestamps { val: 1, ecr: 2 }));
        assert_eq!(options.sack_edges().collect::<Vec<_>>(), [(10, 20), (30, 40), (50, 60)]);
    }

    #[test]
    fn nonsense_keeps_what_came_before_it() {
        let fault = |bytes: &[u8], cut| {
            let options = Options::parse(bytes, cut);
            (options.mss, options.fault)
        };
        assert_eq!(
            fault(&[2, 4, 5, 180, 8, 0, 0, 0], false),
            (Some(1460), OptionFault::Malformed),
            "length 0"
        );
        assert_eq!(fault(&[2, 4, 5, 180, 8, 1], false), (Some(1460), OptionFault::Malformed), "length 1");
        assert_eq!(fault(&[2, 4, 5, 180, 8, 10, 0], false), (Some(1460), OptionFault::Malformed), "too long");
        assert_eq!(fault(&[2, 4, 5, 180, 8, 10, 0], true), (Some(1460), OptionFault::Cut));
        assert_eq!(fault(&[2, 4, 5, 180, 8], true), (Some(1460), OptionFault::Cut));
        assert_eq!(fault(&[2, 4, 5, 180], true), (Some(1460), OptionFault::Cut));
        assert_eq!(
            fault(&[2, 4, 5, 180, 0, 0], true),
            (Some(1460), OptionFault::None),
            "ended before the cut"
        );
        assert_eq!(fault(&[2, 5, 5, 180, 0], false), (None, OptionFault::None), "MSS of a wrong length");
        assert!(Options::parse(&[5, 6, 0, 0, 0, 1], false).sack.is_empty(), "half a block");
        assert!(Options::parse(&[5, 2], false).sack.is_empty(), "no block");
    }

    #[test]
    fn header_lengths_are_checked() {
        let mut bytes = [0; 24];
        bytes[12] = 0x50;
        assert_eq!(Header::parse(&bytes, 24).map(|h| h.payload), Ok(4));
        assert_eq!(Header::parse(&bytes[..19], 24), Err(Skip::Truncated));
        assert_eq!(Header::parse(&bytes[..19], 19), Err(Skip::Malformed));
        assert_eq!(Header::parse(&bytes, 19), Err(Skip::Malformed));
        bytes[12] = 0x40;
        assert_eq!(Header::parse(&bytes, 24), Err(Skip::Malformed), "data offset 4");
        bytes[12] = 0x70;
        assert_eq!(Header::parse(&bytes, 24), Err(Skip::Malformed), "header beyond the segment");
        let cut = Header::parse(&bytes, 1000).unwrap();
        assert_eq!((cut.payload, cut.options.fault), (972, OptionFault::None), "four bytes: end of options");
    }

    proptest! {
        #[test]
        fn the_short_cut_for_timestamps_and_sack_is_the_long_way(
            words in 0usize..=10, mut bytes in prop::collection::vec(prop_oneof![0u8..12, any::<u8>()], 60),
            aligned: bool, blocks in 0u8..4, missing in prop_oneof![Just(0usize), 0usize..20],
        ) {
            let header = HEADER + words * 4;
            bytes.truncate(header);
            bytes[12] = (header as u8 / 4) << 4;
            if aligned && words > 0 {
                bytes[HEADER..HEADER + 4].copy_from_slice(&[NOP, NOP, TIMESTAMPS, 10]);
            }
            if words > 3 {
                let length = if blocks == 0 { bytes[HEADER + STAMPED + 3] } else { blocks * 8 + 2 };
                bytes[HEADER + STAMPED..][..4].copy_from_slice(&[NOP, NOP, SACK, length]);
            }
            let captured = HEADER.max(header.saturating_sub(missing));
            let long = Options::parse(&bytes[HEADER..captured], captured < header);
            if let Some(usual) = Options::usual(&bytes[..captured], header) {
                prop_assert_eq!(usual, long);
            }
        }
    }
}
