//! What was read.

use crate::recording;
use schemars::JsonSchema;
use serde::Serialize;

/// One file or stream.
#[derive(Serialize, JsonSchema)]
pub struct Recording {
    /// Its name as given; `-` for standard input.
    name: String,
    /// Its format, for people: `pcapng, zstd`.
    format: String,
    /// Frames read.
    frames: u64,
    /// TCP segments among them.
    segments: u64,
    /// The earliest frame's time.
    first_ns: Option<i64>,
    /// The latest frame's time.
    last_ns: Option<i64>,
    /// Where and why reading ended before the recording did.
    damage: Option<String>,
    /// What was not used, or is odd.
    skipped: Vec<Skipped>,
    /// The reader's own account of what it read. Its fields are not part of this contract.
    account: serde_json::Value,
}

/// Something that was not used, or is odd.
#[derive(Serialize, JsonSchema)]
pub struct Skipped {
    /// How many.
    count: u64,
    /// The unit: `frame`.
    unit: String,
    /// Why.
    what: String,
    /// Whether results may be wrong or partial because of it.
    matters: bool,
}

impl Recording {
    pub(super) fn of(recording: &recording::Recording) -> Self {
        let skipped = |skipped: &recording::Skipped| Skipped {
            count: skipped.count,
            unit: skipped.unit.to_owned(),
            what: skipped.what.clone(),
            matters: skipped.matters,
        };
        Self {
            name: recording.name.clone(),
            format: recording.format.clone(),
            frames: recording.frames,
            segments: recording.segments,
            first_ns: recording.span.map(|(first, _)| first.nanos()),
            last_ns: recording.span.map(|(_, last)| last.nanos()),
            damage: recording.damage.clone(),
            skipped: recording.skipped.iter().map(skipped).collect(),
            account: recording.account.clone(),
        }
    }
}
