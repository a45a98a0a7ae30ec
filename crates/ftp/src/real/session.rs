//! The control connection, with a deadline for each command.

use crate::error::FtpError;
use crate::place::Place;
use slowpath_copy::real::Stop;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use suppaftp::types::Response;
use suppaftp::{FtpStream, ImplFtpStream, Status, TlsStream, TransferStream};

/// How long a handshake may take.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long an answer may take, to its last byte.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How often a stop is looked for.
pub const LOOK: Duration = Duration::from_millis(100);
/// What is quoted of a reply.
const MOST_QUOTED: usize = 200;

/// Shuts the control connection down when a deadline has passed or a stop is requested.
#[derive(Default)]
pub struct Watchdog {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    socket: Option<TcpStream>,
    until: Option<Instant>,
    fired: Option<Fired>,
    has_ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fired {
    Stopped,
    TooLate,
}

/// Ends the watchdog's thread, however the transfer ends.
pub struct Ends<'a>(pub &'a Watchdog);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.state().has_ended = true;
        self.0.changed.notify_all();
    }
}

impl Watchdog {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches until the transfer ends, on a thread of its own.
    pub fn watch(&self, stop: Stop<'_>) {
        let mut state = self.state();
        while !state.has_ended {
            let is_late = state.until.is_some_and(|until| Instant::now() > until);
            let fired = if stop() { Some(Fired::Stopped) } else { is_late.then_some(Fired::TooLate) };
            if state.fired.is_none() && fired.is_some() {
                state.fired = fired;
                if let Some(socket) = &state.socket {
                    let _ = socket.shutdown(Shutdown::Both);
                }
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Sets the deadline.
    pub fn allow(&self, patience: Option<Duration>) {
        self.state().until = patience.map(|patience| Instant::now() + patience);
    }
}

/// A control connection that has logged in.
pub struct Session<'w> {
    /// suppaftp's end of it.
    pub ftp: FtpStream,
    /// The server's address.
    pub peer: SocketAddr,
    /// This host's.
    pub local: SocketAddr,
    /// A second descriptor of the connection, for its `TCP_INFO`.
    pub socket: TcpStream,
    server: String,
    /// Its watchdog.
    pub watchdog: &'w Watchdog,
}

impl<'w> Session<'w> {
    /// Connects to a server. The first of its addresses that answers is used.
    pub fn connect(place: &Place, watchdog: &'w Watchdog, stop: Stop<'_>) -> Result<Self, FtpError> {
        let server = place.server();
        let failed = |source| FtpError::NoServer { server: server.clone(), source };
        let addresses = std::net::ToSocketAddrs::to_socket_addrs(&(place.host.as_str(), place.port));
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in addresses.map_err(failed)? {
            if stop() {
                return Err(FtpError::Stopped);
            }
            match TcpStream::connect_timeout(&address, HANDSHAKE) {
                Ok(socket) => return Self::greeted(socket, server, watchdog),
                Err(error) => last = error,
            }
        }
        Err(failed(last))
    }

    fn greeted(socket: TcpStream, server: String, watchdog: &'w Watchdog) -> Result<Self, FtpError> {
        let system = FtpError::system;
        let (peer, local) = (socket.peer_addr(), socket.local_addr());
        let peer = peer.map_err(system("read the server's address"))?;
        let local = local.map_err(system("read this host's address"))?;
        let clone = || socket.try_clone();
        let (own, watched) = (clone(), clone());
        let own = own.map_err(system("duplicate a socket"))?;
        watchdog.state().socket = Some(watched.map_err(system("duplicate a socket"))?);
        watchdog.allow(Some(PATIENCE));
        let ftp = FtpStream::connect_with_stream(socket);
        watchdog.allow(None);
        let ftp = ftp.map_err(|error| explained(&server, "connect", PATIENCE, watchdog, error))?;
        Ok(Self { ftp, peer, local, socket: own, server, watchdog })
    }

    /// The server's name.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Runs commands that have to be answered in time. `name` is what they are called in errors.
    pub fn run<T>(
        &mut self,
        name: &str,
        patience: Duration,
        work: impl FnOnce(&mut FtpStream) -> suppaftp::FtpResult<T>,
    ) -> Result<T, FtpError> {
        self.watchdog.allow(Some(patience));
        let result = work(&mut self.ftp);
        self.watchdog.allow(None);
        result.map_err(|error| self.explain(name, patience, error))
    }

    /// Like [`Self::run`], but a server may refuse the command: then the result is its reply.
    pub fn ask<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut FtpStream) -> suppaftp::FtpResult<T>,
    ) -> Result<Result<T, Response>, FtpError> {
        self.run(name, PATIENCE, |ftp| match work(ftp) {
            Err(suppaftp::FtpError::UnexpectedResponse(reply)) => Ok(Err(reply)),
            other => other.map(Ok),
        })
    }

    /// An error of suppaftp, with the server, the command, the reply and what to do.
    pub fn explain(&self, command: &str, patience: Duration, error: suppaftp::FtpError) -> FtpError {
        explained(&self.server, command, patience, self.watchdog, error)
    }

    /// A refusal.
    pub fn refused(&self, command: &str, reply: &Response) -> FtpError {
        refused(&self.server, command, reply)
    }
}

fn refused(server: &str, command: &str, reply: &Response) -> FtpError {
    let text = String::from_utf8_lossy(&reply.body);
    let line = text.lines().next().unwrap_or_default().trim();
    let fix = match reply.status {
        Status::NotLoggedIn => {
            "; name the user in the URL, and the password in ~/.netrc or SLOWPATH_FTP_PASSWORD"
        }
        Status::FileUnavailable => {
            "; check the path, which begins at the folder of the login, and its permissions"
        }
        Status::CannotOpenDataConnection => "; try passive mode without --active, or --active",
        Status::NotAvailable => "; the server takes no more connections now, try later",
        Status::ExceededStorage => "; the server's disk or quota is full",
        _ => "",
    };
    FtpError::Refused {
        server: server.to_owned(),
        command: command.to_owned(),
        reply: line.chars().take(MOST_QUOTED).collect(),
        fix,
    }
}

fn explained(
    server: &str,
    command: &str,
    patience: Duration,
    watchdog: &Watchdog,
    error: suppaftp::FtpError,
) -> FtpError {
    let (server_name, name) = (server.to_owned(), command.to_owned());
    match watchdog.state().fired {
        Some(Fired::Stopped) => return FtpError::Stopped,
        Some(Fired::TooLate) => return FtpError::Silent { server: server_name, command: name, patience },
        None => {}
    }
    match error {
        suppaftp::FtpError::UnexpectedResponse(reply) => refused(server, command, &reply),
        suppaftp::FtpError::ConnectionError(source) => match source.downcast::<Within>() {
            Ok(Within(own)) => own,
            Err(source) => FtpError::Broken { server: server_name, command: name, source },
        },
        _ => FtpError::NotFtp { server: server_name, command: name },
    }
}

/// An error of this crate that passes through suppaftp.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Within(FtpError);

/// Wraps an error for suppaftp.
pub fn within(error: FtpError) -> suppaftp::FtpError {
    suppaftp::FtpError::ConnectionError(io::Error::other(Within(error)))
}

/// The data connection of a client. suppaftp does not export the parameter of [`FtpStream`].
pub type Stream = <FtpStream as Client>::Transfer;

/// Has the type of a client's data connections.
pub trait Client {
    /// It.
    type Transfer;
}

impl<T: TlsStream> Client for ImplFtpStream<T> {
    type Transfer = TransferStream<T>;
}
