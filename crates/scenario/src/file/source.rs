//! Where a scenario's text comes from.

use std::ops::Range;

/// A range of text in the file or in an override.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// 0 for the file, n for the nth override.
    pub source: usize,
    /// First byte.
    pub from: usize,
    /// One past the last byte.
    pub to: usize,
}

impl Place {
    /// A range of the file.
    pub fn in_file(span: Range<usize>) -> Self {
        Self { source: 0, from: span.start, to: span.end }
    }
}

/// One text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name: the file's, or `--set`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// The file and the overrides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources(Vec<Source>);

/// A place for readers: line and column, both from 1, and the line's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position<'s> {
    /// The source's name.
    pub name: &'s str,
    /// Its line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// The line's text.
    pub text: &'s str,
    /// How many characters of the line the place covers, at least 1.
    pub width: usize,
}

impl Sources {
    /// A file and overrides, in the order of the command line.
    pub fn new(name: &str, text: &str, overrides: impl IntoIterator<Item = String>) -> Self {
        let file = Source { name: name.to_owned(), text: text.to_owned() };
        let overrides = overrides.into_iter().map(|text| Source { name: "--set".to_owned(), text });
        Self(std::iter::once(file).chain(overrides).collect())
    }

    /// The text of a source; empty if there is no such source.
    pub fn text(&self, source: usize) -> &str {
        self.0.get(source).map_or("", |source| &source.text)
    }

    /// The line and column of a place.
    pub fn position(&self, place: &Place) -> Position<'_> {
        let name = self.0.get(place.source).map_or("", |source| source.name.as_str());
        let text = self.text(place.source);
        let from = floor(text, place.from);
        let start = text[..from].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[from..].find('\n').map_or(text.len(), |newline| from + newline);
        let to = floor(text, place.to).clamp(from, end);
        Position {
            name,
            line: 1 + text[..from].matches('\n').count(),
            column: 1 + text[start..from].chars().count(),
            text: text[start..end].trim_end_matches('\r'),
            width: text[from..to].chars().count().max(1),
        }
    }
}

/// The last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters() {
        let sources = Sources::new("x.toml", "a = 1\r\nßb = \"wrong\"\n", ["k=v".to_owned()]);
        let position = sources.position(&Place::in_file(13..20));
        assert_eq!((position.line, position.column, position.width), (2, 6, 7));
        assert_eq!(position.text, "ßb = \"wrong\"");
        let position = sources.position(&Place { source: 1, from: 2, to: 3 });
        assert_eq!((position.name, position.line, position.column), ("--set", 1, 3));
    }

    #[test]
    fn positions_beyond_the_text_are_at_its_end() {
        let sources = Sources::new("x.toml", "ß", []);
        for (from, to) in [(1, 9), (7, 2), (2, 2)] {
            let position = sources.position(&Place { source: 0, from, to });
            assert_eq!((position.line, position.width), (1, 1));
        }
        assert_eq!(sources.position(&Place { source: 4, from: 0, to: 0 }).text, "");
    }
}
