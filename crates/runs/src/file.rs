//! A scenario file, with the changes from the command line.

use crate::Error;
use slowpath_files::{Existing, OutputError, write_output};
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
