//! The I/O of the far end; `far_end` decides.
//!
//! Nothing is sent to an address that has not shown, by a TCP handshake and by a datagram with the session's random
//! token, that it asked for it. An echo is answered by a datagram of its length. Trains are sent no faster than the cap
//! and in total no more than the address's budget, and no longer than the control connection exists.
//!
//! One thread accepts, and serves every client until it asks for a train or a transfer ([`Room`]); only sessions with a
//! place and transfers, of which there are few, have threads of their own.

use super::clock::{LOOK, now, ready, token};
use super::control::Control;
use super::session::{Running, take_datagrams};
use super::udp::{BATCH, DatagramHead, Udp};
use super::{ProbeError, Stop, bulk};
use crate::far_end::{Begun, Caps, One, Places, Room, Session};
use crate::measure::Direction;
use crate::protocol::{CLIENT_BYTES, Message};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, RawFd};

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

/// A client's connection, and its UDP socket once its session has begun.
struct Connection<'a> {
    control: Control<'a>,
    udp: Option<Udp>,
}

/// A far end.
pub struct Server {
    listener: TcpListener,
    /// Where the first datagram of each client arrives, and where those of the sessions are bound too.
    door: Udp,
    places: Places,
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
        Ok(Self { listener, door, places: Places::new(caps) })
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
        let udp_port = self.door.local()?.port();
        std::thread::scope(|scope| {
            let mut room = Room::default();
            while !stop() {
                let own = [self.listener.as_raw_fd(), self.door.descriptor()].map(|fd| (fd, libc::POLLIN));
                let polled = own.into_iter().chain(room.clients().iter().flat_map(polled));
                let mut is_ready = ready(polled, LOOK)?.into_iter();
                let mut next = || is_ready.next() == Some(true);
                let (may_accept, has_datagram) = (next(), next());
                let of_client = |one: &One<Connection<'_>>| (next(), one.connection.udp.is_some() && next());
                let of_clients: Vec<(bool, bool)> = room.clients().iter().map(of_client).collect();
                // From the last, for those before a removed one to keep their numbers.
                for (at, is_ready) in of_clients.into_iter().enumerate().rev() {
                    if let Err(why) = self.serve(&mut room, at, is_ready, udp_port) {
                        turn_away(room.remove(at), why, on_event);
                    }
                }
                if has_datagram {
                    self.first_datagrams(&mut room, on_event)?;
                }
                while let Some((one, begun)) = room.begin(&self.places, now()) {
                    match begun {
                        Ok(Begun::Session(session, first)) => {
                            scope.spawn(move || self.session(one, session, first, stop, on_event));
                        }
                        Ok(Begun::Transfer(message)) => {
                            scope.spawn(move || self.transfer(one, &message, stop, on_event));
                        }
                        Err(why) => turn_away(one, why.into(), on_event),
                    }
                }
                while let Some((one, why)) = room.expired(&self.places, now()) {
                    turn_away(one, why.into(), on_event);
                }
                if may_accept {
                    self.accept(&mut room, stop, on_event);
                }
            }
            Ok(())
        })
    }

    fn accept<'s>(&self, room: &mut Room<Connection<'s>>, stop: Stop<'s>, on_event: OnEvent<'_>) {
        for _ in 0..AT_ONCE {
            let gone = match self.listener.accept() {
                Ok((stream, from)) => {
                    let client = from.ip().to_canonical();
                    let control = Control::new(stream, CLIENT_BYTES, stop).ok();
                    control
                        .and_then(|control| room.connected(Connection { control, udp: None }, client, now()))
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
                on_event(Happened::Broke(one.client(), &ProbeError::Silent));
            }
        }
    }

    /// Hears what a client of the room has sent, on its connection and its socket.
    fn serve(
        &self,
        room: &mut Room<Connection<'_>>,
        at: usize,
        (has_message, has_datagram): (bool, bool),
        udp_port: u16,
    ) -> Result<(), ProbeError> {
        if has_datagram {
            let one = room.client(at);
            let mut batch = Vec::with_capacity(BATCH);
            // One batch, for others to get their turn.
            if let Some((session, connection)) = one.session()
                && let Some(udp) = &connection.udp
            {
                take_datagrams(udp, session, &self.places, &mut batch)?;
            }
        }
        let one = room.client(at);
        match one.may_talk() {
            false if has_message => return Err(ProbeError::Closed),
            // A part of a message may be overdue, or a message have come with the last one.
            true if has_message || one.connection.control.has_part() => {}
            _ => return Ok(()),
        }
        let Some(message) = one.connection.control.heard()? else { return Ok(()) };
        let token = token()?;
        let answer = room.message(at, message, token, udp_port, &self.places, now())?;
        answer.map_or(Ok(()), |answer| room.client(at).connection.control.say(&answer))
    }

    /// Hears those whose datagrams have come to the door.
    fn first_datagrams(
        &self,
        room: &mut Room<Connection<'_>>,
        on_event: OnEvent<'_>,
    ) -> Result<(), ProbeError> {
        let mut heard = VecDeque::new();
        for _ in 0..AT_ONCE {
            let Some(one) = self.door.first()? else { break };
            heard.push_back(one);
        }
        while let Some((head, from)) = heard.pop_front() {
            let Some(at) = room.first_datagram(&head, from) else { continue };
            if let Err(why) = self.open(room, at, from, &mut heard, on_event) {
                turn_away(room.remove(at), why, on_event);
            }
        }
        Ok(())
    }

    /// Begins the session of a client, with a socket of its own.
    fn open(
        &self,
        room: &mut Room<Connection<'_>>,
        at: usize,
        from: SocketAddr,
        heard: &mut VecDeque<(DatagramHead, SocketAddr)>,
        on_event: OnEvent<'_>,
    ) -> Result<(), ProbeError> {
        let udp = self.door.beside(room.client(at).connection.control.local(), from)?;
        // Before it was connected, it got some of the door's datagrams.
        while let Ok(Some(other)) = udp.first() {
            heard.push_back(other);
        }
        room.open(at, udp.headers(), &self.places, now())?;
        let one = room.client(at);
        one.connection.udp = Some(udp);
        on_event(Happened::Began(one.client()));
        one.connection.control.say(&Message::Opened)
    }

    fn session(
        &self,
        one: One<Connection<'_>>,
        session: Session,
        first: Option<Message>,
        stop: Stop<'_>,
        on_event: OnEvent<'_>,
    ) {
        let (client, token) = (one.client(), session.token());
        let Connection { mut control, udp } = one.connection;
        let Some(udp) = udp else { return };
        let places = &self.places;
        let why =
            Running { control: &mut control, udp, session, places, overflowed_before: 0 }.run(first, stop);
        places.leave(&token);
        ended(&mut control, client, why, on_event);
    }

    /// A transfer on a connection of its own.
    fn transfer(&self, one: One<Connection<'_>>, message: &Message, stop: Stop<'_>, on_event: OnEvent<'_>) {
        let &Message::Transfer { token, direction, duration_ns } = message else { return };
        let client = one.client();
        let goes_on = || match () {
            () if stop() => Err(ProbeError::Stopped),
            () if !self.places.knows(client, &token) => Err(ProbeError::Closed),
            () => Ok(()),
        };
        let mut control = one.connection.control;
        let result =
            control.say(&Message::Ready(0)).map(|()| control.into_stream()).and_then(|(stream, begun)| {
                match direction {
                    Direction::There => bulk::read(&stream, begun, duration_ns, &goes_on),
                    Direction::Back => bulk::write(&stream, duration_ns, &goes_on),
                }
            });
        self.places.end(&token, result.as_ref().ok().copied(), now());
        if let Err(error) = result {
            on_event(Happened::Broke(client, &error));
        }
    }
}

/// What to poll a client's descriptors for: the connection's, and that of the socket if there is one.
fn polled(one: &One<Connection<'_>>) -> impl Iterator<Item = (RawFd, libc::c_short)> {
    let events = if one.may_talk() { libc::POLLIN } else { libc::POLLRDHUP };
    let udp = one.connection.udp.as_ref().map(|udp| (udp.descriptor(), libc::POLLIN));
    [(one.connection.control.descriptor(), events)].into_iter().chain(udp)
}

/// A client leaves the room.
fn turn_away(mut one: One<Connection<'_>>, why: ProbeError, on_event: OnEvent<'_>) {
    let client = one.client();
    if one.session().is_some() || !matches!(why, ProbeError::Refused(_)) {
        ended(&mut one.connection.control, client, why, on_event);
    } else {
        // One that is only refused broke nothing.
        refuse(&mut one.connection.control, &why);
    }
}

/// Ends a connection, with the reason.
fn ended(control: &mut Control<'_>, client: IpAddr, why: ProbeError, on_event: OnEvent<'_>) {
    if matches!(why, ProbeError::Bye) {
        return on_event(Happened::Ended(client));
    }
    refuse(control, &why);
    on_event(Happened::Broke(client, &why));
}

/// Tells a client why it gets no more. It may be gone, or not listen; then it gets no answer, and nobody waits for it.
fn refuse(control: &mut Control<'_>, why: &ProbeError) {
    let why = match why {
        ProbeError::Refused(why) => why.clone(),
        why => why.to_string(),
    };
    control.last_word(&Message::Refused(why));
}
