//! A file column: the values of one field, and the rows they belong to.

use super::{Cell, Field, Holds, Value, general};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, get_typed_column_reader};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// The Parquet type of a field.
pub fn parquet_type(field: &Field) -> Result<TypePtr> {
    let (physical, logical) = match field.holds {
        Holds::Number => (Physical::DOUBLE, None),
        Holds::Count => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Holds::Switch => (Physical::BOOLEAN, None),
        Holds::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let built = Type::primitive_type_builder(&field.name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL)
        .build()?;
    Ok(Arc::new(built))
}

/// Values of one type.
enum Values {
    Number(Vec<f64>),
    Count(Vec<i64>),
    Switch(Vec<bool>),
    Text(Vec<ByteArray>),
}

/// A file column with the rows of a row group.
pub struct Leaf {
    /// The table's column, and the field in its rows.
    column: usize,
    inside: Option<usize>,
    values: Values,
    /// Definition levels (whether there is a value; in a list, one less means that at least its row exists) and
    /// repetition levels (whether it belongs to the previous row).
    there: Vec<i16>,
    goes_on: Vec<i16>,
}

impl Leaf {
    /// For a column with one value per row.
    pub fn plain(column: usize, holds: Holds) -> Self {
        let values = match holds {
            Holds::Number => Values::Number(Vec::new()),
            Holds::Count => Values::Count(Vec::new()),
            Holds::Switch => Values::Switch(Vec::new()),
            Holds::Text => Values::Text(Vec::new()),
        };
        Self { column, inside: None, values, there: Vec::new(), goes_on: Vec::new() }
    }

    /// For a field of a column with a list of rows.
    pub fn inside(column: usize, field: usize, holds: Holds) -> Self {
        Self { inside: Some(field), ..Self::plain(column, holds) }
    }

    /// Fills the column with the values of these rows.
    pub fn filled(mut self, rows: &[Vec<Cell>]) -> Result<Self> {
        for row in rows {
            match (row.get(self.column), self.inside) {
                (Some(Cell::Plain(value)), None) => {
                    self.there.push(i16::from(value.is_some()));
                    self.push(value.as_ref())?;
                }
                (Some(Cell::Rows(inner)), Some(field)) => {
                    for (number, row) in inner.iter().enumerate() {
                        let value = row.get(field).ok_or_else(|| general("a row without a field"))?;
                        self.there.push(1 + i16::from(value.is_some()));
                        self.goes_on.push(i16::from(number > 0));
                        self.push(value.as_ref())?;
                    }
                    if inner.is_empty() {
                        self.there.push(0);
                        self.goes_on.push(0);
                    }
                }
                _ => return Err(general("a row without a column")),
            }
        }
        Ok(self)
    }

    fn push(&mut self, value: Option<&Value>) -> Result<()> {
        match (&mut self.values, value) {
            (_, None) => {}
            (Values::Number(all), Some(Value::Number(one))) => all.push(*one),
            (Values::Count(all), Some(Value::Count(one))) => all.push(one.cast_signed()),
            (Values::Switch(all), Some(Value::Switch(one))) => all.push(*one),
            (Values::Text(all), Some(Value::Text(one))) => all.push(one.as_str().into()),
            _ => return Err(general("a value of another type than its column")),
        }
        Ok(())
    }

    /// Writes all values.
    pub fn write(&self, writer: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let there = Some(self.there.as_slice());
        let goes_on = self.inside.is_some().then_some(self.goes_on.as_slice());
        match &self.values {
            Values::Number(all) => writer.typed::<DoubleType>().write_batch(all, there, goes_on)?,
            Values::Count(all) => writer.typed::<Int64Type>().write_batch(all, there, goes_on)?,
            Values::Switch(all) => writer.typed::<BoolType>().write_batch(all, there, goes_on)?,
            Values::Text(all) => writer.typed::<ByteArrayType>().write_batch(all, there, goes_on)?,
        };
        Ok(())
    }

    /// Reads `rows` rows.
    pub fn read(&mut self, reader: ColumnReader, rows: usize) -> Result<()> {
        let Self { values, there, goes_on, .. } = self;
        let read = match (values, reader) {
            (Values::Number(all), reader @ ColumnReader::DoubleColumnReader(_)) => {
                records::<DoubleType>(reader, rows, there, goes_on, all)?
            }
            (Values::Count(all), reader @ ColumnReader::Int64ColumnReader(_)) => {
                records::<Int64Type>(reader, rows, there, goes_on, all)?
            }
            (Values::Switch(all), reader @ ColumnReader::BoolColumnReader(_)) => {
                records::<BoolType>(reader, rows, there, goes_on, all)?
            }
            (Values::Text(all), reader @ ColumnReader::ByteArrayColumnReader(_)) => {
                records::<ByteArrayType>(reader, rows, there, goes_on, all)?
            }
            _ => return Err(general("a column has another type")),
        };
        if read == rows { Ok(()) } else { Err(general("a column has fewer rows than the others")) }
    }

    /// Copies the values into the rows they belong to.
    pub fn fill(&self, rows: &mut [Vec<Cell>]) -> Result<()> {
        let few = || general("a column has fewer values than it says");
        let (mut level, mut next) = (0, 0);
        for row in rows {
            let most = if self.inside.is_some() { 2 } else { 1 };
            let mut inner = 0;
            loop {
                let there = *self.there.get(level).ok_or_else(few)?;
                let value = if there == most { Some(self.value(next)?) } else { None };
                next += usize::from(value.is_some());
                match (&mut row[self.column], self.inside) {
                    (Cell::Plain(cell), None) => *cell = value,
                    (Cell::Rows(all), Some(field)) if there > 0 => {
                        if inner == all.len() {
                            all.push(Vec::new());
                        }
                        if all[inner].len() != field {
                            return Err(general("lists of different lengths in one row"));
                        }
                        all[inner].push(value);
                        inner += 1;
                    }
                    _ => {}
                }
                level += 1;
                if self.goes_on.get(level).copied() != Some(1) {
                    break;
                }
            }
        }
        Ok(())
    }

    fn value(&self, number: usize) -> Result<Value> {
        let value = match &self.values {
            Values::Number(all) => all.get(number).copied().map(Value::Number),
            Values::Count(all) => all.get(number).map(|one| Value::Count(one.cast_unsigned())),
            Values::Switch(all) => all.get(number).copied().map(Value::Switch),
            Values::Text(all) => {
                let text = all.get(number).map(ByteArray::as_utf8).transpose()?;
                text.map(|text| Value::Text(text.to_owned()))
            }
        };
        value.ok_or_else(|| general("a column has fewer values than it says"))
    }
}

fn records<T: DataType>(
    reader: ColumnReader,
    rows: usize,
    there: &mut Vec<i16>,
    goes_on: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> Result<usize> {
    let mut reader = get_typed_column_reader::<T>(reader);
    Ok(reader.read_records(rows, Some(there), Some(goes_on), values)?.0)
}
