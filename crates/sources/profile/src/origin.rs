//! Where a profile comes from.

use std::time::SystemTime;

/// What is known of a file besides what is in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    /// Its bytes, as they are on the disk or came through a pipe.
    pub(crate) bytes: u64,
    /// When it was written last.
    pub(crate) written: Option<SystemTime>,
}
