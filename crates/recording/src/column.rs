//! One column of a row group, written and read cell by cell.

use crate::schema::{ColumnSpec, Holds};
use bytes::Bytes;
use parquet::column::reader::{ColumnReader, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::SerializedColumnWriter;

/// The cells of a column.
#[derive(Debug)]
pub struct Column {
    pub spec: ColumnSpec,
    numbers: Vec<i64>,
    texts: Vec<ByteArray>,
    /// Definition levels (whether there is a value) and repetition levels (whether it belongs to the previous row).
    there: Vec<i16>,
    goes_on: Vec<i16>,
    /// The value and the level to read next.
    next: (usize, usize),
}

/// A cell that does not fit its column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {what}")]
pub struct BadCell {
    pub column: String,
    pub what: &'static str,
}

impl Column {
    pub fn new(spec: ColumnSpec) -> Self {
        Self { spec, numbers: vec![], texts: vec![], there: vec![], goes_on: vec![], next: (0, 0) }
    }

    pub fn clear(&mut self) {
        self.numbers.clear();
        self.texts.clear();
        self.there.clear();
        self.goes_on.clear();
        self.next = (0, 0);
    }

    pub fn put(&mut self, number: i64) {
        self.numbers.push(number);
    }

    pub fn put_maybe(&mut self, number: Option<i64>) {
        self.there.push(i16::from(number.is_some()));
        self.numbers.extend(number);
    }

    pub fn put_name(&mut self, name: &'static str) {
        self.texts.push(Bytes::from_static(name.as_bytes()).into());
    }

    pub fn put_maybe_text(&mut self, text: Option<ByteArray>) {
        self.there.push(i16::from(text.is_some()));
        self.texts.extend(text);
    }

    pub fn put_list(&mut self, numbers: impl Iterator<Item = i64>) {
        let before = self.numbers.len();
        self.numbers.extend(numbers);
        let added = self.numbers.len() - before;
        self.there.resize(self.there.len() + added.max(1), i16::from(added > 0));
        self.goes_on.push(0);
        self.goes_on.resize(self.there.len(), 1);
    }

    /// Writes all cells.
    pub fn write(&self, writer: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let is_list = self.spec.holds == Holds::List;
        let there = (self.spec.optional || is_list).then_some(self.there.as_slice());
        let goes_on = is_list.then_some(self.goes_on.as_slice());
        match self.spec.holds {
            Holds::Text => writer.typed::<ByteArrayType>().write_batch(&self.texts, there, goes_on)?,
            Holds::Signed | Holds::Unsigned | Holds::List => {
                writer.typed::<Int64Type>().write_batch(&self.numbers, there, goes_on)?
            }
        };
        Ok(())
    }

    /// Reads `rows` rows, which replace the previous cells.
    pub fn read(&mut self, reader: ColumnReader, rows: usize) -> Result<()> {
        self.clear();
        let (there, goes_on) = (Some(&mut self.there), Some(&mut self.goes_on));
        let (read, ..) = match (self.spec.holds, reader) {
            (Holds::Text, reader @ ColumnReader::ByteArrayColumnReader(_)) => {
                let mut reader = get_typed_column_reader::<ByteArrayType>(reader);
                reader.read_records(rows, there, goes_on, &mut self.texts)?
            }
            (Holds::Signed | Holds::Unsigned | Holds::List, reader @ ColumnReader::Int64ColumnReader(_)) => {
                let mut reader = get_typed_column_reader::<Int64Type>(reader);
                reader.read_records(rows, there, goes_on, &mut self.numbers)?
            }
            _ => return Err(ParquetError::General(format!("column {} has another type", self.spec.name))),
        };
        if read == rows {
            Ok(())
        } else {
            Err(ParquetError::General(format!("column {} has {read} rows of {rows}", self.spec.name)))
        }
    }

    pub fn bad(&self, what: &'static str) -> BadCell {
        BadCell { column: self.spec.name.to_string(), what }
    }

    /// The next number, without advancing.
    pub fn peek(&self) -> Option<i64> {
        self.numbers.get(self.next.0).copied()
    }

    pub fn number(&mut self) -> std::result::Result<i64, BadCell> {
        let number = self.peek().ok_or_else(|| self.bad("too few values"))?;
        self.next.0 += 1;
        Ok(number)
    }

    /// Whether the next row has a value.
    fn is_there(&mut self) -> std::result::Result<bool, BadCell> {
        let there = self.there.get(self.next.1).ok_or_else(|| self.bad("too few rows"))?;
        let there = *there > 0;
        self.next.1 += 1;
        Ok(there)
    }

    pub fn maybe(&mut self) -> std::result::Result<Option<i64>, BadCell> {
        if self.is_there()? { self.number().map(Some) } else { Ok(None) }
    }

    pub fn text(&mut self) -> std::result::Result<&str, BadCell> {
        let bad = |what| BadCell { column: self.spec.name.to_string(), what };
        let text = self.texts.get(self.next.0).ok_or_else(|| bad("too few values"))?;
        self.next.0 += 1;
        text.as_utf8().map_err(|_| bad("not UTF-8"))
    }

    pub fn maybe_text(&mut self) -> std::result::Result<Option<&str>, BadCell> {
        if self.is_there()? { self.text().map(Some) } else { Ok(None) }
    }

    /// The numbers of the next row's list.
    pub fn list(&mut self, mut each: impl FnMut(i64)) -> std::result::Result<(), BadCell> {
        loop {
            if self.is_there()? {
                each(self.number()?);
            }
            if self.goes_on.get(self.next.1).copied() != Some(1) {
                return Ok(());
            }
        }
    }
}
