//! A far end that answers anything at any time: each train ends by its deadline, with a result or an error, and a whole
//! measurement ends too.

use arbitrary::{Arbitrary, Error, Result, Unstructured};
use slowpath_model::Instant;
use slowpath_probe::far_end::End;
use slowpath_probe::findings::{Found, Wanted};
use slowpath_probe::measure::{Channel, Direction, Echo, Limits, Passed, Train};
use slowpath_probe::near_end::{Back, Heard, PATIENCE, There, limits};
use slowpath_probe::protocol::{Datagram, Message, SERVER_BYTES, Stamp};
use std::time::Duration;

const TOKEN: [u8; 16] = [7; 16];

/// A far end that says what the bytes say, and is silent after them.
struct Hostile<'a, 'b> {
    bytes: &'b mut Unstructured<'a>,
    now: Instant,
    limits: Limits,
    number: u32,
}

impl Hostile<'_, '_> {
    /// Time passes; rarely, much of it.
    fn passes(&mut self) -> Result<()> {
        // Otherwise zeros would follow, for ever.
        if self.bytes.is_empty() {
            return Err(Error::NotEnoughData);
        }
        let time = match u8::arbitrary(self.bytes)? {
            n @ 0..200 => Duration::from_micros(u64::from(n) * 20),
            n @ 200..250 => Duration::from_millis(u64::from(n - 200) * 10),
            _ => Duration::from_secs(self.bytes.int_in_range(0..=11)?),
        };
        self.now = self.now + time;
        Ok(())
    }

    /// A time of the far end's clock.
    fn time(&mut self) -> Result<u64> {
        let exact = u64::try_from(self.now.nanos()).unwrap_or(0);
        Ok(match u8::arbitrary(self.bytes)? {
            n @ 0..200 => exact.wrapping_add(u64::from(n) * 1000),
            _ => Arbitrary::arbitrary(self.bytes)?,
        })
    }

    /// Times of a few packets, or of as many as a message has.
    fn stamps(&mut self, packets: u32) -> Result<Vec<Stamp>> {
        let (from, count) = (u32::from(u16::arbitrary(self.bytes)?), self.bytes.int_in_range(0..=4096)?);
        let (at_ns, step) = (self.time()?, u64::from(u16::arbitrary(self.bytes)?) * 100);
        let last = packets.saturating_add(u32::from(u8::arbitrary(self.bytes)? == 9)).max(1);
        let stamp = |n: u32| Stamp {
            packet: from.wrapping_add(n) % last,
            at_ns: at_ns.wrapping_add(step.wrapping_mul(n.into())),
        };
        Ok((0..count).map(stamp).collect())
    }

    fn message(&mut self, number: u32, packets: u32) -> Result<Message> {
        let kind = u8::arbitrary(self.bytes)?;
        let number = if kind > 250 { Arbitrary::arbitrary(self.bytes)? } else { number };
        Ok(match kind % 8 {
            0 | 1 => Message::Ready(number),
            2..=4 => Message::Stamps { number, stamps: self.stamps(packets)? },
            5 | 6 => Message::Finished { number, overflowed: Arbitrary::arbitrary(self.bytes)? },
            _ => {
                let bytes = <[u8; 24]>::arbitrary(self.bytes)?;
                let read = Message::read(&bytes, SERVER_BYTES);
                read.ok().flatten().map_or(Message::Opened, |(message, _)| message)
            }
        })
    }

    fn there(&mut self, train: &Train, number: u32) -> std::result::Result<Passed, End> {
        let mut there = There::new(number, train, self.now);
        let mut sent = Vec::new();
        loop {
            let patience = there.patience(self.now);
            let message = self.passes().and_then(|()| self.message(number, train.packets));
            // Silence, which the driver does not wait out.
            let Ok(message) = message else {
                self.now = self.now + patience;
                return Err(End::Silent);
            };
            match there.message(message, self.now)? {
                Heard::Part => {}
                Heard::Ready => {
                    let begin = u64::try_from(self.now.nanos()).unwrap_or(0);
                    let at = |n: u32| begin + train.gap_ns * u64::from(n / train.burst.max(1));
                    sent = (0..train.packets).map(|n| Some(at(n))).collect();
                    self.now = self.now + Duration::from_nanos(train.duration_ns());
                    there.left(self.now);
                }
                Heard::Finished(overflowed) => return Ok(there.passed(&sent, overflowed)),
            }
        }
    }

    fn back(&mut self, train: &Train, number: u32) -> std::result::Result<Passed, End> {
        let mut back = Back::new(number, train, self.now);
        while !back.is_over(self.now)? {
            if self.comes(&mut back, train, number)?.is_err() {
                self.now = self.now + PATIENCE;
            }
        }
        let passed = back.passed(0);
        assert_eq!(passed.flights.len(), train.packets as usize);
        Ok(passed)
    }

    /// What comes next: a message, or packets. The inner error is the end of the bytes.
    fn comes(&mut self, back: &mut Back, train: &Train, number: u32) -> std::result::Result<Result<()>, End> {
        let packets = train.packets;
        let mut next = || -> Result<Option<Message>> {
            self.passes()?;
            if bool::arbitrary(self.bytes)? {
                return Ok(Some(self.message(number, packets)?));
            }
            let stamps = self.stamps(packets)?;
            for Stamp { packet, at_ns } in stamps {
                let head = Datagram::Load { train: number, packet }.write(&TOKEN);
                back.datagram(&head, &TOKEN, at_ns, self.now);
            }
            Ok(None)
        };
        match next() {
            Ok(Some(message)) if !back.is_reported() => back.message(message, self.now).map(Ok),
            Ok(_) => Ok(Ok(())),
            Err(error) => Ok(Err(error)),
        }
    }
}

impl Channel for Hostile<'_, '_> {
    type Error = End;

    fn limits(&self) -> Limits {
        self.limits
    }

    fn pass(&mut self, train: &Train) -> std::result::Result<Passed, End> {
        let limits = self.limits;
        assert!(train.packets <= limits.packets && train.burst <= limits.burst, "{train:?}");
        if train.duration_ns() > limits.duration_ns {
            // Two packets at a low rate can take longer than a far end serves. The client does not ask for them.
            assert!(train.packets == 2, "{train:?}");
            return Err(End::Refused("too much".to_owned()));
        }
        self.number += 1;
        let began = self.now;
        let passed = match train.direction {
            Direction::There => self.there(train, self.number),
            Direction::Back => self.back(train, self.number),
        };
        // The last look may be as late as time passes at once.
        let most = Duration::from_nanos(train.duration_ns()) + 3 * PATIENCE + Duration::from_secs(11);
        assert!(self.now <= began + most, "a train did not end");
        if let Ok(passed) = &passed {
            assert!(passed.arrived() <= passed.left() && passed.left() <= train.packets, "{passed:?}");
        }
        passed
    }

    fn echo(&mut self) -> std::result::Result<Option<Echo>, End> {
        let mut echo = || -> Result<Option<Echo>> {
            self.passes()?;
            let (turned_ns, away_ns) = (self.time()?, self.time()?);
            Ok(bool::arbitrary(self.bytes)?.then_some(Echo { away_ns, turned_ns }))
        };
        echo().map_err(|_| End::Silent)
    }

    fn rest(&mut self, nanos: u64) -> std::result::Result<(), End> {
        self.now = self.now + Duration::from_nanos(nanos.min(5_000_000_000));
        Ok(())
    }
}

fn run(bytes: &mut Unstructured<'_>) -> Result<()> {
    let direction = if bool::arbitrary(bytes)? { Direction::There } else { Direction::Back };
    let rates = [10_000, 1_000_000, 1_000_000_000, u64::MAX, u64::arbitrary(bytes)?];
    let durations = [10_000_000, 2_000_000_000, 60_000_000_000, u64::arbitrary(bytes)?];
    let Some(limits) = limits(*bytes.choose(&rates)?, *bytes.choose(&durations)?, 1500) else {
        return Ok(());
    };
    let [capacity, available, ramp] = Arbitrary::arbitrary(bytes)?;
    let wanted = Wanted { direction, capacity, available, ramp, rates: None, steps: 3 };
    let mut found = Found::new(wanted, 1500);
    let mut far = Hostile { bytes, now: Instant::START, limits, number: 0 };
    let _ = found.fill(&mut far, &mut |_| ());
    Ok(())
}

pub fn try_input(data: &[u8]) {
    let _ = run(&mut Unstructured::new(data));
}
