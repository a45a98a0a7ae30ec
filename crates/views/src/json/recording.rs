//! What was read.

use crate::recording;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::clock_steps;

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
    /// The wall-clock time of time 0, in nanoseconds since 1970 began; `null` where the recording has none.
    epoch_ns: Option<i64>,
    /// Where and why reading ended before the recording did.
    damage: Option<String>,
    /// What was not used, or is odd.
    skipped: Vec<Skipped>,
    /// Where the recording's clock was set while it was made.
    clock_steps: Vec<ClockStep>,
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

/// The recording's clock was set.
#[derive(Serialize, JsonSchema)]
pub struct ClockStep {
    /// The first frame after it.
    frame: u64,
    /// When that frame passed, by the clock as it was before the first step.
    at_ns: i64,
    /// By how much it was set; negative where it was set back.
    by_ns: i64,
    /// Whether all later times in this document are corrected by it. They are not for a stream, which cannot be read again.
    corrected: bool,
}

impl Recording {
    pub(crate) fn of(recording: &recording::Recording) -> Self {
        let skipped = |skipped: &recording::Skipped| Skipped {
            count: skipped.count,
            unit: skipped.unit.to_owned(),
            what: skipped.what.clone(),
            matters: skipped.matters,
        };
        let clock_step = |step: &clock_steps::ClockStep| ClockStep {
            frame: step.frame,
            at_ns: step.at.nanos(),
            by_ns: step.by,
            corrected: recording.is_clock_corrected,
        };
        Self {
            name: recording.name.clone(),
            format: recording.kind(),
            frames: recording.frames,
            segments: recording.segments,
            first_ns: recording.span.map(|(first, _)| first.nanos()),
            last_ns: recording.span.map(|(_, last)| last.nanos()),
            epoch_ns: recording.epoch_ns,
            damage: recording.damage.clone(),
            skipped: recording.skipped.iter().map(skipped).collect(),
            clock_steps: recording.clock_steps.iter().map(clock_step).collect(),
            account: recording.account.clone(),
        }
    }
}
