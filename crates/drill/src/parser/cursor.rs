//! A position in a script's tokens.

use crate::config::Config;
use crate::lexer::{self, Kind, Token};
use crate::source::{Place, ScriptError, Source};
use std::ops::RangeInclusive;
use std::time::Duration;

/// A position in a script's tokens, from which the next are taken.
pub struct Cursor<'a> {
    source: &'a Source,
    tokens: Vec<Token>,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(source: &'a Source, tokens: Vec<Token>) -> Self {
        Self { source, tokens, at: 0 }
    }

    pub fn source(&self) -> &'a Source {
        self.source
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub fn peek(&self) -> Option<&Kind> {
        self.peek_after(0)
    }

    /// The token `ahead` of the next one.
    pub fn peek_after(&self, ahead: usize) -> Option<&Kind> {
        self.tokens.get(self.at + ahead).map(|token| &token.kind)
    }

    pub fn advance(&mut self) {
        self.at += 1;
    }

    /// Where the next token begins; at the end, where the last one began.
    pub fn place(&self) -> Place {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        token.map_or(Place { line: 1, column: 1 }, |token| token.place)
    }

    /// An error at the next token.
    pub fn error(&self, message: impl Into<String>) -> ScriptError {
        self.source.error(self.place(), message)
    }

    /// An error that says what was expected at the next token.
    pub fn expected(&self, what: &str) -> ScriptError {
        if self.is_at_end() {
            self.error(format!("the script ends where {what} is expected"))
        } else {
            self.error(format!("{what} is expected here"))
        }
    }

    /// Any token.
    pub fn any(&mut self, what: &str) -> Result<Kind, ScriptError> {
        let kind = self.peek().cloned().ok_or_else(|| self.expected(what))?;
        self.advance();
        Ok(kind)
    }

    /// Takes a sign if it comes next.
    pub fn take_sign(&mut self, sign: char) -> bool {
        let comes = self.peek() == Some(&Kind::Sign(sign));
        if comes {
            self.advance();
        }
        comes
    }

    /// Takes a word if it comes next.
    pub fn take_word(&mut self, word: &str) -> bool {
        let comes = self.is_word(word);
        if comes {
            self.advance();
        }
        comes
    }

    /// Whether this word comes next.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Kind::Word(next)) if next == word)
    }

    /// A required sign; `before` says what it introduces or ends.
    pub fn sign(&mut self, sign: char, before: &str) -> Result<(), ScriptError> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.expected(&format!("{sign} ({before})"))) }
    }

    /// A required word.
    pub fn word(&mut self, what: &str) -> Result<String, ScriptError> {
        match self.peek() {
            Some(Kind::Word(word)) => {
                let word = word.clone();
                self.advance();
                Ok(word)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// A whole number within a range, decimal or hexadecimal.
    pub fn integer(&mut self, what: &str, range: RangeInclusive<i64>) -> Result<i64, ScriptError> {
        let value = match self.peek() {
            Some(Kind::Integer(value) | Kind::Hex(value)) => *value,
            _ => return Err(self.expected(what)),
        };
        if !range.contains(&value) {
            let error = self.error(format!("{value} cannot be {what}"));
            return Err(error.hint(format!("it is between {} and {}", range.start(), range.end())));
        }
        self.advance();
        Ok(value)
    }

    /// A number of 32 bits, such as a sequence number.
    pub fn u32(&mut self, what: &str) -> Result<u32, ScriptError> {
        let value = self.integer(what, 0..=i64::from(u32::MAX))?;
        Ok(u32::try_from(value).unwrap_or(u32::MAX))
    }

    /// A number of 16 bits.
    pub fn u16(&mut self, what: &str) -> Result<u16, ScriptError> {
        let value = self.integer(what, 0..=i64::from(u16::MAX))?;
        Ok(u16::try_from(value).unwrap_or(u16::MAX))
    }

    /// A number of 8 bits.
    pub fn u8(&mut self, what: &str) -> Result<u8, ScriptError> {
        let value = self.integer(what, 0..=i64::from(u8::MAX))?;
        Ok(u8::try_from(value).unwrap_or(u8::MAX))
    }

    /// A time in seconds, if one comes next.
    pub fn time(&mut self) -> Result<Option<Duration>, ScriptError> {
        let text = match self.peek() {
            Some(Kind::Integer(seconds)) => seconds.to_string(),
            Some(Kind::Fraction(text)) => text.clone(),
            _ => return Ok(None),
        };
        let Some(time) = seconds(&text) else {
            return Err(self.error(format!("{text} is not a time")).hint("write seconds, from 0 to a year"));
        };
        self.advance();
        Ok(Some(time))
    }

    /// Hexadecimal digits: up to two adjacent tokens, as they may begin with a decimal digit.
    pub fn hex_blob(&mut self) -> Option<String> {
        let mut blob = String::new();
        let mut end = None;
        while let Some(token) = self.tokens.get(self.at) {
            if end.is_some_and(|end| end != token.start) {
                break;
            }
            match &token.kind {
                // A definition replaces its word.
                Kind::Word(text) | Kind::Text(text) => blob.push_str(text),
                // As written: a number has no leading zeros.
                Kind::Integer(_) => blob.push_str(&self.source.text()[token.start..token.end]),
                _ => break,
            }
            end = Some(token.end);
            self.at += 1;
        }
        (!blob.is_empty()).then_some(blob)
    }

    /// The value of an option: the text up to the end of the word, string or command.
    pub fn raw_value(&mut self) -> Result<String, ScriptError> {
        let Some(first) = self.tokens.get(self.at) else { return Err(self.expected("the option's value")) };
        if let Kind::Text(text) = &first.kind {
            let text = text.clone();
            self.advance();
            return Ok(text);
        }
        let (start, mut end) = (first.start, first.start);
        while let Some(token) = self.tokens.get(self.at) {
            if token.start != end || matches!(token.kind, Kind::Option(_)) {
                break;
            }
            end = token.end;
            self.advance();
        }
        Ok(self.source.text()[start..end].to_owned())
    }

    /// Replaces words with their definitions.
    pub fn substitute(&mut self, config: &Config) -> Result<(), ScriptError> {
        for index in self.at..self.tokens.len() {
            let Kind::Word(word) = &self.tokens[index].kind else { continue };
            let Some(value) = config.definition(word) else { continue };
            let value_source = Source::new(self.source.name(), value);
            let mut kinds = lexer::tokens(&value_source)
                .map_err(|_| self.source.error(self.tokens[index].place, format!("the definition {value}")))?
                .into_iter()
                .map(|token| token.kind);
            self.tokens[index].kind = match (kinds.next(), kinds.next()) {
                (Some(kind @ (Kind::Text(_) | Kind::Shell(_) | Kind::Integer(_))), None) => kind,
                (Some(Kind::Word(word)), None) if !word.starts_with(|c: char| c.is_ascii_digit()) => {
                    Kind::Word(word)
                }
                // Digits of a cookie: not a name, and too long for a number.
                _ => Kind::Text(value.to_owned()),
            };
        }
        Ok(())
    }
}

/// The longest meaningful time: a year.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Decimal seconds without rounding; digits beyond nanoseconds are dropped.
fn seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let time = Duration::new(whole, digits.parse().ok()?);
    (time <= LONGEST).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_parsed_exactly() {
        assert_eq!(seconds(".1"), Some(Duration::from_millis(100)));
        assert_eq!(seconds("12.000345678"), Some(Duration::from_nanos(12_000_345_678)));
        assert_eq!(seconds("3"), Some(Duration::from_secs(3)));
        assert_eq!(seconds("-1"), None);
        assert_eq!(seconds("99999999999"), None);
    }
}
