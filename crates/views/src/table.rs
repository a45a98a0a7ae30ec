//! Tables as text: columns under a heading, within the width of a terminal.

use crate::terminal::Look;
use slowpath_model::shown;
use std::io::{self, Write};
use std::iter;
use std::ops::Range;

/// Rows under a heading. The first column is set to the left, the others to the right.
///
/// A table that is too wide becomes several below each other, each with the label columns. No cell is ever broken; one
/// that is far too long, such as a name that should break the table, loses its middle.
pub struct Table {
    /// How many columns, from the left, say what a row is.
    labels: usize,
    heading: Vec<String>,
    rows: Vec<Row>,
}

enum Row {
    /// A line of its own that is about the rows below it.
    Title(String),
    Cells(Vec<String>),
}

/// Between two columns.
const GAP: usize = 2;
/// The longest cell: more than any number, place or label that is ours.
const LONGEST: usize = 256;

/// A cell: one line of bounded length, whatever is named in it.
fn cell(text: &str) -> String {
    shown::shortened(&shown::line(text), LONGEST).into_owned()
}

impl Table {
    /// A table without rows; its first `labels` columns say what a row is.
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

    /// Adds a line that is about the rows below it.
    pub fn title(&mut self, text: String) {
        self.rows.push(Row::Title(cell(&text)));
    }

    /// Prints it within the width of `look`.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn print(&self, look: &Look, out: &mut impl Write) -> io::Result<()> {
        let widths = self.widths();
        let values = self.labels..self.heading.len();
        let of_labels = span(&widths[..self.labels]);
        let widest = widths[values.clone()].iter().max().copied().unwrap_or(0);
        // Labels that leave no room stand on a line of their own above their values.
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

    /// Prints the label columns and those of `range`, with the labels on a line of their own if they stand `above`.
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

/// Prints rows of cells, the first of them the heading, each on one line however wide.
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
        // No format string takes a width above 65,535.
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
