//! Options of TCP as bytes (RFC 9293, section 3.2).

use crate::packet::TcpOption;
use slowpath_model::Timestamps;
use slowpath_wire::bytes::be32;
use slowpath_wire::options::{
    ACCECN0, ACCECN1, END, EXPERIMENTAL, FAST_OPEN, FAST_OPEN_MAGIC, MD5, MSS, NOP, SACK, SACK_PERMITTED,
    TIMESTAMPS, WINDOW_SCALE, first, put,
};

/// The options as in a header, without extra padding.
pub fn encode(options: &[TcpOption]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for option in options {
        match option {
            TcpOption::End => bytes.push(END),
            TcpOption::Nop => bytes.push(NOP),
            TcpOption::Mss(size) => put(&mut bytes, MSS, size.to_be_bytes()),
            TcpOption::WindowScale(shift) => put(&mut bytes, WINDOW_SCALE, [*shift]),
            TcpOption::SackPermitted => put(&mut bytes, SACK_PERMITTED, []),
            TcpOption::Sack(blocks) => {
                let edges = blocks.iter().flat_map(|(start, end)| [*start, *end]);
                put(&mut bytes, SACK, edges.flat_map(u32::to_be_bytes));
            }
            TcpOption::Timestamps(Timestamps { val, ecr }) => {
                put(&mut bytes, TIMESTAMPS, [*val, *ecr].into_iter().flat_map(u32::to_be_bytes));
            }
            TcpOption::FastOpen(cookie) => put(&mut bytes, FAST_OPEN, cookie.iter().copied()),
            TcpOption::FastOpenExperimental(cookie) => {
                put(&mut bytes, EXPERIMENTAL, FAST_OPEN_MAGIC.iter().chain(cookie).copied());
            }
            TcpOption::Md5(digest) => put(&mut bytes, MD5, digest.iter().copied()),
            TcpOption::AccEcn { ect1_first, counters } => {
                let kind = if *ect1_first { ACCECN1 } else { ACCECN0 };
                put(
                    &mut bytes,
                    kind,
                    counters.iter().flat_map(|count| count.to_be_bytes().into_iter().skip(1)),
                );
            }
            TcpOption::Other { kind, data } => put(&mut bytes, *kind, data.iter().copied()),
        }
    }
    bytes
}

/// The options of a header, padding included; `None` if one is cut short.
pub fn decode(mut bytes: &[u8]) -> Option<Vec<TcpOption>> {
    let mut options = Vec::new();
    while let Some(option) = first(bytes).ok()? {
        options.push(match option.kind {
            END => TcpOption::End,
            NOP => TcpOption::Nop,
            kind => one(kind, option.data),
        });
        bytes = option.rest;
    }
    Some(options)
}

fn one(kind: u8, data: &[u8]) -> TcpOption {
    match (kind, data.len()) {
        (MSS, 2) => TcpOption::Mss(u16::from_be_bytes([data[0], data[1]])),
        (WINDOW_SCALE, 1) => TcpOption::WindowScale(data[0]),
        (SACK_PERMITTED, 0) => TcpOption::SackPermitted,
        (SACK, length) if length.is_multiple_of(8) => {
            TcpOption::Sack((0..length / 8).map(|i| (be32(data, 8 * i), be32(data, 8 * i + 4))).collect())
        }
        (TIMESTAMPS, 8) => TcpOption::Timestamps(Timestamps { val: be32(data, 0), ecr: be32(data, 4) }),
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
    fn tcp_options_round_trip() {
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
    fn truncated_options_are_rejected() {
        for bytes in [&[2u8][..], &[2, 4, 5], &[8, 1], &[5, 0]] {
            assert_eq!(decode(bytes), None, "{bytes:?}");
        }
    }
}
