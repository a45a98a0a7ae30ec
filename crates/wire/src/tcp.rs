//! The TCP header and its options.
//!
//! Reading list: RFC 9293 section 3.1 (header) and 3.2 (options), RFC 7323 (window scale, timestamps), RFC 2018 (SACK),
//! Linux `tcp_parse_options` in `net/ipv4/tcp_input.c` (how a receiver treats invalid options).

use crate::bytes::{be16, be32};
use crate::options::{
    self, Broken, END, EXPERIMENTAL, FAST_OPEN, FAST_OPEN_MAGIC, MSS, NOP, SACK, SACK_PERMITTED, TIMESTAMPS,
    WINDOW_SCALE,
};
use crate::{checksum, ip};
use slowpath_model::{Checksum, Flags, Timestamps};

/// The length of a header without options.
pub const HEADER: usize = 20;
/// The offset of the checksum.
pub const CHECKSUM: usize = 16;

/// The fixed part of a header, read in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed<'a>(pub &'a [u8; HEADER]);

impl Fixed<'_> {
    /// The sender's port.
    #[inline(always)]
    pub fn source(self) -> u16 {
        be16(self.0, 0)
    }

    /// The receiver's port.
    #[inline(always)]
    pub fn destination(self) -> u16 {
        be16(self.0, 2)
    }

    /// Sequence number.
    #[inline(always)]
    pub fn seq(self) -> u32 {
        be32(self.0, 4)
    }

    /// Acknowledgment number; valid only with the ACK flag.
    #[inline(always)]
    pub fn ack(self) -> u32 {
        be32(self.0, 8)
    }

    /// The header length field, in bytes: less than 20 if it is malformed.
    #[inline(always)]
    pub fn header_bytes(self) -> usize {
        usize::from(self.0[12] >> 4) * 4
    }

    /// The header's length, if valid: at least 20 bytes, and within a segment of `length`.
    #[inline(always)]
    pub fn sound_header_bytes(self, length: u32) -> Option<usize> {
        let header = self.header_bytes();
        (header >= HEADER && header as u32 <= length).then_some(header)
    }

    /// Control bits: those of RFC 9293, AE of RFC 9768, and above them the three reserved ones.
    #[inline(always)]
    pub fn control(self) -> Flags {
        Flags(be16(self.0, 12) & 0xfff)
    }

    /// Control bits without the reserved ones.
    #[inline(always)]
    pub fn flags(self) -> Flags {
        Flags(be16(self.0, 12) & 0x1ff)
    }

    /// The window field.
    #[inline(always)]
    pub fn window(self) -> u16 {
        be16(self.0, 14)
    }

    /// The urgent pointer.
    #[inline(always)]
    pub fn urgent(self) -> u16 {
        be16(self.0, 18)
    }
}

/// Whether the checksum of a whole segment is correct, given the sum of its packet's addresses.
///
/// With checksum offload, the field holds the sum of the pseudo-header; some systems leave out its length for segments
/// that the NIC splits (Windows, "large send offload"). After receive offload it holds the same (Linux
/// `tcp_gro_complete`). Tools that generate or modify packets write 0. All of these are unverified.
pub fn verify(segment: &[u8], addresses: u64) -> Checksum {
    let (Some(fixed), Ok(length)) = (segment.first_chunk().map(Fixed), u32::try_from(segment.len())) else {
        return Checksum::Unknown;
    };
    let pseudo = checksum::pseudo_header(addresses, ip::TCP, length);
    if checksum::of(pseudo + checksum::sum(segment)) == 0 {
        return Checksum::Good;
    }
    let without_length = checksum::pseudo_header(addresses, ip::TCP, 0);
    let unfinished = [0, checksum::folded(pseudo), checksum::folded(without_length)];
    if unfinished.contains(&be16(fixed.0, CHECKSUM)) { Checksum::Unknown } else { Checksum::Wrong }
}

/// The fixed fields of a header to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// The sender's port.
    pub source: u16,
    /// The receiver's port.
    pub destination: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Control bits, including the reserved ones.
    pub control: Flags,
    /// The window field.
    pub window: u16,
    /// The urgent pointer.
    pub urgent: u16,
}

impl Fields {
    /// Writes the header with these options, padded, without a checksum. Options beyond the 40 bytes of a header are
    /// dropped.
    pub fn put(&self, into: &mut Vec<u8>, options: &[u8]) {
        let words = (HEADER + options.len()).div_ceil(4).min(15);
        let end = into.len() + words * 4;
        into.extend(self.source.to_be_bytes());
        into.extend(self.destination.to_be_bytes());
        into.extend(self.seq.to_be_bytes());
        into.extend(self.ack.to_be_bytes());
        into.extend(((words as u16) << 12 | self.control.0 & 0xfff).to_be_bytes());
        into.extend(self.window.to_be_bytes());
        into.extend([0, 0]);
        into.extend(self.urgent.to_be_bytes());
        into.extend_from_slice(options);
        into.resize(end, END);
    }
}

/// Why a header is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderFault {
    /// The snapshot length cut it off.
    Truncated,
    /// A length below 20, or beyond the segment's end.
    Malformed,
}

/// A TCP header as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// The sender's port.
    pub source: u16,
    /// The receiver's port.
    pub destination: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number; valid only with the ACK flag.
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

/// The known options; the last of a kind counts, as in Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options<'a> {
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// The shift count as sent, even above 14.
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// Fast Open, with or without a cookie, under the option's number or the experimental one.
    pub fast_open: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// The edges of the SACK blocks, eight bytes per block.
    pub sack: &'a [u8],
    /// What is wrong with the options; those before the fault are kept.
    pub fault: OptionFault,
}

/// The start of an aligned timestamps option on its own (RFC 7323, appendix A; Linux `TCPOLEN_TSTAMP_ALIGNED`).
const STAMPS_ALIGNED: [u8; 4] = [NOP, NOP, TIMESTAMPS, 10];
/// Its length.
const STAMPED: usize = 12;
/// The start of SACK blocks after it, before their length (Linux `TCPOLEN_SACK_BASE_ALIGNED`).
const SACK_ALIGNED: [u8; 3] = [NOP, NOP, SACK];

impl<'a> Header<'a> {
    /// Parses the header at the start of `data`. `length` is that of the whole segment by its IP header, which may
    /// exceed the captured part.
    ///
    /// # Errors
    ///
    /// If its fixed part was not captured, or its length is invalid.
    pub fn parse(data: &'a [u8], length: u32) -> Result<Self, HeaderFault> {
        let Some(fixed) = data.first_chunk().map(Fixed) else {
            return Err(if length < HEADER as u32 { HeaderFault::Malformed } else { HeaderFault::Truncated });
        };
        match fixed.sound_header_bytes(length) {
            Some(header) => Ok(Self::new(fixed, length - header as u32, Options::of_header(data, header))),
            None => Err(HeaderFault::Malformed),
        }
    }

    /// From the fixed part of a header, and the parsed options.
    #[inline(always)]
    pub fn new(fixed: Fixed<'_>, payload: u32, options: Options<'a>) -> Self {
        Self {
            source: fixed.source(),
            destination: fixed.destination(),
            seq: fixed.seq(),
            ack: fixed.ack(),
            flags: fixed.flags(),
            window: fixed.window(),
            payload,
            options,
        }
    }
}

impl<'a> Options<'a> {
    /// Parses options. `cut`: the snapshot length left only part of them.
    pub fn parse(bytes: &'a [u8], cut: bool) -> Self {
        let mut options = Self::default();
        options.walk(bytes, cut);
        options
    }

    /// Parses the options of a header of `header` bytes at the start of `data`.
    fn of_header(data: &'a [u8], header: usize) -> Self {
        match data.get(HEADER..header) {
            Some(bytes) => Self::parse(bytes, false),
            None => Self::parse(data.get(HEADER..).unwrap_or_default(), true),
        }
    }

    /// Parses the options of a header of `header` bytes at the start of `data` if there are none, or only timestamps
    /// with or without SACK blocks, as in nearly every segment of an established connection. `None` for others.
    #[inline(always)]
    pub fn usual(data: &'a [u8], header: usize) -> Option<Self> {
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

    /// The SACK blocks, if `options` consist of them, aligned, and nothing else.
    #[cold]
    fn sack_alone(options: &'a [u8]) -> Option<&'a [u8]> {
        let (length, blocks) = options.strip_prefix(&SACK_ALIGNED)?.split_first()?;
        let sound = !blocks.is_empty() && blocks.len() % 8 == 0 && usize::from(*length) == blocks.len() + 2;
        sound.then_some(blocks)
    }

    /// Parses the options one by one, whatever their layout.
    fn walk(&mut self, bytes: &'a [u8], cut: bool) {
        let mut rest = bytes;
        self.fault = loop {
            match options::first(rest) {
                Ok(None) | Err(Broken::Beyond) if cut => break OptionFault::Cut,
                Ok(None) => break OptionFault::None,
                Ok(Some(option)) if option.kind == END => break OptionFault::None,
                Ok(Some(option)) => {
                    self.take(option.kind, option.data);
                    rest = option.rest;
                }
                Err(Broken::Beyond | Broken::Length) => break OptionFault::Malformed,
            }
        };
    }

    /// An option with an invalid length is skipped, as in Linux.
    fn take(&mut self, kind: u8, body: &'a [u8]) {
        match (kind, body) {
            (MSS, [a, b]) => self.mss = Some(u16::from_be_bytes([*a, *b])),
            (WINDOW_SCALE, [shift]) => self.window_scale = Some(*shift),
            (SACK_PERMITTED, []) => self.sack_permitted = true,
            (FAST_OPEN, _) => self.fast_open = true,
            (EXPERIMENTAL, body) if body.starts_with(&FAST_OPEN_MAGIC) => self.fast_open = true,
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
    fn linux_syn_is_parsed() {
        let bytes = [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 100, 0, 0, 0, 0, 1, 3, 3, 7];
        let options = Options::parse(&bytes, false);
        assert_eq!(options.mss, Some(1460));
        assert!(options.sack_permitted);
        assert_eq!(options.timestamps, Some(Timestamps { val: 100, ecr: 0 }));
        assert_eq!(options.window_scale, Some(7));
        assert_eq!(options.fault, OptionFault::None);
    }

    #[test]
    fn fast_open_option_is_parsed_with_and_without_a_cookie() {
        let fast_open = |bytes: &[u8]| Options::parse(bytes, false).fast_open;
        assert!(fast_open(&[34, 2, 1, 1]));
        assert!(fast_open(&[34, 10, 1, 2, 3, 4, 5, 6, 7, 8]));
        assert!(fast_open(&[254, 4, 0xf9, 0x89]));
        assert!(!fast_open(&[254, 4, 0xf9, 0x88]) && !fast_open(&[2, 4, 5, 180]));
    }

    #[test]
    fn checksum_is_good_wrong_or_offloaded() {
        for between in [
            ("192.0.2.1".parse().unwrap(), "198.51.100.2".parse().unwrap()),
            ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap()),
        ] {
            let addresses = checksum::addresses(between.0, between.1);
            let mut segment = Vec::new();
            Fields { source: 1, destination: 2, seq: 3, ..Fields::default() }.put(&mut segment, &[]);
            segment.extend(*b"odd");
            let length = segment.len() as u32;
            let with = |field: u16| {
                let mut segment = segment.clone();
                segment[CHECKSUM..CHECKSUM + 2].copy_from_slice(&field.to_be_bytes());
                verify(&segment, addresses)
            };
            let pseudo = checksum::pseudo_header(addresses, ip::TCP, length);
            let right = checksum::of(pseudo + checksum::sum(&segment));
            assert_eq!(with(right), Checksum::Good);
            assert_eq!(with(right ^ 0x100), Checksum::Wrong);
            assert_eq!(with(checksum::folded(pseudo)), Checksum::Unknown, "checksum offload");
            let unknown_length = checksum::folded(pseudo - u64::from(length));
            assert_eq!(
                with(unknown_length),
                Checksum::Unknown,
                "checksum offload of a NIC that splits the segment"
            );
            assert_eq!(with(0), Checksum::Unknown);
        }
        assert_eq!(verify(&[0; 19], 0), Checksum::Unknown);
    }

    #[test]
    fn sack_next_to_timestamps_is_parsed() {
        let mut bytes = vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 26];
        for edge in [10u32, 20, 30, 40, 50, 60] {
            bytes.extend(edge.to_be_bytes());
        }
        let options = Options::parse(&bytes, false);
        assert_eq!(options.timestamps, Some(Timestamps { val: 1, ecr: 2 }));
        assert_eq!(options.sack_edges().collect::<Vec<_>>(), [(10, 20), (30, 40), (50, 60)]);
    }

    #[test]
    fn invalid_option_keeps_earlier_options() {
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
        assert_eq!(Header::parse(&bytes[..19], 24), Err(HeaderFault::Truncated));
        assert_eq!(Header::parse(&bytes[..19], 19), Err(HeaderFault::Malformed));
        assert_eq!(Header::parse(&bytes, 19), Err(HeaderFault::Malformed));
        bytes[12] = 0x40;
        assert_eq!(Header::parse(&bytes, 24), Err(HeaderFault::Malformed), "data offset 4");
        bytes[12] = 0x70;
        assert_eq!(Header::parse(&bytes, 24), Err(HeaderFault::Malformed), "header beyond the segment");
        let cut = Header::parse(&bytes, 1000).unwrap();
        assert_eq!((cut.payload, cut.options.fault), (972, OptionFault::None), "four bytes: end of options");
    }

    proptest! {
        #[test]
        fn fast_path_for_timestamps_and_sack_agrees_with_the_full_parser(
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
