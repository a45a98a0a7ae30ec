//! A far end with clients that send anything at any time: what leaves stays within the budget of each address, clients
//! and sessions stay few, and every one ends by its deadline.

use arbitrary::{Arbitrary, Result, Unstructured};
use slowpath_model::{Instant, Rate};
use slowpath_probe::far_end::budget::owner;
use slowpath_probe::far_end::{
    Act, Begun, Caps, End, IDLE, LIFE, MOST_CLIENTS, MOST_PLACES, Over, Places, Room, Session, report,
};
use slowpath_probe::measure::{Direction, Train};
use slowpath_probe::protocol::{Bulk, Datagram, MOST_PACKETS, Message, SERVER_BYTES, Stamp, Token};
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// Bytes of headers of a datagram.
const HEADERS: u32 = 28;
/// No client waits for anything for longer, outside its session's own deadlines.
const WAIT: Duration = Duration::from_secs(5);
/// Packets that leave in one call.
const BATCH: u32 = 32;

/// What a client or the world does.
#[derive(Debug)]
enum Step {
    Passes(Duration),
    Connects(u8),
    /// Connects, and shows that it is a probe and that UDP passes.
    Opens(u8),
    /// So many connect, each from another address.
    Flood(u16),
    Says(u8, Message),
    /// A datagram with the token of this client, from the address of another.
    Sends(u8, u8, Datagram),
    Leaves(u8),
    /// Packets of the train that is being sent leave, as many as are admitted.
    Paced(u8),
    TransferEnds(u8, bool),
}

fn duration(u: &mut Unstructured<'_>) -> Result<Duration> {
    Ok(match u8::arbitrary(u)? {
        n @ 0..100 => Duration::from_micros(u64::from(n) * 100),
        n @ 100..200 => Duration::from_millis(u64::from(n - 100) * 20),
        n @ 200..250 => Duration::from_secs(u64::from(n - 200)),
        _ => Duration::from_nanos(u.int_in_range(0..=1 << 50)?),
    })
}

fn train(u: &mut Unstructured<'_>) -> Result<Train> {
    let direction = if bool::arbitrary(u)? { Direction::There } else { Direction::Back };
    if u8::arbitrary(u)? < 20 {
        let [packets, bytes, burst] = Arbitrary::arbitrary(u)?;
        return Ok(Train { direction, packets, bytes, burst, gap_ns: Arbitrary::arbitrary(u)? });
    }
    Ok(Train {
        direction,
        packets: u.int_in_range(0..=300)?,
        bytes: u.int_in_range(80..=9010)?,
        burst: u.int_in_range(0..=20)?,
        gap_ns: u.int_in_range(0..=30_000_000)?,
    })
}

fn message(u: &mut Unstructured<'_>, token: Token) -> Result<Message> {
    let number = u32::from(u8::arbitrary(u)? % 4);
    Ok(match u.int_in_range(0..=9_u8)? {
        0 | 1 => Message::Hello,
        2..=4 => Message::Train { number, train: train(u)?, wait_ns: Arbitrary::arbitrary(u)? },
        5 => Message::Gone(number),
        6 => Message::Transfer {
            token,
            direction: Direction::Back,
            duration_ns: u.int_in_range(0..=3_000_000_000)?,
        },
        7 => Message::AskTransfer,
        8 => Message::Bye,
        _ => Message::Ready(number),
    })
}

fn step(u: &mut Unstructured<'_>) -> Result<Step> {
    let who = u8::arbitrary(u)? % 8;
    Ok(match u.int_in_range(0..=15_u8)? {
        0..=2 => Step::Passes(duration(u)?),
        3 if u8::arbitrary(u)? == 77 => Step::Flood(u.int_in_range(200..=300)?),
        3 => Step::Connects(u8::arbitrary(u)?),
        4 => Step::Opens(u8::arbitrary(u)? % 12),
        5..=8 => {
            let token = token(u8::arbitrary(u)?.into());
            Step::Says(who, message(u, token)?)
        }
        9 => Step::Sends(who, who, Datagram::Open),
        10 => Step::Sends(who, u8::arbitrary(u)? % 8, Datagram::Open),
        11 => Step::Sends(who, who, Datagram::Echo { number: 1 }),
        12 => {
            let (train, packet) = (u32::from(u8::arbitrary(u)? % 4), u32::from(u16::arbitrary(u)?));
            Step::Sends(who, who, Datagram::Load { train, packet })
        }
        13 => Step::Paced(who),
        14 => Step::TransferEnds(who, bool::arbitrary(u)?),
        _ => Step::Leaves(who),
    })
}

fn token(id: u32) -> Token {
    let mut token = [0; 16];
    token[..4].copy_from_slice(&id.to_be_bytes());
    token
}

/// A few IPv4 addresses, and IPv6 addresses of a few networks.
fn address(n: u32) -> IpAddr {
    match n % 3 {
        0 => IpAddr::V4(Ipv4Addr::from(0xc000_0200 + n)),
        1 => IpAddr::V6(Ipv6Addr::from(0x2001_0db8_u128 << 96 | u128::from(n % 4) << 64 | u128::from(n))),
        _ => IpAddr::V4(Ipv4Addr::from(0xc000_0200 + n)).to_canonical(),
    }
}

/// A train that is being sent.
struct Sending {
    number: u32,
    train: Train,
    began: Instant,
    stamps: Vec<Stamp>,
}

/// A session with a place.
struct Running {
    id: u32,
    session: Session,
    began: Instant,
    sending: Option<Sending>,
    is_listening: bool,
    /// Its last request, and what was not to be interrupted for want of one.
    active: Instant,
}

/// What an address got.
#[derive(Default)]
struct Got {
    first: Instant,
    udp_bytes: u64,
    transfers_ns: u64,
}

struct World {
    now: Instant,
    places: Places,
    room: Room<u32>,
    /// When each client of the room connected, and when it last changed from one that may talk to one that waits.
    since: HashMap<u32, (Instant, bool, Instant)>,
    running: Vec<Running>,
    transfers: Vec<(IpAddr, Token)>,
    got: HashMap<IpAddr, Got>,
    next: u32,
    addresses: HashMap<u32, IpAddr>,
}

impl World {
    fn new(caps: Caps) -> Self {
        Self {
            now: Instant::START,
            places: Places::new(caps),
            room: Room::default(),
            since: HashMap::new(),
            running: Vec::new(),
            transfers: Vec::new(),
            got: HashMap::new(),
            next: 0,
            addresses: HashMap::new(),
        }
    }

    fn connect(&mut self, client: IpAddr) {
        let id = self.next;
        self.next += 1;
        self.addresses.insert(id, client);
        self.since.insert(id, (self.now, true, self.now));
        if let Some(gone) = self.room.connected(id, client, self.now) {
            self.since.remove(&gone.connection);
        }
    }

    fn at(&self, id: u32) -> Option<usize> {
        self.room.clients().iter().position(|one| one.connection == id)
    }

    fn runs(&self, id: u32) -> Option<usize> {
        self.running.iter().position(|one| one.id == id)
    }

    fn leaves_room(&mut self, at: usize) {
        let one = self.room.remove(at);
        self.since.remove(&one.connection);
    }

    fn gets(&mut self, client: IpAddr, udp_bytes: u64, transfers_ns: u64) {
        let (caps, now) = (self.places.caps(), self.now);
        let got = self.got.entry(owner(client)).or_insert(Got { first: now, ..Got::default() });
        got.udp_bytes += udp_bytes;
        got.transfers_ns += transfers_ns;
        let elapsed = now.since(got.first).expect("time passes").as_nanos();
        let in_time = |per_s: u64| elapsed * u128::from(per_s.max(1)) / 1_000_000_000;
        let rate = caps.rate.get() / 8;
        let held = |duration| u128::from(caps.rate.amount_in(duration).get());
        let most = held(caps.duration) + in_time(rate / 4) + 1;
        assert!(u128::from(got.udp_bytes) <= most, "{} of {most} bytes in {elapsed} ns", got.udp_bytes);
        let most = held(Duration::from_millis(40)) + 18_000 + in_time(rate) + 1;
        assert!(u128::from(got.udp_bytes) <= most, "{} of {most} at once in {elapsed} ns", got.udp_bytes);
        let most = 2 * caps.duration.as_nanos() + elapsed / 2 + 1;
        assert!(u128::from(got.transfers_ns) <= most, "{} of {most} ns of transfers", got.transfers_ns);
    }

    fn said(message: &Message) {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        let read = Message::read(&bytes, SERVER_BYTES).expect("a message");
        assert!(read.is_some_and(|(read, length)| read == *message && length == bytes.len()), "{message:?}");
    }

    fn says(&mut self, id: u32, message: Message) {
        if let Some(at) = self.at(id) {
            if !self.room.client(at).may_talk() {
                return;
            }
            match self.room.message(at, message, token(id), 5717, &self.places, self.now) {
                Ok(answer) => answer.iter().for_each(Self::said),
                Err(End::Refused(why)) => {
                    Self::said(&Message::Refused(why));
                    self.leaves_room(at);
                }
                Err(_) => self.leaves_room(at),
            }
        } else if let Some(n) = self.runs(id)
            && self.running[n].sending.is_none()
        {
            let result = self.running[n].session.message(message, &self.places, self.now);
            self.acts(n, result);
        }
    }

    fn acts(&mut self, n: usize, result: std::result::Result<Act, End>) {
        let one = &mut self.running[n];
        one.active = self.now;
        match result {
            Ok(Act::Nothing) => {}
            Ok(Act::Say(message)) => Self::said(&message),
            Ok(Act::Listen(_)) => one.is_listening = true,
            Ok(Act::Send { number, train }) => {
                assert!((1..=MOST_PACKETS).contains(&train.packets) && train.burst > 0);
                assert!(train.duration_ns() <= self.places.caps().duration.as_nanos() as u64);
                one.sending = Some(Sending { number, train, began: self.now, stamps: Vec::new() });
            }
            Err(_) => self.ends(n),
        }
    }

    fn ends(&mut self, n: usize) {
        let one = self.running.swap_remove(n);
        self.places.leave(&one.session.token());
    }

    fn sends(&mut self, id: u32, from: u32, datagram: Datagram) {
        let (Some(client), head) = (self.addresses.get(&from).copied(), datagram.write(&token(id))) else {
            return;
        };
        let own = self.addresses[&id] == client;
        if let Some(at) = self.room.first_datagram(&head, SocketAddr::new(client, 9)) {
            assert!(own && datagram == Datagram::Open && self.at(id) == Some(at));
            if self.room.open(at, HEADERS, &self.places, self.now).is_err() {
                self.leaves_room(at);
            }
            return;
        }
        // Sessions have sockets of their own, which are connected.
        if !own {
            return;
        }
        let (places, now) = (&self.places, self.now);
        let (at, running) = (self.at(id), self.runs(id));
        let answer = if let Some(at) = at {
            let Some((session, _)) = self.room.client(at).session() else { return };
            let answer = session.datagram(&head, (1, 2), places, now);
            answer.map(|answer| (answer, session.answer_bytes()))
        } else if let Some(n) = running {
            let one = &mut self.running[n];
            let answer = one.session.datagram(&head, (1, 2), places, now);
            if answer.is_some() {
                one.active = now;
            }
            answer.map(|answer| (answer, one.session.answer_bytes()))
        } else {
            None
        };
        if let Some((answer, bytes)) = answer {
            assert!(matches!(datagram, Datagram::Echo { .. }) && answer.len() == head.len());
            self.gets(client, u64::from(bytes), 0);
        }
    }

    /// What is due of a train leaves, as far as it is admitted.
    fn paces(&mut self, n: usize) {
        let one = &mut self.running[n];
        let (client, now) = (one.session.client(), self.now);
        let Some(sending) = &mut one.sending else { return };
        let (train, sent) = (sending.train, sending.stamps.len() as u32);
        let elapsed = now.since(sending.began).expect("time passes").as_nanos();
        let bursts = elapsed.checked_div(u128::from(train.gap_ns)).map_or(u128::MAX, |bursts| bursts + 1);
        let due = bursts.saturating_mul(u128::from(train.burst)).min(u128::from(train.packets)) as u32;
        let bytes = u64::from(one.session.packet_bytes(&train));
        let wanted = (due - sent).min(BATCH) as usize;
        let admitted = self.places.pace(client, wanted, bytes, now).unwrap_or(0);
        assert!(admitted <= wanted);
        let stamps = (sent..).take(admitted).map(|packet| Stamp { packet, at_ns: now.nanos() as u64 });
        sending.stamps.extend(stamps);
        if sending.stamps.len() == train.packets as usize {
            report(sending.number, &sending.stamps, 0).for_each(|message| Self::said(&message));
            one.sending = None;
            one.active = now;
            one.session.sent(now);
        }
        self.gets(client, admitted as u64 * bytes, 0);
    }

    fn transfer_ends(&mut self, at: usize, is_whole: bool) {
        let (_, token) = self.transfers.swap_remove(at);
        self.places.end(&token, is_whole.then(Bulk::default), self.now);
        for one in self.running.iter_mut().filter(|one| one.session.token() == token) {
            one.active = self.now;
        }
    }

    /// What the far end does after every step.
    fn looks(&mut self) {
        while let Some((one, begun)) = self.room.begin(&self.places, self.now) {
            let id = one.connection;
            self.since.remove(&id);
            match begun {
                Ok(Begun::Session(mut session, first)) => {
                    let result = first.map(|first| session.message(first, &self.places, self.now));
                    let (began, active) = (self.now, self.now);
                    let one = Running { id, session, began, sending: None, is_listening: false, active };
                    self.running.push(one);
                    if let Some(result) = result {
                        self.acts(self.running.len() - 1, result);
                    }
                }
                Ok(Begun::Transfer(Message::Transfer { token, duration_ns, .. })) => {
                    self.transfers.push((one.client(), token));
                    self.gets(one.client(), 0, duration_ns);
                }
                Ok(Begun::Transfer(other)) => panic!("{other:?} is no transfer"),
                Err(End::Refused(why)) => Self::said(&Message::Refused(why)),
                Err(why) => panic!("{why:?}"),
            }
        }
        while let Some((one, _)) = self.room.expired(&self.places, self.now) {
            self.since.remove(&one.connection);
        }
        for n in (0..self.running.len()).rev() {
            let one = &mut self.running[n];
            let is_known = self.places.knows(one.session.client(), &one.session.token());
            if !is_known || one.session.check(&self.places, self.now).is_err() {
                self.ends(n);
                continue;
            }
            while one.sending.is_none()
                && let Some(over) = one.session.over(&self.places, self.now)
            {
                one.active = self.now;
                match over {
                    Over::Transfer(answer) => Self::said(&answer),
                    Over::Train { number, stamps } => {
                        assert!(one.is_listening && stamps.len() <= MOST_PACKETS as usize);
                        one.is_listening = false;
                        report(number, &stamps, 0).for_each(|message| Self::said(&message));
                    }
                }
            }
        }
        let places = &self.places;
        self.transfers.retain(|(client, token)| places.knows(*client, token));
    }

    fn check(&mut self) {
        assert!(self.room.clients().len() <= MOST_CLIENTS && self.since.len() == self.room.clients().len());
        assert!(self.places.taken() <= MOST_PLACES && self.running.len() == self.places.taken());
        assert!(self.transfers.len() <= MOST_PLACES);
        let mut owners = HashSet::new();
        for at in 0..self.room.clients().len() {
            let one = self.room.client(at);
            let since = self.since.get_mut(&one.connection).expect("it connected");
            if one.may_talk() != since.1 {
                (since.1, since.2) = (one.may_talk(), self.now);
            }
            let is_session = one.session().is_some();
            let (whole, waits) = (since.0 + LIFE + 3 * WAIT, since.2 + WAIT);
            assert!(self.now <= if one.may_talk() && is_session { whole } else { waits });
            assert!(!is_session || owners.insert(owner(one.client())), "two sessions of an address");
        }
        for one in &self.running {
            assert!(owners.insert(owner(one.session.client())), "two sessions of an address");
            assert!(self.now <= one.began + LIFE, "a session outlives its life");
            let is_busy = one.sending.is_some()
                || one.is_listening
                || self.transfers.iter().any(|(_, token)| *token == one.session.token());
            assert!(is_busy || self.now <= one.active + IDLE, "a session is idle for too long");
        }
    }

    fn does(&mut self, step: Step) {
        let id = |who: u8| self.next.saturating_sub(1 + u32::from(who));
        match step {
            Step::Passes(time) => self.now = self.now + time,
            Step::Connects(n) => self.connect(address(n.into())),
            Step::Opens(n) => {
                self.connect(address(n.into()));
                let id = self.next - 1;
                self.says(id, Message::Hello);
                self.sends(id, id, Datagram::Open);
            }
            Step::Flood(count) => (0..count).for_each(|n| self.connect(address(1000 + u32::from(n)))),
            Step::Says(who, message) => self.says(id(who), message),
            Step::Sends(who, from, datagram) if self.next > 0 => self.sends(id(who), id(from), datagram),
            Step::Sends(..) => {}
            Step::Leaves(who) => {
                let id = id(who);
                if let Some(at) = self.at(id) {
                    self.leaves_room(at);
                } else if let Some(n) = self.runs(id) {
                    self.ends(n);
                }
            }
            Step::Paced(n) => {
                let n = usize::from(n);
                for _ in 0..12 {
                    if n < self.running.len() {
                        self.paces(n);
                    }
                }
            }
            Step::TransferEnds(n, is_whole) => {
                if usize::from(n) < self.transfers.len() {
                    self.transfer_ends(n.into(), is_whole);
                }
            }
        }
        self.looks();
        self.check();
    }
}

/// Does what the bytes say.
fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let rate = *u.choose(&[10_000, 1_000_000, 40_000_000, 1_000_000_000, 100_000_000_000])?;
    let duration = Duration::from_millis(*u.choose(&[10, 500, 2000, 60_000])?);
    let mut world = World::new(Caps { rate: Rate::bits_per_second(rate), duration });
    while !u.is_empty() {
        world.does(step(u)?);
    }
    // Without another step, everything ends.
    world.does(Step::Passes(LIFE + 4 * WAIT));
    assert!(world.room.clients().is_empty() && world.running.is_empty() && world.transfers.is_empty());
    Ok(())
}

pub fn try_input(data: &[u8]) {
    // Bytes that end in the middle of a step end there.
    let _ = run(&mut Unstructured::new(data));
}
