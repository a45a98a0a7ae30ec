//! What a client accepts of a far end, which it does not trust: each train ends by a deadline, with a result or with an
//! error, and what is kept of it is bounded. Pure: `now` is a parameter.
//!
//! `real/client.rs` does the I/O; the fuzz target `near_end` plays the far end.

use crate::far_end::End;
use crate::measure::{Flight, Limits, Passed, Train};
use crate::protocol::{BURST_NS, DATAGRAM_BYTES, Datagram, MOST_BURST, MOST_PACKETS, Message, Stamp, Token};
use slowpath_model::{Instant, Rate};
use std::ops::RangeInclusive;
use std::time::Duration;

/// How long to wait for an end that is there.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// How long nothing has to arrive before the rest of a train counts as lost: queues on the path release their packets
/// back to back.
pub const QUIET: Duration = Duration::from_millis(50);

/// The durations of a train or transfer that a far end can serve. A client accepts no other announcement.
pub const SERVED_DURATIONS: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(60);
/// The lowest rate that a far end can serve: below it, a measurement takes hours.
pub const LOWEST_RATE: Rate = Rate::bits_per_second(10_000);

/// The limits of a channel to a far end that announces this rate and duration, for packets of this length; `None` if no
/// far end serves them.
pub fn limits(rate_bit_per_s: u64, duration_ns: u64, packet_bytes: u32) -> Option<Limits> {
    let is_served =
        SERVED_DURATIONS.contains(&Duration::from_nanos(duration_ns)) && rate_bit_per_s >= LOWEST_RATE.get();
    let bytes = Rate::bits_per_second(rate_bit_per_s).amount_in(Duration::from_nanos(BURST_NS));
    let in_burst = bytes.get() / u64::from(packet_bytes.max(1));
    is_served.then(|| Limits {
        rate_bit_per_s,
        packets: MOST_PACKETS,
        burst: u32::try_from(in_burst).unwrap_or(u32::MAX).clamp(2, MOST_BURST),
        duration_ns,
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Direction;

    fn train(direction: Direction) -> Train {
        Train { direction, packets: 10, bytes: 100, burst: 1, gap_ns: 1_000_000 }
    }

    #[test]
    fn any_announcement_gives_limits_that_the_ends_keep_or_none() {
        assert_eq!(limits(u64::MAX, 10_000_000, 1500).map(|limits| limits.burst), Some(MOST_BURST));
        assert_eq!(limits(10_000, 60_000_000_000, 1500).map(|limits| limits.burst), Some(2));
        // 20 ms at 6 Mbit/s are 15,000 bytes.
        assert_eq!(limits(6_000_000, 1_000_000_000, 1500).map(|limits| limits.burst), Some(10));
        assert_eq!(limits(9_999, 1_000_000_000, 1500), None);
        assert_eq!(limits(1_000_000, u64::MAX, 1500), None);
    }

    #[test]
    fn report_before_the_train_has_left_is_out_of_turn() {
        let now = Instant::START;
        let mut there = There::new(1, &train(Direction::There), now);
        let finished = Message::Finished { number: 1, overflowed: 0 };
        assert_eq!(there.message(finished.clone(), now), Err(End::OutOfTurn));
        assert_eq!(there.message(Message::Ready(1), now), Ok(Heard::Ready));
        there.left(now);
        assert_eq!(there.message(Message::Ready(1), now), Err(End::OutOfTurn));
        assert_eq!(there.message(finished.clone(), now + 2 * PATIENCE), Ok(Heard::Finished(0)));
        let late = now + 2 * PATIENCE + Duration::from_nanos(1);
        assert_eq!(there.message(finished, late), Err(End::Silent));
    }

    #[test]
    fn train_back_ends_when_all_that_left_has_arrived_or_nothing_comes() {
        let now = Instant::START;
        let mut back = Back::new(1, &train(Direction::Back), now);
        let stamps = (0..2).map(|packet| Stamp { packet, at_ns: packet.into() }).collect();
        back.message(Message::Stamps { number: 1, stamps }, now).expect("a part of the report");
        assert_eq!(back.is_over(now), Ok(false));
        back.message(Message::Finished { number: 1, overflowed: 0 }, now).expect("its end");
        back.datagram(&Datagram::Load { train: 1, packet: 1 }.write(&[7; 16]), &[7; 16], 5, now);
        assert_eq!(back.is_over(now), Ok(false));
        assert_eq!(back.is_over(now + QUIET), Ok(true));
        let passed = back.passed(0);
        assert_eq!((passed.left(), passed.lost(), passed.refused()), (2, 1, 8));
    }
}
