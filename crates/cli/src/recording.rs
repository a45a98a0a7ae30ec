//! A capture file or standard input, pushed into a sink.

use crate::Outcome;
use crate::console::{self, Console};
use crate::run::Simulated;
use anyhow::Context;
use slowpath_capture::{Capture, Compression, Format, Oddity, Summary};
use slowpath_model::{Instant, Sink};
use slowpath_views::{Recording, Skipped};
use std::io;
use std::path::Path;

/// Reads all of `path` into `sink`. A scenario is run, and what is read is what its sending host would have recorded.
pub fn read(path: &Path, sink: &mut impl Sink, console: &Console) -> anyhow::Result<Summary> {
    let capture = if path.as_os_str() == "-" {
        Capture::from_reader("-", io::stdin())
    } else if path.extension().is_some_and(|extension| extension == "toml") {
        Capture::from_reader(path.display().to_string(), Simulated::of(path)?)
    } else {
        Capture::open(path)?
    };
    // The folders would leave a narrow terminal no room for the bar.
    let bar = console.bar(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy());
    let capture = match bar.clone() {
        Some(bar) => capture.on_progress(move |done, total| {
            if let (Some(total), None) = (total, bar.length()) {
                bar.set_style(console::known_length());
                bar.set_length(total);
            }
            bar.set_position(done);
        }),
        None => capture,
    };
    let read = capture.run(sink);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok(read?)
}

/// What the views are told of it.
pub fn describe(summary: &Summary) -> anyhow::Result<Recording> {
    let format = match summary.format {
        Format::Pcap => "pcap",
        Format::PcapNanoseconds => "pcap with nanoseconds",
        Format::PcapModified => "modified pcap",
        Format::Pcapng => "pcapng",
    };
    let packing = match summary.compression {
        Compression::None => "",
        Compression::Gzip => ", gzip",
        Compression::Zstd => ", zstd",
    };
    let span = match (summary.epoch_ns, summary.earliest_ns, summary.latest_ns) {
        (Some(epoch), Some(first), Some(last)) => {
            let at = |nanos: i64| Instant::from_nanos(nanos.saturating_sub(epoch));
            Some((at(first), at(last)))
        }
        _ => None,
    };
    Ok(Recording {
        name: summary.name.clone(),
        format: format!("{format}{packing}"),
        frames: summary.frames,
        segments: summary.segments,
        span,
        skipped: skipped(summary),
        damage: summary
            .stopped
            .as_ref()
            .map(|stop| format!("Read only up to byte {}: {}.", stop.offset, stop.reason)),
        account: serde_json::to_value(summary).context("the account of what was read")?,
    })
}

fn skipped(summary: &Summary) -> Vec<Skipped> {
    let frames = |count: u64, what: String, matters| Skipped { count, unit: "frame", what, matters };
    let mut all: Vec<_> = summary
        .notes
        .iter()
        .map(|note| frames(note.count, note.oddity.describe().to_owned(), matters(note.oddity)))
        .collect();
    if let Some(drops) = summary.drops.filter(|drops| *drops > 0) {
        all.push(Skipped {
            count: drops,
            unit: "packet",
            what: "lost while recording".to_owned(),
            matters: true,
        });
    }
    if summary.steps_back.count > 0 {
        all.push(frames(summary.steps_back.count, "stamped earlier than the one before".to_owned(), false));
    }
    if summary.evicted_flows > 0 {
        let what = "let go of to save memory; what came later counts as another flow".to_owned();
        all.push(Skipped { count: summary.evicted_flows, unit: "flow", what, matters: true });
    }
    all
}

/// Whether TCP may have been in what was skipped for this, so that the results may be wrong.
fn matters(oddity: Oddity) -> bool {
    oddity.skips() && !matches!(oddity, Oddity::NotIp | Oddity::NotTcp | Oddity::LaterFragment)
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
            "{}: there is no TCP in it; was the right interface recorded?",
            recording.name
        ));
    }
    if let Some(damage) = &recording.damage {
        console::warn(&format!("{}: {damage}", recording.name));
    }
    for skipped in recording.skipped.iter().filter(|skipped| skipped.matters) {
        console::warn(&format!(
            "{}: not used: {} {}s: {}",
            recording.name, skipped.count, skipped.unit, skipped.what
        ));
    }
}
