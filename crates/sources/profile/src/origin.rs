//! The origin of a profile.

use std::time::SystemTime;

/// What is known of a file besides its contents.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    /// Its size in bytes, on disk or as received through a pipe.
    pub(crate) bytes: u64,
    /// When it was last written.
    pub(crate) written: Option<SystemTime>,
}
