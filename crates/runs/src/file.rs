//! A scenario file, with the changes from the command line.

use crate::Error;
use slowpath_files::{Existing, OutputError, write_output};
use slowpath_model::Bytes;
use slowpath_scenario::template::template;
use slowpath_scenario::{Checked, Override, Rejected, Scenario};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Overrides of a scenario file's values.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Values by key.
    pub set: Vec<Override>,
    /// The seed that replaces the file's.
    pub seed: Option<u64>,
}

impl Changes {
    /// The overrides as they were written.
    pub fn texts(&self) -> Vec<String> {
        self.set.iter().map(|one| one.text().to_owned()).collect()
    }
}

/// The text of a scenario file, or of standard input for `-`.
///
/// # Errors
///
/// If it cannot be read, or is not UTF-8.
pub fn text(file: &Path) -> Result<String, Error> {
    // One byte more than the longest scenario, so that a longer file is refused without being read whole.
    const MOST_BYTES: u64 = (1 << 20) + 1;
    let name = file.to_string_lossy();
    let mut bytes = Vec::new();
    let read = if name == "-" {
        io::stdin().take(MOST_BYTES).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes))
    };
    read.map_err(Error::file(file))?;
    String::from_utf8(bytes).map_err(|_| Error::NotText(name.into_owned()))
}

/// The text of a file of at most `most` bytes that begins as a JSON document, or of standard input for `-`; `None` for another
/// file, such as a capture.
///
/// # Errors
///
/// If it cannot be read, is longer, or is not UTF-8.
pub fn json(file: &Path, most: u64) -> Result<Option<String>, Error> {
    let name = file.to_string_lossy();
    let mut input: Box<dyn Read> = if name == "-" {
        Box::new(io::stdin())
    } else if file.is_file() {
        Box::new(File::open(file).map_err(Error::file(file))?)
    } else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    input.by_ref().take(1 << 10).read_to_end(&mut bytes).map_err(Error::file(file))?;
    let begins = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if name != "-" && begins != Some(&b'{') {
        return Ok(None);
    }
    // One byte more, so that a longer file is refused without being read whole.
    input.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(Error::file(file))?;
    if bytes.len() as u64 > most {
        return Err(Error::TooLong { name: name.into_owned(), most: Bytes::new(most) });
    }
    String::from_utf8(bytes).map(Some).map_err(|_| Error::NotText(name.into_owned()))
}

/// Creates a commented scenario file to start from.
///
/// # Errors
///
/// If the file exists, or cannot be written.
pub fn create(file: &Path) -> Result<(), Error> {
    let name = file.file_stem().map_or_else(|| "my scenario".into(), |stem| stem.to_string_lossy());
    match write_output(file, Existing::Keep, template(&name).as_bytes()) {
        Err(OutputError::Exists(file)) => Err(Error::NotChanged(file)),
        written => Ok(written?),
    }
}

/// Reads and checks a scenario file.
///
/// # Errors
///
/// The outer error: the file cannot be read. The inner error: the scenario has errors.
pub fn check(file: &Path, changes: &Changes) -> Result<Result<Checked, Rejected>, Error> {
    Ok(slowpath_scenario::check(&file.to_string_lossy(), &text(file)?, &changes.set, changes.seed))
}

/// Reads a scenario file that is to be run.
///
/// # Errors
///
/// If the file cannot be read, or the scenario has errors.
pub fn load(file: &Path, changes: &Changes) -> Result<Scenario, Error> {
    Ok(check(file, changes)??.scenario)
}

/// The scenario of a file whose text is known, with overrides beyond those of `changes`.
///
/// # Errors
///
/// If the scenario has errors.
pub fn load_text(file: &Path, text: &str, changes: &Changes, more: &[Override]) -> Result<Scenario, Error> {
    let set = [changes.set.as_slice(), more].concat();
    Ok(slowpath_scenario::check(&file.to_string_lossy(), text, &set, changes.seed)?.scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_told_from_captures_and_has_a_bound() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let read = |text: &[u8]| {
            std::fs::write(&path, text).expect("there is room");
            json(&path, 2000)
        };
        assert_eq!(read(b" \n{\"a\": 1}").expect("it is read").as_deref(), Some(" \n{\"a\": 1}"));
        for other in [&b"\xd4\xc3\xb2\xa1"[..], b"", b"[paths]"] {
            assert!(read(other).expect("it is read").is_none());
        }
        assert!(json(folder.path(), 2000).expect("a folder").is_none());
        let long = format!("{{{}", " ".repeat(1999));
        assert!(read(long.as_bytes()).is_ok_and(|text| text.is_some()), "2,000 bytes");
        let error = read(format!("{long} ").as_bytes()).expect_err("too long").to_string();
        assert!(
            error.ends_with(": this is longer than 2 kB") || error.contains("longer than 1.95 KiB"),
            "{error}"
        );
        assert!(matches!(read(b"{\xff"), Err(Error::NotText(_))));
    }
}
