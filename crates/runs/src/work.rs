//! The work files next to profiles: how many packets, bytes and ACKs there were.

use slowpath_cost::Work;
use slowpath_profile::work::{self, WorkError, WorkRead};
use std::error::Error;
use std::path::Path;

/// Gets a line about values that were skipped.
pub type Say<'a> = &'a dyn Fn(&str);

/// The work file next to a profile, if there is one. Reports one that cannot be read.
pub fn work_beside(profile: &Path, say: Say<'_>) -> Option<Work> {
    let file = work::beside(profile);
    if !file.exists() {
        return None;
    }
    read(&file, work::open_beside(&file), say).inspect_err(|error| say(&with_reasons(error))).ok()
}

/// An error, and what caused it.
fn with_reasons(error: &WorkError) -> String {
    let (mut text, mut reason) = (error.to_string(), error.source());
    while let Some(next) = reason {
        text.push_str(&format!(": {next}"));
        reason = next.source();
    }
    text
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
