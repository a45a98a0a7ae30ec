//! The work files next to profiles: how many packets, bytes and ACKs there were.

use slowpath_cost::Work;
use slowpath_model::shown::with_causes;
use slowpath_profile::Recorded;
use slowpath_profile::record::Counted;
use slowpath_profile::work::{self, WorkError, WorkRead};
use std::path::{Path, PathBuf};

/// Gets a line about values that were skipped.
pub type Say<'a> = &'a dyn Fn(&str);

/// The work file next to a profile, if there is one. Reports one that cannot be read.
pub fn work_beside(profile: &Path, say: Say<'_>) -> Option<Work> {
    let file = work::beside(profile);
    if !file.exists() {
        return None;
    }
    read(&file, work::open_beside(&file), say).inspect_err(|error| say(&with_causes(error))).ok()
}

/// The work done in two profiles and its name: as given in numbers, else from both work files.
pub fn of_both(
    given: &[f64],
    profiles: [&Path; 2],
    say: Say<'_>,
) -> (Option<&'static str>, Option<[f64; 2]>) {
    if let [before, after] = given {
        return (Some("--work"), Some([*before, *after]));
    }
    let segments = |file| Some(work_beside(file, say)?.segments().filter(|segments| *segments > 0)? as f64);
    match profiles.map(segments) {
        [Some(before), Some(after)] => (Some("TCP segment"), Some([before, after])),
        _ => (None, None),
    }
}

/// Writes the work file of a profile that was recorded, and counts its samples. Reports what fails.
pub fn conclude(recorded: &Recorded, say: Say<'_>) -> (Option<PathBuf>, Option<Counted>) {
    let written = work::write(&recorded.out, &recorded.work).inspect_err(|error| {
        say(&format!("{}: cannot be written: {error}", work::beside(&recorded.out).display()));
    });
    let counted = recorded.count().inspect_err(|error| say(&with_causes(error)));
    (written.ok(), counted.ok().flatten())
}

/// Whether a profile is whole: its command did not fail, it was not ended early, and no sample was lost. Reports a failure.
pub fn is_whole(recorded: &Recorded, counted: Option<&Counted>, is_early: bool, say: Say<'_>) -> bool {
    let failed = recorded.failure().filter(|_| !is_early);
    if let Some(how) = &failed {
        say(&format!("the command failed: {how}"));
    }
    failed.is_none() && !is_early && counted.is_some_and(|counted| counted.lost == 0)
}

/// Reads a work file.
///
/// # Errors
/// If it cannot be read or is none.
pub fn work_in(file: &Path, say: Say<'_>) -> Result<Work, WorkError> {
    read(file, work::open(file), say)
}

fn read(file: &Path, read: Result<WorkRead, WorkError>, say: Say<'_>) -> Result<Work, WorkError> {
    let read = read?;
    if !read.skipped.is_empty() {
        say(&format!("{}: invalid values, skipped: {}", file.display(), read.skipped.join(", ")));
    }
    Ok(read.work)
}
