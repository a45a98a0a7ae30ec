//! Why a capture could not be read at all.

use std::io;

/// A capture that could not be read at all.
///
/// One that breaks off half-way is not an error: what was readable is delivered, and
/// [`CaptureSummary::stopped`](crate::CaptureSummary::stopped) says where and why the reading ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file cannot be opened.
    #[error("{name}: cannot be opened")]
    Open {
        /// The file.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// The first bytes cannot be read or unpacked.
    #[error("{name}: cannot be read at offset {offset}: {reason}")]
    Read {
        /// The file.
        name: String,
        /// Where, in bytes of the unpacked capture.
        offset: u64,
        /// What the system or the decompressor says.
        reason: String,
    },
    /// There is nothing in it.
    #[error("{name}: empty; a capture has at least a header of 24 bytes")]
    Empty {
        /// The file.
        name: String,
    },
    /// It is in a packing that is known, but not read.
    #[error("{name}: packed with {packing}, which slowpath does not read; unpack it first (`{unpack}`)")]
    Packed {
        /// The file.
        name: String,
        /// The packing.
        packing: &'static str,
        /// The command that unpacks it to standard output.
        unpack: &'static str,
    },
    /// It is in a capture format that is known, but not read.
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
        /// Where, in bytes of the unpacked capture.
        offset: u64,
        /// What is wrong there.
        reason: String,
    },
}

/// The first bytes of something, so that a person recognises them: text quoted, anything else in hex.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(4)];
    if bytes.iter().all(|b| b.is_ascii_graphic() || *b == b' ') {
        return format!("\"{}\"", String::from_utf8_lossy(bytes));
    }
    let hex: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("bytes {}", hex.join(" "))
}
