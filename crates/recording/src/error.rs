//! Errors.

use std::io;
use std::path::PathBuf;

/// A recording that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The folder has one already.
    #[error("{}: holds a recording already; remove it, or name another folder", .0.display())]
    Taken(PathBuf),
    /// The system refuses.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The library for Parquet refuses, most often because the system does.
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
    /// The system refuses.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No segment is there.
    #[error("{}: is no recording: it has no segment 000001{}", folder.display(), if *.begun {
        "; its first was begun and never finished, so that nothing of it can be read"
    } else {
        ""
    })]
    NoRecording {
        /// The folder.
        folder: PathBuf,
        /// One was begun.
        begun: bool,
    },
    /// Nothing of it can be read, since its first segment is damaged.
    #[error(transparent)]
    Damaged(#[from] Damage),
}

/// A part of a recording that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", file.display())]
pub struct Damage {
    /// Which file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub what: String,
}
