//! Writes a recording, segment by segment.

use crate::about::{About, Ending, Part, to_metadata};
use crate::error::WriteError;
use crate::rows;
use crate::schema::{TABLES, Table, TableSpec};
use crate::table::{Row, Rows, parquet_type, properties};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Sink};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Events of a segment: the most that is lost if the program is killed.
pub const EVENTS: u64 = 1 << 20;

/// The extension of a segment that is being written.
pub(crate) const UNFINISHED: &str = "part";

/// The folder of a segment; numbers start at 1.
pub(crate) fn segment_folder(recording: &Path, segment: u32) -> PathBuf {
    recording.join(format!("{segment:06}"))
}

/// The file of a table.
pub(crate) fn table_file(segment: &Path, table: &TableSpec) -> PathBuf {
    segment.join(table.name).with_extension("parquet")
}

/// A table that is being written.
struct Written {
    spec: &'static TableSpec,
    rows: Rows,
    path: PathBuf,
    file: SerializedFileWriter<BufWriter<File>>,
}

/// Writes events into a folder. After an error nothing more is written; [`check`](Self::check) returns the error.
pub struct Writer {
    folder: PathBuf,
    about: About,
    tables: Vec<Written>,
    segment: u32,
    /// The number of the segment's first event, and of the next event.
    first: u64,
    next: u64,
    failed: Option<WriteError>,
}

impl Writer {
    /// Creates a recording in a folder, which is created if needed.
    ///
    /// # Errors
    ///
    /// If the folder already has a recording, or cannot be written to.
    pub fn create(folder: &Path, about: About) -> Result<Self, WriteError> {
        fs::create_dir_all(folder).map_err(|source| io_error(folder, source))?;
        let begun = segment_folder(folder, 1);
        if begun.exists() || begun.with_extension(UNFINISHED).exists() {
            return Err(WriteError::Taken(folder.to_owned()));
        }
        let mut this = Self {
            folder: folder.to_owned(),
            about,
            tables: Vec::new(),
            segment: 1,
            first: 0,
            next: 0,
            failed: None,
        };
        this.begin_segment()?;
        Ok(this)
    }

    /// Returns the first error so far.
    ///
    /// # Errors
    ///
    /// The first error, once.
    pub fn check(&mut self) -> Result<(), WriteError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Writes the remaining events and how the recording ended. Without this, the last segment cannot be read.
    ///
    /// # Errors
    ///
    /// The first error, now or earlier.
    pub fn finish(mut self, end: Ending) -> Result<(), WriteError> {
        self.check()?;
        self.end_segment(Some(end))
    }

    fn folder_of_segment(&self) -> PathBuf {
        segment_folder(&self.folder, self.segment).with_extension(UNFINISHED)
    }

    fn begin_segment(&mut self) -> Result<(), WriteError> {
        let folder = self.folder_of_segment();
        fs::create_dir_all(&folder).map_err(|source| io_error(&folder, source))?;
        self.first = self.next;
        for spec in TABLES.iter() {
            let path = table_file(&folder, spec);
            let file = File::create(&path).map_err(|source| io_error(&path, source))?;
            let written = Written::new(spec, path.clone(), file);
            self.tables.push(written.map_err(|source| parquet_error(&path, source))?);
        }
        Ok(())
    }

    fn end_segment(&mut self, end: Option<Ending>) -> Result<(), WriteError> {
        for table in self.tables.drain(..) {
            let part = Part { table: table.spec.name.to_owned(), first: self.first, next: self.next, end };
            let path = table.path.clone();
            table.finish(&self.about, &part).map_err(|source| parquet_error(&path, source))?;
        }
        let folder = self.folder_of_segment();
        let complete = segment_folder(&self.folder, self.segment);
        fs::rename(&folder, complete).map_err(|source| io_error(&folder, source))
    }

    /// Adds a row to a table; starts a new segment if the current one is full.
    fn add(&mut self, table: Table, fill: impl FnOnce(&mut Row<'_>, u64)) {
        if self.failed.is_some() {
            return;
        }
        // There are no tables after an error.
        let Some(written) = self.tables.get_mut(table as usize) else { return };
        fill(&mut written.rows.add(), self.next);
        self.next += 1;
        let full = written.rows.are_enough();
        let outcome = if full { written.write_rows() } else { Ok(()) };
        let outcome = outcome.and_then(|()| {
            if self.next - self.first < EVENTS {
                return Ok(());
            }
            self.end_segment(None)?;
            self.segment += 1;
            self.begin_segment()
        });
        if let Err(error) = outcome {
            self.tables.clear();
            self.failed = Some(error);
        }
    }
}

impl Written {
    fn new(spec: &'static TableSpec, path: PathBuf, file: File) -> Result<Self, ParquetError> {
        let file = SerializedFileWriter::new(BufWriter::new(file), parquet_type(spec)?, properties(spec)?)?;
        Ok(Self { spec, rows: Rows::new(spec), path, file })
    }

    fn write_rows(&mut self) -> Result<(), WriteError> {
        self.rows.write(&mut self.file).map_err(|source| parquet_error(&self.path, source))
    }

    fn finish(mut self, about: &About, part: &Part) -> Result<(), ParquetError> {
        if !self.rows.is_empty() {
            self.rows.write(&mut self.file)?;
        }
        for value in to_metadata(about, part) {
            self.file.append_key_value_metadata(value);
        }
        self.file.close().map(drop)
    }
}

impl Sink for Writer {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.add(Table::Flows, |row, nr| rows::write_open(row, nr, flow, key));
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        if let Some(table) = rows::table(&event.kind) {
            self.add(table, |row, nr| rows::write_event(row, nr, flow, event));
        }
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        self.add(Table::Flows, |row, nr| rows::write_close(row, nr, flow, end));
    }
}

fn io_error(path: &Path, source: io::Error) -> WriteError {
    WriteError::Io { path: path.to_owned(), source }
}

fn parquet_error(path: &Path, source: ParquetError) -> WriteError {
    WriteError::Parquet { path: path.to_owned(), source }
}
