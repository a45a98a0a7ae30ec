//! What a data connection carries: records, each encrypted and authenticated as a whole.
//!
//! ```text
//! length of the rest (4 bytes) │ encrypted: type (1), file (4), block (8), digest (32), data │ tag (16)
//! ```

use super::Digest;

/// Bytes of a block, except for the last of a file. A block is what is sent, verified and kept as a whole. 1 MiB costs a
/// digest of 32 bytes, and 10 ms of a path of 1 Gbit/s when connections end at different times.
pub const BLOCK: u64 = 1 << 20;
/// Bytes of type, file, block and digest.
pub const HEADER: usize = 1 + 4 + 8 + 32;
/// Bytes of the tag (RFC 8439, section 2.8; NIST SP 800-38D).
pub const TAG: usize = 16;
/// The longest record after its length.
pub const MOST_RECORD: usize = HEADER + BLOCK as usize + TAG;

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// An end shows that it has the key.
    Hello,
    /// A block.
    Data {
        /// The file, by its number among the entries.
        file: u32,
        /// The block's number in the file.
        block: u64,
        /// Its digest.
        digest: Digest,
        /// Its bytes.
        data: &'a [u8],
    },
    /// A block that the destination has already.
    Same {
        /// The file.
        file: u32,
        /// The block.
        block: u64,
    },
    /// A file that cannot be read any further.
    Lost {
        /// The file.
        file: u32,
    },
}

/// The number of blocks of a file.
pub const fn blocks(size: u64) -> u64 {
    size.div_ceil(BLOCK)
}

/// The bytes of a block of a file.
pub const fn length(size: u64, block: u64) -> u64 {
    let left = size.saturating_sub(block.saturating_mul(BLOCK));
    if left < BLOCK { left } else { BLOCK }
}

/// The header of a record, for its data to follow.
pub fn header(record: &Record<'_>) -> [u8; HEADER] {
    let (kind, file, block, digest) = match *record {
        Record::Hello => (1, 0, 0, [0; 32]),
        Record::Data { file, block, digest, .. } => (2, file, block, digest),
        Record::Same { file, block } => (3, file, block, [0; 32]),
        Record::Lost { file } => (4, file, 0, [0; 32]),
    };
    let mut bytes = [0; HEADER];
    bytes[0] = kind;
    bytes[1..5].copy_from_slice(&file.to_be_bytes());
    bytes[5..13].copy_from_slice(&block.to_be_bytes());
    bytes[13..].copy_from_slice(&digest);
    bytes
}

/// Reads a record, decrypted and without its tag; `None` if it is none.
pub fn read(bytes: &[u8]) -> Option<Record<'_>> {
    let (header, data) = bytes.split_first_chunk::<HEADER>()?;
    let file = u32::from_be_bytes(*header[1..].first_chunk()?);
    let block = u64::from_be_bytes(*header[5..].first_chunk()?);
    let digest: Digest = *header[13..].first_chunk()?;
    let is_bare = data.is_empty() && digest == [0; 32];
    match header[0] {
        1 if is_bare && (file, block) == (0, 0) => Some(Record::Hello),
        2 if (1..=BLOCK as usize).contains(&data.len()) => Some(Record::Data { file, block, digest, data }),
        3 if is_bare => Some(Record::Same { file, block }),
        4 if is_bare && block == 0 => Some(Record::Lost { file }),
        _ => None,
    }
}
