//! The clients of a far end that measure nothing yet: no thread of their own, and not many.
//!
//! A client that has shown that a session would reach it stays here until it asks for a train or a transfer: one that
//! stalls then takes no place from others.

use super::budget::owner;
use super::places::{NoPlace, Places};
use super::{Act, End, Session};
use crate::protocol::{DATAGRAM_BYTES, Datagram, Message, Token};
use slowpath_model::{Instant, nanos};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Clients that may be here. Beyond that, one of the address with most of them goes: the one that has been silent for
/// longest.
pub const MOST_CLIENTS: usize = 256;
/// A client that has not sent its first message by then is not a probe.
const FIRST_WORD: Duration = Duration::from_secs(5);
/// By then the datagram with the token has arrived, or UDP does not pass.
const OPENING: Duration = Duration::from_secs(5);
/// How long a client may wait for a place: less than its patience, so that it hears why it got none.
const PLACE: Duration = Duration::from_secs(4);

/// What a client has shown.
enum Stage {
    /// That a TCP connection reaches it.
    Connected,
    /// That it is a probe: it was told its token.
    Welcome(Token),
    /// That UDP passes.
    Open(Session),
    /// That it wants a place, for this request; `None` for the transfer of another connection.
    Asks(Session, Option<Message>),
    /// That it wants a transfer in a session.
    Transfers(Token, Message),
}

/// A client, with what its connection is to the caller.
pub struct One<C> {
    /// The connection.
    pub connection: C,
    client: IpAddr,
    stage: Stage,
    /// What it did last.
    last: Instant,
    /// When its time here is over; `None` for that of its session.
    until: Option<Instant>,
}

/// A client that leaves the room because it gets what it asked for.
pub enum Begun {
    /// A place for its session, whose first request is this one.
    Session(Session, Option<Message>),
    /// The transfer that this message asks for.
    Transfer(Message),
}

impl<C> One<C> {
    /// Its address.
    pub fn client(&self) -> IpAddr {
        self.client
    }

    /// Whether it may send a message now. Of others, only the end of the connection is of interest.
    pub fn may_talk(&self) -> bool {
        matches!(self.stage, Stage::Connected | Stage::Open(_))
    }

    /// Its session, once it has one, and its connection.
    pub fn session(&mut self) -> Option<(&mut Session, &mut C)> {
        match &mut self.stage {
            Stage::Open(session) | Stage::Asks(session, _) => Some((session, &mut self.connection)),
            _ => None,
        }
    }

    fn enters(&mut self, stage: Stage, now: Instant, lasting: Option<Duration>) {
        (self.stage, self.last, self.until) = (stage, now, lasting.map(|lasting| now + lasting));
    }

    fn has_session(&self, token: &Token) -> bool {
        match &self.stage {
            Stage::Open(session) | Stage::Asks(session, _) => session.token() == *token,
            _ => false,
        }
    }

    fn last(&self) -> Instant {
        match &self.stage {
            Stage::Open(session) | Stage::Asks(session, _) => self.last.max(session.asked()),
            _ => self.last,
        }
    }

    /// Why its time is over, if it is.
    fn check(&mut self, places: &Places, now: Instant) -> Result<(), End> {
        let is_over = self.until.is_some_and(|until| until < now);
        match &mut self.stage {
            Stage::Asks(..) | Stage::Transfers(..) if is_over => Err(NoPlace::Full.into()),
            Stage::Open(session) | Stage::Asks(session, _) => session.check(places, now),
            _ if is_over => Err(End::Silent),
            _ => Ok(()),
        }
    }
}

/// The clients.
pub struct Room<C>(Vec<One<C>>);

impl<C> Default for Room<C> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<C> Room<C> {
    /// The clients, in no particular order.
    pub fn clients(&self) -> &[One<C>] {
        &self.0
    }

    /// One of [`Room::clients`].
    pub fn client(&mut self, at: usize) -> &mut One<C> {
        &mut self.0[at]
    }

    /// Removes one of [`Room::clients`]; those before it keep their numbers.
    pub fn remove(&mut self, at: usize) -> One<C> {
        self.0.remove(at)
    }

    /// A client has connected. Returns the one that goes for it, if there were too many.
    pub fn connected(&mut self, connection: C, client: IpAddr, now: Instant) -> Option<One<C>> {
        let until = Some(now + FIRST_WORD);
        self.0.push(One { connection, client, stage: Stage::Connected, last: now, until });
        if self.0.len() > MOST_CLIENTS { self.shrink() } else { None }
    }

    /// Removes, of the address with most clients here, the one that has been silent for longest.
    pub fn shrink(&mut self) -> Option<One<C>> {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for one in &self.0 {
            *counts.entry(owner(one.client)).or_default() += 1;
        }
        let key = |at: &usize| (Reverse(counts[&owner(self.0[*at].client)]), self.0[*at].last());
        let at = (0..self.0.len()).min_by_key(key)?;
        Some(self.0.remove(at))
    }

    /// The address has a session, with or without a place.
    fn has_session(&self, client: IpAddr, places: &Places) -> bool {
        let has_one = |one: &One<C>| {
            matches!(one.stage, Stage::Open(_) | Stage::Asks(..)) && owner(one.client) == owner(client)
        };
        places.has(client) || self.0.iter().any(has_one)
    }

    /// A message of a client. `drawn` is a random token, and `udp_port` the port for its datagrams. Returns the answer;
    /// `None` if there is none yet.
    ///
    /// # Errors
    /// If the client has to go.
    pub fn message(
        &mut self,
        at: usize,
        message: Message,
        drawn: Token,
        udp_port: u16,
        places: &Places,
        now: Instant,
    ) -> Result<Option<Message>, End> {
        let client = self.0[at].client;
        match (&self.0[at].stage, message) {
            (Stage::Connected, Message::Hello) if self.has_session(client, places) => {
                Err(NoPlace::HasOne.into())
            }
            (Stage::Connected, Message::Hello) => {
                let (token, caps) = (drawn, places.caps());
                self.0[at].enters(Stage::Welcome(token), now, Some(OPENING));
                let (rate_bit_per_s, duration_ns) = (caps.rate.get(), nanos(caps.duration));
                Ok(Some(Message::Welcome { token, udp_port, rate_bit_per_s, duration_ns }))
            }
            (Stage::Connected, Message::Transfer { token, direction, duration_ns }) => {
                if duration_ns > nanos(places.caps().duration) {
                    return Err(End::Refused("a longer transfer than is served".to_owned()));
                }
                let message = Message::Transfer { token, direction, duration_ns };
                self.0[at].enters(Stage::Transfers(token, message), now, Some(PLACE));
                Ok(None)
            }
            (Stage::Open(_), message) => self.0[at].asks(message, places, now),
            _ => Err(End::OutOfTurn),
        }
    }

    /// A datagram that may be somebody's first: it counts only with the token, and from the address of the connection.
    /// Returns whose it is, for [`Room::open`].
    pub fn first_datagram(&self, head: &[u8; DATAGRAM_BYTES], from: SocketAddr) -> Option<usize> {
        let client = from.ip().to_canonical();
        self.0.iter().position(|one| match one.stage {
            Stage::Welcome(token) => {
                one.client == client && Datagram::read(head, &token) == Some(Datagram::Open)
            }
            _ => false,
        })
    }

    /// This client has shown that UDP passes: its session begins. `headers` are those of each of its datagrams.
    ///
    /// # Errors
    /// If its address has a session.
    pub fn open(&mut self, at: usize, headers: u32, places: &Places, now: Instant) -> Result<(), End> {
        let Stage::Welcome(token) = self.0[at].stage else { return Err(End::OutOfTurn) };
        let client = self.0[at].client;
        if self.has_session(client, places) {
            return Err(NoPlace::HasOne.into());
        }
        let session = Session::new(client, token, places.caps(), headers, now);
        self.0[at].enters(Stage::Open(session), now, None);
        Ok(())
    }

    /// Removes the next client that gets what it asks for. Places go to the address that has not had one for longest,
    /// and among equal ones to the client that asked first.
    pub fn begin(&mut self, places: &Places, now: Instant) -> Option<(One<C>, Result<Begun, End>)> {
        self.begin_transfer(places, now).or_else(|| self.begin_session(places, now))
    }

    fn begin_session(&mut self, places: &Places, now: Instant) -> Option<(One<C>, Result<Begun, End>)> {
        let asks = |at: &usize| matches!(self.0[*at].stage, Stage::Asks(..));
        let turn = |at: &usize| (places.last_turn(self.0[*at].client), self.0[*at].last);
        let at = (0..self.0.len()).filter(asks).min_by_key(turn)?;
        let token = self.0[at].session()?.0.token();
        let result = places.enter(self.0[at].client, token, now);
        if result == Err(NoPlace::Full) {
            return None;
        }
        let mut one = self.0.remove(at);
        let Stage::Asks(session, message) = std::mem::replace(&mut one.stage, Stage::Connected) else {
            return None;
        };
        Some((one, result.map(|()| Begun::Session(session, message)).map_err(End::from)))
    }

    fn begin_transfer(&mut self, places: &Places, now: Instant) -> Option<(One<C>, Result<Begun, End>)> {
        for at in 0..self.0.len() {
            let one = &self.0[at];
            let (client, Stage::Transfers(token, message)) = (one.client, &one.stage) else { continue };
            let Message::Transfer { duration_ns, .. } = *message else { continue };
            let (token, message) = (*token, message.clone());
            let result = if places.knows(client, &token) {
                places.begin(client, &token, duration_ns, now).map(|()| Begun::Transfer(message))
            } else if let Some(one) =
                self.0.iter_mut().find(|one| one.client == client && one.has_session(&token))
            {
                // Its session needs a place first.
                one.wants_place(None, now);
                continue;
            } else {
                Err("there is no such session".to_owned())
            };
            return Some((self.0.remove(at), result.map_err(End::Refused)));
        }
        None
    }

    /// Removes the next client whose time is over, and says why.
    pub fn expired(&mut self, places: &Places, now: Instant) -> Option<(One<C>, End)> {
        let late = |(at, one): (usize, &mut One<C>)| Some((at, one.check(places, now).err()?));
        let (at, why) = self.0.iter_mut().enumerate().find_map(late)?;
        Some((self.0.remove(at), why))
    }
}

impl<C> One<C> {
    /// A message of a session without a place.
    fn asks(&mut self, message: Message, places: &Places, now: Instant) -> Result<Option<Message>, End> {
        if matches!(message, Message::Train { .. } | Message::AskTransfer) {
            self.wants_place(Some(message), now);
            return Ok(None);
        }
        let Some((session, _)) = self.session() else { return Err(End::OutOfTurn) };
        match session.message(message, places, now)? {
            Act::Say(answer) => Ok(Some(answer)),
            _ => Ok(None),
        }
    }

    fn wants_place(&mut self, message: Option<Message>, now: Instant) {
        match std::mem::replace(&mut self.stage, Stage::Connected) {
            Stage::Open(session) => self.enters(Stage::Asks(session, message), now, Some(PLACE)),
            stage => self.stage = stage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Caps;
    use super::super::places::MOST_PLACES;
    use super::*;
    use crate::measure::{Direction, Train};
    use slowpath_model::Rate;

    const SECOND: Duration = Duration::from_secs(1);

    /// A room in which clients are numbers.
    struct Seen {
        room: Room<u8>,
        places: Places,
        now: Instant,
    }

    impl Seen {
        fn new() -> Self {
            let caps = Caps { rate: Rate::mbit(10), duration: SECOND };
            Self { room: Room::default(), places: Places::new(caps), now: Instant::START }
        }

        fn passes(&mut self, time: Duration) {
            self.now = self.now + time;
        }

        fn at(&self, client: u8) -> usize {
            self.room.clients().iter().rposition(|one| one.connection == client).expect("it is here")
        }

        /// The client at 192.0.2.`client` connects and proves itself.
        fn opens(&mut self, client: u8) -> Result<(), End> {
            let ip = IpAddr::from([192, 0, 2, client]);
            assert!(self.room.connected(client, ip, self.now).is_none());
            let at = self.at(client);
            self.room.message(at, Message::Hello, [client; 16], 1, &self.places, self.now)?;
            let from = SocketAddr::new(ip, 9);
            assert_eq!(self.room.first_datagram(&Datagram::Open.write(&[client; 16]), from), Some(at));
            self.room.open(at, 28, &self.places, self.now)
        }

        fn asks(&mut self, client: u8) {
            let train = Train { direction: Direction::There, packets: 1, bytes: 100, burst: 1, gap_ns: 0 };
            let message = Message::Train { number: 1, train, wait_ns: 0 };
            let result = self.room.message(self.at(client), message, [0; 16], 1, &self.places, self.now);
            assert_eq!(result, Ok(None));
            self.passes(Duration::from_millis(1));
        }

        /// Those that get a place now, in order.
        fn begin(&mut self) -> Vec<u8> {
            let mut begun = Vec::new();
            while let Some((one, result)) = self.room.begin(&self.places, self.now) {
                assert!(result.is_ok());
                begun.push(one.connection);
            }
            begun
        }
    }

    #[test]
    fn proven_clients_take_a_place_with_their_first_request_and_in_its_order() {
        let mut seen = Seen::new();
        for client in 1..=20 {
            assert_eq!(seen.opens(client), Ok(()));
        }
        assert_eq!(seen.begin(), [0; 0], "nobody has asked");
        for client in [7, 3, 9, 1, 2, 8] {
            seen.asks(client);
        }
        assert_eq!(seen.begin(), [7, 3, 9, 1]);
        assert_eq!(seen.places.taken(), MOST_PLACES);
        seen.asks(4);
        seen.passes(SECOND);
        // Those that have been idle for a second give way, in the order in which others asked.
        assert_eq!(seen.begin(), [2, 8, 4]);
    }

    #[test]
    fn address_that_had_a_place_comes_after_one_that_had_none() {
        let mut seen = Seen::new();
        for client in 1..=6 {
            seen.opens(client).expect("a session");
        }
        for client in 1..=5 {
            seen.asks(client);
        }
        assert_eq!(seen.begin(), [1, 2, 3, 4]);
        // It comes back, and asks before one that had none yet.
        seen.places.leave(&[1; 16]);
        assert_eq!(seen.begin(), [5]);
        seen.opens(1).expect("a session");
        seen.asks(1);
        seen.asks(6);
        seen.places.leave(&[2; 16]);
        assert_eq!(seen.begin(), [6]);
        seen.places.leave(&[3; 16]);
        assert_eq!(seen.begin(), [1]);
    }

    #[test]
    fn client_without_a_place_is_refused_before_it_loses_patience() {
        let mut seen = Seen::new();
        for client in 1..=5 {
            seen.opens(client).expect("a session");
            seen.asks(client);
        }
        assert_eq!(seen.begin(), [1, 2, 3, 4]);
        for client in 1..=4 {
            seen.places.busy(&[client; 16], 10 * SECOND, seen.now);
        }
        seen.passes(PLACE + Duration::from_millis(1));
        let (one, why) = seen.room.expired(&seen.places, seen.now).expect("it has waited");
        assert_eq!(one.connection, 5);
        assert!(matches!(why, End::Refused(why) if why.contains("as many sessions")));
    }

    #[test]
    fn full_room_loses_the_silent_client_of_the_address_with_most() {
        let mut seen = Seen::new();
        let of = |a: u8, b: u8| IpAddr::from([10, 0, a, b]);
        for n in 0..=255 {
            seen.passes(Duration::from_millis(1));
            assert!(seen.room.connected(n, of(0, n.max(3)), seen.now).is_none());
        }
        // Four are of one address, and the first of them goes.
        let gone = seen.room.connected(0, of(1, 0), seen.now).expect("too many");
        assert_eq!((gone.connection, gone.client()), (0, of(0, 3)));
    }

    #[test]
    fn one_session_for_an_address_also_when_two_of_its_clients_prove_themselves() {
        let mut seen = Seen::new();
        seen.opens(1).expect("a session");
        assert!(matches!(seen.opens(1), Err(End::Refused(_))));
        let ips = ["2001:db8::1", "2001:db8::2"].map(|ip| ip.parse::<IpAddr>().expect("an address"));
        for (token, ip) in (50..).zip(ips) {
            assert!(seen.room.connected(token, ip, seen.now).is_none());
            let at = seen.at(token);
            let result = seen.room.message(at, Message::Hello, [token; 16], 1, &seen.places, seen.now);
            assert!(result.is_ok());
        }
        assert_eq!(seen.room.open(seen.at(50), 48, &seen.places, seen.now), Ok(()));
        assert!(matches!(seen.room.open(seen.at(51), 48, &seen.places, seen.now), Err(End::Refused(_))));
    }
}
