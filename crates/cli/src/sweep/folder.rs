//! `--out`: the runs of a sweep as a folder of Parquet files, which is also where a sweep that was stopped goes on.
//!
//! A file has a run, and its name is the run's number. It is written when the run is over, and is there whole or not at
//! all, so that whatever ends the program costs the runs that it was at. A run's file depends on nothing but the run:
//! the order in which they were made, and how often the sweep was stopped, do not show. Since thousands of files are
//! slow to open, those of [`BLOCK`] runs become one in the end.

use super::columns;
use super::plan::{Job, Plan};
use crate::measured::Measured;
use anyhow::{Context, bail, ensure};
use slowpath_recording::results::{self, Column, Table};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process;

/// Runs whose files become one.
const BLOCK: usize = 500;

const SCHEMA: &str = "slowpath.schema";
const VERSION: &str = "slowpath/sweep-data/1";
const SCENARIO: &str = "slowpath.scenario";

/// What makes two sweeps the same: the name in a file's metadata, what people call it, and what it is.
pub type Identity = Vec<(&'static str, &'static str, String)>;

/// What makes a sweep the same as another one: runs of the one are runs of the other.
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

/// A file of it, with the runs that it has.
struct Part {
    path: PathBuf,
    runs: RangeInclusive<usize>,
}

impl Folder {
    /// The folder, which is made if it is not there, with the runs of this sweep that it has.
    ///
    /// # Errors
    ///
    /// If it holds anything else, or what it holds cannot be read.
    pub fn open(
        path: &Path,
        plan: &Plan,
        identity: Identity,
    ) -> anyhow::Result<(Self, Vec<Option<Measured>>)> {
        let shown = path.display();
        ensure!(!path.exists() || path.is_dir(), "{shown}: is a file; name a folder for --out");
        fs::create_dir_all(path).with_context(|| format!("{shown}: cannot be made"))?;
        let this = Self { path: path.to_owned(), columns: columns::columns(&plan.keys), identity };
        let mut found: Vec<Option<Measured>> = plan.jobs.iter().map(|_| None).collect();
        let parts = this.parts()?;
        for part in &parts {
            this.check(&part.path)?;
            let rows = this.read(&part.path)?.rows;
            ensure!(rows.len() == part.runs.clone().count(), this.not_ours(&part.path));
            for (number, row) in part.runs.clone().zip(rows) {
                let job = number.checked_sub(1).and_then(|place| plan.jobs.get(place));
                let run = job.and_then(|job| columns::run(plan, job, &row));
                found[number - 1] = Some(run.with_context(|| this.not_ours(&part.path))?);
            }
        }
        this.remove_packed(&parts)?;
        Ok((this, found))
    }

    /// Writes a run that is over.
    pub fn add(&self, plan: &Plan, job: &Job, run: &Measured) -> anyhow::Result<()> {
        let number = job.number;
        self.write(number..=number, vec![columns::row(plan, job, run)])
    }

    /// Puts the files of many runs together where all of them are there.
    pub fn pack(&self) -> anyhow::Result<()> {
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

    fn write(&self, runs: RangeInclusive<usize>, rows: Vec<Vec<results::Cell>>) -> anyhow::Result<()> {
        let (first, last) = (runs.start(), runs.end());
        let name = if first == last { format!("{first:06}") } else { format!("{first:06}-{last:06}") };
        // What begins so is no data to readers of data sets; with its process, two never write the same one.
        let unfinished = self.path.join(format!("_{}-{name}.part", process::id()));
        let metadata = self.identity.iter().map(|(key, _, value)| ((*key).to_owned(), value.clone()));
        let table = Table { metadata: metadata.collect(), rows };
        let path = self.path.join(name).with_extension("parquet");
        Ok(results::write(&path, &unfinished, &self.columns, &table)?)
    }

    fn read(&self, path: &Path) -> anyhow::Result<Table> {
        let read = results::read(path, &self.columns);
        read.map_err(|damage| anyhow::anyhow!("{damage}; remove that file, and its runs are made again"))
    }

    fn not_ours(&self, path: &Path) -> String {
        format!("{}: is none of this sweep's files; name another folder for --out", path.display())
    }

    /// Its files in the order of their runs, a block before what is in it. What a killed sweep left unfinished is removed.
    fn parts(&self) -> anyhow::Result<Vec<Part>> {
        let cannot = || format!("{}: cannot be read", self.path.display());
        let (mut parts, mut other) = (Vec::new(), None);
        for entry in fs::read_dir(&self.path).with_context(cannot)? {
            let path = entry.with_context(cannot)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(process) = unfinished_by(&name) {
                if process == process::id() || !Path::new(&format!("/proc/{process}")).exists() {
                    fs::remove_file(&path).with_context(|| path.display().to_string())?;
                }
            } else if let Some(name) = name.strip_suffix(".parquet") {
                let runs = runs_of(name).with_context(|| self.not_ours(&path))?;
                parts.push(Part { path, runs });
            } else {
                other = Some(path);
            }
        }
        if let (Some(other), true) = (other, parts.is_empty()) {
            bail!(
                "{}: is no sweep's folder: it holds {}; name another one for --out",
                self.path.display(),
                other.file_name().unwrap_or_default().to_string_lossy()
            );
        }
        parts.sort_by_key(|part| (*part.runs.start(), usize::MAX - part.runs.end()));
        Ok(parts)
    }

    /// Removes what is in a block already.
    fn remove_packed(&self, parts: &[Part]) -> anyhow::Result<()> {
        let blocks = || parts.iter().filter(|part| part.runs.start() != part.runs.end());
        let is_packed = |part: &&Part| {
            part.runs.start() == part.runs.end()
                && blocks().any(|block| block.runs.contains(part.runs.start()))
        };
        for part in parts.iter().filter(is_packed) {
            fs::remove_file(&part.path).with_context(|| part.path.display().to_string())?;
        }
        Ok(())
    }

    /// Whether a file is of this sweep.
    fn check(&self, path: &Path) -> anyhow::Result<()> {
        let found = results::read_metadata(path)
            .map_err(|damage| anyhow::anyhow!("{damage}; remove that file, and its runs are made again"))?;
        for (key, what, is) in &self.identity {
            let was = found.iter().find(|(name, _)| name == key).map(|(_, value)| value);
            let was = was.with_context(|| self.not_ours(path))?;
            if was == is {
                continue;
            }
            let differs = if *key == SCENARIO { other_line(was, is) } else { other_value(was, is) };
            bail!(
                "{}: has runs of another sweep: {what} differs ({differs}); name another folder for --out",
                self.path.display()
            );
        }
        Ok(())
    }
}

/// The process that left a file unfinished, if its name says that it is one.
fn unfinished_by(name: &str) -> Option<u32> {
    let (process, runs) = name.strip_prefix('_')?.strip_suffix(".part")?.split_once('-')?;
    runs_of(runs).and(process.parse().ok())
}

/// `000007` and `000001-000500`.
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
    fn names_say_which_runs_are_in_a_file() {
        assert_eq!(runs_of("000007"), Some(7..=7));
        assert_eq!(runs_of("000001-000500"), Some(1..=500));
        for other in ["", "7", "000000", "00000x", "000002-000001", "000001-", "+00001"] {
            assert_eq!(runs_of(other), None, "{other}");
        }
        assert_eq!(unfinished_by("_12-000007.part"), Some(12));
        assert!(unfinished_by("_12-7.part").is_none() && unfinished_by("12-000007.part").is_none());
    }

    #[test]
    fn what_differs_is_named() {
        assert_eq!(other_line("a\nb\nc", "a\nx\nc"), "from its line 2 on");
        assert_eq!(other_line("a\n", "a\nb\n"), "from its line 2 on");
        assert_eq!(other_value("", "1"), "there nothing, here 1");
    }
}
