//! Reads the input that a path names, with progress and warnings.

use crate::Outcome;
use crate::console::{self, Console};
use slowpath_analyses::pairing::Collector;
use slowpath_analyses::{Analysis, Labels};
use slowpath_model::{FlowId, Sink};
use slowpath_runs::input::{self, Input, Progress};
use slowpath_views::{Recording, words};
use std::path::Path;

/// What was read.
pub struct Read {
    pub input: Input,
    /// As the views show it.
    pub recording: Recording,
}

/// Reads all of `path` into `sink`, with the times that it has.
pub fn read(path: &Path, sink: &mut impl Sink, console: &Console) -> anyhow::Result<Read> {
    let (input, stamps) = input::read_as_recorded(path, sink, progress(path, console))?;
    Ok(Read { recording: Recording::of(&input, &stamps), input })
}

/// Reads all of `path` into an analysis that `fresh` makes, and into `collector`.
pub fn analyse<L: Labels>(
    path: &Path,
    collector: Option<&mut Collector>,
    console: &Console,
    fresh: impl Fn() -> Analysis<L>,
) -> anyhow::Result<(Read, Analysis<L>)> {
    let (input, stamps, analysis) = input::analyse(path, collector, &|| progress(path, console), fresh)?;
    Ok((Read { recording: Recording::of(&input, &stamps), input }, analysis))
}

/// Shows how much of `path` is read.
pub fn progress(path: &Path, console: &Console) -> Progress {
    let bar = console.reading(path);
    Box::new(move |done, total| bar.at_bytes(done, total))
}

/// Refuses a flow number that the recording does not have, or that was not kept.
pub fn require(flow: FlowId, is_there: bool, read: &Read) -> anyhow::Result<()> {
    anyhow::ensure!(is_there, words::no_such_flow(&read.recording, flow, read.input.flows()));
    Ok(())
}

/// The exit code for recordings.
pub fn outcome(recordings: &[Recording]) -> Outcome {
    if recordings.iter().any(Recording::is_partial) { Outcome::Partial } else { Outcome::Whole }
}

/// Says on standard error what is wrong with a recording, for commands whose output has no place for it.
pub fn warn_of(recording: &Recording) {
    words::warnings(recording).iter().for_each(|warning| console::warn(warning));
}
