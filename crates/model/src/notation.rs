//! One text line per event, in packetdrill's notation.
//!
//! ```text
//! 0.000000000 > S 0:0(0) win 64240 <mss 1460,sackOK,TS val 100 ecr 0,wscale 7> // frame 1 id 4660 ttl 64
//! 0.020113004 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val 200 ecr 100,wscale 7> // frame 2 id 0 ttl 63
//! 0.020140112 > P. 1:1449(1448) ack 1 win 502 <TS val 120 ecr 200> // frame 3 id 4661 ttl 64
//! 1.500000000 missed 12
//! ```
//!
//! `>` is from end A (the initiator) to end B, `<` from B to A. Sequence numbers are [`StreamOffset`]s, so that
//! the SYN is 0 and the first byte 1; the window is the field on the wire, unscaled. Padding options are not
//! kept. Behind `//` stands what packetdrill has no words for. [`Event`]'s `Display` writes such a line and its
//! `FromStr` reads it back.

use crate::event::{Event, EventKind};
use crate::flow::End;
use crate::segment::{Ecn, Flags, SackBlock, SackBlocks, Segment, Timestamps};
use crate::sequence::StreamOffset;
use crate::time::Instant;
use std::fmt;
use std::str::FromStr;

/// The letter of each flag, in the order they are written.
const LETTERS: [(Flags, char); 9] = [
    (Flags::SYN, 'S'),
    (Flags::FIN, 'F'),
    (Flags::RST, 'R'),
    (Flags::PSH, 'P'),
    (Flags::URG, 'U'),
    (Flags::ECE, 'E'),
    (Flags::CWR, 'W'),
    (Flags::AE, 'A'),
    (Flags::ACK, '.'),
];

const ECN_WORDS: [(Ecn, &str); 3] = [(Ecn::Ect0, "ect0"), (Ecn::Ect1, "ect1"), (Ecn::Ce, "ce")];

impl fmt::Display for Flags {
    /// `S.`, `P.`, `FP.`; `-` where no flag is set, as packetdrill has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters: String =
            LETTERS.iter().filter(|(flag, _)| self.has(*flag)).map(|(_, letter)| letter).collect();
        f.pad(if letters.is_empty() { "-" } else { &letters })
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrow = match self.from {
            End::A => '>',
            End::B => '<',
        };
        write!(f, "{arrow} {} {}:{}({})", self.flags, self.seq, self.seq + self.len, self.len)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        write!(f, " win {}", self.window)?;
        write_options(self, f)?;
        write!(f, " // frame {}", self.frame)?;
        if let Some(id) = self.ip.id {
            write!(f, " id {id}")?;
        }
        write!(f, " ttl {}", self.ip.ttl)?;
        match ECN_WORDS.iter().find(|(ecn, _)| *ecn == self.ip.ecn) {
            Some((_, word)) => write!(f, " {word}"),
            None => Ok(()),
        }
    }
}

fn write_options(segment: &Segment, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut separator = " <";
    let mut option = |f: &mut fmt::Formatter<'_>, text: fmt::Arguments<'_>| {
        let written = write!(f, "{separator}{text}");
        separator = ",";
        written
    };
    if let Some(mss) = segment.mss {
        option(f, format_args!("mss {mss}"))?;
    }
    if segment.sack_permitted {
        option(f, format_args!("sackOK"))?;
    }
    if let Some(Timestamps { val, ecr }) = segment.timestamps {
        option(f, format_args!("TS val {val} ecr {ecr}"))?;
    }
    if let Some(shift) = segment.window_scale {
        option(f, format_args!("wscale {shift}"))?;
    }
    if !segment.sack.is_empty() {
        option(f, format_args!("sack"))?;
        for block in segment.sack.as_slice() {
            write!(f, " {}:{}", block.start, block.end)?;
        }
    }
    if separator == "," { f.write_str(">") } else { Ok(()) }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.at)?;
        match &self.kind {
            EventKind::Seen(segment) => segment.fmt(f),
            EventKind::Missed { events } => write!(f, "missed {events}"),
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
        if words.keyword("missed") {
            let events = words.number("the number of missed events")?;
            return Ok(Self { at, kind: EventKind::Missed { events } });
        }
        Ok(Self { at, kind: EventKind::Seen(segment(&mut words)?) })
    }
}

fn segment(words: &mut Words<'_>) -> Result<Segment, NotationError> {
    let from = match words.word() {
        ">" => End::A,
        "<" => End::B,
        other => return Err(error("the direction (\">\" or \"<\")", other)),
    };
    let mut segment = Segment::new(from, flags(words.word())?, StreamOffset(0), 0);
    range(words.word(), &mut segment)?;
    if words.keyword("ack") {
        segment.ack = Some(StreamOffset(words.number("the acknowledgment")?));
    }
    if words.keyword("win") {
        segment.window = words.number("the window")?;
    }
    if let Some(rest) = words.0.strip_prefix('<') {
        let (inside, after) = rest.split_once('>').ok_or_else(|| error("the end of the options", rest))?;
        for text in inside.split(',') {
            option(text, &mut segment)?;
        }
        words.0 = after.trim_start();
    }
    if words.keyword("//") {
        remarks(words, &mut segment)?;
    }
    if words.0.is_empty() { Ok(segment) } else { Err(error("the rest of the line", words.0)) }
}

fn flags(text: &str) -> Result<Flags, NotationError> {
    if text == "-" {
        return Ok(Flags::default());
    }
    text.chars().try_fold(Flags::default(), |flags, letter| {
        let (flag, _) =
            LETTERS.iter().find(|(_, known)| *known == letter).ok_or_else(|| error("the flags", text))?;
        Ok(flags.with(*flag))
    })
}

/// `1:1449(1448)`
fn range(text: &str, segment: &mut Segment) -> Result<(), NotationError> {
    let parts = || -> Option<(i64, i64, u32)> {
        let (seq, rest) = text.split_once(':')?;
        let (end, rest) = rest.split_once('(')?;
        Some((seq.parse().ok()?, end.parse().ok()?, rest.strip_suffix(')')?.parse().ok()?))
    };
    match parts() {
        Some((seq, end, len)) if (StreamOffset(seq) + len).0 == end => {
            segment.seq = StreamOffset(seq);
            segment.len = len;
            Ok(())
        }
        Some(_) => Err(error("a range whose length agrees with its edges", text)),
        None => Err(error("the range (\"first:last(length)\")", text)),
    }
}

fn option(text: &str, segment: &mut Segment) -> Result<(), NotationError> {
    let mut words = Words(text.trim());
    match words.word() {
        "mss" => segment.mss = Some(words.number("the MSS")?),
        "wscale" => segment.window_scale = Some(words.number("the window scale")?),
        "sackOK" => segment.sack_permitted = true,
        "nop" | "eol" => {}
        "TS" => {
            let (mut val, mut ecr) = (0, 0);
            while !words.0.is_empty() {
                match words.word() {
                    "val" => val = words.number("TS val")?,
                    "ecr" => ecr = words.number("TS ecr")?,
                    other => return Err(error("the timestamps", other)),
                }
            }
            segment.timestamps = Some(Timestamps { val, ecr });
        }
        "sack" => {
            let mut blocks = SackBlocks::NONE;
            while !words.0.is_empty() {
                let text = words.word();
                let edges = text.split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                let (start, end) = edges.ok_or_else(|| error("a SACK block", text))?;
                if !blocks.push(SackBlock { start: StreamOffset(start), end: StreamOffset(end) }) {
                    return Err(error("at most four SACK blocks", text));
                }
            }
            segment.sack = blocks;
        }
        _ => return Err(error("an option", text)),
    }
    if words.0.is_empty() { Ok(()) } else { Err(error("the end of an option", words.0)) }
}

fn remarks(words: &mut Words<'_>, segment: &mut Segment) -> Result<(), NotationError> {
    while !words.0.is_empty() {
        match words.word() {
            "frame" => segment.frame = words.number("the frame")?,
            "id" => segment.ip.id = Some(words.number("the IP identification")?),
            "ttl" => segment.ip.ttl = words.number("the TTL")?,
            other => match ECN_WORDS.iter().find(|(_, word)| *word == other) {
                Some((ecn, _)) => segment.ip.ecn = *ecn,
                None => return Err(error("a remark (frame, id, ttl, ect0, ect1, ce)", other)),
            },
        }
    }
    Ok(())
}

/// What is left of a line, taken word by word.
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

    /// Seconds with up to nine decimals.
    fn instant(&mut self) -> Result<Instant, NotationError> {
        let word = self.word();
        let parse = || -> Option<i64> {
            let (negative, digits) = word.strip_prefix('-').map_or((false, word), |rest| (true, rest));
            let (seconds, decimals) = digits.split_once('.').unwrap_or((digits, ""));
            let plain = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
            if seconds.is_empty() || decimals.len() > 9 || !plain(seconds) || !plain(decimals) {
                return None;
            }
            let nanos: i128 = format!("{seconds}{decimals:0<9}").parse().ok()?;
            i64::try_from(if negative { -nanos } else { nanos }).ok()
        };
        parse().map(Instant::from_nanos).ok_or_else(|| error("the time in seconds", word))
    }
}

fn error(what: &'static str, rest: &str) -> NotationError {
    NotationError { what, rest: rest.chars().take(60).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_read_back_as_written() {
        for line in [
            "0.000000000 > S 0:0(0) win 64240 <mss 1460,sackOK,TS val 100 ecr 0,wscale 7> // frame 1 id 4660 ttl 64",
            "0.020113004 < S. 0:0(0) ack 1 win 65160 <mss 1460> // frame 2 id 0 ttl 63 ect0",
            "-0.000000001 > FP. 1:1449(1448) ack 1 win 502 // frame 3 ttl 64 ce",
            "2.000000000 < . 1:1(0) ack 1449 win 0 <TS val 1 ecr 2,sack 2897:4345 5793:7241> // frame 9 ttl 1",
            "3.000000000 > - 1:1(0) win 0 // frame 10 ttl 1",
            "1.500000000 missed 12",
        ] {
            assert_eq!(line.parse::<Event>().expect(line).to_string(), line);
        }
    }

    #[test]
    fn a_script_line_by_hand_needs_no_remarks() {
        let event: Event = "1 < . 1:1(0) ack 1001 win 257 <nop,nop,sack 2001:3001>".parse().unwrap();
        let EventKind::Seen(segment) = event.kind else { panic!("a segment") };
        assert_eq!(segment.ack, Some(StreamOffset(1001)));
        assert_eq!(segment.sack.as_slice().len(), 1);
    }

    #[test]
    fn an_error_names_the_field_and_the_text() {
        let error = |line: &str| line.parse::<Event>().unwrap_err().to_string();
        assert_eq!(error("soon > . 1:1(0)"), "cannot read the time in seconds at \"soon\"");
        assert_eq!(error("1 > Q 1:1(0)"), "cannot read the flags at \"Q\"");
        assert_eq!(
            error("1 > . 1:5(3)"),
            "cannot read a range whose length agrees with its edges at \"1:5(3)\""
        );
        assert_eq!(error("1 > . 1:1(0) ack x"), "cannot read the acknowledgment at \"x\"");
        assert_eq!(error("1 > . 1:1(0) <mss 1460"), "cannot read the end of the options at \"mss 1460\"");
    }

    proptest! {
        #[test]
        fn any_segment_survives_the_round_trip(
            at: i64, a: bool, bits in 0u16..512, seq in -(1i64 << 40)..(1 << 40), len: u32,
            ack: Option<u32>, window: u16, mss: Option<u16>, window_scale: Option<u8>, sack_permitted: bool,
            stamps: Option<(u32, u32)>, edges in prop::collection::vec((any::<u32>(), any::<u32>()), 0..=4),
            id: Option<u16>, ttl: u8, ecn in 0u8..4, frame: u64,
        ) {
            let from = if a { End::A } else { End::B };
            let mut segment = Segment::new(from, Flags(bits), StreamOffset(seq), len);
            segment.ack = ack.map(|ack| StreamOffset(ack.into()));
            (segment.window, segment.mss, segment.window_scale) = (window, mss, window_scale);
            segment.sack_permitted = sack_permitted;
            segment.timestamps = stamps.map(|(val, ecr)| Timestamps { val, ecr });
            for (start, end) in edges {
                segment.sack.push(SackBlock { start: StreamOffset(start.into()), end: StreamOffset(end.into()) });
            }
            (segment.ip.id, segment.ip.ttl, segment.ip.ecn) = (id, ttl, Ecn::from_bits(ecn));
            segment.frame = frame;
            let event = Event { at: Instant::from_nanos(at), kind: EventKind::Seen(segment) };
            prop_assert_eq!(event.to_string().parse::<Event>(), Ok(event));
        }

        #[test]
        fn no_line_panics(line in "\\PC*") {
            let _ = line.parse::<Event>();
        }
    }
}
