//! The server: HTTP/1.1 on loopback and on a Unix socket.

mod routes;

pub use routes::MOST_BODY;

use crate::store::{Store, StoreError};
use slowpath_http::{HttpError, Places, Server, Token};
use slowpath_tune::advice::Known;
use std::net::SocketAddr;
use std::path::Path;

/// The TCP port of the server: not registered.
pub const PORT: u16 = 5718;
/// The Unix socket of the server, unless another one is named.
pub const SOCKET: &str = "/run/slowpath-paths/paths.sock";
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
    /// It cannot listen, or may not listen there.
    #[error(transparent)]
    Http(#[from] HttpError),
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
    let Serving { store, listen, socket, token, known } = serving;
    let server = Server::open(Places { listen, socket, token })?;
    // Readers and writers have connections of their own: who reads waits for nobody.
    let router = routes::router(Store::open(store)?, Store::open(store)?, known);
    for name in server.names() {
        say(&format!("Listening on {name}. Ctrl-C stops it."));
    }
    server.run(router, has_ended);
    Ok(())
}
