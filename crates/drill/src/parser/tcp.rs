//! Segments: flags, sequence numbers, acknowledgment, window, urgent pointer.

use super::cursor::Cursor;
use super::options;
use crate::lexer::Kind;
use crate::packet::{AnyOf, Direction, FLAG_LETTERS, Segment};
use crate::source::ScriptError;
use slowpath_model::Flags;

/// A segment.
pub fn segment(cursor: &mut Cursor<'_>, direction: Direction) -> Result<(Segment, AnyOf), ScriptError> {
    let (flags, ace) = flags(cursor)?;
    let (seq, len) = sequence(cursor)?;
    let mut segment = Segment { flags, seq, len, ..Segment::default() };
    let mut any = AnyOf { window: true, options: false, ace };
    if cursor.take_word("ack") {
        segment.ack = cursor.u32("an acknowledgment number")?;
    }
    if cursor.take_word("win") {
        segment.window = cursor.u16("a window as on the wire, unscaled")?;
        any.window = false;
    } else if direction == Direction::In {
        let error = cursor.expected("the window of a packet that is injected");
        return Err(error.hint("write win and a number"));
    }
    if cursor.take_word("urg") {
        segment.urgent = cursor.u16("an urgent pointer")?;
    }
    let place = cursor.place();
    match options::options(cursor)? {
        Some(listed) => segment.options = listed,
        None if direction == Direction::Out => any.options = true,
        None => {
            let error = cursor.source().error(place, "<...> is for packets that are expected");
            return Err(error.hint("write the options of this packet"));
        }
    }
    if options::length(&segment.options) > options::ROOM {
        return Err(cursor.source().error(place, "these options do not fit into a header"));
    }
    if !options::length(&segment.options).is_multiple_of(4) {
        let error = cursor.source().error(place, "these options do not fill words of four bytes");
        return Err(error.hint("add nop"));
    }
    Ok((segment, any))
}

/// Letters, and a dot for ACK; a digit is the counter of Accurate ECN.
fn flags(cursor: &mut Cursor<'_>) -> Result<(Flags, bool), ScriptError> {
    let place = cursor.place();
    if cursor.take_sign('-') {
        return Ok((Flags::default(), false));
    }
    let mut text = String::new();
    if let Some(Kind::Word(word)) = cursor.peek() {
        text.push_str(word);
        cursor.advance();
    }
    match cursor.peek() {
        Some(Kind::Sign('.')) => {
            text.push('.');
            cursor.advance();
        }
        Some(Kind::Fraction(fraction)) if fraction.starts_with('.') => {
            text.push_str(fraction);
            cursor.advance();
        }
        _ => {}
    }
    if text.is_empty() {
        let error = cursor.expected("the flags of a segment");
        return Err(error.hint("write S, F, R, P, U, E, W, A, . for ACK, or - for none"));
    }
    let mut flags = Flags::default();
    let mut ace = false;
    for character in text.chars() {
        let bits = if let Some(count) = character.to_digit(8) {
            ace = true;
            ace_flags(count)
        } else {
            let letter = FLAG_LETTERS.iter().find(|(letter, _)| *letter == character);
            let Some((_, flag)) = letter else {
                let error = cursor.source().error(place, format!("{character} is not a flag of TCP"));
                return Err(error.hint("flags are S F R P U E W A and . for ACK"));
            };
            *flag
        };
        flags = flags.with(bits);
    }
    Ok((flags, ace))
}

/// The three flags that hold a counter (RFC 9768, section 3.2.2).
fn ace_flags(count: u32) -> Flags {
    [(4, Flags::AE), (2, Flags::CWR), (1, Flags::ECE)]
        .into_iter()
        .filter(|(bit, _)| count & bit != 0)
        .fold(Flags::default(), |flags, (_, flag)| flags.with(flag))
}

/// `first:end(length)`
pub fn sequence(cursor: &mut Cursor<'_>) -> Result<(u32, u32), ScriptError> {
    let first = cursor.u32("a sequence number")?;
    cursor.sign(':', "between first and end")?;
    let place = cursor.place();
    let end = cursor.u32("the sequence number after the last")?;
    cursor.sign('(', "the length")?;
    let len = u32::from(cursor.u16("bytes of payload")?);
    cursor.sign(')', "after the length")?;
    if end != first.wrapping_add(len) {
        let error = cursor.source().error(place, format!("{first} and {len} bytes do not end at {end}"));
        return Err(error.hint(format!("write {first}:{}({len})", first.wrapping_add(len))));
    }
    Ok((first, len))
}
