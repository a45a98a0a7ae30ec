//! Files with symbols that are not read.

use std::fmt::Display;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    /// The system or the ELF parser refuses.
    #[error("{0}")]
    Refused(String),
    /// Its tables take more memory than a file of its size may.
    #[error("its symbols take more memory than a file of its size may")]
    TooMuch,
}

impl Unread {
    /// With the reason that the system or the parser gives.
    pub(crate) fn refused(error: impl Display) -> Self {
        Self::Refused(error.to_string())
    }
}
