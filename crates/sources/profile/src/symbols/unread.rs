//! Reasons for not reading a file with symbols.

use std::fmt::Display;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    /// The system or the ELF parser failed.
    #[error("{0}")]
    Refused(String),
    /// Its tables take more memory than a file of its size may.
    #[error("its symbols take more memory than a file of its size may")]
    TooMuch,
}

impl Unread {
    /// With the system's or parser's reason.
    pub(crate) fn refused(error: impl Display) -> Self {
        Self::Refused(error.to_string())
    }
}
