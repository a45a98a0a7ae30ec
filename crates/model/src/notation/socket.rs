//! Events reported by the host at one end, after that end's letter.

use super::{NotationError, Words, error};
use crate::event::EventKind;
use crate::flow::End;
use crate::socket::{Mark, SocketSample};
use crate::time::Instant;
use crate::units::Bytes;
use std::fmt;
use std::time::Duration;

/// Writes one; nothing for events with their own notation.
pub(super) fn write(kind: &EventKind, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match kind {
        EventKind::Seen(_) | EventKind::IcmpError(_) | EventKind::Dropped(..) | EventKind::Missed { .. } => {
            Ok(())
        }
        EventKind::Written { end, amount } => write!(f, "{end} wrote {}", amount.get()),
        EventKind::Read { end, amount } => write!(f, "{end} read {}", amount.get()),
        EventKind::Waited { end, on, lasted, amount, times } => {
            write!(f, "{end} waited {on} {} {}", Instant::START + *lasted, amount.get())?;
            if *times == 1 { Ok(()) } else { write!(f, " times {times}") }
        }
        EventKind::Held { end, by, lasted } => write!(f, "{end} held {by} {}", Instant::START + *lasted),
        EventKind::Sampled(sample) => write_sample(sample, f),
        EventKind::Marked { end, mark } => match mark.size() {
            None => write!(f, "{end} marked {}", mark.name()),
            Some(size) => write!(f, "{end} marked {} {}", mark.name(), size.get()),
        },
    }
}

fn write_sample(sample: &SocketSample, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{} sampled", sample.end)?;
    if let Some(state) = sample.ca_state {
        write!(f, " ca_state {state}")?;
    }
    for ((name, ..), value) in SocketSample::FIELDS.iter().zip(sample.values()) {
        if let Some(value) = value {
            write!(f, " {name} {value}")?;
        }
    }
    Ok(())
}

/// Parses one, after its end.
pub(super) fn read(end: End, words: &mut Words<'_>) -> Result<EventKind, NotationError> {
    match words.word() {
        "wrote" => Ok(EventKind::Written { end, amount: amount(words)? }),
        "read" => Ok(EventKind::Read { end, amount: amount(words)? }),
        "waited" => {
            let on = words.number("where it waited")?;
            let (lasted, amount) = (lasted(words)?, amount(words)?);
            let times = match words.word() {
                "" => 1,
                "times" => words.number("how often it waited")?,
                other => return Err(error("times, or the end", other)),
            };
            Ok(EventKind::Waited { end, on, lasted, amount, times })
        }
        "held" => {
            let by = words.number("what held it")?;
            Ok(EventKind::Held { end, by, lasted: lasted(words)? })
        }
        "sampled" => Ok(EventKind::Sampled(sample(end, words)?)),
        "marked" => {
            let name = words.word();
            let size = if words.0.is_empty() { None } else { Some(amount(words)?) };
            let mark = Mark::of(name, size).ok_or_else(|| error("a mark", name))?;
            Ok(EventKind::Marked { end, mark })
        }
        other => Err(error("what an end did (wrote, read, waited, held, sampled, marked)", other)),
    }
}

fn lasted(words: &mut Words<'_>) -> Result<Duration, NotationError> {
    words.instant()?.since(Instant::START).ok_or_else(|| error("how long it lasted", "-"))
}

fn amount(words: &mut Words<'_>) -> Result<Bytes, NotationError> {
    words.number("the amount in bytes").map(Bytes::new)
}

fn sample(end: End, words: &mut Words<'_>) -> Result<SocketSample, NotationError> {
    let mut sample = SocketSample::unknown(end);
    while !words.0.is_empty() {
        let name = words.word();
        if name == "ca_state" {
            sample.ca_state = Some(words.number("the congestion state")?);
            continue;
        }
        let place = SocketSample::FIELDS.iter().position(|(field, ..)| *field == name);
        let field = place.and_then(|place| sample.values_mut().nth(place));
        *field.ok_or_else(|| error("a field of a sample", name))? = Some(words.number("a number")?);
    }
    Ok(sample)
}
