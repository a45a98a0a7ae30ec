//! The far end: admission, and its limits.
//!
//! Nothing is sent to an address that has not shown, by a TCP handshake and by a datagram with the session's random
//! token, that it asked for it. An echo is answered by a datagram of its length. Trains are sent no faster than the cap
//! and in total no more than the cap times its duration, and no longer than the control connection exists.

use super::clock::{readable, token};
use super::control::Control;
use super::session::{self, Session};
use super::sessions::{Caps, Sessions};
use super::{ProbeError, Stop, bulk};
use crate::measure::Direction;
use crate::protocol::{CLIENT_BYTES, Message, Token};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Maximum number of connections: two for each session, and some that are refused with the reason.
const MOST_CONNECTIONS: usize = 16;
/// A client that has not sent its first message by then is not a probe.
const FIRST_WORD: Duration = Duration::from_secs(5);
/// How long to wait between checks whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Events, for display.
#[derive(Clone, Copy, Debug)]
pub enum Happened<'a> {
    /// A session began.
    Began(IpAddr),
    /// A session ended normally.
    Ended(IpAddr),
    /// A connection ended otherwise.
    Broke(IpAddr, &'a ProbeError),
}

/// A far end.
pub struct Server {
    listener: TcpListener,
    caps: Caps,
    sessions: Sessions,
    connections: AtomicUsize,
}

impl Server {
    /// Starts to listen.
    ///
    /// # Errors
    /// If the address is not this host's or the port is taken.
    pub fn bind(listen: SocketAddr, caps: Caps) -> Result<Self, ProbeError> {
        let listener = TcpListener::bind(listen).map_err(ProbeError::system("listen there"))?;
        listener.set_nonblocking(true).map_err(ProbeError::system("listen without waiting"))?;
        Ok(Self { listener, caps, sessions: Sessions::default(), connections: AtomicUsize::new(0) })
    }

    /// The address on which it listens.
    ///
    /// # Errors
    /// If the system returns an error.
    pub fn address(&self) -> Result<SocketAddr, ProbeError> {
        self.listener.local_addr().map_err(ProbeError::system("ask where one listens"))
    }

    /// Serves until a stop is requested; active sessions are then ended.
    ///
    /// # Errors
    /// If no more connections can be accepted.
    pub fn run(&self, stop: Stop<'_>, on_event: &(dyn Fn(Happened<'_>) + Sync)) -> Result<(), ProbeError> {
        std::thread::scope(|scope| {
            while !stop() {
                if readable([self.listener.as_raw_fd()], LOOK)? == [false] {
                    continue;
                }
                let (stream, from) = match self.listener.accept() {
                    Ok(accepted) => accepted,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                    // The connection went away before it was accepted, or there are no descriptors left for now.
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
                    if let Err(error) = self.connection(stream, client, stop, on_event) {
                        on_event(Happened::Broke(client, &error));
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
        on_event: &(dyn Fn(Happened<'_>) + Sync),
    ) -> Result<(), ProbeError> {
        let local = stream.local_addr().map_err(ProbeError::system("ask for the own address"))?;
        let mut control = Control::new(stream, CLIENT_BYTES)?;
        let result = match control.wait(FIRST_WORD, stop) {
            Ok(Message::Hello) => {
                let at = SocketAddr::new(local.ip().to_canonical(), local.port());
                self.session(&mut control, client, at, stop, on_event)
            }
            Ok(Message::Transfer { token, direction, duration_ns }) => {
                return self.transfer(control, client, &token, (direction, duration_ns), stop);
            }
            Ok(_) => Err(ProbeError::OutOfTurn),
            Err(error) => Err(error),
        };
        if let Err(error) = &result {
            // It may be gone, or not listen; then it gets no answer.
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
        on_event: &(dyn Fn(Happened<'_>) + Sync),
    ) -> Result<(), ProbeError> {
        let token = token()?;
        let slot = match self.sessions.enter(client, token) {
            Ok(slot) => slot,
            Err(why) => return control.say(&Message::Refused(why.to_owned())),
        };
        on_event(Happened::Began(client));
        let result = session::udp(at, slot).and_then(|udp| {
            let mut session = Session::new(control, udp, client, token, self.caps, &self.sessions);
            session.run(stop)
        });
        self.sessions.leave(&token);
        if result.is_ok() {
            on_event(Happened::Ended(client));
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
    ) -> Result<(), ProbeError> {
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
            () if stop() => Err(ProbeError::Stopped),
            () if !self.sessions.knows(client, token) => Err(ProbeError::Closed),
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
