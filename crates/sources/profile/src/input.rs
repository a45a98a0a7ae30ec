//! Which format a file has, by what is in it.

use crate::error::{ProfileError, Stop, quoted};
use crate::gather::Gather;
use crate::notes::Notes;
use crate::text::{folded, opreport, script};
use crate::{At, Contents, Format, Input, SymbolSources, perf, pprof};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// The bytes that are read to recognise a format.
const HEAD: u64 = 64 * 1024;

/// What comes through a pipe, is packed or is pprof's is held whole, up to this.
const MOST_HELD: u64 = 1024 * 1024 * 1024;

/// Reads a profile, of whatever format it is.
///
/// # Errors
///
/// If nothing of it can be read. One that breaks off half-way is read up to there; [`Input::stopped`] says so.
pub fn open(path: impl AsRef<Path>, options: &SymbolSources) -> Result<Input, ProfileError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let opened = File::open(path).and_then(|file| {
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        Ok((metadata.is_file(), file))
    });
    match opened {
        Ok((true, file)) => read(&name, file, options),
        // perf.data is read twice, which what comes through a pipe cannot be.
        Ok((false, file)) => read(&name, Cursor::new(hold(&name, file)?), options),
        Err(source) => Err(ProfileError::Open { name, source }),
    }
}

fn failed(name: &str, error: &std::io::Error) -> ProfileError {
    ProfileError::Read { name: name.to_owned(), at: At::Offset(0), reason: error.to_string() }
}

/// All that comes.
fn hold(name: &str, source: impl Read) -> Result<Vec<u8>, ProfileError> {
    let mut bytes = Vec::new();
    source.take(MOST_HELD + 1).read_to_end(&mut bytes).map_err(|error| failed(name, &error))?;
    if bytes.len() as u64 > MOST_HELD { Err(too_large(name, &bytes)) } else { Ok(bytes) }
}

fn too_large(name: &str, held: &[u8]) -> ProfileError {
    let fix = "unpack it, or write it to a file first, unless it is pprof's";
    ProfileError::TooLarge { name: name.to_owned(), size: held.len() as u64, most: MOST_HELD, fix }
}

/// Reads a profile that is at hand; `name` is what messages call it.
///
/// # Errors
///
/// As [`open`].
pub fn read(
    name: &str,
    mut source: impl Read + Seek,
    options: &SymbolSources,
) -> Result<Input, ProfileError> {
    let head = look(&mut source).map_err(|error| failed(name, &error))?;
    if !head.starts_with(&GZIP) {
        return read_plain(name, &head, source, options);
    }
    let mut unpacked = Vec::new();
    let packed = MultiGzDecoder::new(BufReader::new(source));
    let result = packed.take(MOST_HELD + 1).read_to_end(&mut unpacked);
    if unpacked.len() as u64 > MOST_HELD {
        return Err(too_large(name, &unpacked));
    }
    // What was unpacked before the damage may still be read.
    let damage =
        result.err().map(|error| Stop { at: At::Offset(unpacked.len() as u64), reason: error.to_string() });
    if unpacked.is_empty() {
        let empty = || ProfileError::Empty { name: name.to_owned() };
        return Err(damage.map_or_else(empty, |stop| ProfileError::damaged(name, stop)));
    }
    let head = unpacked[..unpacked.len().min(HEAD as usize)].to_vec();
    let mut input = read_plain(name, &head, Cursor::new(unpacked), options)?;
    input.stopped = input.stopped.or(damage);
    Ok(input)
}

/// RFC 1952, section 2.3.1.
const GZIP: [u8; 2] = [0x1f, 0x8b];

fn look(source: &mut (impl Read + Seek)) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    source.by_ref().take(HEAD).read_to_end(&mut head)?;
    source.seek(SeekFrom::Start(0))?;
    Ok(head)
}

fn read_plain(
    name: &str,
    head: &[u8],
    mut source: impl Read + Seek,
    options: &SymbolSources,
) -> Result<Input, ProfileError> {
    let Some(format) = format(head) else { return Err(refusal(name, head)) };
    let (mut gather, mut notes) = (Gather::default(), Notes::default());
    let lines = BufReader::with_capacity(256 * 1024, &mut source);
    let stopped = match format {
        Format::PerfData => {
            drop(lines);
            return perf::read(name, &mut source, options);
        }
        Format::PerfScript => script::read(lines, &mut gather, &mut notes),
        Format::Folded => folded::read(lines, &mut gather, &mut notes),
        Format::Pprof => pprof::read(&hold(name, lines)?, &mut gather, &mut notes),
        Format::Opreport => {
            let (graph, stopped) = opreport::read(lines, &mut notes);
            if let (Some(stop), true) = (&stopped, graph.functions.is_empty()) {
                return Err(ProfileError::damaged(name, stop.clone()));
            }
            let (name, contents) = (name.to_owned(), Contents::Calls(graph));
            return Ok(Input { name, format, contents, notes: notes.into_vec(), stopped });
        }
    };
    if let (Some(stop), true) = (&stopped, gather.profile.entries.is_empty()) {
        return Err(ProfileError::damaged(name, stop.clone()));
    }
    let contents = Contents::Stacks(gather.profile);
    Ok(Input { name: name.to_owned(), format, contents, notes: notes.into_vec(), stopped })
}

/// The format of what begins so.
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

/// What it is, if it is no profile that can be read.
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
