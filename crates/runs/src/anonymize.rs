//! Copies without what identifies hosts and people: of a capture, of a recording, and of records of the probe.

use crate::Error;
use crate::input::Progress;
use flate2::Compression;
use flate2::write::GzEncoder;
use slowpath_anonymize::file::CopyError;
use slowpath_anonymize::key::KEY_BYTES;
use slowpath_anonymize::names::Mapped;
use slowpath_anonymize::{Copied, Key, Renamed};
use slowpath_capture::Capture;
use slowpath_files::{Existing, Output, SecretError, check_output, open_secret};
use slowpath_live::{RawCopied, copy_raw, open_raw};
use slowpath_recording::about::About;
use slowpath_recording::{Ending, Recording, Writer};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Where a random key comes from.
const RANDOM: &str = "/dev/urandom";
/// The longest key file: what is longer is some other file.
const MOST_KEY_FILE: u64 = 4096;
/// The names of outputs that are compressed end so.
const ZSTD: &str = "zst";
const GZIP: &str = "gz";
/// The levels of their compression: the defaults of zstd(1) and gzip(1).
const ZSTD_LEVEL: i32 = 3;
const GZIP_LEVEL: u32 = 6;

/// Replacements of names, and what to do with ports.
pub use slowpath_anonymize::{Names, Ports};

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Its file holds no secret.
    #[error(transparent)]
    File(#[from] SecretError),
    /// Its file has no key.
    #[error("{}: {reason}", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: slowpath_anonymize::key::NoKey,
    },
    /// There are no random numbers.
    #[error("{RANDOM}: {0}")]
    Random(io::Error),
}

/// The key in a file that only its owner, this user or root, may read; without one, a random key.
///
/// # Errors
///
/// If there is none.
pub fn key(file: Option<&Path>) -> Result<Key, KeyError> {
    let Some(path) = file else {
        let mut bytes = [0; KEY_BYTES];
        File::open(RANDOM).and_then(|mut random| random.read_exact(&mut bytes)).map_err(KeyError::Random)?;
        return Ok(bytes.into());
    };
    let failed = |source| SecretError::File { path: path.to_owned(), source };
    let mut text = Vec::new();
    open_secret(path)?.take(MOST_KEY_FILE).read_to_end(&mut text).map_err(failed)?;
    let no_key = |reason| KeyError::NoKey { path: path.to_owned(), reason };
    Key::from_hex(&String::from_utf8_lossy(&text)).map_err(no_key)
}

/// The replacements of a report, which keep ports.
///
/// # Errors
///
/// If there is no key.
pub fn names(key_file: Option<&Path>) -> Result<Names, KeyError> {
    Ok(Names::new(&key(key_file)?, Ports::Keep))
}

/// What was copied.
#[derive(Debug)]
pub enum Of {
    /// A capture.
    Capture(Copied),
    /// A recording.
    Recording {
        /// Its events.
        events: u64,
        /// Why not all of it was read.
        damage: Option<String>,
    },
    /// Records of the probe.
    Records(RawCopied),
}

/// A copy without names.
#[derive(Debug)]
pub struct Anonymized {
    /// What was copied.
    pub of: Of,
    /// How many names were replaced.
    pub mapped: Mapped,
}

impl Anonymized {
    /// Why the original was not read to its end.
    pub fn incomplete(&self) -> Option<String> {
        match &self.of {
            Of::Capture(copied) => {
                copied.stopped.as_ref().map(|stop| format!("byte {}: {}", stop.offset, stop.reason))
            }
            Of::Recording { damage, .. } => damage.clone(),
            Of::Records(copied) => copied.incomplete.as_ref().map(ToString::to_string),
        }
    }
}

/// Copies `input`: a folder as a recording, anything else as a capture or as records of the probe, `-` from standard input as
/// a capture. The copy has its name when it is whole.
///
/// # Errors
///
/// If nothing of it can be read, or the copy cannot be written.
pub fn anonymize(
    input: &Path,
    output: &Path,
    existing: Existing,
    (key, ports): (&Key, Ports),
    progress: Progress,
) -> Result<Anonymized, Error> {
    let mut names = Names::new(key, ports);
    if !input.is_dir() {
        check_output(output, existing, &[input.to_owned()])?;
    }
    let of = if input.is_dir() {
        recordings(input, output, &mut names, progress)?
    } else if let Ok(Some(raw)) = open_raw(input) {
        let replay = |source| Error::Replay { path: input.to_owned(), source };
        let copy = |into: &mut dyn Write| {
            copy_raw(raw, into, &mut |endpoint| names.endpoint(endpoint)).map_err(replay)
        };
        Of::Records(written(output, existing, copy)?)
    } else {
        let capture = match input.as_os_str() == "-" {
            true => Capture::from_reader("-", io::stdin()),
            false => Capture::open(input)?,
        };
        let capture = capture.on_progress(progress);
        let copy = |into: &mut dyn Write| {
            slowpath_anonymize::copy(capture, &mut names, into).map_err(|error| match error {
                CopyError::Capture(error) => Error::Capture(error),
                CopyError::Write(source) => Error::file(output)(source),
            })
        };
        Of::Capture(written(output, existing, copy)?)
    };
    Ok(Anonymized { of, mapped: names.mapped() })
}

/// Writes an output, compressed if its name says so.
fn written<T>(
    path: &Path,
    existing: Existing,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Error>,
) -> Result<T, Error> {
    let failed = || Error::file(path);
    let mut into = BufWriter::with_capacity(1 << 18, Output::create(path, existing)?);
    let ending = path.extension().and_then(OsStr::to_str);
    let result = match ending.unwrap_or_default() {
        ZSTD => {
            let mut packed = zstd::Encoder::new(&mut into, ZSTD_LEVEL).map_err(failed())?;
            let result = write(&mut packed)?;
            packed.finish().map_err(failed())?;
            result
        }
        GZIP => {
            let mut packed = GzEncoder::new(&mut into, Compression::new(GZIP_LEVEL));
            let result = write(&mut packed)?;
            packed.finish().map_err(failed())?;
            result
        }
        _ => write(&mut into)?,
    };
    let output = into.into_inner().map_err(|error| failed()(error.into_error()))?;
    output.finish()?;
    Ok(result)
}

/// Copies a recording, or all of a folder of some.
fn recordings(input: &Path, output: &Path, names: &mut Names, mut progress: Progress) -> Result<Of, Error> {
    if output.exists() {
        return Err(Error::Exists(output.to_owned()));
    }
    let (mut events, mut damage) = (0, None);
    let one = Recording::open(input)?;
    let found = if one.folder() == input { vec![input.to_owned()] } else { below(input)? };
    let are_several = found.len() > 1 || one.folder() != input;
    for (number, folder) in (1..).zip(&found) {
        let recording = Recording::open(folder)?;
        // Title and host are names; the copy of several has numbers instead.
        let about =
            About { title: String::new(), host: format!("host {number}"), ..recording.about().clone() };
        let into = if are_several { output.join(format!("host-{number}")) } else { output.to_owned() };
        let mut writer = Writer::create(&into, about)?;
        let read = |done, total| progress(done, Some(total));
        let summary = recording.run(&mut Renamed::new(&mut writer, names), read)?;
        writer.finish(summary.end.unwrap_or(Ending::Interrupted))?;
        events += summary.events;
        damage = damage.or(summary.damage);
    }
    Ok(Of::Recording { events, damage })
}

/// The recordings in a folder.
fn below(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = || Error::file(folder);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed())? {
        let path = entry.map_err(failed())?.path();
        if path.is_dir() && Recording::open(&path).is_ok_and(|recording| recording.folder() == path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
