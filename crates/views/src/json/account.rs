//! A reader's own statistics about its input. They are not part of the contract: the fields may change.

use serde_json::{Value, json};
use slowpath_capture::{Compression, Format};
use slowpath_runs::simulated::Run;
use slowpath_scenario::Scenario;

/// The statistics of a capture.
pub(crate) fn of_capture(summary: &slowpath_capture::CaptureSummary) -> Value {
    let format = match summary.format {
        Format::Pcap => "pcap",
        Format::PcapNanoseconds => "pcap-nanoseconds",
        Format::PcapModified => "pcap-modified",
        Format::Pcapng => "pcapng",
    };
    let compression = match summary.compression {
        Compression::None => "none",
        Compression::Gzip => "gzip",
        Compression::Zstd => "zstd",
    };
    let interfaces = summary.interfaces.iter().map(|interface| {
        json!({
            "name": interface.name,
            "link": interface.link.0,
            "link_name": interface.link_name,
            "snap_length": interface.snap_length,
            "frames": interface.frames,
            "drops": interface.drops,
        })
    });
    let notes = summary.notes.iter().map(|note| {
        json!({
            "oddity": note.oddity.name(),
            "count": note.count,
            "first_frame": note.first_frame,
            "first_offset": note.first_offset,
        })
    });
    let protocols = summary.other_protocols.iter();
    let protocols = protocols.map(|(protocol, frames)| (protocol.to_string(), Value::from(*frames)));
    let stopped = summary.stopped.as_ref();
    json!({
        "name": summary.name,
        "format": format,
        "compression": compression,
        "interfaces": interfaces.collect::<Value>(),
        "interface_count": summary.interface_count,
        "frames": summary.frames,
        "segments": summary.segments,
        "icmp_errors": summary.icmp_errors,
        "flows": summary.flows,
        "evicted_flows": summary.evicted_flows,
        "file_bytes": summary.file_bytes,
        "captured_bytes": summary.captured_bytes,
        "wire_bytes": summary.wire_bytes,
        "epoch_ns": summary.epoch_ns,
        "earliest_ns": summary.earliest_ns,
        "latest_ns": summary.latest_ns,
        "steps_back": { "count": summary.steps_back.count, "largest_ns": summary.steps_back.largest_ns },
        "drops": summary.drops,
        "other_protocols": protocols.collect::<Value>(),
        "notes": notes.collect::<Value>(),
        "stopped": stopped.map(|stop| json!({ "offset": stop.offset, "reason": stop.reason })),
    })
}

/// The statistics of a recording of events.
pub(crate) fn of_events(summary: &slowpath_recording::RecordingSummary) -> Value {
    let about = &summary.about;
    json!({ "title": about.title, "seed": about.seed, "host": about.host, "events": summary.events })
}

/// The statistics of a simulated run.
pub(crate) fn of_run(scenario: &Scenario, run: &Run) -> Value {
    let host = &scenario.host(scenario.vantage()).name;
    json!({ "seed": scenario.seed, "host": host, "events": run.simulation.events() })
}
