//! One text line per event, in packetdrill's notation.
//!
//! ```text
//! 0.000000000 > S 0:0(0) win 64240 <mss 1460,sackOK,TS val 100 ecr 0,wscale 7> // frame 1 id 4660 ttl 64
//! 0.020113004 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val 200 ecr 100,wscale 7> // frame 2 id 0 ttl 63
//! 0.020140112 > P. 1:1449(1448) ack 1 win 502 <TS val 120 ecr 200> // frame 3 id 4661 ttl 64
//! 0.020141009 A wrote 131072
//! 0.040310400 B waited receive-queue 0.000170288 1448
//! 0.040310400 B read 1448
//! 0.100000000 A held receive-window 0.031250000
//! 0.250000000 A marked timeout
//! 0.260000000 dropped qdisc > . 1449:2897(1448) ack 1 win 502 // frame 0 ttl 64
//! 0.270000000 icmp packet-too-big mtu 1400 about > 1449 from 192.0.2.254 // frame 4
//! 0.300000000 B sampled snd_cwnd 10 rcv_wnd 65160 rcvbuf 131072
//! 1.500000000 missed 12
//! ```
//!
//! `>` is from end A (the initiator) to end B, `<` from B to A. Sequence numbers are [`StreamOffset`]s: the SYN is 0
//! and the first byte 1; the window is the field on the wire, unscaled. Padding options are not kept. Text after `//`
//! has no packetdrill notation. A host's events begin with the letter of its end; waits are in seconds, amounts in
//! bytes. [`Event`]'s `Display` writes such a line and its `FromStr` parses it.

mod icmp;
mod segment;
mod socket;
#[cfg(test)]
mod tests;

use crate::event::{Event, EventKind};
use crate::flow::End;
#[cfg(doc)]
use crate::sequence::StreamOffset;
use crate::time::Instant;
use std::fmt;
use std::str::FromStr;

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.at)?;
        match &self.kind {
            EventKind::Seen(segment) => segment.fmt(f),
            EventKind::IcmpError(error) => error.fmt(f),
            EventKind::Dropped(segment, why) => write!(f, "dropped {why} {segment}"),
            EventKind::Missed { events } => write!(f, "missed {events}"),
            told => socket::write(told, f),
        }
    }
}

/// A line that is not an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {what} at \"{rest}\"")]
pub struct NotationError {
    what: &'static str,
    rest: String,
}

impl FromStr for Event {
    type Err = NotationError;

    fn from_str(line: &str) -> Result<Self, NotationError> {
        let mut words = Words(line.trim());
        let at = words.instant()?;
        let kind = if words.keyword("missed") {
            EventKind::Missed { events: words.number("the number of missed events")? }
        } else if words.keyword("icmp") {
            EventKind::IcmpError(icmp::read(&mut words)?)
        } else if words.keyword("dropped") {
            let why = words.number("the reason of a drop")?;
            EventKind::Dropped(segment::read(&mut words)?, why)
        } else if let Some(end) = words.end_of_connection() {
            socket::read(end, &mut words)?
        } else {
            EventKind::Seen(segment::read(&mut words)?)
        };
        if words.0.is_empty() { Ok(Self { at, kind }) } else { Err(error("the rest of the line", words.0)) }
    }
}

/// The rest of a line, taken word by word.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    fn word(&mut self) -> &'a str {
        let end = self.0.find(char::is_whitespace).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest.trim_start();
        word
    }

    fn keyword(&mut self, keyword: &str) -> bool {
        let mut ahead = Words(self.0);
        let found = ahead.word() == keyword;
        if found {
            self.0 = ahead.0;
        }
        found
    }

    fn number<N: FromStr>(&mut self, what: &'static str) -> Result<N, NotationError> {
        let word = self.word();
        word.parse().map_err(|_| error(what, word))
    }

    fn end_of_connection(&mut self) -> Option<End> {
        End::BOTH.into_iter().find(|end| self.keyword(end.name()))
    }

    fn instant(&mut self) -> Result<Instant, NotationError> {
        self.number("the time in seconds")
    }
}

fn error(what: &'static str, rest: &str) -> NotationError {
    NotationError { what, rest: rest.chars().take(60).collect() }
}
