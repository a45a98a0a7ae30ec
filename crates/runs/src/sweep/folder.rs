//! The runs of a sweep as a folder of Parquet files, from which a stopped sweep continues.
//!
//! Each run has a file, named by the run's number. It appears when the run ends, complete, so a killed program loses only
//! the runs in progress, and two processes may fill one folder. A file depends on its run alone, not on the order
//! of runs or on interruptions. Since thousands of files are slow to open, the files of [`BLOCK`] runs are merged into
//! one at the end.

use super::columns;
use super::plan::{Job, Plan};
use crate::error::FolderError;
use crate::{Error, Measured};
use slowpath_files::{is_unfinished, remove_unfinished};
use slowpath_recording::results::{self, Column, Table};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Runs whose files are merged into one.
const BLOCK: usize = 500;

const SCHEMA: &str = "slowpath.schema";
const VERSION: &str = "slowpath/sweep-data/1";
const SCENARIO: &str = "slowpath.scenario";

/// What identifies a sweep: each item's name in the metadata, its name for people, and its value.
pub type Identity = Vec<(&'static str, &'static str, String)>;

/// The identity of a sweep. Runs of sweeps with equal identities are interchangeable.
pub fn identity(plan: &Plan, set: &[String], repeat: u32, runs_on: String) -> Identity {
    let vary = plan.sweep.vary.iter().map(|vary| values(&vary.values));
    let tries = plan.sweep.tries.iter().map(|one| format!("{}: {}", one.name, values(&one.set)));
    vec![
        (SCHEMA, "how it is written", VERSION.to_owned()),
        ("slowpath.version", "slowpath's version", env!("CARGO_PKG_VERSION").to_owned()),
        (SCENARIO, "the scenario", plan.text.clone()),
        ("slowpath.set", "what --set changes", set.join("; ")),
        ("slowpath.vary", "what varies", vary.collect::<Vec<_>>().join("; ")),
        ("slowpath.try", "what else is tried", tries.collect::<Vec<_>>().join("; ")),
        ("slowpath.seed", "the seed", plan.base.seed.to_string()),
        ("slowpath.repeat", "--repeat", repeat.to_string()),
        ("slowpath.runs_on", "where it runs", runs_on),
    ]
}

fn values(set: &[slowpath_scenario::Override]) -> String {
    set.iter().map(slowpath_scenario::Override::text).collect::<Vec<_>>().join(", ")
}

/// A sweep's folder.
pub struct Folder {
    path: PathBuf,
    columns: Vec<Column>,
    identity: Identity,
}

/// A file of it, with its range of runs.
struct Part {
    path: PathBuf,
    runs: RangeInclusive<usize>,
}

impl Folder {
    /// Opens the folder, which is created if needed, and reads the runs of this sweep in it.
    ///
    /// # Errors
    ///
    /// If the folder has other files, or a file cannot be read.
    pub fn open(
        path: &Path,
        plan: &Plan,
        identity: Identity,
    ) -> Result<(Self, Vec<Option<Measured>>), Error> {
        if path.exists() && !path.is_dir() {
            return Err(FolderError::IsFile(path.to_owned()).into());
        }
        fs::create_dir_all(path).map_err(Error::file(path))?;
        remove_unfinished(path);
        let this = Self { path: path.to_owned(), columns: columns::columns(&plan.keys), identity };
        let mut found: Vec<Option<Measured>> = plan.jobs.iter().map(|_| None).collect();
        let parts = this.parts()?;
        for part in &parts {
            this.check(&part.path)?;
            let rows = this.read(&part.path)?.rows;
            if rows.len() != part.runs.clone().count() {
                return Err(not_ours(&part.path));
            }
            for (number, row) in part.runs.clone().zip(rows) {
                let job = number.checked_sub(1).and_then(|place| plan.jobs.get(place));
                let run = job.and_then(|job| columns::run(plan, job, &row));
                found[number - 1] = Some(run.ok_or_else(|| not_ours(&part.path))?);
            }
        }
        this.remove_packed(&parts)?;
        Ok((this, found))
    }

    /// Stores a completed run.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn add(&self, plan: &Plan, job: &Job, run: &Measured) -> Result<(), Error> {
        let number = job.number;
        self.write(number..=number, vec![columns::row(plan, job, run)])
    }

    /// Merges the files of 500 runs (`BLOCK`) if all of them exist.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, written or removed.
    pub fn pack(&self) -> Result<(), Error> {
        let parts = self.parts()?;
        let single: Vec<&Part> = parts.iter().filter(|part| part.runs.start() == part.runs.end()).collect();
        for block in single.chunk_by(|a, b| (a.runs.end() - 1) / BLOCK == (b.runs.end() - 1) / BLOCK) {
            if block.len() < BLOCK {
                continue;
            }
            let mut rows = Vec::new();
            for part in block {
                rows.append(&mut self.read(&part.path)?.rows);
            }
            self.write(*block[0].runs.start()..=*block[BLOCK - 1].runs.end(), rows)?;
        }
        self.remove_packed(&self.parts()?)
    }

    fn write(&self, runs: RangeInclusive<usize>, rows: Vec<Vec<results::Cell>>) -> Result<(), Error> {
        let (first, last) = (runs.start(), runs.end());
        let name = if first == last { format!("{first:06}") } else { format!("{first:06}-{last:06}") };
        let metadata = self.identity.iter().map(|(key, _, value)| ((*key).to_owned(), value.clone()));
        let table = Table { metadata: metadata.collect(), rows };
        let path = self.path.join(name).with_extension("parquet");
        Ok(results::write(&path, &self.columns, &table)?)
    }

    fn read(&self, path: &Path) -> Result<Table, Error> {
        results::read(path, &self.columns).map_err(Error::Stored)
    }

    /// The folder's files in the order of their runs, a block before its parts.
    fn parts(&self) -> Result<Vec<Part>, Error> {
        let (mut parts, mut other) = (Vec::new(), None);
        for entry in fs::read_dir(&self.path).map_err(Error::file(&self.path))? {
            let path = entry.map_err(Error::file(&self.path))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if is_unfinished(&path) {
                // Another process is writing it.
            } else if let Some(name) = name.strip_suffix(".parquet") {
                let runs = runs_of(name).ok_or_else(|| not_ours(&path))?;
                parts.push(Part { path, runs });
            } else {
                other = Some(path);
            }
        }
        if let (Some(other), true) = (other, parts.is_empty()) {
            let holds = other.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Err(FolderError::HoldsOther { folder: self.path.clone(), holds }.into());
        }
        parts.sort_by_key(|part| (*part.runs.start(), usize::MAX - part.runs.end()));
        Ok(parts)
    }

    /// Removes files whose runs are also in a block.
    fn remove_packed(&self, parts: &[Part]) -> Result<(), Error> {
        let blocks = || parts.iter().filter(|part| part.runs.start() != part.runs.end());
        let is_packed = |part: &&Part| {
            part.runs.start() == part.runs.end()
                && blocks().any(|block| block.runs.contains(part.runs.start()))
        };
        for part in parts.iter().filter(is_packed) {
            fs::remove_file(&part.path).map_err(Error::file(&part.path))?;
        }
        Ok(())
    }

    /// Checks that a file is of this sweep.
    fn check(&self, path: &Path) -> Result<(), Error> {
        let found = results::read_metadata(path).map_err(Error::Stored)?;
        for (key, what, is) in &self.identity {
            let was = found.iter().find(|(name, _)| name == key).map(|(_, value)| value);
            let was = was.ok_or_else(|| not_ours(path))?;
            if was == is {
                continue;
            }
            let differs = if *key == SCENARIO { other_line(was, is) } else { other_value(was, is) };
            return Err(FolderError::OtherSweep { folder: self.path.clone(), what, differs }.into());
        }
        Ok(())
    }
}

fn not_ours(path: &Path) -> Error {
    FolderError::NotOurs(path.to_owned()).into()
}

/// The runs of a file name: `000007` or `000001-000500`.
fn runs_of(name: &str) -> Option<RangeInclusive<usize>> {
    let number = |text: &str| {
        let is = text.len() == 6 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| is && *number > 0)
    };
    match name.split_once('-') {
        Some((first, last)) => Some(number(first)?..=number(last)?).filter(|runs| runs.start() < runs.end()),
        None => number(name).map(|number| number..=number),
    }
}

fn other_value(was: &str, is: &str) -> String {
    let named = |value: &str| if value.is_empty() { "nothing".to_owned() } else { value.to_owned() };
    format!("there {}, here {}", named(was), named(is))
}

fn other_line(was: &str, is: &str) -> String {
    let alike = was.lines().zip(is.lines()).take_while(|(was, is)| was == is).count();
    format!("from its line {} on", alike + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_file_names_state_their_runs() {
        assert_eq!(runs_of("000007"), Some(7..=7));
        assert_eq!(runs_of("000001-000500"), Some(1..=500));
        for other in ["", "7", "000000", "00000x", "000002-000001", "000001-", "+00001"] {
            assert_eq!(runs_of(other), None, "{other}");
        }
    }

    #[test]
    fn different_sweep_is_refused_with_the_difference() {
        assert_eq!(other_line("a\nb\nc", "a\nx\nc"), "from its line 2 on");
        assert_eq!(other_line("a\n", "a\nb\n"), "from its line 2 on");
        assert_eq!(other_value("", "1"), "there nothing, here 1");
    }
}
