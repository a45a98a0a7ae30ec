//! The journal: a folder with a file for each plan that was applied, a JSON record a line.
//!
//! Records are only ever added, and each is on disk (fsync(2)) before the program goes on. What a kill or a full disk leaves
//! of the last line announces a change that was not made, and is removed by the next writer.

use crate::error::Error;
use crate::gain::{Gain, Measure, ReadingUnit};
use crate::lock;
use crate::plan::{Forecast, Plan, Planned};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The journal of a host, unless another folder is given.
pub const FOLDER: &str = "/var/lib/slowpath/tune";
/// The version of the records.
pub(crate) const VERSION: u32 = 1;
/// The most that is read of a file: a plan has at most 200 changes.
const MOST_BYTES: u64 = 16 << 20;

/// A record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Record {
    /// A plan is being applied.
    Begun(Begun),
    /// It reverts by itself; this is how.
    Timer(Timer),
    /// The next thing that is done is this change.
    Change(Changed),
    /// The next thing that is written is this file.
    Persist {
        /// The file.
        file: PathBuf,
        /// All of its text.
        text: String,
    },
    /// The plan is kept only if it helps: a command measures that, with the old and the new values in turn. The file is
    /// locked until that has ended.
    Verifying {
        /// The command.
        command: String,
    },
    /// The next thing that is done is to give all settings these values.
    Switch {
        /// Which.
        to: Side,
    },
    /// The plan helped, and is kept.
    Measured(Measured),
    /// All changes are made and verified.
    Applied,
    /// A change failed, and all that was made before is undone.
    Undone {
        /// What failed.
        why: String,
    },
    /// The changes are being taken back.
    Reverting {
        /// When, in seconds since 1970.
        at: u64,
        /// The user.
        uid: u32,
    },
    /// They are taken back, except those that were left.
    Reverted {
        /// When, in seconds since 1970.
        at: u64,
        /// The settings that were left, with the reason.
        left: Vec<String>,
    },
}

/// Who applied which plan where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begun {
    /// The version of the records.
    pub version: u32,
    /// The name of the plan's file.
    pub plan: String,
    /// What the plan is for.
    pub goal: String,
    /// When, in seconds since 1970.
    pub at: u64,
    /// When it reverts by itself, in seconds since 1970.
    pub ends: Option<u64>,
    /// The user's id.
    pub uid: u32,
    /// The user's name before `sudo`.
    pub sudo_user: Option<String>,
    /// The id of the boot.
    pub boot: String,
    /// The name of the network namespace; `None` for that of the program.
    pub netns: Option<String>,
    /// The inode of the network namespace.
    pub netns_inode: u64,
    /// Why each setting is changed.
    pub reasons: Vec<Reason>,
    /// The prediction of the whole plan, or why there is none; `None` for a plan without predictions.
    pub predicted: Option<Result<Forecast, String>>,
}

/// Why a setting is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// The setting, as in the plan.
    pub setting: String,
    /// The finding that the change fixes: `receive-window/buffer-too-small`.
    pub finding: String,
    /// Why, in words.
    pub why: String,
}

impl Reason {
    pub(crate) fn all(plan: &Plan) -> Vec<Self> {
        let of = |Planned { setting, finding, why, .. }: &Planned| Self {
            setting: setting.to_string(),
            finding: finding.clone(),
            why: why.clone(),
        };
        plan.changes.iter().map(of).collect()
    }
}

/// What a command measured of a plan that is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// What it measured.
    pub measure: Measure,
    /// The unit of all measurements.
    pub unit: ReadingUnit,
    /// Runs of each side.
    pub runs: u32,
    /// The median with the values from before.
    pub old: f64,
    /// The median with the values of the plan.
    pub new: f64,
    /// By how much the plan helped.
    pub gain: Gain,
}

/// The values from before a plan, or those by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Those from before.
    Old,
    /// Those by the plan.
    New,
}

/// A change of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changed {
    /// The setting, as in a plan.
    pub setting: String,
    /// Its value before.
    pub old: String,
    /// Its value after.
    pub new: String,
}

/// What reverts a plan by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Timer {
    /// A transient timer of systemd.
    Systemd {
        /// The unit.
        unit: String,
    },
    /// A process of slowpath.
    Watcher {
        /// Its id.
        pid: u32,
    },
}

/// The file of a plan, as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The plan's number.
    pub id: u32,
    /// Who applied it where.
    pub begun: Begun,
    /// All further records.
    pub records: Vec<Record>,
}

impl Written {
    /// The changes that were announced, in their order. Of a setting, the last record counts: it has what the kernel made of the
    /// value.
    pub fn changes(&self) -> impl DoubleEndedIterator<Item = &Changed> {
        let mut changes: Vec<&Changed> = Vec::new();
        for record in &self.records {
            let Record::Change(change) = record else { continue };
            match changes.iter_mut().find(|known| known.setting == change.setting) {
                Some(known) => *known = change,
                None => changes.push(change),
            }
        }
        changes.into_iter()
    }

    /// The files that keep the changes over a reboot, and their texts, in the order in which they were written.
    pub fn persisted(&self) -> impl DoubleEndedIterator<Item = (&Path, &str)> {
        self.records.iter().filter_map(|record| match record {
            Record::Persist { file, text } => Some((file.as_path(), text.as_str())),
            _ => None,
        })
    }

    /// What reverts it by itself.
    pub fn timer(&self) -> Option<&Timer> {
        self.records.iter().find_map(|record| match record {
            Record::Timer(timer) => Some(timer),
            _ => None,
        })
    }

    /// The command that measures whether the plan helps.
    pub fn verifier(&self) -> Option<&str> {
        self.records.iter().find_map(|record| match record {
            Record::Verifying { command } => Some(command.as_str()),
            _ => None,
        })
    }

    /// What was measured of it, if it is kept because it helped.
    pub fn measured(&self) -> Option<&Measured> {
        self.records.iter().find_map(|record| match record {
            Record::Measured(measured) => Some(measured),
            _ => None,
        })
    }

    /// Whether all changes were made.
    pub fn is_applied(&self) -> bool {
        self.records.contains(&Record::Applied)
    }

    /// When it was reverted, and what was left; `None` if it was not.
    pub fn reverted(&self) -> Option<(u64, &[String])> {
        self.records.iter().rev().find_map(|record| match record {
            Record::Reverted { at, left } => Some((*at, left.as_slice())),
            _ => None,
        })
    }

    /// Why nothing of it was kept, if a change failed.
    pub fn undone(&self) -> Option<&str> {
        self.records.iter().find_map(|record| match record {
            Record::Undone { why } => Some(why.as_str()),
            _ => None,
        })
    }

    /// Whether there is nothing left to revert.
    pub fn is_closed(&self) -> bool {
        self.undone().is_some() || self.reverted().is_some()
    }
}

/// A folder of journals.
#[derive(Clone, Debug)]
pub struct Journal {
    folder: PathBuf,
}

impl Journal {
    /// The journal in a folder, which need not exist yet.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Creates the folder where it does not exist: for its owner only, since what is in it is obeyed as root.
    pub(crate) fn prepare(&self) -> Result<(), Error> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(|source| failed(&self.folder, "written", source))?;
        self.need_trusted()
    }

    /// Refuses a folder that others may write to: who writes a journal decides what a revert does as root.
    pub(crate) fn need_trusted(&self) -> Result<(), Error> {
        let Ok(about) = fs::metadata(&self.folder) else { return Ok(()) };
        let own = fs::metadata("/proc/self").map_or(0, |own| own.uid());
        if about.mode() & 0o022 == 0 && [0, own].contains(&about.uid()) {
            return Ok(());
        }
        Err(Error::Writable(self.folder.clone()))
    }

    fn path(&self, id: u32) -> PathBuf {
        self.folder.join(format!("{id:04}.jsonl"))
    }

    /// The numbers of all plans, in their order.
    fn numbers(&self) -> Result<Vec<u32>, Error> {
        let list = match fs::read_dir(&self.folder) {
            Ok(list) => list,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(failed(&self.folder, "read", source)),
        };
        let names = list.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut numbers: Vec<u32> =
            names.filter_map(|name| name.strip_suffix(".jsonl")?.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// All plans that were begun, the first one first. A file that cannot be read is an error of its own.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn all(&self) -> Result<Vec<Result<Written, Error>>, Error> {
        Ok(self.numbers()?.into_iter().filter_map(|id| self.read(id).transpose()).collect())
    }

    /// A plan by its number; `None` if nothing was begun under it.
    ///
    /// # Errors
    /// If its file cannot be read, or has something else in it.
    pub fn read(&self, id: u32) -> Result<Option<Written>, Error> {
        let path = self.path(id);
        let text = match read_text(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(failed(&path, "read", source)),
        };
        let (records, _) = parse(&path, &text)?;
        let mut records = records.into_iter();
        match records.next() {
            None => Ok(None),
            Some(Record::Begun(begun)) => Ok(Some(Written { id, begun, records: records.collect() })),
            Some(_) => {
                Err(Error::Damaged { path, line: 1, why: "it does not begin with \"begun\"".to_owned() })
            }
        }
    }

    /// Whether a plan is being verified: its file is locked.
    pub(crate) fn is_being_verified(&self, written: &Written) -> bool {
        let may_be = written.verifier().is_some() && !written.is_applied() && !written.is_closed();
        may_be && File::open(self.path(written.id)).is_ok_and(|file| lock::is_locked(&file))
    }

    /// Refuses while a plan is being verified.
    pub(crate) fn need_nothing_verified(&self) -> Result<(), Error> {
        match self.all()?.into_iter().flatten().find(|written| self.is_being_verified(written)) {
            Some(Written { id, .. }) => Err(Error::BeingVerified { id }),
            None => Ok(()),
        }
    }

    /// Begins the file of a plan, under the next number.
    pub(crate) fn begin(&self, begun: Begun) -> Result<(u32, Writer), Error> {
        let id = self.numbers()?.last().map_or(1, |last| last + 1);
        let path = self.path(id);
        let begin = || {
            let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
            let mut writer = Writer { file, path: path.clone() };
            writer.add(&Record::Begun(begun))?;
            File::open(&self.folder)?.sync_all()?;
            Ok(writer)
        };
        begin().map(|writer| (id, writer)).map_err(|source| {
            // Nothing was announced in it.
            let _ = fs::remove_file(&path);
            failed(&path, "written", source)
        })
    }

    /// Continues the file of a plan. What is left of a torn last line is removed.
    pub(crate) fn resume(&self, id: u32) -> Result<Writer, Error> {
        let path = self.path(id);
        let (_, whole) = parse(&path, &read_text(&path).map_err(|source| failed(&path, "read", source))?)?;
        let resume = || {
            let file = OpenOptions::new().append(true).open(&path)?;
            if file.metadata()?.len() > whole {
                file.set_len(whole)?;
            }
            Ok(file)
        };
        let file = resume().map_err(|source| failed(&path, "written", source))?;
        Ok(Writer { file, path: path.clone() })
    }
}

fn failed(path: &Path, doing: &'static str, source: io::Error) -> Error {
    Error::Journal { path: path.to_owned(), doing, source }
}

/// A journal's text. What is no UTF-8 is part of a torn line.
fn read_text(path: &Path) -> io::Result<String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The whole records of a file, and how many bytes they take. The last line may be torn.
fn parse(path: &Path, text: &str) -> Result<(Vec<Record>, u64), Error> {
    let mut records = Vec::new();
    let mut whole = 0;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (index, line) in lines.iter().enumerate() {
        let record = line.strip_suffix('\n').map(serde_json::from_str);
        match record {
            Some(Ok(Record::Begun(begun))) if begun.version != VERSION => {
                let why =
                    format!("version {} is of another slowpath; this one knows {VERSION}", begun.version);
                return Err(Error::Damaged { path: path.to_owned(), line: index + 1, why });
            }
            Some(Ok(record)) => {
                records.push(record);
                whole += line.len() as u64;
            }
            Some(Err(error)) if index + 1 < lines.len() => {
                return Err(Error::Damaged {
                    path: path.to_owned(),
                    line: index + 1,
                    why: error.to_string(),
                });
            }
            Some(Err(_)) | None => {}
        }
    }
    Ok((records, whole))
}

/// Adds records to the file of a plan.
#[derive(Debug)]
pub(crate) struct Writer {
    file: File,
    path: PathBuf,
}

impl Writer {
    /// Adds a record. When this returns, it is on disk.
    fn add(&mut self, record: &Record) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        let before = self.file.metadata()?.len();
        let added = self.file.write_all(&line).and_then(|()| self.file.sync_all());
        if added.is_err() {
            // A full disk leaves a part of the line, which would tear the next one.
            let _ = self.file.set_len(before);
        }
        added
    }

    /// Locks the file until this is dropped, or its program is gone.
    pub(crate) fn hold(&self) -> Result<(), Error> {
        lock::hold(&self.file).map_err(|source| failed(&self.path, "locked", source))
    }

    /// Adds a record, on disk when this returns.
    pub(crate) fn write(&mut self, record: &Record) -> Result<(), Error> {
        self.add(record).map_err(|source| failed(&self.path, "written", source))
    }
}

#[cfg(test)]
mod tests;
