//! packetdrill scripts from files, run on the model of a kernel or on this machine's.

use crate::Error;
use slowpath_drill::{Config, Modelled, Script, ScriptReport, Source};
use slowpath_kernels::KernelProfile;
use std::fs;
use std::path::{Path, PathBuf};

/// The scripts that paths name: a folder means all `*.pkt` below it, in the order of their names.
///
/// # Errors
///
/// If a folder cannot be read.
pub fn scripts(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut scripts = Vec::new();
    paths.iter().try_for_each(|path| collect(path, &mut scripts))?;
    Ok(scripts)
}

fn collect(path: &Path, scripts: &mut Vec<PathBuf>) -> Result<(), Error> {
    if !path.is_dir() {
        scripts.push(path.to_owned());
        return Ok(());
    }
    let entries = fs::read_dir(path).and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()
    });
    let mut entries = entries.map_err(Error::file(path))?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() || entry.extension().is_some_and(|extension| extension == "pkt") {
            collect(&entry, scripts)?;
        }
    }
    Ok(())
}

/// Runs a script on the model of `kernel`, or without one on this machine's kernel. Files that it names are next to it.
///
/// # Errors
///
/// If it cannot be read, is not a script, or this machine's kernel cannot run it.
pub fn run(path: &Path, config: &Config, kernel: Option<&KernelProfile>) -> Result<ScriptReport, Error> {
    let text = fs::read_to_string(path).map_err(Error::file(path))?;
    let script = Script::parse(&Source::new(&path.display().to_string(), &text), config)?;
    let beside = path.parent().unwrap_or(Path::new("."));
    let read_file = |named: &str| fs::read_to_string(beside.join(named)).ok();
    let Some(kernel) = kernel else {
        return slowpath_lab::drill::run(&script, &read_file).map_err(Error::Undrillable);
    };
    let mut model = Modelled::new(kernel.clone(), &script.config);
    Ok(slowpath_drill::run(&script, &mut model, &read_file))
}
