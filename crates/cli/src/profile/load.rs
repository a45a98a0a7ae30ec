//! Reading a profile, with warnings about what is missing.

use super::{Names, Source};
use crate::Outcome;
use crate::console::{Console, warn};
use slowpath_cost::Work;
use slowpath_profile::work::{self, WorkError, WorkRead};
use slowpath_profile::{Loaded, SymbolSources};
use std::path::Path;

/// Reads a profile.
pub fn open(source: &Source, console: &Console) -> anyhow::Result<Loaded> {
    open_file(&source.file, &source.names, console)
}

/// Reads a profile from a file.
pub fn open_file(file: &Path, names: &Names, console: &Console) -> anyhow::Result<Loaded> {
    let options = SymbolSources {
        kallsyms: names.kallsyms.clone(),
        vmlinux: names.vmlinux.clone(),
        root: names.root.clone(),
        inlined: names.inline,
    };
    let _working = console.working("reading the profile");
    Ok(Loaded::open(file, &options, names.event.as_deref())?)
}

/// Warns about oddities; returns the exit code.
pub fn outcome(loaded: &Loaded) -> Outcome {
    loaded.warnings().iter().for_each(|warning| warn(warning));
    if loaded.is_partial() { Outcome::Partial } else { Outcome::Whole }
}

/// The work file next to a profile, if there is one.
pub fn work_beside(profile: &Path) -> Option<Work> {
    let file = work::beside(profile);
    if !file.exists() {
        return None;
    }
    work_read(&file, work::open_beside(&file)).inspect_err(|error| warn(&format!("{error:#}"))).ok()
}

/// Reads a work file; warns about skipped values.
pub fn work_in(file: &Path) -> anyhow::Result<Work> {
    work_read(file, work::open(file))
}

fn work_read(file: &Path, read: Result<WorkRead, WorkError>) -> anyhow::Result<Work> {
    let read = read?;
    if !read.skipped.is_empty() {
        warn(&format!("{}: invalid values, skipped: {}", file.display(), read.skipped.join(", ")));
    }
    Ok(read.work)
}
