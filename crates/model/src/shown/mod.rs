//! How text that somebody else wrote is shown: names of files, flows, functions, processes and devices, and what an error
//! quotes of its input.
//!
//! A terminal obeys control characters: an escape sequence in a name can clear the screen, set the title, or write what
//! looks like another result. Bidirectional controls show text in another order than it has, and invisible characters make
//! two names look alike. All of these become visible escapes, `\u{1b}`; everything else stays as it is.
//!
//! # Decisions
//!
//! **The writer escapes, so that no view can forget it.** All that a command prints goes through [`Writer`]. Views escape
//! names only where the writer cannot know better: a line break in a name ([`line()`]), and the width of a column.
//!
//! **A pipe gets what a terminal gets.** The pipe's reader may be a pager. Programs read JSON, which has the name itself.
//!
//! References:
//! - ECMA-48, *Control Functions for Coded Character Sets*: C0, C1 and SGR.
//! - Unicode Technical Report 36, *Unicode Security Considerations*, section 2; Unicode Standard Annex 9 (bidirectional
//!   controls) and the property `Default_Ignorable_Code_Point`.

mod quoted;
mod shell;
mod writer;

pub use quoted::Quoted;
pub use shell::word;
pub use writer::Writer;

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Write};

/// What a text may have beyond characters with a shape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Breaks {
    /// Line feeds and tabs.
    Kept,
    /// Nothing: it is one line.
    Escaped,
}

/// An error with its causes, in one line.
pub fn with_causes(error: &dyn Error) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(next) = cause {
        text.push_str(&format!(": {next}"));
        cause = next.source();
    }
    text
}

/// Several lines of foreign text: everything but line feeds and tabs that has no shape of its own is escaped.
pub fn text(text: &str) -> Cow<'_, str> {
    escaped(text, Breaks::Kept)
}

/// A foreign name, on one line: line feeds and tabs are escaped too.
///
/// A line that was escaped already stays as it is.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, Breaks::Escaped)
}

/// Where the first character is that cannot be shown as it is, and that character. `before` is the character before `text`.
///
/// Line feeds and tabs can be shown.
pub fn hidden(text: &str, before: Option<char>) -> Option<(usize, char)> {
    first(text, before, Breaks::Kept)
}

/// `text` without its middle where it has more than `columns` characters: both its ends distinguish it from others.
pub fn shortened(text: &str, columns: usize) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= columns {
        return Cow::Borrowed(text);
    }
    let end = columns / 2;
    let begin = columns.saturating_sub(1 + end);
    Cow::Owned(text.chars().take(begin).chain(['…']).chain(text.chars().skip(length - end)).collect())
}

fn escaped(text: &str, breaks: Breaks) -> Cow<'_, str> {
    let (mut out, mut rest, mut before) = (String::new(), text, None);
    while let Some((at, hidden)) = first(rest, before, breaks) {
        out.push_str(&rest[..at]);
        let _ = write!(out, "{}", Escape(hidden));
        rest = &rest[at + hidden.len_utf8()..];
        before = None;
    }
    if out.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(out + rest) }
}

/// A character as its escape.
struct Escape(char);

impl fmt::Display for Escape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_unicode())
    }
}

fn first(text: &str, before: Option<char>, breaks: Breaks) -> Option<(usize, char)> {
    let mut at = 0;
    loop {
        at += ascii(&text.as_bytes()[at..], breaks);
        if at == text.len() {
            return None;
        }
        let next = text[at..].chars().next()?;
        let previous = || text[..at].chars().next_back().or(before);
        let is_break = matches!(next, '\n' | '\t');
        if is_break && breaks == Breaks::Escaped || !is_break && is_hidden(next, previous) {
            return Some((at, next));
        }
        at += next.len_utf8();
    }
}

/// How many bytes at the start of `bytes` are ASCII characters that can be shown: most of what is printed, and so many at
/// a time.
fn ascii(bytes: &[u8], breaks: Breaks) -> usize {
    // Blocks without a branch inside, which a compiler makes vectors of.
    let (blocks, _) = bytes.as_chunks::<64>();
    let others_in = |block: &&[u8; 64]| {
        let words = block.as_chunks().0.iter().map(|word| others(u64::from_le_bytes(*word), breaks));
        words.fold(0, |all, others| all | others)
    };
    let skipped = 64 * blocks.iter().take_while(|block| others_in(block) == 0).count();
    let (words, rest) = bytes[skipped..].as_chunks();
    for (at, word) in words.iter().enumerate() {
        let others = others(u64::from_le_bytes(*word), breaks);
        if others != 0 {
            return skipped + at * word.len() + others.trailing_zeros() as usize / 8;
        }
    }
    let mut last = [b' '; 8];
    last[..rest.len()].copy_from_slice(rest);
    let others = others(u64::from_le_bytes(last), breaks);
    bytes.len() - rest.len() + rest.len().min(others.trailing_zeros() as usize / 8)
}

/// Whether all of `bytes` are ASCII characters that can be shown.
fn is_ascii(bytes: &[u8]) -> bool {
    ascii(bytes, Breaks::Kept) == bytes.len()
}

/// The highest bit of each of eight bytes that is no ASCII character from a space to `~`, or a break that is kept.
///
/// No sum here reaches the next byte (H. S. Warren, *Hacker's Delight*, section 6-1).
const fn others(word: u64, breaks: Breaks) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const LOW: u64 = EACH * 0x7f;
    let low = word & LOW;
    let below = !(low + EACH * 0x60);
    let is_delete = low + EACH;
    let others = (word | below | is_delete) & !LOW;
    match breaks {
        Breaks::Escaped => others,
        Breaks::Kept => others & differs(word, b'\n') & differs(word, b'\t'),
    }
}

/// The highest bit of each of eight bytes that is not `byte`, and any of the others.
const fn differs(word: u64, byte: u8) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let difference = word ^ u64::from_le_bytes([byte; 8]);
    ((difference & LOW) + LOW) | difference
}

/// Whether a character has no shape of its own, or changes how those around it are shown.
fn is_hidden(character: char, previous: impl Fn() -> Option<char>) -> bool {
    match character {
        // Controls: C0, DEL, C1.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Line and paragraph separators, bidirectional controls, invisible operators.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        // What is invisible: the rest of Default_Ignorable_Code_Point, tags among them, and interlinear annotations.
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' => true,
        '\u{200b}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        // No characters, which XML cannot hold.
        '\u{fffe}' | '\u{ffff}' => true,
        // Joiners are parts of words and emoji, and variation selectors of any character; alone they are invisible.
        '\u{200c}' | '\u{200d}' => !previous().is_some_and(takes_joiner),
        '\u{fe00}'..='\u{fe0f}' => previous().is_none_or(takes_no_selector),
        _ => false,
    }
}

/// Scripts and symbols in which a joiner changes the shape.
fn takes_joiner(character: char) -> bool {
    matches!(
        character,
        '\u{600}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{2190}'..='\u{2bff}'
            | '\u{fb50}'..='\u{fdff}' | '\u{fe0f}' | '\u{fe70}'..='\u{fefc}' | '\u{1f000}'..='\u{1faff}'
    )
}

fn takes_no_selector(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// `text` without the line breaks of an argument that it quotes, as a whole or in part: an option, its value, or one of
/// several values.
pub fn without_breaks_of(text: &str, argument: &str) -> String {
    let parts = argument.split(['=', ',']).filter(|part| line(part) != *part);
    let whole = text.replace(argument, &line(argument));
    parts.fold(whole, |text, part| text.replace(part, &line(part)))
}

#[cfg(test)]
mod tests;
