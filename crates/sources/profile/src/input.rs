//! Detects the format of a file by its contents.

use crate::error::{ProfileError, Stop, quoted};
use crate::gather::Gather;
use crate::notes::Notes;
use crate::origin::Origin;
use crate::text::{folded, opreport, script};
use crate::{At, Contents, Format, Input, SymbolSources, perf, pprof};
use slowpath_files::{Bound, Packing, TooMuch, Unpacked};
use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// The bytes that are read to recognise a format.
const HEAD: u64 = 64 * 1024;

/// Limit for data from a pipe that cannot be read line by line and is therefore held whole; also for what pprof writes.
const MOST_HELD: u64 = 1024 * 1024 * 1024;

/// Limit for unpacked text, which is read line by line. Profilers' text compresses 10 to 40 times.
const TEXT: Bound = Bound { free: 64 << 20, ratio: 64, most: u64::MAX };

/// Limit for unpacked files that are held whole: perf.data and pprof, which compress up to 10 times.
const HELD: Bound = Bound { free: 32 << 20, ratio: 32, most: MOST_HELD };

/// Reads a profile in any supported format.
///
/// # Errors
///
/// If nothing of it can be read. A truncated profile is read up to its end; [`Input::stopped`] says so.
pub fn open(path: impl AsRef<Path>, options: &SymbolSources) -> Result<Input, ProfileError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let opened = File::open(path).and_then(|file| {
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        Ok((metadata, file))
    });
    let (metadata, file) = opened.map_err(|source| ProfileError::Open { name: name.clone(), source })?;
    if metadata.is_file() {
        let origin = Origin { bytes: metadata.len(), written: metadata.modified().ok() };
        return read_from(&name, file, origin, options);
    }
    read_stream(&name, file, None, options)
}

fn failed(name: &str, error: &std::io::Error) -> ProfileError {
    ProfileError::Read { name: name.to_owned(), at: At::Offset(0), reason: error.to_string() }
}

/// Reads a profile from a reader; `name` is used in messages.
///
/// # Errors
///
/// As [`open`].
pub fn read(
    name: &str,
    mut source: impl Read + Seek + Send,
    options: &SymbolSources,
) -> Result<Input, ProfileError> {
    let bytes = source.seek(SeekFrom::End(0)).and_then(|bytes| source.rewind().map(|()| bytes));
    let bytes = bytes.map_err(|error| failed(name, &error))?;
    read_from(name, source, Origin { bytes, written: None }, options)
}

fn read_from(
    name: &str,
    mut source: impl Read + Seek + Send,
    origin: Origin,
    options: &SymbolSources,
) -> Result<Input, ProfileError> {
    let mut head = Vec::new();
    let looked = source.by_ref().take(HEAD).read_to_end(&mut head).and_then(|_| source.rewind());
    looked.map_err(|error| failed(name, &error))?;
    if format(&head) == Some(Format::PerfData) {
        return perf::read(name, &mut source, origin, options);
    }
    read_stream(name, source, Some(origin), options)
}

/// Reads a source that can be read only once. The format is detected by the first bytes, before more is held.
fn read_stream<'a>(
    name: &str,
    source: impl Read + Send + 'a,
    origin: Option<Origin>,
    options: &SymbolSources,
) -> Result<Input, ProfileError> {
    let mut source = Source::of(Bytes::Plain(Box::new(source)));
    let mut head = source.head();
    let is_packed = head.starts_with(&GZIP);
    if is_packed {
        let packed = BufReader::with_capacity(256 * 1024, Cursor::new(head).chain(source));
        let unpacked = Unpacked::new(Packing::Gzip, packed, TEXT).map_err(|error| failed(name, &error))?;
        source = Source::of(Bytes::Packed(unpacked));
        head = source.head();
    }
    let Some(format) = format(&head) else {
        return Err(match source.stop() {
            Some(stop) if head.is_empty() => ProfileError::damaged(name, stop),
            _ => refusal(name, &head),
        });
    };
    let mut notes = Notes::default();
    let (contents, stopped) = match format {
        Format::PerfData => {
            let bytes = source.hold(name, head)?;
            let origin = origin.unwrap_or(Origin { bytes: source.taken(), written: None });
            let mut input = perf::read(name, &mut Cursor::new(bytes), origin, options)?;
            input.stopped = input.stopped.or(source.stop());
            return Ok(input);
        }
        Format::Pprof => {
            let bytes = source.hold(name, head)?;
            let on_disk = origin.map_or(source.taken(), |origin| origin.bytes);
            let mut gather = Gather::of(on_disk);
            let stopped = pprof::read(&bytes, on_disk, &mut gather, &mut notes);
            (gather.finish(&mut notes), stopped)
        }
        Format::PerfScript | Format::Folded => {
            let lines = BufReader::with_capacity(256 * 1024, Cursor::new(head).chain(&mut source));
            // The size of what comes through a pipe is not known in advance.
            let mut gather = Gather::of(origin.map_or(u64::MAX, |origin| origin.bytes));
            let stopped = match format {
                Format::PerfScript => script::read(lines, &mut gather, &mut notes),
                _ => folded::read(lines, &mut gather, &mut notes),
            };
            (gather.finish(&mut notes), stopped)
        }
        Format::Opreport => {
            let lines = BufReader::with_capacity(256 * 1024, Cursor::new(head).chain(&mut source));
            let (graph, stopped) = opreport::read(lines, &mut notes);
            (Contents::Calls(graph), stopped)
        }
    };
    // What was unpacked before the damage has been read.
    let stopped = stopped.or(source.stop());
    let is_empty = match &contents {
        Contents::Stacks(profile) => profile.entries.is_empty(),
        Contents::Calls(graph) => graph.functions.is_empty(),
    };
    if let (Some(stop), true) = (&stopped, is_empty) {
        return Err(ProfileError::damaged(name, stop.clone()));
    }
    Ok(Input { name: name.to_owned(), format, contents, notes: notes.into_vec(), stopped })
}

/// RFC 1952, section 2.3.1.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A source of bytes.
enum Bytes<'a> {
    Plain(Box<dyn Read + Send + 'a>),
    Packed(Unpacked<'a>),
}

/// A source that ends at the first error and keeps its reason.
struct Source<'a> {
    bytes: Bytes<'a>,
    given: u64,
    failed: Option<std::io::Error>,
}

impl<'a> Source<'a> {
    fn of(bytes: Bytes<'a>) -> Self {
        Self { bytes, given: 0, failed: None }
    }

    /// The first bytes.
    fn head(&mut self) -> Vec<u8> {
        let mut head = Vec::new();
        // Errors are kept in the source.
        let _ = self.take(HEAD).read_to_end(&mut head);
        head
    }

    /// The first bytes and everything after them.
    fn hold(&mut self, name: &str, head: Vec<u8>) -> Result<Vec<u8>, ProfileError> {
        if let Bytes::Packed(unpacked) = &mut self.bytes {
            unpacked.set_bound(HELD);
        }
        let mut bytes = head;
        // Errors are kept in the source.
        let _ = self.take(MOST_HELD + 1 - bytes.len() as u64).read_to_end(&mut bytes);
        if let Some(much) = self.failed.as_ref().and_then(TooMuch::of) {
            return Err(ProfileError::TooMuch { name: name.to_owned(), much });
        }
        if bytes.len() as u64 > MOST_HELD {
            let fix = "write it to a file first, unless it is pprof's";
            let size = bytes.len() as u64;
            return Err(ProfileError::TooLarge { name: name.to_owned(), size, most: MOST_HELD, fix });
        }
        Ok(bytes)
    }

    /// Bytes consumed from the underlying source so far: compressed ones if it is compressed.
    fn taken(&self) -> u64 {
        match &self.bytes {
            Bytes::Plain(_) => self.given,
            Bytes::Packed(unpacked) => unpacked.packed(),
        }
    }

    /// Where and why it ended early, if it did.
    fn stop(&self) -> Option<Stop> {
        let error = self.failed.as_ref()?;
        let fix = TooMuch::of(error).map_or("", |_| "; if you trust it, unpack it first (`gzip -dc`),");
        Some(Stop { at: At::Offset(self.given), reason: format!("{error}{fix}") })
    }
}

impl Read for Source<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.failed.is_some() {
            return Ok(0);
        }
        let read = match &mut self.bytes {
            Bytes::Plain(source) => source.read(into),
            Bytes::Packed(source) => source.read(into),
        };
        match read {
            Err(error) if error.kind() != ErrorKind::Interrupted => {
                self.failed = Some(error);
                Ok(0)
            }
            Ok(count) => {
                self.given += count as u64;
                Ok(count)
            }
            interrupted => interrupted,
        }
    }
}

/// The format of a file that begins like this.
fn format(head: &[u8]) -> Option<Format> {
    if head.starts_with(&perf::header::MAGIC) || head.starts_with(&perf::header::MAGIC_SWAPPED) {
        return Some(Format::PerfData);
    }
    let is_text = !head.iter().any(|byte| byte.is_ascii_control() && !b"\t\n\r".contains(byte));
    if !is_text {
        return pprof::is_profile(head).then_some(Format::Pprof);
    }
    let text = String::from_utf8_lossy(head);
    if opreport::is_report(&text) {
        return Some(Format::Opreport);
    }
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.find_map(|line| match line {
        _ if line.contains(" PERF_RECORD_") => Some(Format::PerfScript),
        _ if script::Header::parse(line).is_some() => Some(Format::PerfScript),
        _ if folded::parse(line).is_some() => Some(Format::Folded),
        _ => None,
    })
}

/// Describes a file that is not a readable profile.
fn refusal(name: &str, head: &[u8]) -> ProfileError {
    let name = name.to_owned();
    let packed = |packing, unpack| ProfileError::Packed { name: name.clone(), packing, unpack };
    match head {
        [] => ProfileError::Empty { name },
        [0x28, 0xb5, 0x2f, 0xfd, ..] => packed("zstd", "zstd -dc"),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => packed("xz", "xz -dc"),
        [b'B', b'Z', b'h', ..] => packed("bzip2", "bzip2 -dc"),
        [0x1f, 0x8b, ..] => packed("gzip twice", "gzip -dc"),
        some => ProfileError::NotAProfile { name, start: quoted(some) },
    }
}
