//! Options of TCP as bytes (RFC 9293, section 3.2).

use crate::packet::TcpOption;
use slowpath_model::Timestamps;

const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MD5: u8 = 19;
const FAST_OPEN: u8 = 34;
const ACCECN0: u8 = 172;
const ACCECN1: u8 = 174;
const EXPERIMENTAL: u8 = 254;
/// What the experimental option of Fast Open begins with (RFC 7413, appendix).
const FAST_OPEN_MAGIC: [u8; 2] = [0xf9, 0x89];

/// The options as they stand in a header, without padding of ours.
pub fn encode(options: &[TcpOption]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for option in options {
        let (kind, data): (u8, Vec<u8>) = match option {
            TcpOption::End => {
                bytes.push(0);
                continue;
            }
            TcpOption::Nop => {
                bytes.push(1);
                continue;
            }
            TcpOption::Mss(size) => (MSS, size.to_be_bytes().to_vec()),
            TcpOption::WindowScale(shift) => (WINDOW_SCALE, vec![*shift]),
            TcpOption::SackPermitted => (SACK_PERMITTED, Vec::new()),
            TcpOption::Sack(blocks) => {
                let edges = blocks.iter().flat_map(|(start, end)| [*start, *end]);
                (SACK, edges.flat_map(u32::to_be_bytes).collect())
            }
            TcpOption::Timestamps(Timestamps { val, ecr }) => {
                (TIMESTAMPS, [val.to_be_bytes(), ecr.to_be_bytes()].concat())
            }
            TcpOption::FastOpen(cookie) => (FAST_OPEN, cookie.clone()),
            TcpOption::FastOpenExperimental(cookie) => {
                (EXPERIMENTAL, [&FAST_OPEN_MAGIC[..], cookie].concat())
            }
            TcpOption::Md5(digest) => (MD5, digest.clone()),
            TcpOption::AccEcn { ect1_first, counters } => {
                let kind = if *ect1_first { ACCECN1 } else { ACCECN0 };
                (kind, counters.iter().flat_map(|count| count.to_be_bytes().into_iter().skip(1)).collect())
            }
            TcpOption::Other { kind, data } => (*kind, data.clone()),
        };
        bytes.push(kind);
        // What is longer than a header has room for is refused when the script is read.
        bytes.push(u8::try_from(data.len() + 2).unwrap_or(u8::MAX));
        bytes.extend(data);
    }
    bytes
}

/// The options of a header, padding included; `None` if one is cut short.
pub fn decode(mut bytes: &[u8]) -> Option<Vec<TcpOption>> {
    let mut options = Vec::new();
    while let Some((&kind, rest)) = bytes.split_first() {
        if kind <= 1 {
            options.push(if kind == 1 { TcpOption::Nop } else { TcpOption::End });
            bytes = rest;
            continue;
        }
        let length = usize::from(*rest.first()?);
        let data = bytes.get(2..length)?;
        options.push(one(kind, data));
        bytes = &bytes[length..];
    }
    Some(options)
}

fn one(kind: u8, data: &[u8]) -> TcpOption {
    let word = |at: usize| data.get(at..at + 4).map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    match (kind, data.len()) {
        (MSS, 2) => TcpOption::Mss(u16::from_be_bytes([data[0], data[1]])),
        (WINDOW_SCALE, 1) => TcpOption::WindowScale(data[0]),
        (SACK_PERMITTED, 0) => TcpOption::SackPermitted,
        (SACK, length) if length.is_multiple_of(8) => {
            TcpOption::Sack((0..length / 8).map(|i| (word(8 * i), word(8 * i + 4))).collect())
        }
        (TIMESTAMPS, 8) => TcpOption::Timestamps(Timestamps { val: word(0), ecr: word(4) }),
        (FAST_OPEN, _) => TcpOption::FastOpen(data.to_vec()),
        (EXPERIMENTAL, 2..) if data.starts_with(&FAST_OPEN_MAGIC) => {
            TcpOption::FastOpenExperimental(data[2..].to_vec())
        }
        (MD5, _) => TcpOption::Md5(data.to_vec()),
        (ACCECN0 | ACCECN1, length) if length.is_multiple_of(3) => TcpOption::AccEcn {
            ect1_first: kind == ACCECN1,
            counters: data.chunks_exact(3).map(|b| u32::from_be_bytes([0, b[0], b[1], b[2]])).collect(),
        },
        _ => TcpOption::Other { kind, data: data.to_vec() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_back_as_they_went_in() {
        let options = vec![
            TcpOption::Mss(1460),
            TcpOption::Nop,
            TcpOption::Sack(vec![(1, 2), (u32::MAX, 0)]),
            TcpOption::FastOpenExperimental(vec![]),
            TcpOption::AccEcn { ect1_first: true, counters: vec![1, 0xff_ffff] },
            TcpOption::Md5(vec![7; 16]),
            TcpOption::Other { kind: 99, data: vec![1] },
            TcpOption::End,
        ];
        assert_eq!(decode(&encode(&options)), Some(options));
    }

    #[test]
    fn what_is_cut_short_is_none() {
        for bytes in [&[2u8][..], &[2, 4, 5], &[8, 1], &[5, 0]] {
            assert_eq!(decode(bytes), None, "{bytes:?}");
        }
    }
}
