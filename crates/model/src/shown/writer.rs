//! The way to a terminal.

use super::{Escape, hidden, is_ascii};
use std::io::{self, Write};
use std::mem;
use std::str;

/// Writes text, and escapes everything but line feeds and tabs that has no shape of its own, also bytes that are no UTF-8.
///
/// The own styles of a coloured output pass: SGR sequences (ECMA-48, section 8.3.117) of bold, faint, underlined, a colour,
/// or their end. Nothing else that begins with an escape does.
///
/// What is written in parts is one text: a character or a style may be split between two of them. [`Write::flush`] ends it.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    form: Form,
    /// The last character that was written.
    before: Option<char>,
    /// The start of a character or a style that is not complete.
    held: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes to `out`, with styles or without them.
    pub const fn new(out: W, is_styled: bool) -> Self {
        Self::of(out, if is_styled { Form::Styled } else { Form::Plain })
    }

    /// Writes JSON to `out`, whose escapes (RFC 8259, section 7) keep the values of strings: a program reads the name
    /// itself, and a terminal that shows the document obeys nothing.
    pub const fn json(out: W) -> Self {
        Self::of(out, Form::Json)
    }

    const fn of(out: W, form: Form) -> Self {
        Self { out, form, before: None, held: Vec::new() }
    }

    fn bytes(&mut self, bytes: &[u8], is_end: bool) -> io::Result<()> {
        if let Some(last) = bytes.last().filter(|_| is_ascii(bytes)) {
            self.before = Some(char::from(*last));
            return self.out.write_all(bytes);
        }
        let mut rest = bytes;
        loop {
            let error = match str::from_utf8(rest) {
                Ok(text) => return self.text(text, !is_end),
                Err(error) => error,
            };
            let (text, invalid) = rest.split_at(error.valid_up_to());
            self.text(str::from_utf8(text).unwrap_or_default(), false)?;
            if error.error_len().is_none() && !is_end {
                self.held.extend(invalid);
                return Ok(());
            }
            let (invalid, after) = invalid.split_at(error.error_len().unwrap_or(invalid.len()));
            for byte in invalid {
                write!(self.out, "\\x{byte:02x}")?;
                self.before = None;
            }
            rest = after;
        }
    }

    /// Writes all of `text`, but for the start of a style at its end if that `may` be held.
    fn text(&mut self, text: &str, may_hold: bool) -> io::Result<()> {
        // What lies between the two can be shown.
        let (mut from, mut to, mut before) = (0, 0, self.before);
        while let Some((offset, character)) = hidden(&text[to..], before) {
            to += offset;
            let found = if self.form == Form::Styled { Style::at_start(&text[to..]) } else { Style::None };
            match found {
                Style::Own(length) => {
                    to += length;
                    before = Some('m');
                    continue;
                }
                Style::Cut if may_hold => {
                    self.plain(&text[from..to])?;
                    self.held.extend(text[to..].bytes());
                    return Ok(());
                }
                Style::Cut | Style::None => {}
            }
            self.plain(&text[from..to])?;
            self.escape(character)?;
            to += character.len_utf8();
            (from, before, self.before) = (to, None, None);
        }
        self.plain(&text[from..])
    }

    fn escape(&mut self, character: char) -> io::Result<()> {
        if self.form == Form::Json {
            let mut units = [0; 2];
            return character
                .encode_utf16(&mut units)
                .iter()
                .try_for_each(|unit| write!(self.out, "\\u{unit:04x}"));
        }
        write!(self.out, "{}", Escape(character))
    }

    fn plain(&mut self, text: &str) -> io::Result<()> {
        self.before = text.chars().next_back().or(self.before);
        self.out.write_all(text.as_bytes())
    }

    fn all(&mut self, bytes: &[u8], is_end: bool) -> io::Result<()> {
        if self.held.is_empty() {
            return self.bytes(bytes, is_end);
        }
        let whole = [&mem::take(&mut self.held), bytes].concat();
        self.bytes(&whole, is_end)
    }
}

impl<W: Write> Write for Writer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.all(bytes, false)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.all(&[], true)?;
        self.out.flush()
    }
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Text for people.
    Plain,
    /// Text with styles.
    Styled,
    /// A document for programs, which has what is escaped in strings alone.
    Json,
}

/// What a text begins with.
enum Style {
    /// A style of ours, of so many bytes.
    Own(usize),
    /// What may become one.
    Cut,
    /// Something else.
    None,
}

impl Style {
    fn at_start(text: &str) -> Self {
        const LONGEST: usize = "\x1b[38;5;255m".len();
        const START: &str = "\x1b[";
        let Some(rest) = text.strip_prefix(START) else {
            return if START.starts_with(text) { Self::Cut } else { Self::None };
        };
        let parameters = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
        let length = START.len() + parameters + 1;
        match rest.as_bytes().get(parameters) {
            None if length <= LONGEST => Self::Cut,
            Some(b'm') if is_own(&rest[..parameters]) => Self::Own(length),
            _ => Self::None,
        }
    }
}

/// Whether these are the parameters of the styles that views use.
fn is_own(parameters: &str) -> bool {
    let index = ["38;5;", "48;5;"].iter().find_map(|ground| parameters.strip_prefix(ground));
    match index {
        Some(index) => index.parse::<u8>().is_ok(),
        None => matches!(
            parameters,
            "0" | "1" | "2" | "4" | "30" | "31" | "32" | "33" | "34" | "35" | "36" | "37"
        ),
    }
}
