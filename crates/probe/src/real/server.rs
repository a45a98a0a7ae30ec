//! The far end: who is served, and how much.
//!
//! Nothing is sent to an address that has not shown, by a TCP handshake and by a datagram that bears the session's random
//! token, that it asked for it. An echo is answered by a datagram of its length. Trains are sent no faster than the cap and
//! in all no more than the cap times its duration, and no further when the control connection is gone.

use super::clock::{readable, token};
use super::control::Control;
use super::session::{self, Session};
use super::{Error, Stop, bulk};
use crate::measure::Direction;
use crate::protocol::{Bulk, CLIENT_BYTES, Message, Token};
use slowpath_model::Rate;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Sessions at once. More would measure each other.
const MOST_SESSIONS: usize = 4;
/// Connections at once: two for each session, and some that are told why not.
const MOST_CONNECTIONS: usize = 16;
/// Who has not said a first word by then is no probe.
const FIRST_WORD: Duration = Duration::from_secs(5);
/// How long one who is looked for whether to stop is waited for.
const LOOK: Duration = Duration::from_millis(50);

/// What is served at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// The rate of a train.
    pub rate: Rate,
    /// The duration of a train, and of a transfer; together with the rate, all that a session sends by UDP.
    pub duration: Duration,
}

/// What happened, for whoever shows it.
#[derive(Clone, Copy, Debug)]
pub enum Happened<'a> {
    /// A session began.
    Began(IpAddr),
    /// A session ended as it should.
    Ended(IpAddr),
    /// A connection ended otherwise.
    Broke(IpAddr, &'a Error),
}

/// Where a session's transfer stands.
enum Transferring {
    No,
    Now,
    Over(Bulk),
}

/// A session that is under way.
struct Entry {
    client: IpAddr,
    token: Token,
    slot: usize,
    transfer: Transferring,
}

/// The sessions that are under way.
#[derive(Default)]
pub struct Sessions(Mutex<Vec<Entry>>);

/// What a session's question about its transfer is answered.
pub enum Answer {
    /// There was none.
    None,
    /// It is still under way.
    NotYet,
    /// It was this.
    Was(Bulk),
}

impl Sessions {
    fn with<T>(&self, work: impl FnOnce(&mut Vec<Entry>) -> T) -> T {
        // A thread that panicked has left them whole: no change takes more than one step.
        work(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Takes a client in; its slot, or why not.
    fn enter(&self, client: IpAddr, token: Token) -> Result<usize, &'static str> {
        self.with(|all| {
            if all.iter().any(|entry| entry.client == client) {
                return Err("this address has a session already");
            }
            let free = (0..MOST_SESSIONS).find(|slot| all.iter().all(|entry| entry.slot != *slot));
            let slot = free.ok_or("there are as many sessions as are served at once; try again later")?;
            all.push(Entry { client, token, slot, transfer: Transferring::No });
            Ok(slot)
        })
    }

    fn leave(&self, token: &Token) {
        self.with(|all| all.retain(|entry| entry.token != *token));
    }

    /// Whether a client has a session with this token.
    fn knows(&self, client: IpAddr, token: &Token) -> bool {
        self.with(|all| all.iter().any(|entry| entry.client == client && entry.token == *token))
    }

    /// Begins a transfer, unless there is one.
    fn begin(&self, client: IpAddr, token: &Token) -> Result<(), &'static str> {
        self.with(|all| {
            let entry = all.iter_mut().find(|entry| entry.client == client && entry.token == *token);
            let entry = entry.ok_or("there is no such session")?;
            if matches!(entry.transfer, Transferring::Now) {
                return Err("a transfer is under way");
            }
            entry.transfer = Transferring::Now;
            Ok(())
        })
    }

    fn end(&self, token: &Token, was: Option<Bulk>) {
        self.with(|all| {
            if let Some(entry) = all.iter_mut().find(|entry| entry.token == *token) {
                entry.transfer = was.map_or(Transferring::No, Transferring::Over);
            }
        });
    }

    /// What became of the session's transfer.
    pub fn ask(&self, token: &Token) -> Answer {
        self.with(|all| match all.iter().find(|entry| entry.token == *token).map(|entry| &entry.transfer) {
            None | Some(Transferring::No) => Answer::None,
            Some(Transferring::Now) => Answer::NotYet,
            Some(Transferring::Over(bulk)) => Answer::Was(*bulk),
        })
    }
}

/// A far end.
pub struct Server {
    listener: TcpListener,
    caps: Caps,
    sessions: Sessions,
    connections: AtomicUsize,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// If the address is not this host's or the port is taken.
    pub fn bind(listen: SocketAddr, caps: Caps) -> Result<Self, Error> {
        let listener = TcpListener::bind(listen).map_err(Error::system("listen there"))?;
        listener.set_nonblocking(true).map_err(Error::system("listen without waiting"))?;
        Ok(Self { listener, caps, sessions: Sessions::default(), connections: AtomicUsize::new(0) })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        self.listener.local_addr().map_err(Error::system("ask where one listens"))
    }

    /// Serves until somebody wants it to stop; sessions that are under way are ended then.
    ///
    /// # Errors
    /// If no more connections can be taken.
    pub fn run(&self, stop: Stop<'_>, told: &(dyn Fn(Happened<'_>) + Sync)) -> Result<(), Error> {
        std::thread::scope(|scope| {
            while !stop() {
                if readable([self.listener.as_raw_fd()], LOOK)? == [false] {
                    continue;
                }
                let (stream, from) = match self.listener.accept() {
                    Ok(accepted) => accepted,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                    // It went away before it was taken, or there are no descriptors left for now.
                    Err(_) => {
                        std::thread::sleep(LOOK);
                        continue;
                    }
                };
                if self.connections.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                    self.connections.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                scope.spawn(move || {
                    let client = from.ip().to_canonical();
                    if let Err(error) = self.connection(stream, client, stop, told) {
                        told(Happened::Broke(client, &error));
                    }
                    self.connections.fetch_sub(1, Ordering::Relaxed);
                });
            }
            Ok(())
        })
    }

    fn connection(
        &self,
        stream: TcpStream,
        client: IpAddr,
        stop: Stop<'_>,
        told: &(dyn Fn(Happened<'_>) + Sync),
    ) -> Result<(), Error> {
        let local = stream.local_addr().map_err(Error::system("ask for the own address"))?;
        let mut control = Control::new(stream, CLIENT_BYTES)?;
        let result = match control.wait(FIRST_WORD, stop) {
            Ok(Message::Hello) => {
                let at = SocketAddr::new(local.ip().to_canonical(), local.port());
                self.session(&mut control, client, at, stop, told)
            }
            Ok(Message::Transfer { token, direction, duration_ns }) => {
                return self.transfer(control, client, &token, (direction, duration_ns), stop);
            }
            Ok(_) => Err(Error::OutOfTurn),
            Err(error) => Err(error),
        };
        if let Err(error) = &result {
            // It may be gone, or not listen; then it is not told.
            let _ = control.say(&Message::Refused(error.to_string()));
        }
        result
    }

    fn session(
        &self,
        control: &mut Control,
        client: IpAddr,
        at: SocketAddr,
        stop: Stop<'_>,
        told: &(dyn Fn(Happened<'_>) + Sync),
    ) -> Result<(), Error> {
        let token = token()?;
        let slot = match self.sessions.enter(client, token) {
            Ok(slot) => slot,
            Err(why) => return control.say(&Message::Refused(why.to_owned())),
        };
        told(Happened::Began(client));
        let result = session::udp(at, slot).and_then(|udp| {
            let mut session = Session::new(control, udp, client, token, self.caps, &self.sessions);
            session.run(stop)
        });
        self.sessions.leave(&token);
        if result.is_ok() {
            told(Happened::Ended(client));
        }
        result
    }

    /// A transfer on a connection of its own.
    fn transfer(
        &self,
        mut control: Control,
        client: IpAddr,
        token: &Token,
        (direction, duration_ns): (Direction, u64),
        stop: Stop<'_>,
    ) -> Result<(), Error> {
        let most_ns = u64::try_from(self.caps.duration.as_nanos()).unwrap_or(u64::MAX);
        let begun = if duration_ns > most_ns {
            Err("a longer transfer than is served")
        } else {
            self.sessions.begin(client, token)
        };
        if let Err(why) = begun {
            return control.say(&Message::Refused(why.to_owned()));
        }
        let goes_on = || match () {
            () if stop() => Err(Error::Stopped),
            () if !self.sessions.knows(client, token) => Err(Error::Closed),
            () => Ok(()),
        };
        let result =
            control.say(&Message::Ready(0)).map(|()| control.into_stream()).and_then(|(stream, begun)| {
                match direction {
                    Direction::There => bulk::read(&stream, begun, duration_ns, &goes_on),
                    Direction::Back => bulk::write(&stream, duration_ns, &goes_on),
                }
            });
        self.sessions.end(token, result.as_ref().ok().copied());
        result.map(|_| ())
    }
}
