//! What `slowpath run --record` has written.

use super::Read;
use crate::console::Console;
use serde_json::json;
use slowpath_analyses::VantageOverride;
use slowpath_model::Sink;
use slowpath_recording::about::Side;
use slowpath_recording::{Recording, RecordingSummary};
use slowpath_views as views;
use std::path::Path;

/// Reads all of a recording into `sink`.
pub fn read(folder: &Path, sink: &mut impl Sink, console: &Console) -> anyhow::Result<Read> {
    let recording = Recording::open(folder)?;
    let reading = console.reading(folder);
    let summary = recording.run(sink, |done, total| reading.at(done, Some(total)))?;
    Ok(Read { flows: summary.flows, out_of_order: None, epoch_ns: None, recording: describe(summary) })
}

fn describe(summary: RecordingSummary) -> views::Recording {
    let about = &summary.about;
    views::Recording {
        format: format!("recorded, {}, seen at {}", about.source, about.host),
        frames: summary.packets,
        segments: summary.packets,
        span: summary.span,
        gone: false,
        skipped: Vec::new(),
        account: json!({ "title": about.title, "seed": about.seed, "host": about.host, "events": summary.events }),
        damage: summary.damage,
        name: summary.name,
    }
}

/// Where a recording was made, if it says so; nothing of anything else.
pub fn vantage(path: &Path) -> Option<VantageOverride> {
    // What is wrong with it, if anything, is told when it is read.
    let recording = path.is_dir().then(|| Recording::open(path).ok()).flatten()?;
    recording.about().side.map(|side| match side {
        Side::Sender => VantageOverride::Sender,
        Side::Receiver => VantageOverride::Receiver,
    })
}
