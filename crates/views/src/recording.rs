//! A recording that was read, for people.

use crate::json::account;
use crate::quantity::duration;
use slowpath_analyses::clock_steps::ClockStep;
use slowpath_capture::{Compression, Format, Oddity, Protocol};
use slowpath_model::Instant;
use slowpath_runs::input::{Input, StampedLate, Stamps};
use slowpath_runs::simulated::Run;
use slowpath_scenario::Scenario;
use std::cmp::Reverse;
use std::time::Duration;

/// A file or stream that was read.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Its name as given; `-` for standard input.
    pub name: String,
    /// Whether the file was deleted after reading, so that its name is of no use.
    pub gone: bool,
    /// Its format, for people: `pcapng, zstd`.
    pub format: String,
    /// The host that it was recorded or simulated at, if it tells.
    pub host: Option<String>,
    /// Frames read.
    pub frames: u64,
    /// TCP segments among them.
    pub segments: u64,
    /// The times of its first and last frame; `None` for a recording without frames.
    pub span: Option<(Instant, Instant)>,
    /// The wall-clock time of instant 0, in nanoseconds since 1970; `None` if it has none.
    pub epoch_ns: Option<i64>,
    /// What was not used, and how much of it.
    pub skipped: Vec<Skipped>,
    /// The steps of the clock during the recording.
    pub clock_steps: Vec<ClockStep>,
    /// Whether the times in the results are corrected for these steps.
    pub is_clock_corrected: bool,
    /// Damage of the recording, because of which the results cover only a part of it.
    pub damage: Option<String>,
    /// The reader's own statistics.
    pub account: serde_json::Value,
}

/// Something in a recording that was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub count: u64,
    /// The unit: `frame`.
    pub unit: &'static str,
    /// Why: `IP, but not TCP`.
    pub what: String,
    /// Whether the results may be wrong or partial because of it, so that the exit code says so.
    pub matters: bool,
}

/// The recordings, numbered instead of named.
pub fn without_names(recordings: Vec<Recording>) -> Vec<Recording> {
    recordings.into_iter().zip(1..).map(|(recording, number)| recording.without_names(number)).collect()
}

/// Replaces the names in a reader's statistics by `null`.
fn forget_names(account: &mut serde_json::Value) {
    match account {
        serde_json::Value::Array(items) => items.iter_mut().for_each(forget_names),
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                if matches!(key.as_str(), "name" | "title" | "host") {
                    *value = serde_json::Value::Null
                } else {
                    forget_names(value)
                }
            }
        }
        _ => {}
    }
}

impl Recording {
    /// Describes what was read, and its timestamp problems.
    pub fn of(input: &Input, stamps: &Stamps) -> Self {
        let mut recording = match input {
            Input::Capture(summary) => Self::of_capture(summary),
            Input::Recording(summary) => Self::of_events(summary),
        };
        recording.skipped.extend(stamps.late.iter().map(put_back));
        recording.note_clock_steps(&stamps.clock_steps);
        if let Some(times) = stamps.corrected {
            recording.is_clock_corrected = true;
            recording.span = Some(times.span);
        }
        recording
    }

    /// Replaces its name by a number, and leaves out the names of its interfaces and its host.
    #[must_use]
    fn without_names(mut self, number: usize) -> Self {
        self.name = format!("recording {number}");
        // Nothing can be read under that name.
        self.gone = true;
        self.host = None;
        forget_names(&mut self.account);
        self
    }

    /// What it is and where it was seen, for people: `simulated, seen at client`.
    pub fn kind(&self) -> String {
        let at = self.host.as_ref().map_or_else(String::new, |host| format!(", seen at {host}"));
        format!("{}{at}", self.format)
    }

    /// Notes the steps of the clock. After a step back, a frame that is earlier than the one before is no other oddity.
    fn note_clock_steps(&mut self, steps: &[ClockStep]) {
        let back = steps.iter().filter(|step| step.by < 0).count() as u64;
        if let Some(earlier) = self.skipped.iter_mut().find(|skipped| skipped.what == EARLIER) {
            earlier.count = earlier.count.saturating_sub(back);
        }
        self.skipped.retain(|skipped| skipped.count > 0);
        self.clock_steps = steps.to_vec();
    }

    /// Describes a capture.
    pub fn of_capture(summary: &slowpath_capture::CaptureSummary) -> Self {
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
        Self {
            name: summary.name.clone(),
            gone: false,
            format: format!("{format}{packing}"),
            host: None,
            frames: summary.frames,
            segments: summary.segments,
            span,
            epoch_ns: summary.epoch_ns.filter(|epoch| *epoch >= FIRST_DATE),
            skipped: skipped(summary),
            clock_steps: Vec::new(),
            is_clock_corrected: false,
            damage: summary
                .stopped
                .as_ref()
                .map(|stop| format!("Read only up to byte {}: {}.", stop.offset, stop.reason)),
            account: account::of_capture(summary),
        }
    }

    /// Describes a recording of events.
    fn of_events(summary: &slowpath_recording::RecordingSummary) -> Self {
        let about = &summary.about;
        Self {
            name: summary.name.clone(),
            gone: false,
            format: format!("recorded, {}", about.source),
            host: Some(about.host.clone()),
            frames: summary.packets,
            segments: summary.packets,
            span: summary.span,
            epoch_ns: None,
            skipped: Vec::new(),
            clock_steps: Vec::new(),
            is_clock_corrected: false,
            damage: summary.damage.clone(),
            account: account::of_events(summary),
        }
    }

    /// Describes a simulated run, as its vantage host saw it. `name` is the scenario file's.
    pub fn of_run(name: String, scenario: &Scenario, run: &Run) -> Self {
        let simulation = &run.simulation;
        let stopped = || format!("Interrupted after {} s of simulated time.", simulation.now());
        Self {
            name,
            gone: false,
            format: "simulated".to_owned(),
            host: Some(scenario.host(scenario.vantage()).name.clone()),
            frames: run.frames,
            segments: run.frames,
            span: (run.frames > 0).then(|| (Instant::START, simulation.now())),
            epoch_ns: None,
            skipped: Vec::new(),
            clock_steps: Vec::new(),
            is_clock_corrected: false,
            damage: (!run.whole).then(stopped),
            account: account::of_run(scenario, run),
        }
    }

    /// Whether it is damaged, or something that matters was skipped.
    pub fn is_partial(&self) -> bool {
        self.damage.is_some() || self.skipped.iter().any(|skipped| skipped.matters)
    }
}

/// The earliest date of a capture, in nanoseconds since 1970: the beginning of 1980, before TCP captures were made. Earlier
/// times are those of a clock that began with the capture, such as a simulator's.
const FIRST_DATE: i64 = 315_532_800_000_000_000;

/// The note on segments with late timestamps, whose times were corrected.
fn put_back((flow, end, by): &StampedLate) -> Skipped {
    let by = duration(Duration::from_nanos(by.unsigned_abs()));
    let what = format!("number {flow}: segments of {end} stamped {by} late, corrected");
    Skipped { count: 1, unit: "flow", what, matters: false }
}

/// The note on frames out of timestamp order.
const EARLIER: &str = "stamped earlier than the one before";

fn skipped(summary: &slowpath_capture::CaptureSummary) -> Vec<Skipped> {
    let frames = |count: u64, what: String, matters| Skipped { count, unit: "frame", what, matters };
    let mut all: Vec<_> = protocols(summary)
        .into_iter()
        .map(|(count, what, may_be_tcp)| frames(count, what, may_be_tcp || summary.segments == 0))
        .collect();
    // Other protocols are listed by name below.
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
        all.push(frames(summary.steps_back.count, EARLIER.to_owned(), false));
    }
    if summary.evicted_flows > 0 {
        let what = "dropped to save memory; later packets count as another flow".to_owned();
        all.push(Skipped { count: summary.evicted_flows, unit: "flow", what, matters: true });
    }
    all
}

/// The most other protocols listed by name; further ones become one entry.
const MOST_NAMED: usize = 6;

/// Other protocols in the frames: their number, name, and whether they may contain TCP.
fn protocols(summary: &slowpath_capture::CaptureSummary) -> Vec<(u64, String, bool)> {
    let named = |(protocol, count): (&Protocol, &u64)| {
        let may_be_tcp = matches!(protocol, Protocol::Link(_) | Protocol::WifiUnreadable);
        (*count, protocol.to_string(), may_be_tcp)
    };
    let mut all: Vec<_> = summary.other_protocols.iter().map(named).collect();
    all.sort_by_key(|(count, ..)| Reverse(*count));
    let rest = all.split_off(all.len().min(MOST_NAMED));
    if !rest.is_empty() {
        let what = format!("{} other protocols", rest.len());
        let may_be_tcp = rest.iter().any(|(.., may_be_tcp)| *may_be_tcp);
        all.push((rest.iter().map(|(count, ..)| count).sum(), what, may_be_tcp));
    }
    all
}

/// Whether the skipped data may have contained TCP, so that results may be wrong. A segment with missing fragments was
/// lost.
fn matters(oddity: Oddity) -> bool {
    oddity.skips() && !matches!(oddity, Oddity::LaterFragment | Oddity::MissingFragments)
}
