//! The far end: started over ssh for one copy, or serving until it is stopped.

use super::control::Control;
use super::crypt::{Agreement, Side};
use super::link::Link;
use super::source::Source;
use super::stream::{DATA_MAGIC, HANDSHAKE, Options, Session, Stream, read_exact, write_all};
use super::tree::Base;
use super::{Stop, receiver, sender};
use crate::error::CopyError;
use crate::protocol::{Direction, MAGIC, MOST_STREAMS, Message, Request, VERSION};
use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Connections whose other end has not shown yet that it has a key. Each costs a thread for ten seconds at most.
const MOST_PENDING: usize = 64;
/// Copies at once.
const MOST_SESSIONS: usize = 16;
/// Between two looks for connections.
const TURN: Duration = Duration::from_millis(10);
/// The fewest bytes of a token: 128 bits as hexadecimal text, so that it cannot be found by trying.
pub const LEAST_TOKEN: usize = 32;

/// A session that takes data connections.
struct Taking {
    session: Session,
    options: Options,
    /// Numbers that were used: a recorded handshake is worth nothing.
    used: HashSet<u16>,
    streams: Sender<Result<Stream, CopyError>>,
}

/// Where data connections arrive.
#[derive(Default)]
struct Door {
    sessions: Mutex<HashMap<[u8; 16], Taking>>,
    pending: AtomicUsize,
}

impl Door {
    fn sessions(&self) -> MutexGuard<'_, HashMap<[u8; 16], Taking>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a data connection whose magic was read.
    fn data(&self, tcp: TcpStream, stop: Stop<'_>) -> Result<(), CopyError> {
        let mut head = [0; 18];
        read_exact(&tcp, &mut head, Instant::now() + HANDSHAKE, stop)?;
        let (id, number) = head.split_first_chunk::<16>().ok_or(CopyError::Forged)?;
        let number = u16::from_be_bytes([number[0], number[1]]);
        let (session, options) = {
            let mut sessions = self.sessions();
            let taking = sessions.get_mut(id).ok_or(CopyError::Forged)?;
            if number >= MOST_STREAMS || taking.used.contains(&number) {
                return Err(CopyError::Forged);
            }
            (taking.session, taking.options.clone())
        };
        let stream = Stream::accept(tcp, number, &session, &options, stop);
        if matches!(stream, Err(CopyError::Forged | CopyError::Closed | CopyError::Silent)) {
            // Somebody else's: the session goes on.
            return stream.map(drop);
        }
        if let Some(taking) = self.sessions().get_mut(id)
            && taking.used.insert(number)
        {
            let _ = taking.streams.send(stream);
        }
        Ok(())
    }
}

/// Runs a connection's first steps in a thread of their own, unless there are too many such.
fn pending<'s, 'e>(door: &'e Door, scope: &'s std::thread::Scope<'s, 'e>, work: impl FnOnce() + Send + 's)
where
    'e: 's,
{
    if door.pending.fetch_add(1, Ordering::AcqRel) >= MOST_PENDING {
        door.pending.fetch_sub(1, Ordering::AcqRel);
        return;
    }
    scope.spawn(move || {
        work();
        door.pending.fetch_sub(1, Ordering::AcqRel);
    });
}

/// Prepares an accepted connection for reads with a deadline.
fn prepared(tcp: TcpStream) -> Result<TcpStream, CopyError> {
    tcp.set_nonblocking(false).map_err(CopyError::system("wait for a connection"))?;
    let look = Some(super::control::LOOK);
    tcp.set_read_timeout(look).map_err(CopyError::system("set a time-out"))?;
    tcp.set_write_timeout(look).map_err(CopyError::system("set a time-out"))?;
    Ok(tcp)
}

/// The next connection; `None` if there is none at the moment.
fn accepted(listener: &TcpListener) -> Option<TcpStream> {
    match listener.accept() {
        Ok((tcp, _)) => prepared(tcp).ok(),
        Err(error) => {
            // It went away before it was accepted; or no descriptors are left, until a copy ends.
            if !matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) {
                std::thread::sleep(TURN);
            }
            None
        }
    }
}

/// The far end of one copy, over standard input and output, as ssh starts it.
///
/// # Errors
/// If the copy ends early; the near end was told why, as far as it listens.
pub fn over_ssh(stop: Stop<'_>) -> Result<(), CopyError> {
    let duplicate = |descriptor: i32| -> Result<OwnedFd, CopyError> {
        // SAFETY: Rust's runtime opens the standard descriptors if they are closed.
        let own = unsafe { BorrowedFd::borrow_raw(descriptor) };
        own.try_clone_to_owned().map_err(CopyError::system("duplicate a descriptor"))
    };
    let mut control = Control::plain(duplicate(0)?, duplicate(1)?, stop);
    let ended = one_copy(&mut control, stop);
    if let Err(why) = &ended {
        control.last_word(why);
    }
    ended
}

fn one_copy(control: &mut Control<'_>, stop: Stop<'_>) -> Result<(), CopyError> {
    let request = greeted(control)?;
    let address = reached_at();
    // Without ssh's word on it, only programs of this host may connect.
    let address = address.unwrap_or(Ipv4Addr::LOCALHOST.into());
    let at = SocketAddr::new(address, request.port);
    let listener = TcpListener::bind(at).map_err(CopyError::system("listen for data connections"))?;
    listener.set_nonblocking(true).map_err(CopyError::system("listen for data connections"))?;
    let port = listener.local_addr().map_err(CopyError::system("listen for data connections"))?.port();
    let (door, is_over) = (Door::default(), AtomicBool::new(false));
    let over = || is_over.load(Ordering::Acquire) || stop();
    std::thread::scope(|scope| {
        let (door, over) = (&door, &over);
        let result = session(control, &Base::Here, door, &request, (port, Some(address)), stop, || {
            scope.spawn(move || {
                while !over() {
                    let Some(tcp) = accepted(&listener) else { continue };
                    pending(door, scope, move || {
                        let mut magic = [0; 8];
                        let read = read_exact(&tcp, &mut magic, Instant::now() + HANDSHAKE, over);
                        if read.is_ok() && magic == DATA_MAGIC {
                            let _ = door.data(tcp, over);
                        }
                    });
                }
            });
        });
        is_over.store(true, Ordering::Release);
        result
    })
}

/// The address at which ssh's client reached this host: the third word of `SSH_CONNECTION` (ssh(1)).
fn reached_at() -> Option<IpAddr> {
    let words = std::env::var("SSH_CONNECTION").ok()?;
    words.split_whitespace().nth(2)?.parse().ok()
}

/// The greeting, and the request.
fn greeted(control: &mut Control<'_>) -> Result<Request, CopyError> {
    let Message::Hello = control.wait()? else { return Err(CopyError::OutOfTurn) };
    control.say(&Message::Welcome)?;
    match control.wait()? {
        Message::Request(request) => Ok(request),
        _ => Err(CopyError::OutOfTurn),
    }
}

/// A copy from its request on.
fn session(
    control: &mut Control<'_>,
    base: &Base,
    door: &Door,
    request: &Request,
    (port, address): (u16, Option<IpAddr>),
    stop: Stop<'_>,
    listen: impl FnOnce(),
) -> Result<(), CopyError> {
    let path = match request.path.strip_prefix(b"~/") {
        // A shell would have done so; the path does not pass through one.
        Some(rest) if matches!(base, Base::Here) => receiver::path(rest),
        _ => receiver::path(&request.path),
    };
    let (sender, streams) = channel();
    let session = Session { id: request.session, key: request.key };
    // Only the end that sends has a congestion window.
    let congestion = match request.direction {
        Direction::Put => String::new(),
        Direction::Get => request.congestion.clone(),
    };
    let options = Options { tuning: request.tuning, congestion };
    let taking = Taking { session, options, used: HashSet::new(), streams: sender };
    {
        let mut sessions = door.sessions();
        if sessions.len() >= MOST_SESSIONS || sessions.contains_key(&request.session) {
            return Err(CopyError::Refused(format!(
                "it has {MOST_SESSIONS} copies at once; try again later"
            )));
        }
        sessions.insert(request.session, taking);
    }
    listen();
    let result = moved(control, base, request, &path, streams, (port, address), stop);
    door.sessions().remove(&request.session);
    result
}

fn moved(
    control: &mut Control<'_>,
    base: &Base,
    request: &Request,
    path: &Path,
    streams: std::sync::mpsc::Receiver<Result<Stream, CopyError>>,
    (port, address): (u16, Option<IpAddr>),
    stop: Stop<'_>,
) -> Result<(), CopyError> {
    // Listed before anything is opened: a source that does not exist is refused at once.
    let source = match request.direction {
        Direction::Put => None,
        Direction::Get => Some(control.busy(|| Source::list(base, path))??),
    };
    control.say(&Message::Ready { port, address })?;
    let mut link = Link { control, streams, stop, more: None, progress: None };
    match source {
        Some(source) => sender::run(&mut link, &source, request.tuning).map(drop),
        None => receiver::run(&mut link, base, path, &request.name, request).map(drop),
    }
}

/// A far end that serves one folder to clients that have the token.
pub struct Server {
    listener: TcpListener,
    base: Base,
    token: Vec<u8>,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// If it cannot listen there, the folder cannot be opened, or the token is too short to be a secret.
    pub fn bind(at: SocketAddr, folder: &Path, token: &[u8]) -> Result<Self, CopyError> {
        if token.len() < LEAST_TOKEN {
            return Err(CopyError::Refused(format!("a token needs {LEAST_TOKEN} characters or more")));
        }
        let base = Base::below(folder)?;
        let listener = TcpListener::bind(at).map_err(CopyError::system("listen"))?;
        listener.set_nonblocking(true).map_err(CopyError::system("listen"))?;
        Ok(Self { listener, base, token: token.to_vec() })
    }

    /// A new token: 128 random bits.
    ///
    /// # Errors
    /// If the kernel gives no random bytes.
    pub fn new_token() -> Result<String, CopyError> {
        let bytes: [u8; 16] = super::crypt::random()?;
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the socket is gone.
    pub fn address(&self) -> Result<SocketAddr, CopyError> {
        self.listener.local_addr().map_err(CopyError::system("listen"))
    }

    /// Serves until a stop is requested; `on_end` gets each client whose copy ended, and why if it ended early.
    pub fn run(&self, stop: Stop<'_>, on_end: &(dyn Fn(IpAddr, Option<&CopyError>) + Sync)) {
        let door = Door::default();
        std::thread::scope(|scope| {
            let door = &door;
            while !stop() {
                let Some(tcp) = accepted(&self.listener) else { continue };
                pending(door, scope, move || {
                    let mut magic = [0; 8];
                    let until = Instant::now() + HANDSHAKE;
                    if read_exact(&tcp, &mut magic, until, stop).is_err() {
                        return;
                    }
                    match magic {
                        DATA_MAGIC => drop(door.data(tcp, stop)),
                        MAGIC => {
                            let from = tcp.peer_addr().map(|peer| peer.ip().to_canonical());
                            let from = from.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
                            // A session lasts: it is no longer pending.
                            if let Ok(mut control) = self.greet(tcp, until, stop) {
                                scope.spawn(move || {
                                    let result = self.serve(&mut control, door, stop);
                                    if let Err(why) = &result {
                                        control.last_word(why);
                                    }
                                    on_end(from, result.as_ref().err());
                                });
                            }
                        }
                        _ => {}
                    }
                });
            }
        });
    }

    /// The key agreement.
    fn greet<'a>(&self, tcp: TcpStream, until: Instant, stop: Stop<'a>) -> Result<Control<'a>, CopyError> {
        tcp.set_nodelay(true).map_err(CopyError::system("set TCP_NODELAY"))?;
        let mut head = [0; 34];
        read_exact(&tcp, &mut head, until, stop)?;
        let (version, public) = head.split_first_chunk::<2>().ok_or(CopyError::Forged)?;
        let public: [u8; 32] = public.try_into().map_err(|_| CopyError::Forged)?;
        let own = Agreement::new()?;
        let answer = [&MAGIC[..], &VERSION.to_be_bytes(), &own.public()].concat();
        write_all(&tcp, &answer, until, stop)?;
        if u16::from_be_bytes(*version) != VERSION {
            return Err(CopyError::Forged);
        }
        let keys = own.with(public, &self.token, Side::Far)?;
        let output = tcp.try_clone().map_err(CopyError::system("duplicate a socket"))?;
        let mut control = Control::encrypted(tcp.into(), output.into(), keys, stop);
        control.expect_by(until);
        Ok(control)
    }

    fn serve(&self, control: &mut Control<'_>, door: &Door, stop: Stop<'_>) -> Result<(), CopyError> {
        let request = greeted(control)?;
        let port = self.address()?.port();
        session(control, &self.base, door, &request, (port, None), stop, || ())
    }
}
