//! Why nothing is served.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// An address that others reach, without a token.
    #[error("{0} is reached from other hosts: name the file of a token with --token-file")]
    NoToken(SocketAddr),
    /// Neither an address nor a socket.
    #[error("there is nothing to listen on")]
    Nothing,
    /// It cannot listen there.
    #[error("cannot listen on {at}")]
    Listen {
        /// The address or socket.
        at: String,
        /// What the kernel reported.
        source: io::Error,
    },
    /// A server has this socket already.
    #[error("{}: a server listens there already", .0.display())]
    Taken(PathBuf),
    /// The system gives no timers or sockets.
    #[error("cannot start the server")]
    Runtime(#[source] io::Error),
    /// It ended before it was to.
    #[error("the server ended: this is a fault of slowpath")]
    Ended,
}
