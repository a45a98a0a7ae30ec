//! Text tables within the width of a terminal.

use crate::terminal::Look;
use slowpath_model::shown;
use std::io::{self, Write};
use std::iter;
use std::ops::Range;

/// Rows under a heading. The first column is left-aligned, the others right-aligned.
///
/// A table that is too wide is split into several, each with the label columns. Cells are never wrapped; one that is
/// far too long, such as a hostile name, loses its middle.
pub struct Table {
    /// The number of label columns on the left.
    labels: usize,
    heading: Vec<String>,
    rows: Vec<Row>,
}

enum Row {
    /// A line of its own, about the rows below it.
    Title(String),
    Cells(Vec<String>),
}

/// Spaces between columns.
const GAP: usize = 2;
/// The limit of a cell, longer than any number, place or label of slowpath's.
const LONGEST: usize = 256;

/// A cell: one line of bounded length, whatever names it contains.
fn cell(text: &str) -> String {
    shown::shortened(&shown::line(text), LONGEST).into_owned()
}

impl Table {
    /// A table without rows, whose first `labels` columns are labels.
    pub fn new<T: Into<String>>(labels: usize, heading: impl IntoIterator<Item = T>) -> Self {
        Self {
            labels,
            heading: heading.into_iter().map(|text| cell(&text.into())).collect(),
            rows: Vec::new(),
        }
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a row of as many cells as the heading has.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(Row::Cells(cells.iter().map(|text| cell(text)).collect()));
    }

    /// Adds a line about the rows below it.
    pub fn title(&mut self, text: String) {
        self.rows.push(Row::Title(cell(&text)));
    }

    /// How many columns are labels.
    pub const fn labels(&self) -> usize {
        self.labels
    }

    /// The heading's cells.
    pub fn heading(&self) -> &[String] {
        &self.heading
    }

    /// The cells of each row.
    pub fn cells(&self) -> impl Iterator<Item = &[String]> {
        self.rows.iter().filter_map(|row| match row {
            Row::Title(_) => None,
            Row::Cells(cells) => Some(cells.as_slice()),
        })
    }

    /// Prints the table within the width of `look`.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn print(&self, look: &Look, out: &mut impl Write) -> io::Result<()> {
        let widths = self.widths();
        let values = self.labels..self.heading.len();
        let of_labels = span(&widths[..self.labels]);
        let widest = widths[values.clone()].iter().max().copied().unwrap_or(0);
        // If labels leave no room, they are on a line of their own above their values.
        let above = of_labels + GAP + widest > look.width && span(&widths) > look.width;
        let room = look.width.saturating_sub(if above { GAP } else { of_labels + GAP });
        let mut from = values.start;
        while from < values.end {
            let fits = |to: &usize| span(&widths[from..*to]) <= room;
            let to = (from + 1..=values.end).take_while(fits).last().unwrap_or(from + 1);
            if from > values.start {
                writeln!(out)?;
            }
            self.print_columns(&widths, from..to, above, out)?;
            from = to;
        }
        Ok(())
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.heading.iter().map(|cell| cell.chars().count()).collect();
        for row in &self.rows {
            if let Row::Cells(cells) = row {
                for (width, cell) in widths.iter_mut().zip(cells) {
                    *width = (*width).max(cell.chars().count());
                }
            }
        }
        widths
    }

    /// Prints the label columns and those of `range`; if `above`, the labels are on a line of their own.
    fn print_columns(
        &self,
        widths: &[usize],
        range: Range<usize>,
        above: bool,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let line = |cells: &[String], columns: Range<usize>| -> String {
            let pad = |column: usize| {
                let (cell, width) = (&cells[column], widths[column]);
                if column == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") }
            };
            columns.map(pad).collect()
        };
        let heading = Row::Cells(self.heading.clone());
        for row in iter::once(&heading).chain(&self.rows) {
            match row {
                Row::Title(text) => writeln!(out, "{text}")?,
                Row::Cells(cells) => {
                    let (labels, values) = (line(cells, 0..self.labels), line(cells, range.clone()));
                    let between = if above { "\n" } else { "" };
                    writeln!(
                        out,
                        "{}{between}{}",
                        if above { labels.trim_end() } else { &labels },
                        values.trim_end()
                    )?;
                }
            }
        }
        Ok(())
    }
}

fn span(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Prints rows of cells, the heading first, each on one line of any width.
///
/// # Errors
///
/// The errors of `out`.
pub fn align(rows: &[Vec<String>], out: &mut impl Write) -> io::Result<()> {
    let Some((heading, rows)) = rows.split_first() else { return Ok(()) };
    let mut table = Table::new(1, heading.iter().map(String::as_str));
    rows.iter().for_each(|row| table.row(row.clone()));
    table.print(&Look::new(false, usize::MAX / 2), out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(table: &Table, width: usize) -> String {
        let mut out = Vec::new();
        table.print(&Look { colour: false, width }, &mut out).expect("memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn wide_table_is_split_and_repeats_its_labels() {
        let mut table = Table::new(1, ["flow", "rate", "bound by"]);
        table.row(["a", "1 Mbit/s", "nothing"].map(str::to_owned).to_vec());
        table.title("two".to_owned());
        table.row(["b", "2 Mbit/s", "-"].map(str::to_owned).to_vec());
        assert_eq!(
            printed(&table, 80),
            "flow      rate  bound by\na     1 Mbit/s   nothing\ntwo\nb     2 Mbit/s         -\n"
        );
        assert_eq!(
            printed(&table, 20),
            "flow      rate\na     1 Mbit/s\ntwo\nb     2 Mbit/s\n\n\
             flow  bound by\na      nothing\ntwo\nb            -\n"
        );
        assert_eq!(
            printed(&table, 12).lines().take(4).collect::<Vec<_>>(),
            ["flow", "      rate", "a", "  1 Mbit/s"]
        );
    }

    #[test]
    fn a_hostile_name_stays_in_its_cell() {
        let mut table = Table::new(1, ["flow", "rate"]);
        // Format strings accept widths up to 65,535.
        table.row(vec!["x".repeat(100_000), "1 Mbit/s".to_owned()]);
        table.row(vec!["a\nb\u{1b}[2J\tc".to_owned(), "2 Mbit/s".to_owned()]);
        let text = printed(&table, usize::MAX / 2);
        assert!(
            text.lines().count() == 3 && text.lines().all(|line| line.chars().count() <= LONGEST + 10),
            "{text}"
        );
        assert!(text.contains(r"a\u{a}b\u{1b}[2J\u{9}c "), "{text}");
    }
}
