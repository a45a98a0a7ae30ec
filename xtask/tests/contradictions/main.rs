//! No two statements of one report contradict each other, and no number is below its own resolution: on every capture
//! of the repository, and on these captures with packets lost, delayed, duplicated or altered.

mod statements;

use proptest::prelude::*;
use slowpath_analyses::cause::ReportedBy;
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, AnalysisOptions, Cause};
use slowpath_capture::Capture;
use slowpath_model::{Event, EventKind, FlowEnd, FlowId, FlowKey, Instant, Sink};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Keeps the events of one recording.
#[derive(Default)]
struct Kept {
    flows: Vec<(FlowId, FlowKey)>,
    events: Vec<(FlowId, Event)>,
}

impl Sink for Kept {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.flows.push((flow, *key));
    }
    fn accept(&mut self, flow: FlowId, event: &Event) {
        self.events.push((flow, *event));
    }
    fn close(&mut self, _: FlowId, _: FlowEnd) {}
}

fn captures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures");
    let mut found = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().contains(".pcap") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 200, "the labelled captures are part of the repository: {}", found.len());
    found
}

fn kept(path: &Path) -> Kept {
    let mut kept = Kept::default();
    Capture::open(path).and_then(|capture| capture.run(&mut kept)).unwrap_or_else(|error| panic!("{error}"));
    kept
}

fn analyse(
    flows: &[(FlowId, FlowKey)],
    events: impl IntoIterator<Item = (FlowId, Event)>,
) -> Vec<FlowReport> {
    let mut analysis = Analysis::new(AnalysisOptions::default());
    flows.iter().for_each(|(id, key)| analysis.open(*id, key));
    for (flow, event) in events {
        analysis.accept(flow, &event);
    }
    flows.iter().for_each(|(id, _)| analysis.close(*id, FlowEnd::EndOfRecording));
    analysis.finish().flows
}

/// All captures with packets, read once, with the files that they are from.
fn recordings() -> &'static [(PathBuf, Kept)] {
    static RECORDINGS: OnceLock<Vec<(PathBuf, Kept)>> = OnceLock::new();
    RECORDINGS.get_or_init(|| {
        let all = captures().into_iter().map(|path| {
            let kept = kept(&path);
            (path, kept)
        });
        all.filter(|(_, kept)| !kept.events.is_empty()).collect()
    })
}

/// The reports of each capture, with the file that it is from.
fn reports() -> impl Iterator<Item = (&'static Path, FlowReport)> {
    recordings().iter().flat_map(|(path, Kept { flows, events })| {
        analyse(flows, events.iter().copied()).into_iter().map(move |report| (path.as_path(), report))
    })
}

#[test]
fn reports_of_all_captures_have_no_contradictions() {
    let mut found = Vec::new();
    for (path, report) in reports() {
        let wrong = statements::contradictions(&report);
        found.extend(
            wrong.into_iter().map(|wrong| format!("{}, flow {}: {wrong}", path.display(), report.id)),
        );
    }
    assert!(found.is_empty(), "{} contradictions:\n{}", found.len(), found.join("\n"));
}

/// Causes that show only in written packets: Nagle's wait in `analyses/tests/invariants.rs`, the others in
/// `public_faults`.
const WRITTEN: [Cause; 23] = [
    Cause::NagleDelayedAck,
    Cause::OldConnection,
    Cause::FastOpenLost,
    Cause::NotAnswered,
    Cause::NoAnswer,
    Cause::Refused,
    Cause::Unreachable,
    Cause::AcceptQueueFull,
    Cause::PeerGone,
    Cause::ResetUnknown,
    Cause::ResetClosed,
    Cause::ResetAborted,
    Cause::ResetOnPath,
    Cause::NotAccepted,
    Cause::EcnCleared,
    Cause::ProtocolWindow,
    Cause::WindowTakenBack,
    Cause::EcnMarks,
    Cause::MtuBlackHole,
    Cause::SuperPacketsDropped,
    Cause::BeyondUnscaledWindow,
    Cause::SackUntranslated,
    Cause::LocalQueue,
];

/// Only causes that the catalogue allows are reported; each cause of captures shows in a shipped capture, or in written
/// packets.
#[test]
fn captures_show_every_capture_cause_of_the_catalogue() {
    let mut found = BTreeSet::from(WRITTEN);
    for (_, report) in reports() {
        found.extend(
            report.directions.iter().flat_map(|direction| &direction.findings).map(|found| found.cause),
        );
    }
    let of_captures = |cause: &&Cause| cause.is_reported_by(ReportedBy::Capture);
    assert_eq!(found, Cause::ALL.iter().filter(of_captures).copied().collect());
}

/// How a recording is damaged.
#[derive(Clone, Debug)]
struct Damage {
    /// Which of the captures.
    capture: prop::sample::Index,
    /// The part of its events that is kept: from, and how many.
    part: (prop::sample::Index, usize),
    /// One event in this many is changed.
    one_in: u64,
    /// The random seed of the changes.
    seed: u64,
    /// All times are multiplied by this and divided by 100.
    pace: i64,
}

fn damage() -> impl Strategy<Value = Damage> {
    (
        any::<prop::sample::Index>(),
        (any::<prop::sample::Index>(), 1usize..3000),
        2u64..200,
        any::<u64>(),
        1i64..400,
    )
        .prop_map(|(capture, part, one_in, seed, pace)| Damage { capture, part, one_in, seed, pace })
}

/// Pseudo-random numbers determined by the seed (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

impl Damage {
    fn of(&self, events: &[(FlowId, Event)]) -> Vec<(FlowId, Event)> {
        let mut chance = Chance(self.seed);
        let from = if events.is_empty() { 0 } else { self.part.0.index(events.len()) };
        let mut left = Vec::new();
        for (flow, event) in events.iter().skip(from).take(self.part.1) {
            let mut event = *event;
            event.at = Instant::from_nanos(event.at.nanos() / 100 * self.pace);
            if chance.below(self.one_in) > 0 {
                left.push((*flow, event));
                continue;
            }
            let EventKind::Seen(mut segment) = event.kind else { continue };
            match chance.below(8) {
                0 => continue,
                1 => left.push((*flow, event)),
                2 => segment.window = chance.below(3) as u16,
                3 => segment.window = u16::MAX,
                4 => segment.len = chance.below(3) as u32,
                5 => segment.timestamps = None,
                6 => segment.ack = None,
                _ => {
                    let late = i64::try_from(chance.below(3_000_000_000)).expect("it fits");
                    event.at = Instant::from_nanos(event.at.nanos().saturating_add(late));
                }
            }
            event.kind = EventKind::Seen(segment);
            left.push((*flow, event));
        }
        left.sort_by_key(|(_, event)| event.at);
        left
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn reports_of_damaged_captures_have_no_contradictions(damage in damage()) {
        let (_, Kept { flows, events }) = damage.capture.get(recordings());
        for report in analyse(flows, damage.of(events)) {
            let wrong = statements::contradictions(&report);
            prop_assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}
