//! A segment in packetdrill's notation.

use super::{NotationError, Words, error};
use crate::flow::End;
use crate::segment::{Checksum, Ecn, Flags, SackBlock, SackBlocks, Segment, Timestamps};
use crate::sequence::StreamOffset;
use std::fmt;

/// The letter of each flag, in the order of writing.
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

const CHECKSUM_WORDS: [(Checksum, &str); 2] = [(Checksum::Good, "good"), (Checksum::Wrong, "wrong")];

impl fmt::Display for Flags {
    /// `S.`, `P.`, `FP.`; `-` without flags, as in packetdrill.
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
        if let Some((_, word)) = ECN_WORDS.iter().find(|(ecn, _)| *ecn == self.ip.ecn) {
            write!(f, " {word}")?;
        }
        match CHECKSUM_WORDS.iter().find(|(checksum, _)| *checksum == self.checksum) {
            Some((_, word)) => write!(f, " checksum {word}"),
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
    if segment.fast_open {
        option(f, format_args!("FO"))?;
    }
    if !segment.sack.is_empty() {
        option(f, format_args!("sack"))?;
        for block in segment.sack.as_slice() {
            write!(f, " {}:{}", block.start, block.end)?;
        }
    }
    if segment.sack.outside() > 0 {
        option(f, format_args!("sack-outside {}", segment.sack.outside()))?;
    }
    if segment.options_cut {
        option(f, format_args!("cut"))?;
    }
    if separator == "," { f.write_str(">") } else { Ok(()) }
}

/// Parses an arrow: which end sent.
pub(super) fn sender(words: &mut Words<'_>) -> Result<End, NotationError> {
    match words.word() {
        ">" => Ok(End::A),
        "<" => Ok(End::B),
        other => Err(error("the direction (\">\" or \"<\")", other)),
    }
}

/// Parses one, to the end of the line.
pub(super) fn read(words: &mut Words<'_>) -> Result<Segment, NotationError> {
    let from = sender(words)?;
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
    Ok(segment)
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
        "FO" => segment.fast_open = true,
        "cut" => segment.options_cut = true,
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
        "sack-outside" => {
            let outside: u8 = words.number("the number of SACK blocks outside")?;
            for _ in 0..outside {
                segment.sack.push_outside();
            }
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
            "checksum" => {
                let word = words.word();
                let known = CHECKSUM_WORDS.iter().find(|(_, known)| *known == word);
                segment.checksum = known.ok_or_else(|| error("good or wrong", word))?.0;
            }
            other => match ECN_WORDS.iter().find(|(_, word)| *word == other) {
                Some((ecn, _)) => segment.ip.ecn = *ecn,
                None => return Err(error("a remark (frame, id, ttl, ect0, ect1, ce, checksum)", other)),
            },
        }
    }
    Ok(())
}
