//! Connections: accepted, bounded in number and time, and handed to the router.

use crate::access::Peer;
use crate::error::HttpError;
use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use slowpath_files::own_uid;
use std::fs::{self, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::Semaphore;

/// Connections of one listener at a time; others wait in the kernel.
const MOST_CONNECTIONS: usize = 256;
/// How long a request's head may take, and how long a connection may be idle.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// How long a connection may last, however it is used.
const CONNECTION_TIME: Duration = Duration::from_secs(300);
/// The longest head of a request.
const MOST_HEAD: usize = 16 << 10;
/// The most headers of a request.
const MOST_HEADERS: usize = 64;
/// The pause after a connection that could not be accepted, such as without file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Where requests come from.
pub enum Listener {
    /// TCP.
    Tcp(TcpListener, SocketAddr),
    /// A Unix socket, its file, and the user who may write.
    Unix(UnixListener, PathBuf, u32),
}

impl Listener {
    /// Listens on an address.
    pub async fn tcp(address: SocketAddr) -> Result<Self, HttpError> {
        let failed = |source| HttpError::Listen { at: address.to_string(), source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let at = listener.local_addr().map_err(failed)?;
        Ok(Self::Tcp(listener, at))
    }

    /// Listens on a Unix socket, in place of one whose server has gone. All users may connect.
    pub async fn unix(path: &Path) -> Result<Self, HttpError> {
        let failed = |source| HttpError::Listen { at: path.display().to_string(), source };
        if fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_socket()) {
            match UnixStream::connect(path).await {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    fs::remove_file(path).map_err(failed)?;
                }
                _ => return Err(HttpError::Taken(path.to_owned())),
            }
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, Permissions::from_mode(0o666)).map_err(failed)?;
        Ok(Self::Unix(listener, path.to_owned(), own_uid().map_err(failed)?))
    }

    /// Its name for people.
    pub fn name(&self) -> String {
        match self {
            Self::Tcp(_, at) => format!("http://{at}"),
            Self::Unix(_, path, _) => path.display().to_string(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path, _) = self {
            // A file that stays is replaced by the next server.
            let _ = fs::remove_file(path);
        }
    }
}

/// The router, for all connections.
pub struct Listening(Router);

impl Listening {
    /// Serves with this router.
    pub const fn new(router: Router) -> Self {
        Self(router)
    }

    /// Accepts connections for ever.
    pub async fn accept(self: Rc<Self>, listener: Listener) {
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            let serving = Rc::clone(&self);
            match &listener {
                Listener::Tcp(tcp, at) => {
                    let peer = if at.ip().is_loopback() { Peer::Loopback } else { Peer::Network };
                    let Ok((stream, _)) = tcp.accept().await else {
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    };
                    // Answers are small and waited for.
                    let _ = stream.set_nodelay(true);
                    tokio::task::spawn_local(async move {
                        serving.serve(stream, peer).await;
                        drop(place);
                    });
                }
                Listener::Unix(unix, _, own) => {
                    let Ok((stream, _)) = unix.accept().await else {
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    };
                    let is_trusted = stream.peer_cred().is_ok_and(|who| who.uid() == 0 || who.uid() == *own);
                    tokio::task::spawn_local(async move {
                        serving.serve(stream, Peer::Unix { is_trusted }).await;
                        drop(place);
                    });
                }
            }
        }
    }

    /// Serves one connection.
    async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Unpin, peer: Peer) {
        let router = TowerToHyperService::new(self.0.clone());
        let service = service_fn(|mut request: hyper::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(peer);
            router.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(MOST_HEAD)
            .max_headers(MOST_HEADERS)
            .serve_connection(TokioIo::new(stream), service);
        // Who breaks the protocol, or is too slow, is disconnected; there is nobody to tell.
        let _ = tokio::time::timeout(CONNECTION_TIME, connection).await;
    }
}
