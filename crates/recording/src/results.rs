//! Tables of results, with columns chosen at run time. Each file is small, complete and never changed.
//!
//! Unknown values are absent, so every cell is optional. A column can hold rows of its own: a list of structs in
//! Parquet's terms.

mod leaf;

use crate::error::{Damage, WriteError};
use crate::guard::guarded;
use crate::pages::{self, Limits};
use crate::table::key_value;
use leaf::Leaf;
use parquet::basic::{Compression, LogicalType, Repetition, ZstdLevel};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use slowpath_files::{Existing, open_regular, write_output};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Limits of a row group: a file has some hundreds of runs, and a few numbers and names for each.
const LIMITS: Limits = Limits { chunk_bytes: 16 << 20, group_bytes: 32 << 20, values: 1 << 20 };
/// Limit of cells in a file.
const MOST_CELLS: usize = 1 << 20;

/// The type of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// 64-bit floating point numbers.
    Number,
    /// 64-bit unsigned integers.
    Count,
    /// True or false.
    Switch,
    /// Text.
    Text,
}

/// A name and the type of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The type of its values.
    pub holds: Holds,
}

impl Field {
    /// A field of that name and type.
    pub fn new(name: impl Into<String>, holds: Holds) -> Self {
        Self { name: name.into(), holds }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// A value per row.
    Plain(Field),
    /// A list of rows with these fields, per row.
    Rows(String, Vec<Field>),
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number with a fraction.
    Number(f64),
    /// A whole number.
    Count(u64),
    /// True or false.
    Switch(bool),
    /// Text.
    Text(String),
}

/// The cell of a row in a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A value, if there is one.
    Plain(Option<Value>),
    /// A list of rows, each with an optional value per field.
    Rows(Vec<Vec<Option<Value>>>),
}

/// A table and its file's metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Names and values of the metadata.
    pub metadata: Vec<(String, String)>,
    /// Cells in the order of the columns.
    pub rows: Vec<Vec<Cell>>,
}

/// Writes a table as `path`, completely or not at all, and replaces an older one.
///
/// # Errors
///
/// If the file cannot be written, or a row does not fit the columns.
pub fn write(path: &Path, columns: &[Column], table: &Table) -> Result<(), WriteError> {
    let parquet = |source| WriteError::Parquet { path: path.to_owned(), source };
    let bytes = encode(columns, table).map_err(parquet)?;
    Ok(write_output(path, Existing::Replace, &bytes)?)
}

fn encode(columns: &[Column], table: &Table) -> Result<Vec<u8>> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_dictionary_enabled(false)
        .set_created_by(concat!("slowpath ", env!("CARGO_PKG_VERSION")).to_owned());
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema(columns)?, Arc::new(properties.build()))?;
    let mut group = file.next_row_group()?;
    for leaf in leaves(columns) {
        let filled = leaf.filled(&table.rows)?;
        let mut chunk = group.next_column()?.ok_or_else(|| general("too few columns"))?;
        filled.write(&mut chunk)?;
        chunk.close()?;
    }
    group.close()?;
    for (key, value) in &table.metadata {
        file.append_key_value_metadata(key_value(key, value));
    }
    file.close()?;
    Ok(bytes)
}

/// A file's metadata, whatever its columns are.
///
/// # Errors
///
/// If the file cannot be opened or is not valid Parquet.
pub fn read_metadata(path: &Path) -> Result<Vec<(String, String)>, Damage> {
    open(path).map(|file| metadata(&file))
}

/// Reads a table with these columns.
///
/// # Errors
///
/// If it cannot be opened, is damaged, or has other columns.
pub fn read(path: &Path, columns: &[Column]) -> Result<Table, Damage> {
    let file = open(path)?;
    let damage = |what: String| Damage { file: path.to_owned(), what };
    let is_that = |schema: TypePtr| file.metadata().file_metadata().schema() == &*schema;
    if !schema(columns).is_ok_and(is_that) {
        return Err(damage("has other columns than it should".to_owned()));
    }
    let cells = file.metadata().row_groups().iter().try_fold(0usize, |sum, group| {
        let rows = usize::try_from(group.num_rows()).ok()?;
        sum.checked_add(rows.checked_mul(columns.len())?).filter(|cells| *cells <= MOST_CELLS)
    });
    if cells.is_none() {
        return Err(damage(format!("has more than {MOST_CELLS} cells, which no table of ours has")));
    }
    let pages = open_regular(path).map_err(|error| damage(error.to_string()))?;
    for (place, group) in file.metadata().row_groups().iter().enumerate() {
        pages::check(&pages, group, LIMITS)
            .map_err(|what| damage(format!("row group {place} is not read: {what}")))?;
    }
    let rows = guarded(|| decode(&file, columns)).ok_or_else(|| damage("is damaged".to_owned()))?;
    let rows = rows.map_err(|error| damage(cut_short(&error)))?;
    Ok(Table { metadata: metadata(&file), rows })
}

fn open(path: &Path) -> Result<SerializedFileReader<File>, Damage> {
    let damage = |what: String| Damage { file: path.to_owned(), what };
    let file = open_regular(path).map_err(|error| damage(error.to_string()))?;
    let opened =
        guarded(|| SerializedFileReader::new(file)).ok_or_else(|| damage("is damaged".to_owned()))?;
    opened.map_err(|error| damage(cut_short(&error)))
}

fn cut_short(error: &ParquetError) -> String {
    format!("is damaged or cut short ({error})")
}

fn metadata(file: &SerializedFileReader<File>) -> Vec<(String, String)> {
    let all = file.metadata().file_metadata().key_value_metadata();
    let pair = |one: &KeyValue| Some((one.key.clone(), one.value.clone()?));
    all.into_iter().flatten().filter_map(pair).collect()
}

fn decode(file: &SerializedFileReader<File>, columns: &[Column]) -> Result<Vec<Vec<Cell>>> {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for place in 0..file.num_row_groups() {
        let group = file.get_row_group(place)?;
        let count =
            usize::try_from(group.metadata().num_rows()).map_err(|_| general("fewer rows than none"))?;
        if count > crate::table::ROWS {
            return Err(general("more rows than any table of ours has"));
        }
        let first = rows.len();
        rows.resize_with(first + count, || columns.iter().map(Column::empty).collect());
        for (number, mut leaf) in leaves(columns).enumerate() {
            leaf.read(group.get_column_reader(number)?, count)?;
            leaf.fill(&mut rows[first..])?;
        }
    }
    Ok(rows)
}

impl Column {
    fn empty(&self) -> Cell {
        match self {
            Self::Plain(_) => Cell::Plain(None),
            Self::Rows(..) => Cell::Rows(Vec::new()),
        }
    }
}

/// The file's columns, in its order.
fn leaves(columns: &[Column]) -> impl Iterator<Item = Leaf> {
    columns.iter().enumerate().flat_map(|(column, of)| match of {
        Column::Plain(field) => vec![Leaf::plain(column, field.holds)],
        Column::Rows(_, fields) => {
            fields.iter().enumerate().map(|(place, field)| Leaf::inside(column, place, field.holds)).collect()
        }
    })
}

fn schema(columns: &[Column]) -> Result<TypePtr> {
    let fields = columns.iter().map(|column| match column {
        Column::Plain(field) => leaf::parquet_type(field),
        Column::Rows(name, fields) => list_of(name, fields),
    });
    let fields = fields.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder("runs").with_fields(fields).build()?))
}

/// Builds a list as the format's document on logical types specifies.
fn list_of(name: &str, fields: &[Field]) -> Result<TypePtr> {
    let fields = fields.iter().map(leaf::parquet_type).collect::<Result<Vec<_>>>()?;
    let element =
        Type::group_type_builder("element").with_repetition(Repetition::REQUIRED).with_fields(fields);
    let list = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(element.build()?)]);
    let named = Type::group_type_builder(name)
        .with_logical_type(Some(LogicalType::List))
        .with_repetition(Repetition::REQUIRED)
        .with_fields(vec![Arc::new(list.build()?)]);
    Ok(Arc::new(named.build()?))
}

fn general(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}
