//! Asks a server, and believes nothing that it says unchecked.

use crate::answer::{Answer, BadAnswer};
use crate::entry::Pair;
pub use crate::entry::Report;
use crate::store::Question;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use slowpath_http::Token;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// How long an answer may take, from connecting to its last byte.
pub const PATIENCE: Duration = Duration::from_secs(3);
/// The longest answer: one is about 2 KiB.
pub const MOST_ANSWER: usize = 64 << 10;
/// Paths that are listed: with the longest addresses, so many fit an answer.
pub const MOST_PATHS: usize = 500;
/// The longest head of a response.
const MOST_HEAD: usize = 16 << 10;
/// Characters of a server's reason that are repeated.
const MOST_REASON: usize = 200;

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A Unix socket.
    Unix(PathBuf),
    /// An address.
    Tcp(SocketAddr),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp(address) => write!(f, "http://{address}"),
        }
    }
}

impl std::str::FromStr for Place {
    type Err = AskError;

    /// The path of a Unix socket, or `http://HOST:PORT`; the first address of a name counts.
    fn from_str(text: &str) -> Result<Self, AskError> {
        if let Some(path) = text.strip_prefix("unix:").or_else(|| text.starts_with('/').then_some(text)) {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let host = text.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
        let found = host.and_then(|host| host.to_socket_addrs().ok()?.next());
        found.map(Self::Tcp).ok_or_else(|| AskError::NoPlace(text.to_owned()))
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// This names no server.
    #[error("{0:?} is not the path of a Unix socket, or http://HOST:PORT of a host with an address")]
    NoPlace(String),
    /// No address was asked about.
    #[error("no address of a host is given")]
    NoHost,
    /// No server is there.
    #[error("{at}: no answer; does `slowpath paths serve` run there?")]
    Connect {
        /// The server.
        at: Place,
        /// What the kernel reported.
        source: io::Error,
    },
    /// It takes too long.
    #[error("{at}: no whole answer within {} s", PATIENCE.as_secs())]
    Silent {
        /// The server.
        at: Place,
    },
    /// It speaks no HTTP, or breaks off.
    #[error("{at}: not an answer by HTTP")]
    Http {
        /// The server.
        at: Place,
        /// What is wrong.
        source: hyper::Error,
    },
    /// Its answer is too long, or breaks off.
    #[error("{at}: the answer breaks off, or is longer than {MOST_ANSWER} bytes")]
    Body {
        /// The server.
        at: Place,
    },
    /// It refuses.
    #[error("{at}: {status}: {why}")]
    Refused {
        /// The server.
        at: Place,
        /// Its status.
        status: StatusCode,
        /// Its reason.
        why: String,
    },
    /// Its answer has another form.
    #[error("{at}: not an answer of a path store")]
    Form {
        /// The server.
        at: Place,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// Its answer is not believed.
    #[error("{at}: the answer is not believed")]
    Bad {
        /// The server.
        at: Place,
        /// Why.
        source: BadAnswer,
    },
    /// The system gives no timers or sockets.
    #[error("cannot ask")]
    Runtime(#[source] io::Error),
    /// The request cannot be written.
    #[error("cannot write the request")]
    Request(#[source] hyper::http::Error),
}

#[derive(Deserialize)]
struct Reason {
    error: String,
}

/// A path in a list.
#[derive(Deserialize)]
struct ListedPath {
    from: IpAddr,
    to: IpAddr,
}

#[derive(Deserialize)]
struct ListedPaths {
    paths: Vec<ListedPath>,
}

#[derive(Deserialize)]
struct Kept {
    kept: usize,
}

/// Asks a server about a path. `None` if it knows nothing of it. Blocks for [`PATIENCE`] at most.
///
/// # Errors
/// If no server is there, it is too slow, refuses, or gives an answer that is not believed ([`Answer::check`]).
pub fn ask(at: &Place, question: &Question, token: Option<&Token>) -> Result<Option<Answer>, AskError> {
    if question.to.is_empty() {
        return Err(AskError::NoHost);
    }
    let list = |addresses: &[IpAddr]| addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let mut path = format!("/v1/answer?to={}&streams={}", list(&question.to), question.streams.max(1));
    if !question.from.is_empty() {
        path += &format!("&from={}", list(&question.from));
    }
    let Some(body) = exchange(at, &path, None, token)? else { return Ok(None) };
    let answer: Answer =
        serde_json::from_slice(&body).map_err(|source| AskError::Form { at: at.clone(), source })?;
    answer.check(question).map_err(|source| AskError::Bad { at: at.clone(), source })?;
    Ok(Some(answer))
}

/// The paths that a server knows, the one with the newest value first, [`MOST_PATHS`] at most. Blocks for [`PATIENCE`] at most.
///
/// # Errors
/// If no server is there, it is too slow, refuses, or its answer has another form.
pub fn paths(at: &Place, token: Option<&Token>) -> Result<Vec<Pair>, AskError> {
    let body = exchange(at, &format!("/v1/paths?limit={MOST_PATHS}"), None, token)?.unwrap_or_default();
    let listed: ListedPaths =
        serde_json::from_slice(&body).map_err(|source| AskError::Form { at: at.clone(), source })?;
    Ok(listed.paths.into_iter().map(|path| Pair::new(path.from, path.to)).collect())
}

/// Has a server record values; returns how many it keeps. Blocks for [`PATIENCE`] at most.
///
/// # Errors
/// If no server is there, it is too slow, or refuses.
pub fn report(at: &Place, report: &Report, token: Option<&Token>) -> Result<usize, AskError> {
    let body = serde_json::to_vec(report).map_err(|source| AskError::Form { at: at.clone(), source })?;
    let answer = exchange(at, "/v1/entries", Some(body), token)?.unwrap_or_default();
    let kept: Kept =
        serde_json::from_slice(&answer).map_err(|source| AskError::Form { at: at.clone(), source })?;
    Ok(kept.kept)
}

/// A request and the body of its response; `None` if it is not found. Posts a body if there is one.
fn exchange(
    at: &Place,
    path: &str,
    body: Option<Vec<u8>>,
    token: Option<&Token>,
) -> Result<Option<Bytes>, AskError> {
    let host = match at {
        Place::Unix(_) => "localhost".to_owned(),
        Place::Tcp(address) => address.to_string(),
    };
    let method = if body.is_some() { "POST" } else { "GET" };
    let mut request = Request::builder().method(method).uri(path).header(HOST, host);
    if body.is_some() {
        request = request.header(CONTENT_TYPE, "application/json");
    }
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, token.header());
    }
    let request =
        request.body(Full::new(Bytes::from(body.unwrap_or_default()))).map_err(AskError::Request)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(AskError::Runtime)?;
    runtime.block_on(async {
        let connect = |source| AskError::Connect { at: at.clone(), source };
        let exchanged = async {
            match at {
                Place::Unix(socket) => {
                    send(at, UnixStream::connect(socket).await.map_err(connect)?, request).await
                }
                Place::Tcp(address) => {
                    send(at, TcpStream::connect(address).await.map_err(connect)?, request).await
                }
            }
        };
        let late = |_| AskError::Silent { at: at.clone() };
        tokio::time::timeout(PATIENCE, exchanged).await.map_err(late)?
    })
}

async fn send(
    at: &Place,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Option<Bytes>, AskError> {
    let http = |source| AskError::Http { at: at.clone(), source };
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(MOST_HEAD).handshake(TokioIo::new(stream)).await.map_err(http)?;
    // Ends with the runtime at the latest; its errors come back with the response.
    tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(http)?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MOST_ANSWER).collect().await;
    let body = body.map_err(|_| AskError::Body { at: at.clone() })?.to_bytes();
    match status {
        StatusCode::OK => Ok(Some(body)),
        StatusCode::NOT_FOUND => Ok(None),
        status => {
            let reason: Option<Reason> = serde_json::from_slice(&body).ok();
            let why = reason.map_or_else(|| "no reason given".to_owned(), |reason| reason.error);
            let why = why.chars().take(MOST_REASON).collect();
            Err(AskError::Refused { at: at.clone(), status, why })
        }
    }
}
