//! The client's end of the channel between two hosts.

use super::bulk::{self, Transfer};
use super::clock::{is_gone, now, readable, sleep, time_of_day_ns};
use super::control::Control;
use super::udp::{BATCH, Udp, any_like};
use super::{ProbeError, Stop, pace};
use crate::measure::{Channel, Direction, Echo, Limits, Passed, Train};
use crate::near_end::{self, Back, Heard, PATIENCE, QUIET, There};
use crate::protocol::{Bulk, Datagram, Message, SERVER_BYTES, Token};
use slowpath_model::nanos;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How long to wait for an echo, and for the first datagram.
const ECHO_PATIENCE: Duration = Duration::from_secs(1);
/// How long a session that was ended is waited for.
const FAREWELL: Duration = Duration::from_secs(1);
/// How often the first datagram is sent, in case one is lost.
const OPENINGS: u32 = 10;
/// The longest pause between two trains: no queue on a path is longer.
const MOST_REST_NS: u64 = 5_000_000_000;
/// Reads of a batch before other work gets its turn.
const READS: usize = 64;
/// The length of packets, as IP counts it, unless the path only takes shorter ones: Ethernet's.
const PACKET_BYTES: u32 = 1500;

/// What the client learns at the start of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connected {
    /// The far end.
    pub to: SocketAddr,
    /// The longest packet that the path takes, up to Ethernet's, as IP counts it.
    pub packet_bytes: u32,
    /// The limits of the channel.
    pub limits: Limits,
}

/// A session with a far end.
pub struct Client<'a> {
    control: Control<'a>,
    udp: Udp,
    to: SocketAddr,
    token: Token,
    limits: Limits,
    /// Trains and echoes so far.
    number: u32,
    stop: Stop<'a>,
}

impl<'a> Client<'a> {
    /// Starts a session.
    ///
    /// # Errors
    /// If no server is there, it refuses, or UDP does not pass.
    pub fn connect(to: SocketAddr, stop: Stop<'a>) -> Result<(Self, Connected), ProbeError> {
        let stream = TcpStream::connect_timeout(&to, PATIENCE)
            .map_err(|source| ProbeError::NoServer { to, source })?;
        let local = stream.local_addr().map_err(ProbeError::system("ask for the own address"))?;
        let mut control = Control::new(stream, SERVER_BYTES, stop)?;
        control.say(&Message::Hello)?;
        let Message::Welcome { token, udp_port, rate_bit_per_s, duration_ns } = control.wait(PATIENCE)?
        else {
            return Err(ProbeError::OutOfTurn);
        };
        if near_end::limits(rate_bit_per_s, duration_ns, PACKET_BYTES).is_none() {
            return Err(ProbeError::Absurd { rate_bit_per_s, duration_ns });
        }
        // From the address that the far end knows.
        let own = if local.ip().is_unspecified() { any_like(to.ip()) } else { local.ip() };
        let udp = Udp::bind(SocketAddr::new(own, 0))?;
        udp.connect(SocketAddr::new(to.ip(), udp_port))?;
        open(&mut control, &udp, &token, to)?;
        let packet_bytes = udp.mtu().unwrap_or(PACKET_BYTES).min(PACKET_BYTES);
        let limits = near_end::limits(rate_bit_per_s, duration_ns, packet_bytes)
            .ok_or(ProbeError::Absurd { rate_bit_per_s, duration_ns })?;
        let connected = Connected { to, packet_bytes, limits };
        Ok((Self { control, udp, to, token, limits, number: 0, stop }, connected))
    }

    /// A transfer by TCP on a connection of its own, for this long.
    ///
    /// # Errors
    /// If an end cannot continue, or refuses.
    pub fn transfer(&mut self, direction: Direction, duration: Duration) -> Result<Transfer, ProbeError> {
        let stream = TcpStream::connect_timeout(&self.to, PATIENCE)
            .map_err(|source| ProbeError::NoServer { to: self.to, source })?;
        let mut control = Control::new(stream, SERVER_BYTES, self.stop)?;
        let duration_ns = nanos(duration).min(self.limits.duration_ns);
        control.say(&Message::Transfer { token: self.token, direction, duration_ns })?;
        let Message::Ready(_) = control.wait(PATIENCE)? else { return Err(ProbeError::OutOfTurn) };
        let (stream, begun) = control.into_stream();
        let goes_on = || if (self.stop)() { Err(ProbeError::Stopped) } else { Ok(()) };
        let here = match direction {
            Direction::There => bulk::write(&stream, duration_ns, &goes_on)?,
            Direction::Back => bulk::read(&stream, begun, duration_ns, &goes_on)?,
        };
        drop(stream);
        let there = self.ask_transfer()?;
        let (sender, receiver) = match direction {
            Direction::There => (here, there),
            Direction::Back => (there, here),
        };
        Ok(Transfer::of(direction, &sender, &receiver))
    }

    fn ask_transfer(&mut self) -> Result<Bulk, ProbeError> {
        self.control.say(&Message::AskTransfer)?;
        match self.control.wait(bulk::AFTERWARDS + PATIENCE)? {
            Message::Transferred(bulk) => Ok(bulk),
            _ => Err(ProbeError::OutOfTurn),
        }
    }

    /// Ends the session, and gives the far end a second to end it too: until then this address gets no other.
    ///
    /// # Errors
    /// If the far end has already gone.
    pub fn close(mut self) -> Result<(), ProbeError> {
        self.control.say(&Message::Bye)?;
        // It hangs up. A far end that does not has heard it nevertheless.
        let _ = self.control.wait(FAREWELL);
        Ok(())
    }

    fn goes_on(&self) -> Result<(), ProbeError> {
        match () {
            () if (self.stop)() => Err(ProbeError::Stopped),
            () if is_gone(self.control.descriptor()) => Err(ProbeError::Closed),
            () => Ok(()),
        }
    }

    /// A train to the far end, which reports when its packets arrived.
    fn there(&mut self, train: &Train, number: u32) -> Result<Passed, ProbeError> {
        let mut there = There::new(number, train, now());
        let mut sent = Vec::new();
        loop {
            let message = self.control.wait(there.patience(now()))?;
            match there.message(message, now())? {
                Heard::Part => {}
                Heard::Ready => {
                    let goes_on = || self.goes_on();
                    sent = pace::send(&self.udp, &self.token, number, train, goes_on, |due| due)?;
                    there.left(now());
                    self.control.say(&Message::Gone(number))?;
                }
                Heard::Finished(overflowed) => return Ok(there.passed(&sent, overflowed)),
            }
        }
    }

    /// A train from the far end, which reports when it sent the packets.
    fn back(&mut self, train: &Train, number: u32) -> Result<Passed, ProbeError> {
        let overflowed_before = self.udp.overflowed()?;
        let mut back = Back::new(number, train, now());
        let mut batch = Vec::with_capacity(BATCH);
        while !back.is_over(now())? {
            self.goes_on()?;
            readable([self.control.descriptor(), self.udp.descriptor()], QUIET)?;
            for _ in 0..READS {
                self.udp.take(&mut batch)?;
                batch.iter().for_each(|one| back.datagram(&one.head, &self.token, one.at_ns, now()));
                if batch.len() < BATCH {
                    break;
                }
            }
            for _ in 0..READS {
                let Some(message) = (if back.is_reported() { None } else { self.control.heard()? }) else {
                    break;
                };
                back.message(message, now())?;
            }
        }
        let overflowed = self.udp.overflowed()?.wrapping_sub(overflowed_before);
        Ok(back.passed(overflowed))
    }
}

/// Tells the far end the UDP address of this end.
fn open(control: &mut Control<'_>, udp: &Udp, token: &Token, to: SocketAddr) -> Result<(), ProbeError> {
    for _ in 0..OPENINGS {
        udp.send(&[Datagram::Open.write(token)], 0)?;
        match control.wait(ECHO_PATIENCE / OPENINGS) {
            Ok(Message::Opened) => return Ok(()),
            Ok(_) => return Err(ProbeError::OutOfTurn),
            Err(ProbeError::Silent) => {}
            Err(error) => return Err(error),
        }
    }
    // Longer than the last of them could take.
    match control.wait(PATIENCE) {
        Ok(Message::Opened) => Ok(()),
        Err(ProbeError::Silent) => Err(ProbeError::NoUdp(to)),
        Ok(_) => Err(ProbeError::OutOfTurn),
        Err(error) => Err(error),
    }
}

impl Channel for Client<'_> {
    type Error = ProbeError;

    fn limits(&self) -> Limits {
        self.limits
    }

    fn pass(&mut self, train: &Train) -> Result<Passed, ProbeError> {
        let limits = &self.limits;
        if train.packets > limits.packets
            || train.burst > limits.burst
            || train.duration_ns() > limits.duration_ns
        {
            return Err(ProbeError::TooMuch { packets: train.packets, duration_ns: train.duration_ns() });
        }
        self.number += 1;
        let number = self.number;
        let wait_ns = QUIET.as_nanos() as u64;
        self.control.say(&Message::Train { number, train: *train, wait_ns })?;
        match train.direction {
            Direction::There => self.there(train, number),
            Direction::Back => self.back(train, number),
        }
    }

    fn echo(&mut self) -> Result<Option<Echo>, ProbeError> {
        self.number += 1;
        let number = self.number;
        let sent_ns = time_of_day_ns();
        let head = Datagram::Echo { number }.write(&self.token);
        self.udp.send(&[head], 0)?;
        let until = Instant::now() + ECHO_PATIENCE;
        let mut batch = Vec::new();
        while Instant::now() < until {
            self.goes_on()?;
            readable([self.udp.descriptor()], until.saturating_duration_since(Instant::now()))?;
            self.udp.take(&mut batch)?;
            for one in &batch {
                if let Some(Datagram::Reply { number: of, turned_ns }) =
                    Datagram::read(&one.head, &self.token)
                    && of == number
                {
                    return Ok(Some(Echo { away_ns: one.at_ns.saturating_sub(sent_ns), turned_ns }));
                }
            }
        }
        Ok(None)
    }

    fn rest(&mut self, nanos: u64) -> Result<(), ProbeError> {
        // The far end's times may claim that a queue takes years to empty.
        sleep(nanos.min(MOST_REST_NS), self.stop)
    }
}
