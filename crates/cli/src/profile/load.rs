//! Reading a profile, with warnings about what is missing.

use super::{Names, Source};
use crate::Outcome;
use crate::console::{Console, warn};
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
