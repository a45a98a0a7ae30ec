//! Reads a recording: merges the tables of each segment by event number.

use crate::about::{About, Ending, Part, from_metadata};
use crate::error::{Damage, ReadError};
use crate::rows::{self, RowEvent};
use crate::schema::TABLES;
use crate::table::{BadTable, TableReader};
use crate::writer::{UNFINISHED, segment_folder, table_file};
use slowpath_model::{EventKind, FlowEnd, FlowId, Instant, Sink};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// An existing recording whose first segment can be opened.
pub struct Recording {
    folder: PathBuf,
    about: About,
    /// The number of consecutive segments.
    segments: u32,
    /// What is missing after them.
    missing: Option<String>,
}

/// A summary of what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingSummary {
    /// The folder.
    pub name: String,
    /// The recording's description.
    pub about: About,
    /// How it ended; `None` if unknown.
    pub end: Option<Ending>,
    /// Events read, including opened and closed flows.
    pub events: u64,
    /// Packets among these that passed the NIC.
    pub packets: u64,
    /// Flows.
    pub flows: u64,
    /// The times of the earliest and the latest event.
    pub span: Option<(Instant, Instant)>,
    /// Why not all of it was read.
    pub damage: Option<String>,
}

impl Recording {
    /// Opens a recording, or the main one of several in a folder.
    ///
    /// # Errors
    ///
    /// If there is none, or its first segment cannot be read.
    pub fn open(folder: &Path) -> Result<Self, ReadError> {
        if segment_folder(folder, 1).is_dir() {
            return Self::open_one(folder);
        }
        let error = |source| ReadError::Io { path: folder.to_owned(), source };
        let mut inside = Vec::new();
        for entry in fs::read_dir(folder).map_err(error)? {
            let path = entry.map_err(error)?.path();
            if segment_folder(&path, 1).is_dir() {
                inside.push(path);
            }
        }
        inside.sort();
        let mut found = Vec::new();
        for path in &inside {
            found.push(Self::open_one(path)?);
        }
        let main = found.iter().position(|one| one.about.main).unwrap_or(0);
        if main < found.len() {
            return Ok(found.swap_remove(main));
        }
        let begun = segment_folder(folder, 1).with_extension(UNFINISHED).exists();
        Err(ReadError::NoRecording { folder: folder.to_owned(), begun })
    }

    fn open_one(folder: &Path) -> Result<Self, ReadError> {
        let first = Segment::open(folder, 1, 0)?;
        let mut segments = 1;
        while segment_folder(folder, segments + 1).is_dir() {
            segments += 1;
        }
        let missing = missing_behind(folder, segments)
            .map_err(|source| ReadError::Io { path: folder.to_owned(), source })?;
        Ok(Self { folder: folder.to_owned(), about: first.about, segments, missing })
    }

    /// The recording's description.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The folder that is read.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Pushes all events into `sink`, as far as they can be read; the summary says what cannot. Calls `progress` with
    /// the bytes read and the total, once per segment.
    ///
    /// # Errors
    ///
    /// If not even the first segment can be read.
    pub fn run(
        self,
        sink: &mut impl Sink,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<RecordingSummary, ReadError> {
        let mut reading = Reading {
            sink,
            flows: Vec::new(),
            summary: RecordingSummary {
                name: self.folder.display().to_string(),
                about: self.about,
                end: None,
                events: 0,
                packets: 0,
                flows: 0,
                span: None,
                damage: None,
            },
        };
        let mut damage = None;
        let sizes: Vec<u64> =
            (1..=self.segments).map(|number| size(&segment_folder(&self.folder, number))).collect();
        let total = sizes.iter().sum();
        let mut done = 0;
        for (number, size) in (1..).zip(sizes) {
            progress(done, total);
            done += size;
            let read = Segment::open(&self.folder, number, reading.summary.events)
                .and_then(|segment| reading.segment(segment));
            if let Err(error) = read {
                damage = Some(error.to_string());
                break;
            }
        }
        let latest = reading.summary.span.map_or(Instant::START, |(_, latest)| latest);
        let mut summary = reading.finish();
        summary.damage = match (damage, self.missing, summary.end) {
            (Some(damage), ..) => Some(format!("Read only up to {latest} s: {damage}.")),
            (None, Some(missing), _) => Some(format!("Read only up to {latest} s: {missing}.")),
            (None, None, None) => Some(format!(
                "Read only up to {latest} s: the recording was never closed, and goes no further."
            )),
            (None, None, Some(Ending::Interrupted)) => Some(format!("Interrupted after {latest} s.")),
            (None, None, Some(Ending::Complete)) => None,
        };
        Ok(summary)
    }
}

/// The total size of the files in a folder, for a progress bar only.
fn size(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

/// Describes what follows the consecutive segments, and so cannot be read.
fn missing_behind(folder: &Path, segments: u32) -> io::Result<Option<String>> {
    let mut later = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if let Some(number) = name.parse::<u32>().ok().filter(|number| *number > segments) {
            later.push(number);
        } else if name == format!("{:06}.{UNFINISHED}", segments + 1) {
            return Ok(Some(format!("segment {:06} was begun and never finished", segments + 1)));
        }
    }
    let next = later.into_iter().min();
    Ok(next.map(|next| format!("segment {:06} is not there, and {next:06} is", segments + 1)))
}

/// A segment that is being read.
struct Segment {
    folder: PathBuf,
    tables: Vec<TableReader>,
    about: About,
    next: u64,
    end: Option<Ending>,
}

impl Segment {
    /// Opens a segment, whose first event must have number `first`.
    fn open(recording: &Path, number: u32, first: u64) -> Result<Self, Damage> {
        let folder = segment_folder(recording, number);
        let mut common: Option<(About, Part)> = None;
        let mut tables = Vec::new();
        for spec in TABLES.iter() {
            let file = table_file(&folder, spec);
            let damage = |what: String| Damage { file: file.clone(), what };
            let table = TableReader::open(&file, spec).map_err(|bad| damage(words(&bad)))?;
            let (about, part) = from_metadata(table.metadata()).map_err(damage)?;
            if part.table != spec.name {
                return Err(damage(format!("is the table {:?}", part.table)));
            }
            if part.first != first || part.next < first {
                let events = format!("{} to {}", part.first, part.next);
                return Err(damage(format!("has events {events}, where those from {first} on belong")));
            }
            let part = Part { table: String::new(), ..part };
            match &common {
                None => common = Some((about, part)),
                Some(other) if *other == (about, part) => {}
                Some(_) => return Err(damage("belongs to another recording than its neighbours".to_owned())),
            }
            tables.push(table);
        }
        let (about, part) = common.unwrap_or_default();
        Ok(Self { folder, tables, about, next: part.next, end: part.end })
    }

    /// Damage to one of its tables.
    fn damage(&self, place: usize, what: String) -> Damage {
        Damage { file: table_file(&self.folder, &TABLES[place]), what }
    }
}

/// A table's fault in words.
fn words(bad: &BadTable) -> String {
    match bad {
        BadTable::Parquet(error) => format!("is damaged or cut short ({error})"),
        BadTable::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// A sink, and the events passed to it so far.
struct Reading<'a, S> {
    sink: &'a mut S,
    /// Whether each flow is still open, by its number minus one.
    flows: Vec<bool>,
    summary: RecordingSummary,
}

impl<S: Sink> Reading<'_, S> {
    fn segment(&mut self, mut segment: Segment) -> Result<(), Damage> {
        while self.summary.events < segment.next {
            let nr = self.summary.events;
            let place = (0..TABLES.len()).find_map(|place| match segment.tables[place].next_nr() {
                Ok(next) => (next == Some(nr)).then_some(Ok(place)),
                Err(bad) => Some(Err((place, bad))),
            });
            let place = match place {
                Some(Ok(place)) => place,
                Some(Err((place, bad))) => return Err(segment.damage(place, words(&bad))),
                None => return Err(segment.damage(0, format!("event {nr} is in none of the tables"))),
            };
            let event = rows::read(TABLES[place].table, &mut segment.tables[place].next_row());
            let event = event.map_err(|bad| segment.damage(place, format!("event {nr}: {bad}")))?;
            if !self.pass_on(&event) {
                return Err(
                    segment.damage(place, format!("event {nr}: its flow is not there, or there already"))
                );
            }
            self.summary.events += 1;
        }
        self.summary.end = segment.end;
        Ok(())
    }

    /// Passes an event to the sink; `false` if it contradicts earlier ones.
    fn pass_on(&mut self, event: &RowEvent) -> bool {
        let place = |flow: FlowId| flow.0.checked_sub(1).map(|place| place as usize);
        match event {
            RowEvent::Open(flow, key) => {
                if place(*flow) != Some(self.flows.len()) {
                    return false;
                }
                self.flows.push(true);
                self.summary.flows += 1;
                self.sink.open(*flow, key);
            }
            RowEvent::Event(flow, event) => {
                if place(*flow).and_then(|place| self.flows.get(place)) != Some(&true) {
                    return false;
                }
                let (first, last) = self.summary.span.unwrap_or((event.at, event.at));
                self.summary.span = Some((first.min(event.at), last.max(event.at)));
                self.summary.packets += u64::from(matches!(event.kind, EventKind::Seen(_)));
                self.sink.accept(*flow, event);
            }
            RowEvent::Close(flow, end) => {
                let Some(open) = place(*flow).and_then(|place| self.flows.get_mut(place)) else {
                    return false;
                };
                if !std::mem::replace(open, false) {
                    return false;
                }
                self.sink.close(*flow, *end);
            }
        }
        true
    }

    /// Closes the flows that are still open.
    fn finish(self) -> RecordingSummary {
        for (place, open) in self.flows.iter().enumerate() {
            if *open {
                self.sink.close(FlowId(place as u32 + 1), FlowEnd::EndOfRecording);
            }
        }
        self.summary
    }
}
