//! A script's text as tokens.
//!
//! Numbers, words and signs are split as in packetdrill: the longest match wins, so `0...0.1` is a number, an ellipsis
//! and a number, and `S.5` is a word and a fraction.

use crate::source::{Place, ScriptError, Source};
use std::iter::Peekable;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::CharIndices;

/// The kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A name: of a system call, a constant, a flag, an option.
    Word(String),
    /// A whole number in decimal.
    Integer(i64),
    /// A whole number in hexadecimal.
    Hex(i64),
    /// A number with a fraction, as written: times must not be rounded, and `.5` can be flags.
    Fraction(String),
    /// Text between double quotes, with unresolved escapes.
    Text(String),
    /// A shell command, in backticks.
    Shell(String),
    /// Code, between `%{` and `}%`.
    Code(String),
    /// The name after two dashes.
    Option(String),
    /// An IPv4 address.
    Ipv4(Ipv4Addr),
    /// An IPv6 address.
    Ipv6(Ipv6Addr),
    /// `...`
    Ellipsis,
    /// Any other character.
    Sign(char),
}

/// A token and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// Its kind.
    pub kind: Kind,
    /// Where it begins.
    pub place: Place,
    /// Its end, as an offset into the text; shows whether two tokens are adjacent.
    pub end: usize,
    /// Its start, as an offset into the text.
    pub start: usize,
}

/// Splits a script into tokens.
///
/// # Errors
/// At an unterminated comment, string, command or code block, and at a number out of range.
pub fn tokens(source: &Source) -> Result<Vec<Token>, ScriptError> {
    let mut lexer = Lexer { source, text: source.text(), at: 0, place: Place { line: 1, column: 1 } };
    if lexer.text.starts_with("#!") {
        lexer.skip_line();
    }
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    source: &'a Source,
    text: &'a str,
    at: usize,
    place: Place,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let taken = &self.rest()[..bytes];
        for character in taken.chars() {
            if character == '\n' {
                self.place = Place { line: self.place.line + 1, column: 1 };
            } else {
                self.place.column += 1;
            }
        }
        self.at += bytes;
        taken
    }

    fn skip_line(&mut self) {
        let length = self.rest().find('\n').unwrap_or(self.rest().len());
        self.advance(length);
    }

    fn skip_space(&mut self) -> Result<(), ScriptError> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            if blank > 0 {
                self.advance(blank);
            } else if rest.starts_with("//") {
                self.skip_line();
            } else if rest.starts_with("/*") {
                self.between("/*", "*/", "comment")?;
            } else {
                return Ok(());
            }
        }
    }

    /// Takes the text between two delimiters, and skips both.
    fn between(&mut self, open: &str, close: &str, what: &str) -> Result<&'a str, ScriptError> {
        let place = self.place;
        let inside = &self.rest()[open.len()..];
        let Some(length) = inside.find(close) else {
            return Err(self
                .source
                .error(place, format!("this {what} does not end"))
                .hint(format!("close it with {close}")));
        };
        self.advance(open.len() + length + close.len());
        Ok(&inside[..length])
    }

    /// Takes a quoted string in which a backslash escapes the next character.
    fn quoted(&mut self, quote: char, what: &str) -> Result<String, ScriptError> {
        let place = self.place;
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((index, character)) = characters.next() {
            if character == '\\' {
                characters.next();
            } else if character == quote {
                let taken = self.advance(index + 1);
                return Ok(taken[1..index].to_owned());
            }
        }
        Err(self
            .source
            .error(place, format!("this {what} does not end"))
            .hint(format!("close it with {quote}")))
    }

    fn next(&mut self) -> Result<Option<Token>, ScriptError> {
        self.skip_space()?;
        let (place, start) = (self.place, self.at);
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(None) };
        let kind = match first {
            '"' => Kind::Text(self.quoted('"', "string")?),
            '`' => Kind::Shell(self.quoted('`', "shell command")?),
            _ if rest.starts_with("%{") => Kind::Code(self.between("%{", "}%", "code")?.to_owned()),
            _ if rest.starts_with("...") => {
                self.advance(3);
                Kind::Ellipsis
            }
            _ => self.short(rest, first)?,
        };
        Ok(Some(Token { kind, place, start, end: self.at }))
    }

    /// A token that needs no closing delimiter: address, number, word, option or sign.
    fn short(&mut self, rest: &str, first: char) -> Result<Kind, ScriptError> {
        if let Some((address, length)) = ipv6(rest) {
            self.advance(length);
            return Ok(Kind::Ipv6(address));
        }
        if let Some((address, length)) = ipv4(rest) {
            self.advance(length);
            return Ok(Kind::Ipv4(address));
        }
        if let Some(name) = rest.strip_prefix("--") {
            let length = word_length(name);
            if length > 0 {
                self.advance(2 + length);
                return Ok(Kind::Option(name[..length].to_owned()));
            }
        }
        let word = word_length(rest);
        if let Some((kind, length)) = self.number(rest)?
            && length >= word
        {
            self.advance(length);
            return Ok(kind);
        }
        if word > 0 {
            self.advance(word);
            return Ok(Kind::Word(rest[..word].to_owned()));
        }
        self.advance(first.len_utf8());
        Ok(Kind::Sign(first))
    }

    /// The number at the start of `rest`, with its length.
    fn number(&self, rest: &str) -> Result<Option<(Kind, usize)>, ScriptError> {
        let too_large = || self.source.error(self.place, "this number is too large");
        if let Some(digits) = rest.strip_prefix("0x") {
            let length = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
            if length > 0 {
                // Unsigned, so that all 64 bits can be written.
                let value = u64::from_str_radix(&digits[..length], 16).map_err(|_| too_large())?;
                return Ok(Some((Kind::Hex(value as i64), 2 + length)));
            }
        }
        let sign = usize::from(rest.starts_with('-'));
        let whole = digits(&rest[sign..]);
        let after = &rest[sign + whole..];
        if let Some(fraction) = after.strip_prefix('.') {
            let length = digits(fraction);
            if length > 0 {
                let length = sign + whole + 1 + length;
                return Ok(Some((Kind::Fraction(rest[..length].to_owned()), length)));
            }
        }
        if whole == 0 {
            return Ok(None);
        }
        let length = sign + whole;
        // Digits too long for a number are those of a cookie.
        let kind =
            rest[..length].parse().map_or_else(|_| Kind::Word(rest[..length].to_owned()), Kind::Integer);
        Ok(Some((kind, length)))
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn word_length(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}

fn ipv4(text: &str) -> Option<(Ipv4Addr, usize)> {
    let length = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    text[..length].parse().ok().map(|address| (address, length))
}

/// An IPv6 address has `::` or seven colons, unlike sequence numbers such as `1:1001`.
fn ipv6(text: &str) -> Option<(Ipv6Addr, usize)> {
    let run = text.bytes().take_while(|byte| byte.is_ascii_hexdigit() || b":.".contains(byte)).count();
    // The colon after an encapsulating header may follow the address directly.
    [run, run.saturating_sub(1)].into_iter().find_map(|length| {
        let candidate = &text[..length];
        candidate.parse().ok().map(|address| (address, length))
    })
}

/// Resolves the escapes of a string.
///
/// # Errors
/// The unknown escape.
pub fn unescape(raw: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut characters = raw.char_indices().peekable();
    while let Some((index, character)) = characters.next() {
        if character == '\\' {
            bytes.push(escape(&mut characters, raw)?);
        } else {
            bytes.extend_from_slice(&raw.as_bytes()[index..index + character.len_utf8()]);
        }
    }
    Ok(bytes)
}

fn escape(characters: &mut Peekable<CharIndices<'_>>, raw: &str) -> Result<u8, String> {
    let Some((at, escaped)) = characters.next() else { return Err("\\".to_owned()) };
    Ok(match escaped {
        '\\' => b'\\',
        '"' => b'"',
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0b,
        'x' => {
            let byte = raw.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
            let byte = byte.ok_or_else(|| "\\x without two hexadecimal digits".to_owned())?;
            characters.next();
            characters.next();
            byte
        }
        other => return Err(format!("\\{other}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(&Source::new("t", text)).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn longest_match_wins() {
        use Kind::*;
        let fraction = |text: &str| Fraction(text.to_owned());
        assert_eq!(kinds("0...0.1"), [Integer(0), Ellipsis, fraction("0.1")]);
        assert_eq!(kinds("+.1~+1"), [Sign('+'), fraction(".1"), Sign('~'), Sign('+'), Integer(1)]);
        assert_eq!(kinds("S.5"), [Word("S".into()), fraction(".5")]);
        assert_eq!(kinds("1:1001(1000)")[..3], [Integer(1), Sign(':'), Integer(1001)]);
        assert_eq!(kinds("3021b9d8"), [Word("3021b9d8".into())]);
        assert_eq!(kinds("= -1 0x1f"), [Sign('='), Integer(-1), Hex(31)]);
        assert_eq!(kinds("--a_b=1"), [Option("a_b".into()), Sign('='), Integer(1)]);
    }

    #[test]
    fn ipv6_addresses_are_distinguished_from_sequence_numbers() {
        assert_eq!(kinds("192.0.2.1"), [Kind::Ipv4([192, 0, 2, 1].into())]);
        assert_eq!(kinds("2001:db8::1:"), [Kind::Ipv6("2001:db8::1".parse().unwrap()), Kind::Sign(':')]);
        assert_eq!(kinds("1:2").len(), 3);
    }

    #[test]
    fn comments_and_quotes_are_tokenized() {
        assert_eq!(kinds("// a\n/* b\n * c */ 1"), [Kind::Integer(1)]);
        assert_eq!(kinds(r#"`a "b"`"#), [Kind::Shell("a \"b\"".into())]);
        assert_eq!(kinds("%{ assert 1 }%"), [Kind::Code(" assert 1 ".into())]);
        assert_eq!(kinds(r#""a\"b""#), [Kind::Text(r#"a\"b"#.into())]);
        assert_eq!(unescape(r#"a\"\x00\n"#).unwrap(), b"a\"\0\n");
        assert!(unescape(r"\q").is_err() && unescape(r"\x1").is_err() && unescape("\\").is_err());
    }

    #[test]
    fn unterminated_tokens_are_reported_at_their_start() {
        let error = tokens(&Source::new("t", "1\n  /* no end")).unwrap_err();
        assert_eq!((error.place.line, error.place.column), (2, 3));
        for text in ["\"", "`", "%{", "0x11112222333344445"] {
            assert!(tokens(&Source::new("t", text)).is_err(), "{text}");
        }
    }
}
