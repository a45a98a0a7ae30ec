//! A capture file, standard input, or what a scenario's sending host would capture.

use super::Read;
use super::simulated::Simulated;
use crate::console::Console;
use anyhow::Context;
use slowpath_capture::{Capture, CaptureSummary, Compression, Format, Oddity, Protocol};
use slowpath_model::{Instant, Sink};
use slowpath_views::{Recording, Skipped};
use std::io;
use std::path::Path;

/// Reads all of `path` into `sink`.
pub fn read(path: &Path, sink: &mut impl Sink, console: &Console) -> anyhow::Result<Read> {
    let capture = if path.as_os_str() == "-" {
        Capture::from_reader("-", io::stdin())
    } else if path.extension().is_some_and(|extension| extension == "toml") {
        Capture::from_reader(path.display().to_string(), Simulated::of(path)?)
    } else {
        Capture::open(path)?
    };
    let reading = console.reading(path);
    let summary = capture.on_progress(move |done, total| reading.at(done, total)).run(sink)?;
    Ok(Read {
        recording: describe(&summary)?,
        flows: summary.flows,
        out_of_order: out_of_order(summary.steps_back.largest_ns),
        epoch_ns: summary.epoch_ns,
    })
}

/// How far frames have to be put back, where stamps step back by up to `largest` nanoseconds: several queues of one
/// interface explain a little, and a clock that was set is no order.
fn out_of_order(largest: u64) -> Option<i64> {
    const EXPLAINED: u64 = 20_000;
    const MOST: u64 = 1_000_000_000;
    i64::try_from(largest).ok().filter(|_| (EXPLAINED..MOST).contains(&largest))
}

/// A capture that was read, for the views.
pub fn describe(summary: &CaptureSummary) -> anyhow::Result<Recording> {
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
        gone: false,
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

fn skipped(summary: &CaptureSummary) -> Vec<Skipped> {
    let frames = |count: u64, what: String, matters| Skipped { count, unit: "frame", what, matters };
    let mut all: Vec<_> = protocols(summary)
        .into_iter()
        .map(|(count, what, may_be_tcp)| frames(count, what, may_be_tcp || summary.segments == 0))
        .collect();
    // Protocols say it better.
    let is_named = |oddity| matches!(oddity, Oddity::NotIp | Oddity::NotTcp | Oddity::UnsupportedLink);
    let others = summary.notes.iter().filter(|note| !is_named(note.oddity));
    all.extend(
        others.map(|note| frames(note.count, note.oddity.describe().to_owned(), matters(note.oddity))),
    );
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

/// Protocols other than TCP that are named; more of them become one entry.
const MOST_NAMED: usize = 6;

/// What else was in the frames: how many, which protocol, and whether TCP may have been in it.
fn protocols(summary: &CaptureSummary) -> Vec<(u64, String, bool)> {
    let named = |(protocol, count): (&Protocol, &u64)| {
        let may_be_tcp = matches!(protocol, Protocol::Link(_) | Protocol::WifiUnreadable);
        (*count, protocol.to_string(), may_be_tcp)
    };
    let mut all: Vec<_> = summary.other_protocols.iter().map(named).collect();
    all.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    let rest = all.split_off(all.len().min(MOST_NAMED));
    if !rest.is_empty() {
        let what = format!("{} other protocols", rest.len());
        let may_be_tcp = rest.iter().any(|(.., may_be_tcp)| *may_be_tcp);
        all.push((rest.iter().map(|(count, ..)| count).sum(), what, may_be_tcp));
    }
    all
}

/// Whether TCP may have been in what was skipped for this, so that the results may be wrong.
fn matters(oddity: Oddity) -> bool {
    oddity.skips() && oddity != Oddity::LaterFragment
}
