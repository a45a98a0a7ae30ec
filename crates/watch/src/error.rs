//! What can go wrong.

use slowpath_http::{HttpError, TokenError};
use std::io;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// There is nobody to look at it.
    #[error(
        "watch needs a terminal for its screen and keys; `slowpath diagnose --live --summary` prints once, for a pipe or a file, and --metrics serves metrics"
    )]
    NoTerminal,
    /// The kernel refuses, or something requested does not exist.
    #[error(transparent)]
    Watching(#[from] slowpath_runs::Error),
    /// The terminal does not answer.
    #[error("the terminal: {0}")]
    Terminal(#[from] io::Error),
    /// Metrics cannot be served.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// There is no token in the file.
    #[error(transparent)]
    Token(#[from] TokenError),
}
