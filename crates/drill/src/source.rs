//! A script's text, and errors that point into it.

use slowpath_model::shown::{self, Quoted};
use std::fmt;
use std::sync::Arc;

/// Characters of a line that an error shows before the place, and as many from there on.
const MOST_CONTEXT: usize = 200;

/// A script's name and text, shared by everything that points into it.
#[derive(Clone, Debug)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
}

/// A place in a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl Source {
    /// A script with the name to use in messages.
    pub fn new(name: &str, text: &str) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A line, numbered from 1; empty if there is none.
    pub fn line(&self, number: u32) -> &str {
        let index = (number as usize).checked_sub(1);
        index.and_then(|index| self.text.lines().nth(index)).unwrap_or("")
    }

    /// An error at a place.
    pub fn error(&self, place: Place, message: impl Into<String>) -> ScriptError {
        ScriptError {
            file: self.name.to_string(),
            place,
            line: self.line(place.line).to_owned(),
            message: message.into(),
            hint: None,
        }
    }
}

/// An error in a script: place, reason, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The script's name.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// The line's text.
    pub line: String,
    /// What is wrong.
    pub message: String,
    /// How to fix it, if known.
    pub hint: Option<String>,
}

impl ScriptError {
    /// Adds what to write instead.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column } = self.place;
        let quoted = Quoted::new(&self.line, column as usize, 1, MOST_CONTEXT);
        let [file, message] = [&self.file, &self.message].map(|one| shown::line(one));
        writeln!(f, "{file}:{line}:{column}: {message}")?;
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(f, " {number} | {}", quoted.line)?;
        write!(f, " {margin} | {}^", quoted.indent)?;
        match &self.hint {
            Some(hint) => write!(f, " {}", shown::line(hint)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ScriptError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_shows_the_line_with_a_caret() {
        let source = Source::new("a.pkt", "0 socket(\n+0\t> Q 0:0(0)\n");
        let error = source.error(Place { line: 2, column: 6 }, "no such flag").hint("flags are S");
        assert_eq!(
            error.to_string(),
            "a.pkt:2:6: no such flag\n 2 | +0\t> Q 0:0(0)\n   |   \t  ^ flags are S"
        );
    }

    #[test]
    fn control_characters_of_a_script_are_escaped() {
        let source = Source::new("a\u{1b}.pkt", "0 \u{1}socket(\n");
        let error = source.error(Place { line: 1, column: 3 }, "no call `\u{1}socket`").hint("\u{9b}");
        let text = error.to_string();
        assert_eq!(shown::hidden(&text, None), None, "{text:?}");
        assert!(text.contains(&*shown::line(&error.message)), "{text:?}");
    }

    #[test]
    fn place_past_the_end_has_an_empty_line() {
        let source = Source::new("a.pkt", "");
        assert_eq!(source.line(0), "");
        assert_eq!(source.line(7), "");
    }
}
