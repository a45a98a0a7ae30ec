//! One session at the far end.

use super::budget::Caps;
use super::client::{BURST_NS, MOST_BURST, MOST_PACKETS};
use super::clock::{is_gone, readable, time_of_day_ns};
use super::control::Control;
use super::sessions::{Answer, Sessions, spent};
use super::udp::{BATCH, Came, Udp};
use super::{ProbeError, Stop, pace};
use crate::measure::channel::rate_of;
use crate::measure::{Direction, Train};
use crate::protocol::{DATAGRAM_BYTES, Datagram, MOST_TIMES, Message, Stamp, Token};
use slowpath_model::nanos;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// A session without requests for this long is over.
const IDLE: Duration = Duration::from_secs(30);
/// So is one that is this old, whatever it requests.
const LIFE: Duration = Duration::from_secs(600);
/// The longest time without arrivals before the rest of a train counts as lost.
const LONGEST_WAIT_NS: u64 = 2_000_000_000;
/// How much longer than the train its sender may take to report its end.
const LATE: Duration = Duration::from_secs(5);
/// The length of a packet, as IP counts it: from the headers and contents of each datagram, in IPv6, to Ethernet's
/// jumbo frames.
const PACKET_BYTES: std::ops::RangeInclusive<u32> = 84..=9000;
/// Reads of a batch before other work gets its turn.
const READS: usize = 64;

/// An arriving train.
struct Coming {
    number: u32,
    packets: u32,
    stamps: Vec<Stamp>,
    wait: Duration,
    /// When its last packet arrived, or its sender reported its end.
    last: Instant,
    has_gone: bool,
    overflowed_before: u32,
    until: Instant,
}

impl Coming {
    fn is_over(&self) -> bool {
        self.stamps.len() >= self.packets as usize || (self.has_gone && self.last.elapsed() >= self.wait)
    }
}

pub struct Session<'a, 'c> {
    control: &'a mut Control<'c>,
    udp: Udp,
    client: IpAddr,
    token: Token,
    caps: Caps,
    sessions: &'a Sessions,
    coming: Option<Coming>,
    asked_transfer: bool,
    batch: Vec<Came>,
}

impl<'a, 'c> Session<'a, 'c> {
    pub fn new(
        control: &'a mut Control<'c>,
        udp: Udp,
        client: IpAddr,
        token: Token,
        caps: Caps,
        sessions: &'a Sessions,
    ) -> Self {
        Self {
            control,
            udp,
            client,
            token,
            caps,
            sessions,
            coming: None,
            asked_transfer: false,
            batch: Vec::with_capacity(BATCH),
        }
    }

    fn duration_ns(&self) -> u64 {
        nanos(self.caps.duration)
    }

    /// Serves until the client ends the session.
    pub fn run(&mut self, stop: Stop<'_>) -> Result<(), ProbeError> {
        self.control.say(&Message::Opened)?;
        let began = Instant::now();
        let mut asked = Instant::now();
        loop {
            match () {
                () if stop() => return Err(ProbeError::Stopped),
                () if !self.sessions.knows(self.client, &self.token) => return Err(ProbeError::GaveWay),
                () if asked.elapsed() > IDLE || began.elapsed() > LIFE => return Err(ProbeError::Silent),
                () => {}
            }
            let most = self.coming.as_ref().map_or(IDLE, |coming| coming.wait / 4);
            readable([self.control.descriptor(), self.udp.descriptor()], most)?;
            self.take_datagrams()?;
            if let Some(message) = self.control.heard()? {
                asked = Instant::now();
                self.sessions.busy(&self.token, Duration::ZERO);
                if message == Message::Bye {
                    return Ok(());
                }
                self.answer(message, stop)?;
            }
            self.end_of_train()?;
            self.end_of_transfer()?;
        }
    }

    fn take_datagrams(&mut self) -> Result<(), ProbeError> {
        for _ in 0..READS {
            self.udp.take(&mut self.batch)?;
            for n in 0..self.batch.len() {
                self.datagram(self.batch[n])?;
            }
            if self.batch.len() < BATCH {
                break;
            }
        }
        Ok(())
    }

    fn datagram(&mut self, came: Came) -> Result<(), ProbeError> {
        match Datagram::read(&came.head, &self.token) {
            Some(Datagram::Echo { number }) => self.reply(number, came.at_ns),
            Some(Datagram::Load { train, packet }) => {
                if let Some(coming) = &mut self.coming
                    && coming.number == train
                    && packet < coming.packets
                    && coming.stamps.len() < coming.packets as usize
                {
                    coming.stamps.push(Stamp { packet, at_ns: came.at_ns });
                    coming.last = Instant::now();
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns an echo: no longer than the shortest possible request.
    fn reply(&mut self, number: u32, came_ns: u64) -> Result<(), ProbeError> {
        let bytes = self.shortest();
        let is_paced = self.sessions.pace(self.client, 1, u64::from(bytes)).is_ok();
        if is_paced && self.sessions.spend(self.client, u64::from(bytes)).is_ok() {
            self.sessions.busy(&self.token, Duration::ZERO);
            let turned_ns = time_of_day_ns().saturating_sub(came_ns);
            self.udp.send(&[Datagram::Reply { number, turned_ns }.write(&self.token)], bytes)?;
        }
        Ok(())
    }

    /// Takes the bytes of a train from the budget of the address.
    fn spend(&self, train: &Train) -> Result<(), String> {
        let bytes = u64::from(train.packets) * u64::from(train.bytes.max(self.shortest()));
        self.sessions.spend(self.client, bytes).map_err(|until| spent("budget of UDP bytes", until))
    }

    /// The shortest packet that can leave.
    fn shortest(&self) -> u32 {
        DATAGRAM_BYTES as u32 + self.udp.headers()
    }

    fn answer(&mut self, message: Message, stop: Stop<'_>) -> Result<(), ProbeError> {
        match message {
            Message::Train { number, train, wait_ns } => {
                let result = self.check(&train).map_err(str::to_owned).and_then(|()| match train.direction {
                    Direction::There => Ok(()),
                    Direction::Back => self.spend(&train),
                });
                self.sessions
                    .busy(&self.token, Duration::from_nanos(train.duration_ns().min(self.duration_ns())));
                match (result, train.direction) {
                    (Err(why), _) => self.control.say(&Message::Refused(why)),
                    (Ok(()), Direction::There) => self.listen(number, &train, wait_ns),
                    (Ok(()), Direction::Back) => self.send(number, &train, stop),
                }
            }
            Message::Gone(number) => {
                if let Some(coming) = self.coming.as_mut().filter(|coming| coming.number == number) {
                    coming.has_gone = true;
                    coming.last = Instant::now();
                }
                Ok(())
            }
            Message::AskTransfer => {
                self.asked_transfer = true;
                Ok(())
            }
            _ => Err(ProbeError::OutOfTurn),
        }
    }

    /// Whether a train is within the limits.
    fn check(&self, train: &Train) -> Result<(), &'static str> {
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

    fn listen(&mut self, number: u32, train: &Train, wait_ns: u64) -> Result<(), ProbeError> {
        let now = Instant::now();
        self.coming = Some(Coming {
            number,
            packets: train.packets,
            stamps: Vec::with_capacity(train.packets as usize),
            wait: Duration::from_nanos(wait_ns.min(LONGEST_WAIT_NS)),
            last: now,
            has_gone: false,
            overflowed_before: self.udp.overflowed()?,
            until: now + Duration::from_nanos(train.duration_ns()) + LATE,
        });
        self.control.say(&Message::Ready(number))
    }

    /// Reports the result of a train, when it is over.
    fn end_of_train(&mut self) -> Result<(), ProbeError> {
        if self.coming.as_ref().is_some_and(|coming| !coming.has_gone && Instant::now() > coming.until) {
            return Err(ProbeError::Silent);
        }
        // Its sender has yet to report that it has left.
        let Some(coming) = self.coming.take_if(|coming| coming.has_gone && coming.is_over()) else {
            return Ok(());
        };
        let overflowed = self.udp.overflowed()?.wrapping_sub(coming.overflowed_before);
        self.tell(coming.number, &coming.stamps, overflowed)
    }

    fn tell(&mut self, number: u32, stamps: &[Stamp], overflowed: u32) -> Result<(), ProbeError> {
        for part in stamps.chunks(MOST_TIMES) {
            self.control.say(&Message::Stamps { number, stamps: part.to_vec() })?;
        }
        self.control.say(&Message::Finished { number, overflowed })
    }

    /// Sends a train, as long as the control connection exists.
    fn send(&mut self, number: u32, train: &Train, stop: Stop<'_>) -> Result<(), ProbeError> {
        let connection = self.control.descriptor();
        let goes_on = || match () {
            () if stop() => Err(ProbeError::Stopped),
            () if is_gone(connection) => Err(ProbeError::Closed),
            () => Ok(()),
        };
        let bytes = u64::from(train.bytes.max(self.shortest()));
        let admitted = |packets| self.sessions.pace(self.client, packets, bytes).unwrap_or(0);
        let left = pace::send(&self.udp, &self.token, number, train, goes_on, admitted)?;
        let stamps: Vec<Stamp> =
            (0..).zip(left).filter_map(|(packet, at_ns)| Some(Stamp { packet, at_ns: at_ns? })).collect();
        self.tell(number, &stamps, 0)
    }

    /// Reports the result of a transfer, when it was requested and the transfer is over.
    fn end_of_transfer(&mut self) -> Result<(), ProbeError> {
        if !self.asked_transfer {
            return Ok(());
        }
        let answer = match self.sessions.ask(&self.token) {
            Answer::NotYet => return Ok(()),
            Answer::None => Message::Refused("there was no transfer, or it broke".to_owned()),
            Answer::Was(bulk) => Message::Transferred(bulk),
        };
        self.asked_transfer = false;
        self.control.say(&answer)
    }
}
