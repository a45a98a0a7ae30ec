//! Errors of writing and reading.

use slowpath_files::OutputError;
use std::io;
use std::path::PathBuf;

/// A recording that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The folder already has a recording.
    #[error("{}: holds a recording already; remove it, or name another folder", .0.display())]
    Taken(PathBuf),
    /// A system call failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file of a table of results cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The Parquet library failed, most often because of the system.
    #[error("{}: {source}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Why.
        source: parquet::errors::ParquetError,
    },
}

/// A recording that cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A system call failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no complete segment.
    #[error("{}: is no recording: it has no segment 000001{}", folder.display(), if *.begun {
        "; its first was begun and never finished, so that nothing of it can be read"
    } else {
        ""
    })]
    NoRecording {
        /// The folder.
        folder: PathBuf,
        /// Whether a first segment was begun.
        begun: bool,
    },
    /// Nothing can be read, since the first segment is damaged.
    #[error(transparent)]
    Damaged(#[from] Damage),
}

/// A part of a recording that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", file.display())]
pub struct Damage {
    /// The damaged file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub what: String,
}
