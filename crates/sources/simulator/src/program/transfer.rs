//! One direction: a sender of a stream or of messages, and a receiver.

use super::{Done, Op, Pace};
use slowpath_model::Instant;
use slowpath_scenario::{Bulk, Messages, Process};
use std::time::Duration;

/// The data to send.
#[derive(Clone, Copy, Debug)]
enum Supply {
    /// This many bytes.
    Amount(u64),
    /// As much as possible in this time, from the opening.
    Time(Duration),
    /// Unlimited.
    Endless,
    /// Messages: their length, how many are left, the interval between their starts.
    Messages { size: u64, left: Option<u64>, interval: Duration },
}

/// Connects, writes, and closes.
#[derive(Debug)]
pub struct Sender {
    pace: Pace,
    supply: Supply,
    opened: Instant,
    /// The rest of the current message.
    message_left: u64,
    /// Messages begun.
    begun: u64,
    closing: bool,
}

impl Sender {
    /// A sender of a stream.
    pub fn bulk(process: &Process, bulk: Bulk) -> Self {
        let supply = match bulk {
            Bulk::Amount(amount) => Supply::Amount(amount.get()),
            Bulk::Time(time) => Supply::Time(time),
            Bulk::Endless => Supply::Endless,
        };
        Self::new(process, supply)
    }

    /// A sender of messages.
    pub fn messages(process: &Process, messages: Messages) -> Self {
        let Messages { size, count, interval } = messages;
        Self::new(process, Supply::Messages { size: size.get(), left: count, interval })
    }

    fn new(process: &Process, supply: Supply) -> Self {
        let pace = Pace::new(process);
        Self { pace, supply, opened: Instant::START, message_left: 0, begun: 0, closing: false }
    }

    pub(super) fn next(&mut self, now: Instant, done: Done) -> Op {
        match done {
            Done::Nothing if self.pace.opened.is_none() => return Op::Connect,
            Done::Connected => {
                self.pace.open(now);
                self.opened = now;
            }
            Done::Wrote(bytes) => self.wrote(bytes),
            Done::Failed => return Op::Exit,
            Done::Nothing | Done::Read(_) => {}
        }
        if self.closing {
            return Op::Exit;
        }
        if let Some(until) = self.pace.sleeps(now) {
            return Op::Sleep(until);
        }
        self.write_or_close(now)
    }

    fn wrote(&mut self, bytes: u64) {
        self.pace.moved(bytes);
        match &mut self.supply {
            Supply::Amount(left) => *left -= bytes.min(*left),
            Supply::Messages { .. } => self.message_left -= bytes.min(self.message_left),
            Supply::Time(_) | Supply::Endless => {}
        }
    }

    fn write_or_close(&mut self, now: Instant) -> Op {
        let call_size = self.pace.call_size();
        let amount = match &mut self.supply {
            Supply::Amount(left) => (*left).min(call_size),
            Supply::Time(time) if now >= self.opened + *time => 0,
            Supply::Time(_) | Supply::Endless => call_size,
            Supply::Messages { size, left, interval } => {
                if self.message_left == 0 && *left != Some(0) {
                    let nanos = interval.as_nanos() as u64 * self.begun;
                    let due = self.opened + Duration::from_nanos(nanos);
                    if due > now {
                        return Op::Sleep(due);
                    }
                    self.begun += 1;
                    *left = left.map(|left| left - 1);
                    self.message_left = *size;
                }
                self.message_left.min(call_size)
            }
        };
        if amount > 0 {
            return Op::Write(amount);
        }
        self.closing = true;
        Op::Close
    }
}

/// Accepts, reads to the end of the stream, and closes.
#[derive(Debug)]
pub struct Receiver {
    pace: Pace,
    closing: bool,
}

impl Receiver {
    /// A receiver.
    pub fn new(process: &Process) -> Self {
        Self { pace: Pace::new(process), closing: false }
    }

    pub(super) fn next(&mut self, now: Instant, done: Done) -> Op {
        match done {
            Done::Nothing if self.pace.opened.is_none() => return Op::Accept,
            Done::Connected => self.pace.open(now),
            Done::Read(0) => {
                self.closing = true;
                return Op::Close;
            }
            Done::Read(bytes) => self.pace.moved(bytes),
            Done::Failed => return Op::Exit,
            Done::Nothing | Done::Wrote(_) => {}
        }
        if self.closing {
            return Op::Exit;
        }
        match self.pace.sleeps(now) {
            Some(until) => Op::Sleep(until),
            None => Op::Read(self.pace.call_size()),
        }
    }
}
