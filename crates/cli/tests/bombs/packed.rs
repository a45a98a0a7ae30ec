//! Highly compressible data.

use std::io::Write;

/// Uncompressed bytes of a gzip member or zstd frame.
const MEMBER: usize = 8 << 20;
/// Compressed bytes of all of them together.
pub const PACKED: usize = 1 << 20;

/// A compression format with independent parts.
#[derive(Clone, Copy)]
pub enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    pub fn pack(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(bytes).expect("memory");
                encoder.finish().expect("memory")
            }
            Self::Zstd => zstd::encode_all(bytes, 12).expect("memory"),
        }
    }

    /// A megabyte that decompresses to `head` and many repetitions of `unit`.
    pub fn repeated(self, head: &[u8], unit: &[u8]) -> Vec<u8> {
        let mut packed = self.pack(head);
        let member = self.pack(&unit.repeat(MEMBER / unit.len()));
        while packed.len() + member.len() <= PACKED {
            packed.extend_from_slice(&member);
        }
        packed
    }

    /// A megabyte that decompresses to `head` and many different pieces.
    pub fn counted(self, head: &[u8], piece: impl Fn(u64, &mut Vec<u8>)) -> Vec<u8> {
        let mut packed = self.pack(head);
        let mut number = 0;
        let mut plain = Vec::new();
        while packed.len() < PACKED {
            plain.clear();
            while plain.len() < MEMBER / 8 {
                piece(number, &mut plain);
                number += 1;
            }
            packed.extend_from_slice(&self.pack(&plain));
        }
        packed
    }
}
