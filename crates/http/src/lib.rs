//! HTTP/1.1 servers on this host, for the commands that have one: what they answer is their own, who may ask and how
//! much is decided here.
//!
//! # Decisions
//!
//! **Loopback unless told otherwise.** Who listens where other hosts reach it names a token; without one, the server
//! does not start. On loopback and on the Unix socket, reading needs no token and writing does, except for the server's
//! own user and root on the Unix socket. A request whose header `Host` is a name is refused on loopback: a web page may
//! have made it.
//!
//! **Nobody is trusted to be quick.** Head, number of headers, time of a request and of a connection, and the number of
//! connections are bounded.
//!
//! **Listening comes before serving.** [`Server::open`] reports an address that is taken before the command does work.
//!
//! # Dependencies
//!
//! `axum` on `hyper` and `tokio`: requests are parsed by what everybody uses. HTTP/1.1 only, without TLS: for other
//! hosts, put a proxy or an ssh tunnel before it.

mod access;
mod error;
mod guard;
mod listen;
mod token;

pub use axum;
pub use error::HttpError;
pub use guard::Failure;
pub use token::{Token, TokenError};

use axum::Router;
use listen::{Listener, Listening};
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

/// How often the server looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// Threads for requests that block, such as those that write to a disk.
const BLOCKING: usize = 2;

/// Where to listen, and who may ask.
#[derive(Clone, Default)]
pub struct Places<'a> {
    /// The address, if any.
    pub listen: Option<SocketAddr>,
    /// The Unix socket, if any.
    pub socket: Option<&'a Path>,
    /// What a client has to present that comes from elsewhere, or writes by TCP.
    pub token: Option<Token>,
}

/// A server that listens. Connections wait in the kernel until it [runs](Self::run).
pub struct Server {
    runtime: Runtime,
    listeners: Vec<Listener>,
    token: Option<Token>,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// If other hosts reach the address and there is no token, there is nowhere to listen, or a place is taken.
    pub fn open(places: Places<'_>) -> Result<Self, HttpError> {
        let Places { listen, socket, token } = places;
        if let Some(address) = listen.filter(|address| token.is_none() && !address.ip().is_loopback()) {
            return Err(HttpError::NoToken(address));
        }
        if listen.is_none() && socket.is_none() {
            return Err(HttpError::Nothing);
        }
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(BLOCKING)
            .build()
            .map_err(HttpError::Runtime)?;
        let mut listeners = Vec::new();
        runtime.block_on(async {
            if let Some(address) = listen {
                listeners.push(Listener::tcp(address).await?);
            }
            if let Some(path) = socket {
                listeners.push(Listener::unix(path).await?);
            }
            Ok::<(), HttpError>(())
        })?;
        Ok(Self { runtime, listeners, token })
    }

    /// Where it listens, for people: an address, such as `http://127.0.0.1:9433`, or the path of a socket.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.listeners.iter().map(Listener::name)
    }

    /// Answers until `has_ended`.
    pub fn run(self, router: Router, has_ended: &dyn Fn() -> bool) {
        let Self { runtime, listeners, token } = self;
        let listening = Rc::new(Listening::new(guard::guarded(router, token)));
        LocalSet::new().block_on(&runtime, async {
            for listener in listeners {
                tokio::task::spawn_local(Rc::clone(&listening).accept(listener));
            }
            while !has_ended() {
                tokio::time::sleep(LOOK).await;
            }
        });
    }
}
