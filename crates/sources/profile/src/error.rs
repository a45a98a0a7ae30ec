//! Why a profile could not be read at all.

use std::fmt;
use std::io;

/// Where in a file something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum At {
    /// In bytes from its beginning. For compressed records of a perf.data, the record that contains it.
    Offset(u64),
    /// A line, from 1.
    Line(u64),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offset(offset) => write!(f, "at offset {offset}"),
            Self::Line(line) => write!(f, "in line {line}"),
        }
    }
}

/// Where and why reading ended before the profile did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Where.
    pub at: At,
    /// What is wrong there.
    pub reason: String,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.reason, self.at)
    }
}

/// A profile that could not be read at all.
///
/// A profile that is cut off is not an error: the readable part is returned, and
/// [`Input::stopped`](crate::Input::stopped) says where and why reading ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The file cannot be opened.
    #[error("{name}: cannot be opened")]
    Open {
        /// The file.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// It cannot be read or unpacked.
    #[error("{name}: cannot be read {at}: {reason}")]
    Read {
        /// The file.
        name: String,
        /// Where.
        at: At,
        /// What the system or the decompressor says.
        reason: String,
    },
    /// The file is empty.
    #[error("{name}: empty; was the profiler stopped before it wrote anything?")]
    Empty {
        /// The file.
        name: String,
    },
    /// The file is larger than what is read at once.
    #[error("{name}: {size} bytes, and of this format at most {most} are read; {fix}")]
    TooLarge {
        /// The file.
        name: String,
        /// Bytes counted so far.
        size: u64,
        /// The limit.
        most: u64,
        /// What to do instead.
        fix: &'static str,
    },
    /// The file unpacks to more than is allowed for its size.
    #[error("{name}: {much}; if you trust it, unpack it first (`gzip -dc`)")]
    TooMuch {
        /// The file.
        name: String,
        /// The limit that was exceeded.
        much: slowpath_files::TooMuch,
    },
    /// The file is compressed in a known format that is not read.
    #[error("{name}: packed with {packing}; unpack it first (`{unpack}`)")]
    Packed {
        /// The file.
        name: String,
        /// The compression format.
        packing: &'static str,
        /// The command that unpacks it to standard output.
        unpack: &'static str,
    },
    /// The file is not a profile.
    #[error(
        "{name}: not a profile: starts with {start}; slowpath reads perf.data, the text of `perf script`, folded \
         stacks, pprof, and the text of `opreport --callgraph`"
    )]
    NotAProfile {
        /// The file.
        name: String,
        /// Its first bytes, quoted.
        start: String,
    },
    /// The file is damaged before its first sample.
    #[error("{name}: no sample can be read: {reason} {at}")]
    Damaged {
        /// The file.
        name: String,
        /// Where.
        at: At,
        /// What is wrong there, and a fix if one is known.
        reason: String,
    },
}

impl ProfileError {
    pub(crate) fn damaged(name: &str, stop: Stop) -> Self {
        Self::Damaged { name: name.to_owned(), at: stop.at, reason: stop.reason }
    }
}

/// The first bytes of a file, so that a person recognises it: text quoted, anything else in hex.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(12)];
    let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    if !line.is_empty() && line.iter().all(|b| b.is_ascii_graphic() || *b == b' ') {
        return format!("\"{}\"", String::from_utf8_lossy(line));
    }
    let hex: Vec<String> = bytes.iter().take(4).map(|b| format!("{b:02x}")).collect();
    format!("bytes {}", hex.join(" "))
}
