//! Numbered lines of text with a limited length.

use crate::error::{At, Stop};
use std::borrow::Cow;
use std::io::{BufRead, Read};

/// Limit of a line; the rest of a longer one is skipped. A stack of a thousand long names is shorter.
const LONGEST: usize = 1024 * 1024;

/// Reads lines one by one.
pub(crate) struct Lines<R> {
    source: R,
    line: Vec<u8>,
    /// The number of the current line, from 1.
    pub(crate) number: u64,
    /// How many lines were longer than [`LONGEST`], and the place of the first.
    pub(crate) cut: Option<(u64, At)>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, line: Vec::new(), number: 0, cut: None }
    }

    /// The place of the current line.
    pub(crate) fn at(&self) -> At {
        At::Line(self.number)
    }

    /// The next line, without its line end. Invalid UTF-8 is replaced.
    ///
    /// # Errors
    ///
    /// Where and why nothing more can be read.
    pub(crate) fn next(&mut self) -> Result<Option<Cow<'_, str>>, Stop> {
        self.line.clear();
        let failed = |number, error: std::io::Error| Stop { at: At::Line(number), reason: error.to_string() };
        let number = self.number + 1;
        let mut piece = self.source.by_ref().take(LONGEST as u64);
        if piece.read_until(b'\n', &mut self.line).map_err(|error| failed(number, error))? == 0 {
            return Ok(None);
        }
        self.number = number;
        if self.line.len() == LONGEST && self.line.last() != Some(&b'\n') {
            self.skip_rest().map_err(|error| failed(number, error))?;
            let (count, first) = self.cut.unwrap_or((0, At::Line(number)));
            self.cut = Some((count + 1, first));
        }
        let end = self.line.trim_ascii_end().len();
        Ok(Some(String::from_utf8_lossy(&self.line[..end])))
    }

    fn skip_rest(&mut self) -> std::io::Result<()> {
        loop {
            let buffer = self.source.fill_buf()?;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let (length, is_over) = end.map_or((buffer.len(), buffer.is_empty()), |end| (end + 1, true));
            self.source.consume(length);
            if is_over {
                return Ok(());
            }
        }
    }
}
