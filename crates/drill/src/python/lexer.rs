//! Splits code into tokens. There are no blocks, so indentation has no meaning.

use super::CodeError;

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Name(String),
    Integer(i64),
    Float(f64),
    Text(String),
    /// The raw text inside an f-string.
    Format(String),
    Sign(&'static str),
    /// The end of a statement's line.
    End,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub kind: Kind,
    pub line: u32,
    pub start: usize,
    pub end: usize,
}

/// Longer ones first: the longest match wins.
const SIGNS: &[&str] = &[
    "**=", "//=", "<<=", ">>=", "**", "//", "==", "!=", "<=", ">=", "<<", ">>", "+=", "-=", "*=", "/=", "%=",
    "&=", "|=", "^=", "(", ")", "[", "]", ",", ":", ".", ";", "=", "<", ">", "+", "-", "*", "/", "%", "&",
    "|", "^", "~",
];

/// The maximum number of tokens in one piece of code, so that no expression exhausts the stack.
const MOST: usize = 4000;

pub fn tokens(code: &str) -> Result<Vec<Token>, CodeError> {
    let mut lexer = Lexer { code, at: 0, line: 1, depth: 0, tokens: vec![] };
    while lexer.at < code.len() {
        lexer.step()?;
        if lexer.tokens.len() > MOST {
            return Err(lexer.error(format!("code of more than {MOST} words and signs")));
        }
    }
    lexer.end_line();
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    code: &'a str,
    at: usize,
    line: u32,
    /// Open brackets: line ends have no meaning inside.
    depth: u32,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn error(&self, message: impl Into<String>) -> CodeError {
        CodeError::Syntax { line: self.line, message: message.into() }
    }

    fn push(&mut self, kind: Kind, start: usize) {
        self.tokens.push(Token { kind, line: self.line, start, end: self.at });
    }

    fn end_line(&mut self) {
        let ended = matches!(self.tokens.last().map(|token| &token.kind), None | Some(Kind::End));
        if !ended {
            self.push(Kind::End, self.at);
        }
    }

    fn step(&mut self) -> Result<(), CodeError> {
        let rest = &self.code[self.at..];
        let Some(first) = rest.chars().next() else { return Ok(()) };
        if first == '\n' {
            self.at += 1;
            if self.depth == 0 {
                self.end_line();
            }
            self.line += 1;
        } else if first == '#' {
            self.at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("\\\n") {
            self.at += 2;
            self.line += 1;
        } else if first.is_whitespace() {
            self.at += first.len_utf8();
        } else {
            return self.token(rest, first);
        }
        Ok(())
    }

    fn token(&mut self, rest: &str, first: char) -> Result<(), CodeError> {
        let start = self.at;
        let is_format = rest.starts_with("f'") || rest.starts_with("f\"");
        let kind = if first == '\'' || first == '"' || is_format {
            self.text(rest, is_format)?
        } else if first.is_ascii_digit()
            || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            self.number(rest)?
        } else if first.is_alphabetic() || first == '_' {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            self.at += length;
            Kind::Name(rest[..length].to_owned())
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            self.at += sign.len();
            match *sign {
                "(" | "[" => self.depth += 1,
                ")" | "]" => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            Kind::Sign(sign)
        } else {
            return Err(self.error(format!("{first} means nothing here")));
        };
        self.push(kind, start);
        Ok(())
    }

    fn text(&mut self, rest: &str, is_format: bool) -> Result<Kind, CodeError> {
        let open = usize::from(is_format);
        let quote = rest[open..].chars().next().unwrap_or('"');
        let mut text = String::new();
        let mut characters = rest.char_indices().skip(open + 1);
        while let Some((index, character)) = characters.next() {
            if character == quote {
                self.at += index + 1;
                return Ok(if is_format { Kind::Format(text) } else { Kind::Text(text) });
            }
            match character {
                '\n' => break,
                '\\' => match characters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, other)) => text.push(other),
                    None => break,
                },
                other => text.push(other),
            }
        }
        Err(self.error("this string does not end on its line"))
    }

    fn number(&mut self, rest: &str) -> Result<Kind, CodeError> {
        let mut length =
            rest.find(|c: char| !c.is_alphanumeric() && c != '.' && c != '_').unwrap_or(rest.len());
        let is_hex = rest.starts_with("0x") || rest.starts_with("0X");
        // The sign of an exponent: 1e-3.
        if !is_hex && rest[..length].ends_with(['e', 'E']) && rest[length..].starts_with(['-', '+']) {
            let digits = rest[length + 1..].bytes().take_while(u8::is_ascii_digit).count();
            length += 1 + digits;
        }
        self.at += length;
        let text = rest[..length].replace('_', "");
        let integer = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let float = || text.parse().ok().filter(|number: &f64| number.is_finite()).map(Kind::Float);
        integer.map(Kind::Integer).or_else(float).ok_or_else(|| self.error(format!("{text} is no number")))
    }
}
