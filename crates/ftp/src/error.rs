//! Why a transfer ends early.

use crate::place::NoPlace;
use slowpath_files::OutputError;
use slowpath_model::Bytes;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Why a transfer ends early. The file does not have its name then. What arrived is kept where the same command can go on.
#[derive(Debug, thiserror::Error)]
pub enum FtpError {
    /// A text that is no FTP URL.
    #[error(transparent)]
    Place(#[from] NoPlace),
    /// The output cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A local file.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another transfer writes to the same file.
    #[error("{}: another transfer writes it; wait for its end, or name another file", .0.display())]
    Busy(PathBuf),
    /// The system refuses something else.
    #[error("cannot {what}: {source}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// Nobody answers there.
    #[error(
        "{server}: no connection: {source}; is an FTP server running there, and does a firewall let its port through?"
    )]
    NoServer {
        /// The server.
        server: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The server refuses a command.
    #[error("{server}: {command}: the server answered \"{reply}\"{fix}")]
    Refused {
        /// The server.
        server: String,
        /// The command, without a password.
        command: String,
        /// The reply's first line.
        reply: String,
        /// What to do, after a semicolon; or nothing.
        fix: &'static str,
    },
    /// The server's answer is no FTP.
    #[error("{server}: {command}: the answer is not FTP; is that the port of an FTP server?")]
    NotFtp {
        /// The server.
        server: String,
        /// The command.
        command: String,
    },
    /// The connection broke.
    #[error("{server}: {command}: the connection broke: {source}")]
    Broken {
        /// The server.
        server: String,
        /// The command.
        command: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The server does not answer.
    #[error("{server}: {command}: no complete answer within {} s", patience.as_secs())]
    Silent {
        /// The server.
        server: String,
        /// The command.
        command: String,
        /// How long was waited.
        patience: Duration,
    },
    /// No data moves.
    #[error("{server}: no data has moved for {} s", patience.as_secs())]
    Stalled {
        /// The server.
        server: String,
        /// How long was waited.
        patience: Duration,
    },
    /// The server names another host for the data connection.
    #[error(
        "{server}: it names {named} for the data connection, which is not its own address {own}. A server that does so \
         can make this host connect to anyone, so it is refused. If the server is behind a NAT, use --active, or have \
         its public address set in its configuration (pasv_address, MasqueradeAddress, ForcePassiveIP)"
    )]
    OtherHost {
        /// The server.
        server: String,
        /// The address in its reply.
        named: SocketAddr,
        /// Its own.
        own: IpAddr,
    },
    /// The data connection cannot be opened.
    #[error(
        "{server}: no data connection to port {port}: {source}; if a firewall is in between, try --active, or let the \
         server's passive ports through"
    )]
    NoData {
        /// The server.
        server: String,
        /// The port that it named.
        port: u16,
        /// The error of the system.
        source: io::Error,
    },
    /// Less or more arrived than the server said.
    #[error("{server}: it said that the file has {said}, and sent {arrived}{}", if *is_more { " and more" } else { "" })]
    Size {
        /// The server.
        server: String,
        /// Its answer to SIZE.
        said: Bytes,
        /// What arrived.
        arrived: Bytes,
        /// Whether it went on.
        is_more: bool,
    },
    /// The server has another amount than was sent.
    #[error("{server}: it says that it has {there} of the {sent} that were sent; nothing was renamed")]
    Kept {
        /// The server.
        server: String,
        /// Its answer to SIZE.
        there: Bytes,
        /// What was sent.
        sent: Bytes,
    },
    /// The file exists at the server.
    #[error("{0}: exists already; name another file, or replace it with --force")]
    Exists(String),
    /// A technique that has nothing to go by.
    #[error("{0}")]
    NotKnown(String),
    /// A stop was requested.
    #[error("stopped; what arrived is kept, and the same command continues there")]
    Stopped,
}

impl FtpError {
    /// For `map_err`: what was attempted.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }

    /// For `map_err`: the file.
    pub(crate) fn file<E: Into<io::Error>>(path: &std::path::Path) -> impl FnOnce(E) -> Self {
        move |source| Self::File { path: path.to_owned(), source: source.into() }
    }
}
