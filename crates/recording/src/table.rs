//! A table of a segment: its Parquet file, written and read by row group.

use crate::column::{BadCell, Column};
use crate::guard::guarded;
use crate::pages::{self, Limits};
use crate::schema::{ColumnSpec, Holds, TableSpec};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{KeyValue, ParquetMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use slowpath_files::open_regular;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::slice::IterMut;
use std::sync::Arc;

/// Rows of a row group: a few megabytes at 8 bytes per number.
pub const ROWS: usize = 1 << 16;

/// Limit of a column's uncompressed bytes in a row group: 8 per number, 16 numbers per list.
const CHUNK_BYTES: u64 = 16 * 8 * ROWS as u64;
/// Limit of all columns' uncompressed bytes.
const GROUP_BYTES: u64 = 4 * CHUNK_BYTES;
/// Limit of list values in a row group, per row.
const LISTED: u64 = 16;

/// Limit of rows in a file: this many in any case, and one per byte. A row has its own number and time, which take more
/// than a byte.
const FREE_ROWS: u64 = 1 << 20;
const ROWS_PER_BYTE: u64 = 4;

/// The Parquet type of a table.
pub fn parquet_type(table: &TableSpec) -> Result<TypePtr> {
    let fields = table.columns.iter().map(column_type).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder(table.name).with_fields(fields).build()?))
}

fn column_type(column: &ColumnSpec) -> Result<TypePtr> {
    let repetition = if column.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let number = |name: &str, signed, repetition| {
        Type::primitive_type_builder(name, Physical::INT64)
            .with_logical_type(Some(LogicalType::integer(64, signed)))
            .with_repetition(repetition)
            .build()
    };
    let built = match column.holds {
        Holds::Signed => number(&column.name, true, repetition)?,
        Holds::Unsigned => number(&column.name, false, repetition)?,
        Holds::Text => Type::primitive_type_builder(&column.name, Physical::BYTE_ARRAY)
            .with_logical_type(Some(LogicalType::String))
            .with_repetition(repetition)
            .build()?,
        // A list as the format's document on logical types specifies.
        Holds::List => {
            let element = Arc::new(number("element", true, Repetition::REQUIRED)?);
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![element])
                .build()?;
            Type::group_type_builder(&column.name)
                .with_logical_type(Some(LogicalType::List))
                .with_repetition(repetition)
                .with_fields(vec![Arc::new(list)])
                .build()?
        }
    };
    Ok(Arc::new(built))
}

/// How tables are written: numbers as differences, since most grow steadily or stay constant; names in a dictionary;
/// statistics only for columns that are searched, the time and the flow.
pub fn properties(table: &TableSpec) -> Result<WriterPropertiesPtr> {
    let mut properties = WriterProperties::builder()
        .set_writer_version(parquet::file::properties::WriterVersion::PARQUET_2_0)
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_created_by(concat!("slowpath ", env!("CARGO_PKG_VERSION")).to_owned());
    for column in &table.columns {
        let path = match column.holds {
            Holds::List => {
                ColumnPath::new(vec![column.name.to_string(), "list".to_owned(), "element".to_owned()])
            }
            _ => ColumnPath::from(&*column.name),
        };
        let is_text = column.holds == Holds::Text;
        properties = properties.set_column_dictionary_enabled(path.clone(), is_text);
        if !is_text {
            properties = properties.set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED);
        }
        if matches!(&*column.name, "nr" | "at_ns" | "flow") {
            properties = properties.set_column_statistics_enabled(path, EnabledStatistics::Chunk);
        }
    }
    Ok(Arc::new(properties.build()))
}

/// The columns of a table with pending rows.
#[derive(Debug)]
pub struct Rows {
    columns: Vec<Column>,
    count: usize,
}

impl Rows {
    /// Starts without rows.
    pub fn new(table: &TableSpec) -> Self {
        Self { columns: table.columns.iter().map(|spec| Column::new(spec.clone())).collect(), count: 0 }
    }

    /// Adds a row, to be filled cell by cell in the order of the columns.
    pub fn add(&mut self) -> Row<'_> {
        self.count += 1;
        Row(self.columns.iter_mut())
    }

    /// Whether there are enough rows for a row group.
    pub fn are_enough(&self) -> bool {
        self.count >= ROWS
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Writes the rows as a row group, and clears them.
    pub fn write(&mut self, writer: &mut SerializedFileWriter<BufWriter<File>>) -> Result<()> {
        let mut group = writer.next_row_group()?;
        for column in &mut self.columns {
            let mut chunk =
                group.next_column()?.ok_or_else(|| ParquetError::General("too few columns".to_owned()))?;
            column.write(&mut chunk)?;
            chunk.close()?;
            column.clear();
        }
        self.count = 0;
        group.close()?;
        Ok(())
    }
}

/// Fills the cells of a row one by one.
#[derive(Debug)]
pub struct Row<'a>(IterMut<'a, Column>);

impl Row<'_> {
    fn cell(&mut self, fill: impl FnOnce(&mut Column)) -> &mut Self {
        let column = self.0.next();
        debug_assert!(column.is_some(), "more cells than columns");
        if let Some(column) = column {
            fill(column);
        }
        self
    }

    /// Writes a signed number.
    pub fn signed(&mut self, number: i64) -> &mut Self {
        self.cell(|column| column.put(number))
    }

    /// Writes an unsigned number.
    pub fn number(&mut self, number: impl Into<u64>) -> &mut Self {
        let number = number.into().cast_signed();
        self.cell(|column| column.put(number))
    }

    /// Writes an optional signed number.
    pub fn maybe_signed(&mut self, number: Option<i64>) -> &mut Self {
        self.cell(|column| column.put_maybe(number))
    }

    /// Writes an optional unsigned number.
    pub fn maybe(&mut self, number: Option<impl Into<u64>>) -> &mut Self {
        self.maybe_signed(number.map(|number| number.into().cast_signed()))
    }

    /// Writes one of a few names.
    pub fn name(&mut self, name: &'static str) -> &mut Self {
        self.cell(|column| column.put_name(name))
    }

    /// Writes an optional name, one of a few.
    pub fn maybe_name(&mut self, name: Option<&'static str>) -> &mut Self {
        let text = name.map(|name| bytes::Bytes::from_static(name.as_bytes()).into());
        self.cell(|column| column.put_maybe_text(text))
    }

    /// Writes optional text.
    pub fn maybe_text(&mut self, text: Option<String>) -> &mut Self {
        self.cell(|column| column.put_maybe_text(text.map(|text| ByteArray::from(text.into_bytes()))))
    }

    /// Writes a list of numbers.
    pub fn list(&mut self, numbers: impl Iterator<Item = i64>) -> &mut Self {
        self.cell(|column| column.put_list(numbers))
    }
}

/// A table that is being read.
pub struct TableReader {
    file: SerializedFileReader<File>,
    /// Another descriptor of the file, to check page headers before the pages are read.
    pages: File,
    /// Row groups read so far.
    groups: usize,
    columns: Vec<Column>,
    /// Remaining rows of the last one.
    left: usize,
}

/// What is wrong with a table.
#[derive(Debug, thiserror::Error)]
pub enum BadTable {
    /// It cannot be opened.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is not valid Parquet.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// The library panicked on it.
    #[error("is damaged")]
    Damaged,
    /// It is another table, or has another version.
    #[error("its columns are not those of {0}; it was written by another program or version")]
    OtherColumns(&'static str),
    /// A row group has more rows than slowpath writes.
    #[error("row group {0} has {1} rows, which is none of ours")]
    TooManyRows(usize, i64),
    /// A row group decompresses to more than slowpath writes.
    #[error("row group {0} is not read: {1}")]
    TooLarge(usize, String),
    /// It claims more rows than its size allows.
    #[error("claims {0} rows in {1} bytes; slowpath writes more than a byte for each")]
    ClaimsRows(u64, u64),
    /// A cell has an impossible value.
    #[error(transparent)]
    Cell(#[from] BadCell),
}

impl TableReader {
    /// Opens a file and checks that it is this table.
    ///
    /// # Errors
    ///
    /// If the file does not exist, is not valid Parquet, or is another table.
    pub fn open(path: &Path, table: &TableSpec) -> std::result::Result<Self, BadTable> {
        let pages = open_regular(path)?;
        let bytes = pages.metadata()?.len();
        let file = pages.try_clone()?;
        let file = guarded(|| SerializedFileReader::new(file)).ok_or(BadTable::Damaged)??;
        if file.metadata().file_metadata().schema() != &*parquet_type(table)? {
            return Err(BadTable::OtherColumns(table.name));
        }
        let groups = file.metadata().row_groups().iter();
        let rows = groups.fold(0u64, |sum, group| sum.saturating_add(group.num_rows().unsigned_abs()));
        if rows > FREE_ROWS.saturating_add(ROWS_PER_BYTE.saturating_mul(bytes)) {
            return Err(BadTable::ClaimsRows(rows, bytes));
        }
        let columns = table.columns.iter().map(|spec| Column::new(spec.clone())).collect();
        Ok(Self { file, pages, groups: 0, columns, left: 0 })
    }

    /// The file's metadata.
    pub fn metadata(&self) -> &ParquetMetaData {
        self.file.metadata()
    }

    /// The number of the next event; `None` at the end.
    ///
    /// # Errors
    ///
    /// If the next row group cannot be read.
    pub fn next_nr(&mut self) -> std::result::Result<Option<u64>, BadTable> {
        while self.left == 0 {
            if self.groups == self.file.num_row_groups() {
                return Ok(None);
            }
            guarded(|| self.read_group()).ok_or(BadTable::Damaged)??;
        }
        let nr = &self.columns[0];
        nr.peek().map(|nr| Some(nr.cast_unsigned())).ok_or_else(|| nr.bad("too few values").into())
    }

    fn read_group(&mut self) -> std::result::Result<(), BadTable> {
        let group = self.file.get_row_group(self.groups)?;
        let rows = group.metadata().num_rows();
        let count = usize::try_from(rows).ok().filter(|rows| *rows <= ROWS);
        let count = count.ok_or(BadTable::TooManyRows(self.groups, rows))?;
        let values = (self.columns.len() as u64 + LISTED) * ROWS as u64;
        let limits = Limits { chunk_bytes: CHUNK_BYTES, group_bytes: GROUP_BYTES, values };
        pages::check(&self.pages, group.metadata(), limits)
            .map_err(|what| BadTable::TooLarge(self.groups, what))?;
        for (place, column) in self.columns.iter_mut().enumerate() {
            column.read(group.get_column_reader(place)?, count)?;
        }
        self.groups += 1;
        self.left = count;
        Ok(())
    }

    /// The next row. [`next_nr`](Self::next_nr) must have returned a number.
    pub fn next_row(&mut self) -> Cells<'_> {
        self.left = self.left.saturating_sub(1);
        Cells(self.columns.iter_mut())
    }
}

/// Reads the cells of a row one by one, in the order of the columns.
pub struct Cells<'a>(IterMut<'a, Column>);

type Cell<T> = std::result::Result<T, BadCell>;

impl<'a> Cells<'a> {
    fn next(&mut self) -> Cell<&'a mut Column> {
        self.0.next().ok_or_else(|| BadCell { column: String::new(), what: "more cells than columns" })
    }

    /// Reads a number between `-most` and `most`.
    pub fn signed(&mut self, most: i64) -> Cell<i64> {
        let column = self.next()?;
        let number = column.number()?;
        in_range(number, most).ok_or_else(|| column.bad("out of range"))
    }

    /// Reads an unsigned number of type `N`.
    pub fn number<N: TryFrom<u64>>(&mut self) -> Cell<N> {
        let column = self.next()?;
        let number = column.number()?.cast_unsigned();
        N::try_from(number).map_err(|_| column.bad("out of range"))
    }

    /// Reads an optional number between `-most` and `most`.
    pub fn maybe_signed(&mut self, most: i64) -> Cell<Option<i64>> {
        let column = self.next()?;
        let Some(number) = column.maybe()? else { return Ok(None) };
        in_range(number, most).map(Some).ok_or_else(|| column.bad("out of range"))
    }

    /// Reads an optional unsigned number.
    pub fn maybe<N: TryFrom<u64>>(&mut self) -> Cell<Option<N>> {
        let column = self.next()?;
        let Some(number) = column.maybe()? else { return Ok(None) };
        N::try_from(number.cast_unsigned()).map(Some).map_err(|_| column.bad("out of range"))
    }

    /// Reads text that `read` must accept.
    pub fn name<T>(&mut self, read: impl FnOnce(&str) -> Option<T>) -> Cell<T> {
        let column = self.next()?;
        let found = read(column.text()?);
        found.ok_or_else(|| column.bad("a name that is not known"))
    }

    /// Reads optional text that `read` must accept.
    pub fn maybe_name<T>(&mut self, read: impl FnOnce(&str) -> Option<T>) -> Cell<Option<T>> {
        let column = self.next()?;
        let found = column.maybe_text()?.map(read);
        match found {
            Some(None) => Err(column.bad("a name that is not known")),
            Some(found) => Ok(found),
            None => Ok(None),
        }
    }

    /// Reads numbers between `-most` and `most`.
    pub fn list(&mut self, most: i64, mut each: impl FnMut(i64)) -> Cell<()> {
        let column = self.next()?;
        let mut all_in_range = true;
        column.list(|number| match in_range(number, most) {
            Some(number) => each(number),
            None => all_in_range = false,
        })?;
        if all_in_range { Ok(()) } else { Err(column.bad("out of range")) }
    }
}

fn in_range(number: i64, most: i64) -> Option<i64> {
    (-most..=most).contains(&number).then_some(number)
}

/// A key and value of the metadata.
pub fn key_value(key: &str, value: impl Into<String>) -> KeyValue {
    KeyValue::new(key.to_owned(), value.into())
}
