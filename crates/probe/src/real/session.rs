//! Runs a session that has a place, in a thread of its own.

use super::clock::{is_gone, now, readable, time_of_day_ns};
use super::control::Control;
use super::udp::{BATCH, Came, Udp};
use super::{ProbeError, Stop, pace};
use crate::far_end::{Act, Over, Places, Session, report};
use crate::measure::Train;
use crate::protocol::{Message, Stamp};
use std::convert::Infallible;

/// Reads of a batch before other work gets its turn.
const READS: usize = 64;

/// A session with a place, and its sockets.
pub struct Running<'a, 'c> {
    pub control: &'a mut Control<'c>,
    pub udp: Udp,
    pub session: Session,
    pub places: &'a Places,
    /// What the socket had dropped when the train began to come.
    pub overflowed_before: u32,
}

impl Running<'_, '_> {
    /// Serves until the session ends, and returns why; begins with a request.
    pub fn run(&mut self, first: Option<Message>, stop: Stop<'_>) -> ProbeError {
        let ends = match first {
            Some(message) => self.answer(message, stop),
            None => Ok(()),
        };
        match ends.and_then(|()| self.serve(stop)) {
            Ok(never) => match never {},
            Err(why) => why,
        }
    }

    fn serve(&mut self, stop: Stop<'_>) -> Result<Infallible, ProbeError> {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            self.goes_on(stop)?;
            readable([self.control.descriptor(), self.udp.descriptor()], self.session.wait())?;
            for _ in 0..READS {
                if !take_datagrams(&self.udp, &mut self.session, self.places, &mut batch)? {
                    break;
                }
            }
            if let Some(message) = self.control.heard()? {
                self.answer(message, stop)?;
            }
            while let Some(over) = self.session.over(self.places, now()) {
                match over {
                    Over::Transfer(answer) => self.control.say(&answer)?,
                    Over::Train { number, stamps } => {
                        let overflowed = self.udp.overflowed()?.wrapping_sub(self.overflowed_before);
                        self.tell(number, &stamps, overflowed)?;
                    }
                }
            }
        }
    }

    fn goes_on(&mut self, stop: Stop<'_>) -> Result<(), ProbeError> {
        match () {
            () if stop() => Err(ProbeError::Stopped),
            () if !self.places.knows(self.session.client(), &self.session.token()) => {
                Err(ProbeError::GaveWay)
            }
            () => Ok(self.session.check(self.places, now())?),
        }
    }

    fn answer(&mut self, message: Message, stop: Stop<'_>) -> Result<(), ProbeError> {
        match self.session.message(message, self.places, now())? {
            Act::Nothing => Ok(()),
            Act::Say(message) => self.control.say(&message),
            Act::Listen(number) => {
                self.overflowed_before = self.udp.overflowed()?;
                self.control.say(&Message::Ready(number))
            }
            Act::Send { number, train } => self.send(number, &train, stop),
        }
    }

    fn tell(&mut self, number: u32, stamps: &[Stamp], overflowed: u32) -> Result<(), ProbeError> {
        report(number, stamps, overflowed).try_for_each(|message| self.control.say(&message))
    }

    /// Sends a train, as long as the control connection exists.
    fn send(&mut self, number: u32, train: &Train, stop: Stop<'_>) -> Result<(), ProbeError> {
        let (client, token) = (self.session.client(), self.session.token());
        let (places, connection) = (self.places, self.control.descriptor());
        let bytes = u64::from(self.session.packet_bytes(train));
        let admitted = |packets| places.pace(client, packets, bytes, now()).unwrap_or(0);
        let session = &mut self.session;
        let goes_on = || match () {
            () if stop() => Err(ProbeError::Stopped),
            () if is_gone(connection) => Err(ProbeError::Closed),
            () if !places.knows(client, &token) => Err(ProbeError::GaveWay),
            () => Ok(session.check(places, now())?),
        };
        let left = pace::send(&self.udp, &token, number, train, goes_on, admitted)?;
        self.session.sent(now());
        let stamps: Vec<Stamp> =
            (0..).zip(left).filter_map(|(packet, at_ns)| Some(Stamp { packet, at_ns: at_ns? })).collect();
        self.tell(number, &stamps, 0)
    }
}

/// Takes a batch of a session's datagrams and sends the answers; returns whether there may be more.
pub fn take_datagrams(
    udp: &Udp,
    session: &mut Session,
    places: &Places,
    batch: &mut Vec<Came>,
) -> Result<bool, ProbeError> {
    udp.take(batch)?;
    for came in &*batch {
        if let Some(answer) = session.datagram(&came.head, (came.at_ns, time_of_day_ns()), places, now()) {
            udp.send(&[answer], session.answer_bytes())?;
        }
    }
    Ok(batch.len() == BATCH)
}
