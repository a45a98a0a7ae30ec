//! Learns from transfers: those of captures and recordings, and those of this host while they run.

use super::PathsError;
use crate::input::{self, Input, Progress};
use crate::watch::{self, Seen, Wanted, Watching};
use slowpath_analyses::Analysis;
use slowpath_live::EVERY;
use slowpath_paths::entry::Source;
use slowpath_paths::learned::Transfers;
use slowpath_paths::store::{MOST_AT_ONCE, Store};
use slowpath_tune::now;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// What was learned from a file, or from this host's connections.
pub struct Imported {
    /// The file; `None` for this host's connections.
    pub file: Option<PathBuf>,
    /// Its flows.
    pub flows: u64,
    /// Values that they show.
    pub values: usize,
    /// Of these, the values that the store keeps: not those that are too old, or of which it has newer ones enough.
    pub kept: usize,
}

/// Learns from captures, folders of recorded events, and what `diagnose --live --raw` stored. The date of a capture is that of its packets;
/// that of the others, when they were written.
///
/// # Errors
/// If one cannot be read, or has no date: those before it are learned from. If the store cannot be used.
pub fn import(
    store: &Path,
    files: &[PathBuf],
    progress: &dyn Fn(&Path) -> Progress,
) -> Result<Vec<Imported>, PathsError> {
    let mut store = Store::open(store)?;
    files.iter().map(|file| import_one(&mut store, file, &|| progress(file))).collect()
}

fn import_one(
    store: &mut Store,
    file: &Path,
    progress: &dyn Fn() -> Progress,
) -> Result<Imported, PathsError> {
    if file.extension().is_some_and(|extension| extension == "toml") {
        return Err(PathsError::Scenario(file.to_owned()));
    }
    let (flows, transfers) = match watch::replay(file)? {
        Some(watched) => {
            let epoch = written(file).and_then(|written| written.checked_sub(watched.lasted.as_secs()));
            let mut transfers = Transfers::new(dated(epoch, file)?, Source::Live);
            watched.accounts.iter().for_each(|account| transfers.add_account(account));
            (watched.accounts.len() as u64, transfers)
        }
        None => of_packets(file, progress)?,
    };
    let (values, kept) = record(store, transfers)?;
    Ok(Imported { file: Some(file.to_owned()), flows, values, kept })
}

/// Records what transfers show; returns how many values that are, and how many the store keeps.
fn record(store: &mut Store, transfers: Transfers) -> Result<(usize, usize), PathsError> {
    let now = now();
    let mut entries = transfers.finish();
    // A recording's clock may not be that of its folder.
    entries.retain(|entry| entry.at <= now);
    let mut kept = 0;
    for part in entries.chunks(MOST_AT_ONCE) {
        kept += store.record(part, now)?;
    }
    Ok((entries.len(), kept))
}

/// How to learn from this host's connections.
pub struct Learning<'a> {
    /// For how long; without it, until stopped.
    pub lasting: Option<Duration>,
    /// How often: what a connection did in such an interval is one transfer.
    pub every: Duration,
    /// To be stopped.
    pub stop: &'a AtomicBool,
}

/// Learns from this host's connections while they run. `begin` is called when watching begins, with whether the probe watches;
/// the value that it returns is dropped at the end.
///
/// # Errors
/// If the kernel refuses, or the store cannot be used.
pub fn learn<G>(
    store: &Path,
    asked: &Learning<'_>,
    begin: impl FnOnce(bool) -> G,
) -> Result<Imported, PathsError> {
    let mut store = Store::open(store)?;
    let mut watching = Watching::start_as_possible(&Wanted::default())?;
    let _begun = begin(watching.has_probe());
    let (epoch, began) = (now(), Instant::now());
    let mut learned = Imported { file: None, flows: 0, values: 0, kept: 0 };
    let mut interval = began;
    loop {
        let is_over =
            asked.lasting.is_some_and(|time| began.elapsed() >= time) || asked.stop.load(Ordering::Relaxed);
        watching.look()?;
        if is_over || interval.elapsed() >= asked.every {
            interval = Instant::now();
            let mut transfers = Transfers::new(epoch, Source::Live);
            for Seen { account, .. } in watching.seen() {
                transfers.add_account(account);
                // They are numbered one after the other.
                learned.flows = learned.flows.max(account.id.0.into());
            }
            let (values, kept) = record(&mut store, transfers)?;
            learned.values += values;
            learned.kept += kept;
            watching.next_interval();
        }
        if is_over {
            return Ok(learned);
        }
        thread::sleep(EVERY);
    }
}

fn of_packets(file: &Path, progress: &dyn Fn() -> Progress) -> Result<(u64, Transfers), PathsError> {
    let options = input::options(None, file);
    let (read, _, analysis) = input::analyse(file, None, progress, || Analysis::new(options))?;
    let (epoch, source) = match &read {
        Input::Capture(_) => {
            let epoch = read.epoch_ns().and_then(|epoch| u64::try_from(epoch).ok());
            (epoch.map(|epoch| epoch / 1_000_000_000), Source::Capture)
        }
        Input::Recording(_) => (written(file), Source::Recording),
    };
    let mut transfers = Transfers::new(dated(epoch, file)?, source);
    analysis.finish_each(|flow| transfers.add(&flow));
    Ok((read.flows(), transfers))
}

/// When a file or folder was last written, in seconds since 1970.
fn written(file: &Path) -> Option<u64> {
    let written = file.metadata().and_then(|about| about.modified()).ok()?;
    Some(written.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()))
}

fn dated(epoch: Option<u64>, file: &Path) -> Result<u64, PathsError> {
    epoch.filter(|epoch| *epoch > 0).ok_or_else(|| PathsError::NoDate(file.to_owned()))
}
