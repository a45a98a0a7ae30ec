//! Why a copy ends early.

use crate::arrivals::Impossible;
use crate::place::NoPlace;
use crate::protocol::NotAMessage;
use slowpath_model::Bytes;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Why a copy ends early. Nothing has its final name then; what arrived is kept, and the same command continues there.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The system refused something.
    #[error("cannot {what}: {source}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// A file or folder cannot be used.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It has another kind than is needed.
    #[error("{}: {what}", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A place that is none.
    #[error(transparent)]
    Place(#[from] NoPlace),
    /// Neither end of the copy is on this host, or both are.
    #[error("one of source and destination has to be on another host, as HOST:PATH or slowpath://HOST/PATH")]
    Ends,
    /// The destination exists.
    #[error("{}: exists already; name another destination, or replace it with --force", .0.display())]
    Exists(PathBuf),
    /// The destination is a folder.
    #[error("{}: is a folder, which a copy does not replace; name another destination", .0.display())]
    ExistsFolder(PathBuf),
    /// Another copy writes to this destination.
    #[error("{}: another copy to it is running", .0.display())]
    Busy(PathBuf),
    /// The disk has too little room.
    #[error("{}: {needed} are needed and the disk has {left} left", path.display())]
    NoRoom {
        /// The destination.
        path: PathBuf,
        /// What is still to be written.
        needed: Bytes,
        /// What the user may write.
        left: Bytes,
    },
    /// Nobody listens.
    #[error(
        "{to}: no answer: {source}; is `slowpath copy --serve` running there, and does it listen on that address?"
    )]
    NoServer {
        /// The address.
        to: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// A name without an address.
    #[error("{host}: {source}")]
    NoAddress {
        /// The name.
        host: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The data connections cannot be opened.
    #[error(
        "no data connection to {to}: {source}; if a firewall is in between, let one TCP port through and name it with --port"
    )]
    NoData {
        /// The addresses that were tried.
        to: String,
        /// The error of the last one.
        source: io::Error,
    },
    /// The command that reaches the far end cannot be started.
    #[error("{command}: {source}")]
    Ssh {
        /// The command.
        command: String,
        /// The error of the system.
        source: io::Error,
    },
    /// That command ended before a copy began.
    #[error(
        "{command}: ended with {status} before slowpath answered; is slowpath installed there? (--far-program names it)"
    )]
    SshEnded {
        /// The command.
        command: String,
        /// How it ended.
        status: String,
    },
    /// The far end cannot go on.
    #[error("the far end: {0}")]
    Far(String),
    /// The other end sent an invalid message.
    #[error("the other end does not keep to the protocol: {0}")]
    Protocol(#[from] NotAMessage),
    /// The other end sent an impossible block.
    #[error("the other end does not keep to the protocol: {0}")]
    Blocks(#[from] Impossible),
    /// It sent another message than the one expected.
    #[error("the other end said what was not asked")]
    OutOfTurn,
    /// The other end does not have the key, or something on the path changed a record.
    #[error("the other end does not have the key of this copy, or what it sent was changed on the way")]
    Forged,
    /// It does not have the token.
    #[error("the other end closed the connection during the handshake; is it the token of that server?")]
    Token,
    /// A block does not have its digest.
    #[error("a block was damaged before it was sent or after it had arrived")]
    Damaged,
    /// It closed the connection.
    #[error("the other end closed the connection")]
    Closed,
    /// It says nothing.
    #[error("the other end has said nothing for 30 s")]
    Silent,
    /// It speaks, and nothing moves.
    #[error("nothing has moved for two minutes")]
    Stalled,
    /// The source said that all was sent, and blocks are missing.
    #[error("blocks are missing although the source has sent all")]
    Incomplete,
    /// More files, or longer paths, than one copy takes.
    #[error("more than {0} files and folders, or too long paths; copy parts of the folder")]
    TooMany(usize),
    /// The one file to copy could not be read.
    #[error("nothing was copied: {0}")]
    Nothing(String),
    /// The request is refused.
    #[error("{0}")]
    Refused(String),
    /// A stop was requested.
    #[error("stopped; what arrived is kept, and the same command continues there")]
    Stopped,
}

impl CopyError {
    /// For `map_err`: what was attempted.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }

    /// For `map_err`: the file.
    pub(crate) fn file<E: Into<io::Error>>(path: &Path) -> impl FnOnce(E) -> Self {
        move |source| Self::File { path: path.to_owned(), source: source.into() }
    }
}
