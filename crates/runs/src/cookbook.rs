//! Cases for the cookbook: a recording of a transfer without addresses and payload, its verdict, and what helped.
//!
//! A case is a folder with `sender.pcap.zst`-like recordings ([`RECORDINGS`]), `verdict.json` and `README.md`. A
//! maintainer takes it in below `captures/cookbook`; from then on a test compares its verdict with the one it had.

mod error;

pub use error::Error;

use crate::input;
use serde::{Deserialize, Serialize};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, AnalysisOptions, Cause};
use slowpath_capture::Capture;
use slowpath_capture::anonymous::Anonymiser;
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Sink, nanos};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The names of a case's recordings.
pub const RECORDINGS: [&str; 2] = ["recording.pcap.zst", "other-end.pcap.zst"];
/// The name of a case's verdict.
pub const VERDICT: &str = "verdict.json";
/// The name of a case's description.
pub const README: &str = "README.md";
/// The layout of [`VERDICT`].
const FORMAT: u32 = 1;
/// The largest recording of a case: what a repository can hold.
pub const MOST_BYTES: u64 = 5 << 20;
/// Flows of a recording whose verdict is stored: those with most data.
const MOST_FLOWS: usize = 20;
/// Small files are read once and stored for good.
const ZSTD_LEVEL: i32 = 19;

/// A case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The version of this format: 1.
    pub format: u32,
    /// What the case is, in one line.
    pub title: String,
    /// What helped.
    pub what_helped: String,
    /// Each recording with its verdict.
    pub recordings: Vec<Recorded>,
}

/// A recording of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// Its file in the folder.
    pub file: String,
    /// The verdict on each flow, in the order of their numbers.
    pub flows: Vec<Verdict>,
}

/// The verdict on a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Its number in the recording.
    pub flow: u32,
    /// Payload that it moved in its main direction.
    pub moved_bytes: u64,
    /// From its first event to its last.
    pub lasted_ns: u64,
    /// What mainly limited it ([`Judge`]); `None` if nothing is known.
    pub main_cause: Option<String>,
    /// The part of its time that every cause limited, 0 to 1.
    pub shares: BTreeMap<String, f64>,
}

/// The main cause of a flow, as `slowpath diagnose` says it.
pub type Judge = fn(&FlowReport) -> Option<Cause>;

/// What a new case is made of.
pub struct Entry<'a> {
    /// One capture, or those of both ends.
    pub captures: &'a [PathBuf],
    /// See [`Case::title`].
    pub title: &'a str,
    /// See [`Case::what_helped`].
    pub what_helped: &'a str,
    /// The folder to create.
    pub out: &'a Path,
}

/// A change of a case's verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The recording.
    pub file: String,
    /// The flow.
    pub flow: u32,
    /// The main cause that it had; `None` if it is new or had none.
    pub before: Option<String>,
    /// The main cause that it has now; `None` if it has gone or has none.
    pub now: Option<String>,
}

/// A case that was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// Its folder.
    pub folder: PathBuf,
    /// The case as stored.
    pub case: Case,
    /// The verdicts that changed.
    pub changes: Vec<Change>,
}

/// Writes a case's folder; `readme` gives the text of its description.
///
/// # Errors
///
/// If the folder exists, a capture cannot be read or is too large, or its verdict is another one without addresses and
/// payload. Nothing is left then.
pub fn add(entry: &Entry<'_>, judge: Judge, readme: impl FnOnce(&Case) -> String) -> Result<Case, Error> {
    for (field, text) in [("--title", entry.title), ("--what-helped", entry.what_helped)] {
        if text.trim().is_empty() {
            return Err(Error::NoText(field));
        }
    }
    if entry.out.exists() {
        return Err(Error::Exists(entry.out.to_owned()));
    }
    fs::create_dir_all(entry.out).map_err(Error::file(entry.out))?;
    let written = write(entry, judge, readme);
    if written.is_err() {
        // It was created here.
        let _ = fs::remove_dir_all(entry.out);
    }
    written
}

fn write(entry: &Entry<'_>, judge: Judge, readme: impl FnOnce(&Case) -> String) -> Result<Case, Error> {
    let mut anonymiser = Anonymiser::default();
    let mut recordings = Vec::new();
    for (original, name) in entry.captures.iter().zip(RECORDINGS) {
        if !original.is_file() {
            return Err(Error::NotACapture(original.clone()));
        }
        let before = verdicts(original, judge)?;
        let path = entry.out.join(name);
        let file = fs::File::create_new(&path).map_err(Error::file(&path))?;
        let mut packed = zstd::Encoder::new(file, ZSTD_LEVEL).map_err(Error::file(&path))?;
        anonymiser.copy(Capture::open(original)?, &mut Nobody, &mut packed)?;
        packed.finish().map_err(Error::file(&path))?;
        let bytes = fs::metadata(&path).map_err(Error::file(&path))?.len();
        if bytes > MOST_BYTES {
            return Err(Error::TooLarge { capture: original.clone(), bytes });
        }
        let flows = verdicts(&path, judge)?;
        let changes = changes(name, &before, &flows);
        if !changes.is_empty() || flows.is_empty() {
            return Err(Error::OtherVerdict { capture: original.clone(), changes });
        }
        recordings.push(Recorded { file: name.to_owned(), flows });
    }
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let case = Case {
        format: FORMAT,
        title: one_line(entry.title),
        what_helped: entry.what_helped.trim().to_owned(),
        recordings,
    };
    let verdict = entry.out.join(VERDICT);
    let text = serde_json::to_string_pretty(&case).map_err(Error::json(&verdict))?;
    for (path, text) in [(verdict, text + "\n"), (entry.out.join(README), readme(&case))] {
        fs::write(&path, text).map_err(Error::file(&path))?;
    }
    Ok(case)
}

/// Compares the verdict of each case at or below a folder with the stored one, in the order of their names.
///
/// # Errors
///
/// If there is no case, or one cannot be read.
pub fn check(folder: &Path, judge: Judge) -> Result<Vec<Checked>, Error> {
    let mut cases = Vec::new();
    if folder.join(VERDICT).exists() {
        cases.push(folder.to_owned());
    } else {
        for entry in fs::read_dir(folder).map_err(Error::file(folder))? {
            let path = entry.map_err(Error::file(folder))?.path();
            if path.join(VERDICT).exists() {
                cases.push(path);
            }
        }
    }
    if cases.is_empty() {
        return Err(Error::NoCase(folder.to_owned()));
    }
    cases.sort();
    cases.into_iter().map(|folder| check_one(folder, judge)).collect()
}

fn check_one(folder: PathBuf, judge: Judge) -> Result<Checked, Error> {
    let path = folder.join(VERDICT);
    let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
    let case: Case = serde_json::from_str(&text).map_err(Error::json(&path))?;
    if case.format != FORMAT {
        return Err(Error::OtherFormat { path, found: case.format, known: FORMAT });
    }
    let mut all = Vec::new();
    for recorded in &case.recordings {
        // A name decides nothing but which of the two files it is.
        let name = RECORDINGS.into_iter().find(|name| *name == recorded.file);
        let name =
            name.ok_or_else(|| Error::NoRecording { path: path.clone(), file: recorded.file.clone() })?;
        all.extend(changes(name, &recorded.flows, &verdicts(&folder.join(name), judge)?));
    }
    Ok(Checked { folder, case, changes: all })
}

fn changes(file: &str, before: &[Verdict], now: &[Verdict]) -> Vec<Change> {
    let of = |all: &[Verdict]| -> BTreeMap<u32, Option<String>> {
        all.iter().map(|verdict| (verdict.flow, verdict.main_cause.clone())).collect()
    };
    let (before, now) = (of(before), of(now));
    let flows: std::collections::BTreeSet<u32> = before.keys().chain(now.keys()).copied().collect();
    let changed = flows.into_iter().filter(|flow| before.get(flow) != now.get(flow));
    changed
        .map(|flow| Change {
            file: file.to_owned(),
            flow,
            before: before.get(&flow).cloned().flatten(),
            now: now.get(&flow).cloned().flatten(),
        })
        .collect()
}

/// The verdicts on the flows with most data, by number.
fn verdicts(capture: &Path, judge: Judge) -> Result<Vec<Verdict>, Error> {
    let fresh = || Analysis::new(AnalysisOptions::default());
    let (_, _, analysis) = input::analyse(capture, None, &|| Box::new(|_, _| ()), fresh)?;
    let mut flows = Vec::new();
    analysis.finish_each(|flow| flows.push(verdict(&flow, judge)));
    flows.sort_by_key(|flow| (std::cmp::Reverse(flow.moved_bytes), flow.flow));
    flows.truncate(MOST_FLOWS);
    flows.sort_by_key(|flow| flow.flow);
    Ok(flows)
}

fn verdict(flow: &FlowReport, judge: Judge) -> Verdict {
    let main = flow.main();
    // Rounded: neither seconds nor digits below are of interest, and a file of them changes with every rule.
    let rounded = |share: f64| (share * 1000.0).round() / 1000.0;
    Verdict {
        flow: flow.id.0,
        moved_bytes: main.measures.unique_bytes.get(),
        lasted_ns: nanos(flow.lasted()),
        main_cause: judge(flow).map(|cause| cause.to_string()),
        shares: main.findings.iter().map(|one| (one.cause.to_string(), rounded(one.share))).collect(),
    }
}

struct Nobody;

impl Sink for Nobody {
    fn open(&mut self, _flow: FlowId, _key: &FlowKey) {}
    fn accept(&mut self, _flow: FlowId, _event: &Event) {}
    fn close(&mut self, _flow: FlowId, _end: FlowEnd) {}
}
