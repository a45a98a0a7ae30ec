//! The server: HTTP/1.1 on loopback and on a Unix socket.

mod access;
mod listen;
mod routes;

pub use routes::MOST_BODY;

use crate::store::{Store, StoreError};
use crate::token::Token;
use listen::{Listener, Listening};
use slowpath_tune::advice::Known;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// The TCP port of the server: not registered.
pub const PORT: u16 = 5718;
/// The Unix socket of the server, unless another one is named.
pub const SOCKET: &str = "/run/slowpath-paths/paths.sock";
/// How often the server looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// Threads that write to the store, which is one at a time.
const WRITERS: usize = 2;

/// How paths are served.
pub struct Serving<'a> {
    /// The store's file.
    pub store: &'a Path,
    /// The address to listen on, if any.
    pub listen: Option<SocketAddr>,
    /// The Unix socket to listen on, if any.
    pub socket: Option<&'a Path>,
    /// What a client has to present that comes from elsewhere, or writes by TCP.
    pub token: Option<Token>,
    /// The kernel whose buffers are computed.
    pub known: Known,
}

/// Why paths are not served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
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
}

/// Serves until `has_ended`; `say` gets a line for each address, once it listens there.
///
/// # Errors
/// If the store cannot be used, or it cannot listen there.
pub fn serve(
    serving: Serving<'_>,
    has_ended: &dyn Fn() -> bool,
    say: &dyn Fn(&str),
) -> Result<(), ServeError> {
    let Serving { store: file, listen, socket, token, known } = serving;
    if let Some(address) = listen.filter(|address| token.is_none() && !address.ip().is_loopback()) {
        return Err(ServeError::NoToken(address));
    }
    if listen.is_none() && socket.is_none() {
        return Err(ServeError::Nothing);
    }
    // Readers and writers have connections of their own: who reads waits for nobody.
    let (reader, writer) = (Store::open(file)?, Store::open(file)?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(WRITERS)
        .build()
        .map_err(ServeError::Runtime)?;
    let tasks = tokio::task::LocalSet::new();
    tasks.block_on(&runtime, async {
        let mut listeners = Vec::new();
        if let Some(address) = listen {
            listeners.push(Listener::tcp(address).await?);
        }
        if let Some(path) = socket {
            listeners.push(Listener::unix(path).await?);
        }
        for listener in &listeners {
            say(&format!("Listening on {}. Ctrl-C stops it.", listener.name()));
        }
        let router = routes::router(reader, writer, token, known);
        let listening = Rc::new(Listening::new(router));
        for listener in listeners {
            tokio::task::spawn_local(Rc::clone(&listening).accept(listener));
        }
        while !has_ended() {
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    })
}
