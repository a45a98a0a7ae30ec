//! One session: what its client asks, and until when.

use super::End;
use super::budget::Caps;
use super::places::{Places, Transferred, spent};
use crate::measure::channel::rate_of;
use crate::measure::{Direction, Train};
use crate::protocol::{
    BURST_NS, DATAGRAM_BYTES, Datagram, MOST_BURST, MOST_PACKETS, MOST_TIMES, Message, Stamp, Token,
};
use slowpath_model::{Instant, nanos};
use std::net::IpAddr;
use std::time::Duration;

/// A session without requests for this long is over.
pub const IDLE: Duration = Duration::from_secs(30);
/// So is one that is this old, whatever it requests.
pub const LIFE: Duration = Duration::from_secs(600);
/// The longest time without arrivals before the rest of a train counts as lost.
const LONGEST_WAIT_NS: u64 = 2_000_000_000;
/// How much longer than the train its sender may take: to report its end, or to send the last packet.
const LATE: Duration = Duration::from_secs(5);
/// The length of a packet, as IP counts it: from the headers and contents of each datagram, in IPv6, to Ethernet's
/// jumbo frames.
const PACKET_BYTES: std::ops::RangeInclusive<u32> = 84..=9000;

/// An arriving train.
struct Coming {
    number: u32,
    packets: u32,
    stamps: Vec<Stamp>,
    wait: Duration,
    /// When its last packet arrived, or its sender reported its end.
    last: Instant,
    has_gone: bool,
    until: Instant,
}

impl Coming {
    fn is_over(&self, now: Instant) -> bool {
        self.stamps.len() >= self.packets as usize || (self.has_gone && now >= self.last + self.wait)
    }
}

/// A session, with or without a place.
pub struct Session {
    client: IpAddr,
    token: Token,
    caps: Caps,
    /// The shortest packet that can leave, as IP counts it.
    shortest: u32,
    began: Instant,
    /// The last request.
    asked: Instant,
    coming: Option<Coming>,
    /// Until when the train must have left that is being sent.
    sends_until: Option<Instant>,
    asked_transfer: bool,
}

/// What is to be done after a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nothing.
    Nothing,
    /// Answer.
    Say(Message),
    /// Begin to count what the socket drops, and report that this train may come.
    Listen(u32),
    /// Send a train: each packet when [`Places::pace`] admits it, and only while [`Session::check`] allows it.
    Send {
        /// Its number.
        number: u32,
        /// The train.
        train: Train,
    },
}

/// What is over, and to be reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// An arrived train.
    Train {
        /// Its number.
        number: u32,
        /// The arrivals.
        stamps: Vec<Stamp>,
    },
    /// A transfer: the answer.
    Transfer(Message),
}

/// The messages that report a train.
pub fn report(number: u32, stamps: &[Stamp], overflowed: u32) -> impl Iterator<Item = Message> {
    let parts = stamps.chunks(MOST_TIMES);
    let parts = parts.map(move |part| Message::Stamps { number, stamps: part.to_vec() });
    parts.chain([Message::Finished { number, overflowed }])
}

impl Session {
    /// A session that begins now; `headers` are the bytes before the contents of each of its datagrams.
    pub fn new(client: IpAddr, token: Token, caps: Caps, headers: u32, now: Instant) -> Self {
        Self {
            client,
            token,
            caps,
            shortest: DATAGRAM_BYTES as u32 + headers,
            began: now,
            asked: now,
            coming: None,
            sends_until: None,
            asked_transfer: false,
        }
    }

    /// Its client.
    pub fn client(&self) -> IpAddr {
        self.client
    }

    /// Its token.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Its last request.
    pub fn asked(&self) -> Instant {
        self.asked
    }

    fn duration_ns(&self) -> u64 {
        nanos(self.caps.duration)
    }

    /// Whether it may go on, also in the middle of a train.
    ///
    /// # Errors
    /// If one of its deadlines is over.
    pub fn check(&mut self, places: &Places, now: Instant) -> Result<(), End> {
        let is_measuring = self.coming.is_some() || self.sends_until.is_some();
        if is_measuring || places.is_transferring(&self.token) {
            self.asked = self.asked.max(now);
        }
        let is_late = self.coming.as_ref().is_some_and(|coming| !coming.has_gone && now > coming.until)
            || self.sends_until.is_some_and(|until| now > until);
        let is_old = now > self.asked + IDLE || now > self.began + LIFE;
        if is_late || is_old { Err(End::Silent) } else { Ok(()) }
    }

    /// How long to wait for packets before [`Session::over`] is asked again.
    pub fn wait(&self) -> Duration {
        self.coming.as_ref().map_or(IDLE, |coming| coming.wait / 4)
    }

    /// A datagram that came at `at_ns`, by the clock of the kernel's timestamps, which shows `now_ns` now. Returns the
    /// answer.
    pub fn datagram(
        &mut self,
        head: &[u8; DATAGRAM_BYTES],
        (at_ns, now_ns): (u64, u64),
        places: &Places,
        now: Instant,
    ) -> Option<[u8; DATAGRAM_BYTES]> {
        match Datagram::read(head, &self.token)? {
            Datagram::Echo { number } => {
                // No longer than the shortest possible request.
                let bytes = u64::from(self.shortest);
                places.pace(self.client, 1, bytes, now).ok()?;
                places.spend(self.client, bytes, now).ok()?;
                self.asked = now;
                places.busy(&self.token, Duration::ZERO, now);
                let turned_ns = now_ns.saturating_sub(at_ns);
                Some(Datagram::Reply { number, turned_ns }.write(&self.token))
            }
            Datagram::Load { train, packet } => {
                if let Some(coming) = &mut self.coming
                    && coming.number == train
                    && packet < coming.packets
                    && coming.stamps.len() < coming.packets as usize
                {
                    coming.stamps.push(Stamp { packet, at_ns });
                    coming.last = now;
                }
                None
            }
            Datagram::Open | Datagram::Reply { .. } => None,
        }
    }

    /// The length of an answer, as IP counts it.
    pub fn answer_bytes(&self) -> u32 {
        self.shortest
    }

    /// The length of a train's packets, as they leave.
    pub fn packet_bytes(&self, train: &Train) -> u32 {
        train.bytes.max(self.shortest)
    }

    /// A message of the client.
    ///
    /// # Errors
    /// If it ends the session.
    pub fn message(&mut self, message: Message, places: &Places, now: Instant) -> Result<Act, End> {
        self.asked = now;
        places.busy(&self.token, Duration::ZERO, now);
        match message {
            Message::Train { number, train, wait_ns } => {
                let result = self.admits(&train, places, now);
                let lasting = train.duration_ns().min(self.duration_ns());
                places.busy(&self.token, Duration::from_nanos(lasting), now);
                Ok(match (result, train.direction) {
                    (Err(why), _) => Act::Say(Message::Refused(why)),
                    (Ok(()), Direction::There) => self.listen(number, &train, wait_ns, now),
                    (Ok(()), Direction::Back) => {
                        self.sends_until = Some(now + Duration::from_nanos(train.duration_ns()) + LATE);
                        Act::Send { number, train }
                    }
                })
            }
            Message::Gone(number) => {
                if let Some(coming) = self.coming.as_mut().filter(|coming| coming.number == number) {
                    coming.has_gone = true;
                    coming.last = now;
                }
                Ok(Act::Nothing)
            }
            Message::AskTransfer => {
                self.asked_transfer = true;
                Ok(Act::Nothing)
            }
            Message::Bye => Err(End::Bye),
            _ => Err(End::OutOfTurn),
        }
    }

    fn admits(&self, train: &Train, places: &Places, now: Instant) -> Result<(), String> {
        self.in_limits(train)?;
        if train.direction == Direction::Back {
            let bytes = u64::from(train.packets) * u64::from(self.packet_bytes(train));
            let spends = places.spend(self.client, bytes, now);
            spends.map_err(|until| spent("budget of UDP bytes", until))?;
        }
        Ok(())
    }

    fn in_limits(&self, train: &Train) -> Result<(), &'static str> {
        let in_cap =
            |bytes: u64, nanos: u64| rate_of(bytes, nanos).is_some_and(|rate| rate <= self.caps.rate.get());
        let burst_bytes = u64::from(train.burst) * u64::from(train.bytes);
        let in_burst = self.caps.rate.amount_in(Duration::from_nanos(BURST_NS)).get();
        match () {
            () if self.coming.is_some() => Err("a train is still coming"),
            () if !(1..=MOST_PACKETS).contains(&train.packets) => Err("more packets than a train has"),
            () if !PACKET_BYTES.contains(&train.bytes) => Err("packets of a length that is not served"),
            () if !(1..=MOST_BURST).contains(&train.burst) => Err("more packets at once than are served"),
            () if train.duration_ns() > self.duration_ns() => Err("a longer train than is served"),
            () if train.burst > 2 && burst_bytes > in_burst => {
                Err("more packets at once than the rate that is served allows")
            }
            () if train.packets > train.burst && !in_cap(burst_bytes, train.gap_ns) => {
                Err("a higher rate than is served")
            }
            () => Ok(()),
        }
    }

    fn listen(&mut self, number: u32, train: &Train, wait_ns: u64, now: Instant) -> Act {
        self.coming = Some(Coming {
            number,
            packets: train.packets,
            stamps: Vec::with_capacity(train.packets as usize),
            wait: Duration::from_nanos(wait_ns.min(LONGEST_WAIT_NS)),
            last: now,
            has_gone: false,
            until: now + Duration::from_nanos(train.duration_ns()) + LATE,
        });
        Act::Listen(number)
    }

    /// The train of [`Act::Send`] has left.
    pub fn sent(&mut self, now: Instant) {
        self.sends_until = None;
        self.asked = now;
    }

    /// What is over and not yet reported.
    pub fn over(&mut self, places: &Places, now: Instant) -> Option<Over> {
        // Its sender has yet to report that it has left.
        let is_over = |coming: &mut Coming| coming.has_gone && coming.is_over(now);
        if let Some(coming) = self.coming.take_if(is_over) {
            self.asked = now;
            return Some(Over::Train { number: coming.number, stamps: coming.stamps });
        }
        if !self.asked_transfer {
            return None;
        }
        let answer = match places.transferred(&self.token) {
            Transferred::NotYet => return None,
            Transferred::None => Message::Refused("there was no transfer, or it broke".to_owned()),
            Transferred::Was(bulk) => Message::Transferred(bulk),
        };
        (self.asked_transfer, self.asked) = (false, now);
        Some(Over::Transfer(answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::Rate;

    const SECOND: Duration = Duration::from_secs(1);
    const TOKEN: Token = [7; 16];

    /// A session that has a place, at a far end that serves a minute.
    fn begun() -> (Session, Places) {
        let caps = Caps { rate: Rate::mbit(10), duration: 60 * SECOND };
        let (client, places) = (IpAddr::from([192, 0, 2, 1]), Places::new(caps));
        places.enter(client, TOKEN, Instant::START).expect("a place");
        (Session::new(client, TOKEN, caps, 28, Instant::START), places)
    }

    fn at(seconds: u32) -> Instant {
        Instant::START + seconds * SECOND
    }

    /// Looks every second, and returns when the session ended.
    fn ends(session: &mut Session, places: &Places, seconds: std::ops::Range<u32>) -> Option<u32> {
        seconds.into_iter().find(|second| session.check(places, at(*second)).is_err())
    }

    /// Two packets, 50 s apart.
    fn long(direction: Direction) -> Message {
        let train = Train { direction, packets: 2, bytes: 100, burst: 1, gap_ns: 50_000_000_000 };
        Message::Train { number: 1, train, wait_ns: 0 }
    }

    #[test]
    fn session_without_requests_ends_after_30_s_and_any_after_10_min() {
        let (mut session, places) = begun();
        assert_eq!(ends(&mut session, &places, 0..700), Some(31));
        let (mut session, places) = begun();
        for second in 0..=600 {
            let act = session.message(Message::Gone(1), &places, at(second));
            assert_eq!((act, session.check(&places, at(second))), (Ok(Act::Nothing), Ok(())));
        }
        assert_eq!(session.check(&places, at(601)), Err(End::Silent));
    }

    #[test]
    fn train_and_transfer_longer_than_30_s_are_not_idle() {
        for direction in [Direction::There, Direction::Back] {
            let (mut session, places) = begun();
            session.message(long(direction), &places, at(0)).expect("it is served");
            // 5 s after it should have ended.
            assert_eq!(ends(&mut session, &places, 0..100), Some(56), "{direction:?}");
        }
        let (mut session, places) = begun();
        places.begin(session.client(), &TOKEN, 60_000_000_000, at(0)).expect("a transfer");
        assert_eq!(ends(&mut session, &places, 0..60), None);
        places.end(&TOKEN, None, at(60));
        assert_eq!(ends(&mut session, &places, 60..100), Some(90));
    }

    #[test]
    fn echo_within_the_budget_is_answered_by_as_many_bytes() {
        let (mut session, places) = begun();
        let echo = Datagram::Echo { number: 3 }.write(&TOKEN);
        let answer = session.datagram(&echo, (5, 9), &places, at(1)).expect("an answer");
        assert_eq!(Datagram::read(&answer, &TOKEN), Some(Datagram::Reply { number: 3, turned_ns: 4 }));
        assert_eq!(
            session.datagram(&Datagram::Echo { number: 3 }.write(&[8; 16]), (5, 9), &places, at(1)),
            None
        );
        let answered = (0..1_000_000).filter(|_| session.datagram(&echo, (5, 9), &places, at(1)).is_some());
        // 40 ms at 10 Mbit/s and two packets of 9000 bytes, by echoes of 64 bytes; one has left.
        assert_eq!(answered.count(), (50_000 + 18_000) / 64 - 1);
    }
}
