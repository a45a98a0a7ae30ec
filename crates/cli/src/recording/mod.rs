//! What is read: captures, scenarios and slowpath's own recordings, pushed into a sink.

mod analysed;
mod capture;
mod recorded;
mod simulated;

use crate::Outcome;
use crate::console::{self, Console};
use slowpath_model::Sink;
use slowpath_views::quantity::counted;
use slowpath_views::{Recording, words};
use std::path::Path;

pub use analysed::analyse;
pub use capture::describe as of_capture;
pub use recorded::vantage;

/// What was read.
pub struct Read {
    /// What the views are told of it.
    pub recording: Recording,
    /// Flows in it.
    pub flows: u64,
    /// How far the frames are out of the order of their stamps, in nanoseconds, where that is more than the queues of one
    /// interface explain.
    pub out_of_order: Option<i64>,
    /// The instant that its times are counted from, in nanoseconds since 1970, where it knows.
    pub epoch_ns: Option<i64>,
}

/// Reads all of `path` into `sink`: a folder as a recording, a scenario by running it, anything else as a capture. Of a
/// scenario one reads what its sending host would capture.
pub fn read(path: &Path, sink: &mut impl Sink, console: &Console) -> anyhow::Result<Read> {
    if path.is_dir() { recorded::read(path, sink, console) } else { capture::read(path, sink, console) }
}

/// What the exit code says of a recording.
pub fn outcome(recordings: &[Recording]) -> Outcome {
    let partial = |recording: &Recording| {
        recording.damage.is_some() || recording.skipped.iter().any(|skipped| skipped.matters)
    };
    if recordings.iter().any(partial) { Outcome::Partial } else { Outcome::Whole }
}

/// Says on standard error what is wrong with a recording, for commands whose output has no place for it.
pub fn warn_of(recording: &Recording) {
    if recording.segments == 0 {
        console::warn(&format!(
            "{}: {}; was the right interface recorded?",
            recording.name,
            words::without_tcp(recording)
        ));
    }
    if let Some(damage) = &recording.damage {
        console::warn(&format!("{}: {damage}", recording.name));
    }
    for skipped in recording.skipped.iter().filter(|skipped| skipped.matters) {
        console::warn(&format!(
            "{}: not used: {}: {}",
            recording.name,
            counted(skipped.count, skipped.unit),
            skipped.what
        ));
    }
}
