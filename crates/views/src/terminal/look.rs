//! Text layout: width and colour.

use anstyle::Style;
use slowpath_model::shown;
use std::io;

/// The terminal's properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether to use colour.
    pub colour: bool,
    /// Columns.
    pub width: usize,
}

impl Default for Look {
    /// No colour, 80 columns, as for a pipe.
    fn default() -> Self {
        Self { colour: false, width: 80 }
    }
}

/// Text wider than this is hard to read, however wide the terminal is.
const WIDEST_TEXT: usize = 100;

impl Look {
    /// For a terminal of `width` columns; less than 40 counts as 40.
    pub fn new(colour: bool, width: usize) -> Self {
        Self { colour, width: width.max(40) }
    }

    /// The columns that text uses.
    pub(crate) fn text_width(&self) -> usize {
        self.width.min(WIDEST_TEXT)
    }

    /// `text` in `style`, or unchanged without colour.
    ///
    /// Names in it are escaped, so they cannot end the style or start another.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        let text = shown::text(text);
        if self.colour && style != Style::new() {
            format!("{}{text}{}", style.render(), style.render_reset())
        } else {
            text.into_owned()
        }
    }

    /// `text` in bold.
    pub fn strong(&self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    /// `text` dimmed.
    pub fn faint(&self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    /// Writes `text` wrapped; its first line follows `lead`, the others are indented to the same column.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn paragraph(&self, out: &mut impl io::Write, lead: &str, text: &str) -> io::Result<()> {
        self.styled_paragraph(out, lead, text, Style::new())
    }

    /// Like [`Self::paragraph`], in bold.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn strong_paragraph(&self, out: &mut impl io::Write, text: &str) -> io::Result<()> {
        self.styled_paragraph(out, "", text, Style::new().bold())
    }

    /// Like [`Self::paragraph`], dimmed.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn faint_paragraph(&self, out: &mut impl io::Write, lead: &str, text: &str) -> io::Result<()> {
        self.styled_paragraph(out, lead, text, Style::new().dimmed())
    }

    /// Like [`Self::paragraph`], each line in `style`.
    pub(crate) fn styled_paragraph(
        &self,
        out: &mut impl io::Write,
        lead: &str,
        text: &str,
        style: Style,
    ) -> io::Result<()> {
        let lead = shown::line(lead);
        let lead = shown::shortened(&lead, self.text_width());
        let indent = columns(&lead);
        let lines = wrap(&shown::text(text), self.text_width().saturating_sub(indent).max(20));
        for (number, line) in lines.iter().enumerate() {
            if number == 0 {
                writeln!(out, "{lead}{}", self.paint(style, line))?;
            } else {
                writeln!(out, "{:indent$}{}", "", self.paint(style, line))?;
            }
        }
        Ok(())
    }
}

/// The columns that `text` takes: slowpath writes no wide characters, and escapes what could be an escape sequence.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Wraps `text` into lines of at most `width` columns, at spaces that do not precede a unit. A longer word is left
/// whole, since broken addresses and commands cannot be copied.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in unbroken(text) {
        if !line.is_empty() && columns(&line) + 1 + columns(&word) > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// The words of `text`; a number and the short unit after it are one word.
fn unbroken(text: &str) -> Vec<String> {
    const UNITS: [&str; 20] = [
        "%", "B", "KiB", "MiB", "GiB", "TiB", "ns", "µs", "ms", "s", "min", "h", "d", "bit/s", "kbit/s",
        "Mbit/s", "Gbit/s", "s.", "ms.", "%.",
    ];
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let bare = word.trim_end_matches([',', '.', ';', ':', ')']);
        match words.last_mut() {
            Some(last) if UNITS.contains(&bare) && ends_in_number(last) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

fn ends_in_number(word: &str) -> bool {
    let number = word.trim_start_matches(['(', '<', '>', '-']);
    !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_not_before_a_unit() {
        assert_eq!(wrap("bound for 91 % of it", 12), ["bound for", "91 % of it"]);
        assert_eq!(wrap("a [2001:db8::1]:40000 b", 6), ["a", "[2001:db8::1]:40000", "b"]);
        assert_eq!(wrap("", 6), [""]);
    }
}
