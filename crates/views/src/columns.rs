//! Rows of text in columns.

use std::io::{self, Write};

/// Prints rows in columns: the first is aligned left, the others right.
///
/// # Errors
/// What writing to `out` gives.
pub fn align(rows: &[Vec<String>], out: &mut impl Write) -> io::Result<()> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        write!(out, "{:<1$}", row[0], widths[0])?;
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            write!(out, "  {cell:>width$}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}
