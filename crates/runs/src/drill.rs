//! packetdrill scripts from files, run on the model of a kernel or on this machine's.

use crate::Error;
use slowpath_drill::{Config, Modelled, Script, ScriptReport, Source};
use slowpath_files::{Root, open_regular};
use slowpath_kernels::{KernelProfile, registry};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest script, and the longest file that it includes.
const MOST_BYTES: u64 = 1 << 20;

/// The scripts that paths name: a folder means all `*.pkt` below it, in the order of their names.
///
/// # Errors
///
/// If a folder cannot be read, or a script in it is no regular file.
pub fn scripts(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut scripts = Vec::new();
    paths.iter().try_for_each(|path| collect(path, &mut scripts))?;
    Ok(scripts)
}

/// The kernel to model, with its ticks per second if they are given.
///
/// # Errors
///
/// If no kernel has that name.
pub fn kernel(name: &str, hz: Option<u32>) -> Result<KernelProfile, Error> {
    let mut kernel = registry::find(name).map_err(|error| Error::Option(error.to_string()))?;
    kernel.tcp.clock.hz = hz.unwrap_or(kernel.tcp.clock.hz);
    Ok(kernel)
}

/// What holds for every script before its own options.
///
/// # Errors
///
/// If an option is wrong.
pub fn config(tolerance: Option<Duration>, options: &[String]) -> Result<Config, Error> {
    let mut config = Config::default();
    if let Some(tolerance) = tolerance {
        config.tolerance = tolerance;
    }
    for option in options {
        let (name, value) =
            option.split_once('=').map_or((option.as_str(), None), |(name, value)| (name, Some(value)));
        config.apply(name, value).map_err(|(wrong, hint)| Error::Option(format!("{wrong}: {hint}")))?;
    }
    Ok(config)
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
        // Links to folders can form a circle.
        if entry.is_dir() && !entry.is_symlink() {
            collect(&entry, scripts)?;
        } else if entry.extension().is_some_and(|extension| extension == "pkt") {
            open_regular(&entry).map_err(Error::file(&entry))?;
            scripts.push(entry);
        }
    }
    Ok(())
}

/// Runs a script on the model of `kernel`, or without one on this machine's kernel. Of files that it includes, only regular
/// ones in its folder and below are read.
///
/// # Errors
///
/// If it cannot be read, is not a script, or this machine's kernel cannot run it.
pub fn run(path: &Path, config: &Config, kernel: Option<&KernelProfile>) -> Result<ScriptReport, Error> {
    let text = File::open(path).and_then(script_text).map_err(Error::file(path))?;
    let script = Script::parse(&Source::new(&path.display().to_string(), &text), config)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let root = Root::open(folder).map_err(Error::file(folder))?;
    let read_file = |named: &str| root.file(Path::new(named)).and_then(script_text).ok();
    let Some(kernel) = kernel else {
        return slowpath_lab::drill::run(&script, &read_file).map_err(Error::Undrillable);
    };
    let mut model = Modelled::new(kernel.clone(), &script.config);
    Ok(slowpath_drill::run(&script, &mut model, &read_file))
}

/// The text of a script.
fn script_text(file: File) -> io::Result<String> {
    let mut text = String::new();
    if file.take(MOST_BYTES + 1).read_to_string(&mut text)? as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("has more than {MOST_BYTES} bytes, which no script has")));
    }
    Ok(text)
}
