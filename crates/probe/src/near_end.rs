//! What a client accepts of a far end, which it does not trust: each train ends by a deadline, with a result or with an
//! error, and what is kept of it is bounded. Pure: `now` is a parameter.
//!
//! `real/client.rs` does the I/O; the fuzz target `near_end` plays the far end.

use crate::far_end::End;
use crate::measure::{Flight, Passed, Train};
use crate::protocol::{DATAGRAM_BYTES, Datagram, Message, Stamp, Token};
use slowpath_model::Instant;
use std::time::Duration;

/// How long to wait for an end that is there.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// How long nothing has to arrive before the rest of a train counts as lost: queues on the path release their packets
/// back to back.
pub const QUIET: Duration = Duration::from_millis(50);

/// What a message of the far end means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// More is to come.
    Part,
    /// The train may leave.
    Ready,
    /// The report is complete. The far end's socket dropped so many datagrams.
    Finished(u32),
}

/// A train to the far end, which reports when its packets arrived.
pub struct There {
    number: u32,
    packets: usize,
    has_left: bool,
    came: Vec<Stamp>,
    until: Instant,
}

impl There {
    /// A train that was announced.
    pub fn new(number: u32, train: &Train, now: Instant) -> Self {
        let (packets, until) = (train.packets as usize, now + PATIENCE);
        Self { number, packets, has_left: false, came: Vec::new(), until }
    }

    /// How long to wait for the next message.
    pub fn patience(&self, now: Instant) -> Duration {
        self.until.since(now).unwrap_or_default()
    }

    /// A message of the far end.
    ///
    /// # Errors
    /// If it is late, or does not belong to this train.
    pub fn message(&mut self, message: Message, now: Instant) -> Result<Heard, End> {
        if now > self.until {
            return Err(End::Silent);
        }
        match message {
            Message::Ready(of) if of == self.number && !self.has_left => Ok(Heard::Ready),
            Message::Stamps { number: of, stamps } if of == self.number && self.has_left => {
                // Packets may arrive twice.
                if self.came.len() + stamps.len() > 2 * self.packets {
                    return Err(End::OutOfTurn);
                }
                self.came.extend(stamps);
                Ok(Heard::Part)
            }
            Message::Finished { number: of, overflowed } if of == self.number && self.has_left => {
                Ok(Heard::Finished(overflowed))
            }
            Message::Refused(why) => Err(End::Refused(why)),
            _ => Err(End::OutOfTurn),
        }
    }

    /// The train has left.
    pub fn left(&mut self, now: Instant) {
        (self.has_left, self.until) = (true, now + 2 * PATIENCE);
    }

    /// The result, from when its packets were sent.
    pub fn passed(&self, sent: &[Option<u64>], overflowed: u32) -> Passed {
        put_together(sent, &self.came, overflowed)
    }
}

/// A train from the far end, which reports when it sent the packets.
pub struct Back {
    number: u32,
    sent: Vec<Option<u64>>,
    left: usize,
    is_sent: bool,
    came: Vec<Stamp>,
    /// The last arrival, or the end of the report.
    last: Instant,
    until: Instant,
}

impl Back {
    /// A train that was requested.
    pub fn new(number: u32, train: &Train, now: Instant) -> Self {
        Self {
            number,
            sent: vec![None; train.packets as usize],
            left: 0,
            is_sent: false,
            came: Vec::new(),
            last: now,
            until: now + Duration::from_nanos(train.duration_ns()) + 2 * PATIENCE,
        }
    }

    /// Whether the report is complete; no message is expected then.
    pub fn is_reported(&self) -> bool {
        self.is_sent
    }

    /// A datagram that came at this time, by the clock of the kernel's timestamps.
    pub fn datagram(&mut self, head: &[u8; DATAGRAM_BYTES], token: &Token, at_ns: u64, now: Instant) {
        let packets = self.sent.len();
        if let Some(Datagram::Load { train, packet }) = Datagram::read(head, token)
            && train == self.number
            && (packet as usize) < packets
            && self.came.len() < 2 * packets
        {
            self.came.push(Stamp { packet, at_ns });
            self.last = now;
        }
    }

    /// A message of the far end.
    ///
    /// # Errors
    /// If it does not belong to this train.
    pub fn message(&mut self, message: Message, now: Instant) -> Result<(), End> {
        match message {
            Message::Stamps { number: of, stamps } if of == self.number => {
                for Stamp { packet, at_ns } in stamps {
                    let slot = self.sent.get_mut(packet as usize).ok_or(End::OutOfTurn)?;
                    self.left += usize::from(slot.replace(at_ns).is_none());
                }
                Ok(())
            }
            Message::Finished { number: of, .. } if of == self.number => {
                (self.is_sent, self.last) = (true, now);
                Ok(())
            }
            Message::Refused(why) => Err(End::Refused(why)),
            _ => Err(End::OutOfTurn),
        }
    }

    /// Whether it is over.
    ///
    /// # Errors
    /// If it should have been over by now.
    pub fn is_over(&self, now: Instant) -> Result<bool, End> {
        let is_over = self.is_sent && (self.came.len() >= self.left || now >= self.last + QUIET);
        if !is_over && now > self.until { Err(End::Silent) } else { Ok(is_over) }
    }

    /// The result.
    pub fn passed(&self, overflowed: u32) -> Passed {
        put_together(&self.sent, &self.came, overflowed)
    }
}

/// Combines packets as sent and as arrived, in the order of arrival; the first of two equal ones counts.
fn put_together(sent: &[Option<u64>], came: &[Stamp], overflowed: u32) -> Passed {
    let mut flights: Vec<Flight> =
        sent.iter().map(|sent_ns| Flight { sent_ns: *sent_ns, arrived_ns: None }).collect();
    let (mut latest, mut overtaken) = (0, 0);
    for stamp in came {
        if let Some(flight) = flights.get_mut(stamp.packet as usize)
            && flight.arrived_ns.is_none()
            && flight.sent_ns.is_some()
        {
            flight.arrived_ns = Some(stamp.at_ns);
            overtaken += u32::from(stamp.packet < latest);
            latest = latest.max(stamp.packet);
        }
    }
    Passed { flights, overtaken, overflowed: Some(overflowed) }
}
