//! The far end: admission, and its limits.
//!
//! Nothing is sent to an address that has not shown, by a TCP handshake and by a datagram with the session's random
//! token, that it asked for it. An echo is answered by a datagram of its length. Trains are sent no faster than the cap
//! and in total no more than the address's budget, and no longer than the control connection exists.
//!
//! One thread accepts, and hears the first message and the first datagram of every client; only sessions and transfers,
//! of which there are few, have threads of their own.

use super::budget::Caps;
use super::clock::{ready, token};
use super::control::Control;
use super::session::Session;
use super::sessions::{NoRoom, Sessions};
use super::udp::Udp;
use super::waiting::{Room, Waiting};
use super::{ProbeError, Stop, bulk};
use crate::measure::Direction;
use crate::protocol::{CLIENT_BYTES, Message, Token};
use slowpath_model::nanos;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::thread::Scope;
use std::time::Duration;

/// How long to wait between checks whether to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Connections or datagrams that are taken before other work gets its turn.
const AT_ONCE: usize = 64;

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

type OnEvent<'a> = &'a (dyn Fn(Happened<'_>) + Sync);

/// A far end.
pub struct Server {
    listener: TcpListener,
    /// Where the first datagram of each client arrives, and where those of the sessions are bound too.
    door: Udp,
    caps: Caps,
    sessions: Sessions,
}

impl Server {
    /// Starts to listen.
    ///
    /// # Errors
    /// If the address is not this host's or the port is taken.
    pub fn bind(listen: SocketAddr, caps: Caps) -> Result<Self, ProbeError> {
        let listener = TcpListener::bind(listen).map_err(ProbeError::system("listen there"))?;
        listener.set_nonblocking(true).map_err(ProbeError::system("listen without waiting"))?;
        let at = listener.local_addr().map_err(ProbeError::system("ask where one listens"))?;
        // Any other port if that one is taken: the far end sends its number to each client.
        let door = Udp::shared(at).or_else(|_| Udp::shared(SocketAddr::new(at.ip(), 0)))?;
        Ok(Self { listener, door, caps, sessions: Sessions::new(caps) })
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
    pub fn run(&self, stop: Stop<'_>, on_event: OnEvent<'_>) -> Result<(), ProbeError> {
        std::thread::scope(|scope| {
            let mut room = Room::default();
            while !stop() {
                let own = [self.listener.as_raw_fd(), self.door.descriptor()].map(|fd| (fd, libc::POLLIN));
                let is_ready = ready(own.into_iter().chain(room.polled()), LOOK)?;
                let mut first_words = Vec::new();
                for at in (0..room.0.len()).rev().filter(|at| is_ready[2 + at]) {
                    first_words.push(room.0.remove(at));
                }
                // In the order in which they came.
                for one in first_words.into_iter().rev() {
                    if let Some(one) = self.first_word(scope, one, stop, on_event) {
                        room.0.push(one);
                    }
                }
                if is_ready[1] {
                    self.first_datagrams(&mut room)?;
                }
                self.begin_sessions(scope, &mut room, stop, on_event);
                for one in room.expired() {
                    let why = one.why();
                    turn_away(one, &why, on_event);
                }
                if is_ready[0] {
                    self.accept(&mut room, stop, on_event);
                }
            }
            Ok(())
        })
    }

    fn accept<'s>(&self, room: &mut Room<'s>, stop: Stop<'s>, on_event: OnEvent<'_>) {
        for _ in 0..AT_ONCE {
            let gone = match self.listener.accept() {
                Ok((stream, from)) => {
                    let client = from.ip().to_canonical();
                    let control = Control::new(stream, CLIENT_BYTES, stop);
                    control.ok().and_then(|control| room.admit(Waiting::new(control, client)))
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // It went away before it was accepted.
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) =>
                {
                    continue;
                }
                // No descriptors are left.
                Err(_) => {
                    std::thread::sleep(LOOK / 10);
                    room.shrink()
                }
            };
            if let Some(one) = gone {
                on_event(Happened::Broke(one.client, &ProbeError::Silent));
            }
        }
    }

    /// Hears the first message of a client, which stays if it is to wait on.
    fn first_word<'s, 'e: 's>(
        &'e self,
        scope: &'s Scope<'s, 'e>,
        mut one: Waiting<'e>,
        stop: Stop<'e>,
        on_event: OnEvent<'e>,
    ) -> Option<Waiting<'e>> {
        let result = match one.control.heard() {
            // Readable or closed, but it has had its first message.
            _ if one.token.is_some() => Err(ProbeError::Closed),
            Ok(None) => return Some(one),
            Ok(Some(Message::Hello)) => self.welcome(&mut one),
            Ok(Some(Message::Transfer { token, direction, duration_ns })) => {
                let most_ns = nanos(self.caps.duration);
                let begun = if duration_ns > most_ns {
                    Err("a longer transfer than is served".to_owned())
                } else {
                    self.sessions.begin(one.client, &token, duration_ns)
                };
                if begun.is_ok() {
                    scope.spawn(move || {
                        let client = one.client;
                        let result =
                            self.transfer(one.control, client, &token, (direction, duration_ns), stop);
                        if let Err(error) = result {
                            on_event(Happened::Broke(client, &error));
                        }
                    });
                    return None;
                }
                begun.map_err(ProbeError::Refused)
            }
            Ok(Some(_)) => Err(ProbeError::OutOfTurn),
            Err(error) => Err(error),
        };
        match result {
            Ok(()) => Some(one),
            Err(error) => {
                turn_away(one, &error, on_event);
                None
            }
        }
    }

    fn welcome(&self, one: &mut Waiting<'_>) -> Result<(), ProbeError> {
        if self.sessions.has(one.client) {
            return Err(ProbeError::Refused(NoRoom::HasOne.why().to_owned()));
        }
        let token = token()?;
        one.welcomed(token);
        one.control.say(&Message::Welcome {
            token,
            udp_port: self.door.local()?.port(),
            rate_bit_per_s: self.caps.rate.get(),
            duration_ns: nanos(self.caps.duration),
        })
    }

    fn first_datagrams(&self, room: &mut Room<'_>) -> Result<(), ProbeError> {
        for _ in 0..AT_ONCE {
            match self.door.first()? {
                Some((head, from)) => room.datagram(&head, from),
                None => break,
            }
        }
        Ok(())
    }

    /// Begins the sessions of those that are open, as far as there is room.
    fn begin_sessions<'s, 'e: 's>(
        &'e self,
        scope: &'s Scope<'s, 'e>,
        room: &mut Room<'e>,
        stop: Stop<'e>,
        on_event: OnEvent<'e>,
    ) {
        let open: Vec<Waiting<'e>> = room.0.extract_if(.., |one| one.opened.is_some()).collect();
        for one in open {
            let (Some(token), Some(from)) = (one.token, one.opened) else { continue };
            match self.sessions.enter(one.client, token) {
                Ok(()) => {
                    scope.spawn(move || self.session(one, token, from, stop, on_event));
                }
                Err(NoRoom::Full) => room.0.push(one),
                Err(NoRoom::HasOne) => {
                    turn_away(one, &ProbeError::Refused(NoRoom::HasOne.why().to_owned()), on_event);
                }
            }
        }
    }

    fn session(
        &self,
        one: Waiting<'_>,
        token: Token,
        from: SocketAddr,
        stop: Stop<'_>,
        on_event: OnEvent<'_>,
    ) {
        let Waiting { mut control, client, .. } = one;
        on_event(Happened::Began(client));
        let result = self.door.beside(control.local(), from).and_then(|udp| {
            Session::new(&mut control, udp, client, token, self.caps, &self.sessions).run(stop)
        });
        self.sessions.leave(&token);
        match &result {
            Ok(()) => on_event(Happened::Ended(client)),
            Err(error) => {
                refuse(&mut control, error);
                on_event(Happened::Broke(client, error));
            }
        }
    }

    /// A transfer on a connection of its own.
    fn transfer(
        &self,
        mut control: Control<'_>,
        client: IpAddr,
        token: &Token,
        (direction, duration_ns): (Direction, u64),
        stop: Stop<'_>,
    ) -> Result<(), ProbeError> {
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

/// Ends a connection, with the reason. A client that is only refused broke nothing.
fn turn_away(mut one: Waiting<'_>, why: &ProbeError, on_event: OnEvent<'_>) {
    refuse(&mut one.control, why);
    if !matches!(why, ProbeError::Refused(_)) {
        on_event(Happened::Broke(one.client, why));
    }
}

/// Tells a client why it gets no more. It may be gone, or not listen; then it gets no answer.
fn refuse(control: &mut Control<'_>, why: &ProbeError) {
    let why = match why {
        ProbeError::Refused(why) => why.clone(),
        why => why.to_string(),
    };
    let _ = control.say(&Message::Refused(why));
}
