//! Why a capture could not be read at all.

use std::io;

/// A capture that could not be read at all.
///
/// A truncated one is not an error: the readable part is delivered, and
/// [`CaptureSummary::stopped`](crate::CaptureSummary::stopped) says where and why reading ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file cannot be opened.
    #[error("{name}: cannot be opened")]
    Open {
        /// The file.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// The first bytes cannot be read or decompressed.
    #[error("{name}: cannot be read at offset {offset}: {reason}")]
    Read {
        /// The file.
        name: String,
        /// The offset in the uncompressed capture, in bytes.
        offset: u64,
        /// The error of the system or the decompressor.
        reason: String,
    },
    /// It is empty.
    #[error("{name}: empty; a capture has at least a header of 24 bytes")]
    Empty {
        /// The file.
        name: String,
    },
    /// It has a known compression that is not supported.
    #[error("{name}: packed with {packing}, which slowpath does not read; unpack it first (`{unpack}`)")]
    Packed {
        /// The file.
        name: String,
        /// The compression.
        packing: &'static str,
        /// The command that decompresses it to standard output.
        unpack: &'static str,
    },
    /// It has a known capture format that is not supported.
    #[error("{name}: a {format} capture; convert it first (`editcap -F pcapng {name} converted.pcapng`)")]
    Foreign {
        /// The file.
        name: String,
        /// The format.
        format: &'static str,
    },
    /// It is something else.
    #[error(
        "{name}: not a capture: starts with {start}; slowpath reads pcap and pcapng, plain or compressed with \
         gzip or zstd"
    )]
    NotACapture {
        /// The file.
        name: String,
        /// Its first bytes, quoted.
        start: String,
    },
    /// It is damaged before its first frame.
    #[error("{name}: no frame can be read: {reason} at offset {offset}")]
    Damaged {
        /// The file.
        name: String,
        /// The offset in the uncompressed capture, in bytes.
        offset: u64,
        /// The damage.
        reason: String,
    },
}

/// The first bytes of a file, recognisable for people: text quoted, anything else in hex.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(4)];
    if bytes.iter().all(|b| b.is_ascii_graphic() || *b == b' ') {
        return format!("\"{}\"", String::from_utf8_lossy(bytes));
    }
    let hex: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("bytes {}", hex.join(" "))
}
