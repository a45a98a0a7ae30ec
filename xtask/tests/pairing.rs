//! Two recordings of the labelled transfers, compared: losses, duplicates and reordering against the emulated path's
//! own counters, and clocks changed on purpose.

use slowpath_analyses::pairing::report::{Pairing, Tally};
use slowpath_analyses::pairing::{Both, Collector, CollectorOptions, Tap, pair, verdict};
use slowpath_analyses::{Analysis, AnalysisOptions, Cause, Evidence};
use slowpath_capture::Capture;
use slowpath_lab::case::Set;
use slowpath_lab::host::Host;
use slowpath_lab::path::Totals;
use slowpath_lab::relay::{DirectionReport, Fate};
use slowpath_lab::run::recording_file;
use slowpath_lab::truth::{self, Truth};
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Instant, Sink};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

/// Changes a recording's clock.
struct Wrong<S, F>(S, F);

impl<S: Sink, F: Fn(i64) -> i64> Sink for Wrong<S, F> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.0.open(flow, key);
    }
    fn accept(&mut self, flow: FlowId, event: &Event) {
        let at = Instant::from_nanos((self.1)(event.at.nanos()));
        self.0.accept(flow, &Event { at, ..*event });
    }
    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        self.0.close(flow, end);
    }
}

fn tap(path: &Path, clock: impl Fn(i64) -> i64) -> Tap {
    let mut sink = Wrong(Collector::new(CollectorOptions::default()), clock);
    let summary = Capture::open(path).unwrap().run(&mut sink).unwrap();
    sink.0.finish(summary.epoch_ns.unwrap())
}

/// Captures whose counters cannot agree yet, and why.
const LEFT_OUT: [(&str, &str); 5] = [
    ("fresh/peer-gone-40mbit-35ms-1100ms-rst", "the middlebox's own RSTs pass one tap only"),
    ("heldout/peer-gone-15mbit-30ms-800ms-rst", "the middlebox's own RSTs pass one tap only"),
    ("shipped/peer-gone-10mbit-20ms-1500ms-rst", "the middlebox's own RSTs pass one tap only"),
    (
        "heldout/mtu-told-15mbit-40ms-1300-tso",
        "a super-packet that is too long is dropped as one packet, and cut in the capture",
    ),
    (
        "heldout/mtu-black-hole-40mbit-20ms-1450-plpmtud-tso",
        "super-packets of a segment size that changed midway are not cut right",
    ),
];

fn cases() -> Vec<PathBuf> {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures");
    let mut cases = Vec::new();
    for set in Set::ALL {
        let Ok(entries) = std::fs::read_dir(captures.join(set.folder())) else { continue };
        cases.extend(
            entries.map(|entry| entry.unwrap().path()).filter(|path| path.join("truth.json").exists()),
        );
    }
    // A recording's deliberate omissions cannot be distinguished from packets that its capture missed.
    cases.retain(|case| truth(case).case.experiment().recording.omissions.is_empty());
    cases.retain(|case| !LEFT_OUT.iter().any(|(name, _)| case.ends_with(name)));
    cases.sort();
    for (name, why) in LEFT_OUT {
        println!("left out: {name}: {why}");
    }
    assert!(!cases.is_empty(), "the labelled captures are part of the repository");
    cases
}

fn truth(case: &Path) -> Truth {
    truth::read(case).expect("truth.json")
}

fn recording(case: &Path, host: Host) -> PathBuf {
    case.join(recording_file(host, truth(case).case.experiment().recording.format))
}

fn compared(case: &Path, clock: impl Fn(i64) -> i64) -> Pairing {
    let sender = tap(&recording(case, Host::Sender), |at| at);
    let receiver = tap(&recording(case, Host::Receiver), clock);
    pair(&sender, &receiver).unwrap_or_else(|error| panic!("{}: {error}", case.display()))
}

/// A case with the comparisons of its recordings, whose clocks are unchanged.
struct Compared {
    case: PathBuf,
    truth: Truth,
    /// The epochs of the sender's and the receiver's recording.
    epochs: [i64; 2],
    /// The sender's recording first.
    pairing: Pairing,
    /// The receiver's recording first.
    reversed: Pairing,
}

static COMPARED: LazyLock<Vec<Compared>> = LazyLock::new(|| {
    let of = |case: PathBuf| {
        let taps = [Host::Sender, Host::Receiver].map(|host| tap(&recording(&case, host), |at| at));
        let [sender, receiver] = &taps;
        let paired =
            |one, other| pair(one, other).unwrap_or_else(|error| panic!("{}: {error}", case.display()));
        let (pairing, reversed) = (paired(sender, receiver), paired(receiver, sender));
        Compared { truth: truth(&case), epochs: taps.each_ref().map(Tap::epoch_ns), pairing, reversed, case }
    };
    cases().into_iter().map(of).collect()
});

/// What the comparison shows for all packets that passed recording `near` first.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    lost: u64,
    twice: u64,
    overtaken: u64,
    missed_far: u64,
    missed_near: u64,
    outside: u64,
    ignored: u64,
    by_time: u64,
}

impl Counts {
    fn of(pairing: &Pairing, near: usize) -> Self {
        let mut counts = Self::default();
        for direction in pairing.flows.iter().flat_map(|pair| &pair.directions).filter(|d| d.near == near) {
            counts.lost += direction.lost.count;
            counts.twice += direction.twice.count;
            counts.overtaken += direction.overtaken.count;
            counts.missed_far += direction.missed_far.count;
            counts.missed_near += direction.missed_near.count;
            counts.outside += direction.outside;
            counts.ignored += direction.ignored.count;
            counts.by_time += direction.told_by_time;
        }
        counts
    }
}

fn dropped(totals: &Totals) -> u64 {
    totals.dropped_packets.values().sum()
}

/// Packets that the receiving host discarded on arrival, by its own counters.
fn discarded(truth: &Truth, near: usize) -> u64 {
    let counters = if near == 0 { &truth.counters.receiver } else { &truth.counters.sender };
    let names = [
        "TcpExtPAWSEstab",
        "TcpExtTCPRcvQDrop",
        "TcpExtTCPOFODrop",
        "TcpExtTCPBacklogDrop",
        "TcpExtTCPZeroWindowDrop",
    ];
    // Counted once however many packets it takes.
    if counters.contains_key("TcpExtOfoPruned") {
        return u64::MAX;
    }
    names.iter().filter_map(|name| counters.get(*name)).sum()
}

/// How many of the path's drops, by its own counters, are among `lost` by the instant.
fn found(report: &DirectionReport, lost: &[&Tally], epoch: i64) -> usize {
    let instants: Vec<i64> =
        lost.iter().flat_map(|tally| &tally.instants).map(|at| at.nanos() + epoch).collect();
    let drops = report.faults.iter().filter(|fault| matches!(fault.fate, Fate::Dropped(_)));
    drops.filter(|fault| instants.iter().any(|at| at.abs_diff(fault.at_ns as i64) < 2_000_000)).count()
}

#[test]
fn paired_counts_match_the_paths_counters() {
    let mut wrong = Vec::new();
    println!("{:60} {:>4} way  lost/truth twice/truth late/held missed outside ignored by-time", "case", "");
    for Compared { case, truth, pairing, .. } in &*COMPARED {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        for (near, way) in [&truth.path.forward, &truth.path.backward].into_iter().enumerate() {
            let counts = Counts::of(pairing, near);
            let totals = &way.report.totals;
            println!(
                "{name:60} {} {:>6}/{:<6} {:>4}/{:<4} {:>5}/{:<5} {}+{} {} {} {}",
                if near == 0 { "forward " } else { "backward" },
                counts.lost,
                dropped(totals),
                counts.twice,
                totals.duplicated_packets,
                counts.overtaken,
                totals.held_back_packets,
                counts.missed_far,
                counts.missed_near,
                counts.outside,
                counts.ignored,
                counts.by_time
            );
            // A SYN lost before the other recording has its first frame may have been sent before that one began.
            let (least, most) = (counts.lost, counts.lost + counts.outside);
            if !(least..=most).contains(&dropped(totals))
                || counts.twice != totals.duplicated_packets
                || counts.missed_far + counts.missed_near > 0
                || counts.ignored > discarded(truth, near)
            {
                wrong.push(format!("{name}: {counts:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn lost_packets_are_those_that_the_path_dropped() {
    for Compared { case, truth, epochs, pairing, .. } in &*COMPARED {
        for (near, way) in [&truth.path.forward, &truth.path.backward].into_iter().enumerate() {
            let directions = pairing.flows.iter().flat_map(|pair| &pair.directions);
            let lost: Vec<_> = directions.filter(|d| d.near == near).map(|d| &d.lost).collect();
            let count: u64 = lost.iter().map(|tally| tally.count).sum();
            assert_eq!(found(&way.report, &lost, epochs[near]) as u64, count, "{}", case.display());
        }
    }
}

/// Sums up everything that does not depend on the clocks.
fn all_counts(pairing: &Pairing) -> [Counts; 2] {
    [Counts::of(pairing, 0), Counts::of(pairing, 1)]
}

#[test]
fn equal_clocks_are_recognised() {
    for Compared { case, pairing, .. } in &*COMPARED {
        let clocks = pairing.clocks.as_ref().unwrap_or_else(|| panic!("{}", case.display()));
        assert_eq!(clocks.steps().count(), 0, "{}: {clocks:?}", case.display());
        let stretch = clocks.stretches[0];
        // The path is equally long both ways, and the relay adds up to a few hundred microseconds.
        let ends = [stretch.from, stretch.to].map(|at| {
            let since = at.nanos_since(stretch.from) as f64;
            stretch.offset_ns as f64 + since * stretch.drift_ppm / 1e6
        });
        assert!(
            stretch.drift_ppm.abs() < 1.0 + stretch.drift_uncertainty_ppm,
            "{}: {clocks:?}",
            case.display()
        );
        assert!(ends.iter().all(|offset| offset.abs() < 1e6), "{}: {clocks:?}", case.display());
        println!(
            "{:60} offset {:8.1} µs to {:8.1} µs, drift {:7.2} ± {:7.2} ppm, RTT {:?}",
            case.file_name().unwrap().to_string_lossy(),
            ends[0] / 1e3,
            ends[1] / 1e3,
            stretch.drift_ppm,
            stretch.drift_uncertainty_ppm,
            stretch.round_trip
        );
    }
}

#[test]
fn clock_offset_and_drift_are_corrected() {
    for Compared { case, pairing: right, .. } in &*COMPARED {
        let wrong = compared(case, |at| at + 3_700_000_000 - at / 12_500);
        assert_eq!(all_counts(right), all_counts(&wrong), "{}", case.display());
        let stretch = |pairing: &Pairing| pairing.clocks.as_ref().unwrap().stretches[0];
        let (before, after) = (stretch(right), stretch(&wrong));
        assert_eq!(wrong.clocks.as_ref().unwrap().stretches.len(), 1, "{}", case.display());
        let drift = after.drift_ppm - before.drift_ppm;
        let tolerance = 1.0 + before.drift_uncertainty_ppm + after.drift_uncertainty_ppm;
        assert!((drift + 80.0).abs() < tolerance, "{}: {before:?} {after:?}", case.display());
        let offset = after.offset_ns - before.offset_ns - 3_700_000_000;
        // A slow link of the ACKs takes a millisecond or two for each, so that both ways are not alike.
        let is_alike = !case.to_string_lossy().contains("ack-path-queue");
        let off = if is_alike { 500_000 } else { 1_000_000 };
        assert!(offset.abs() < off, "{}: {offset} ns; {before:?} {after:?}", case.display());
        println!(
            "{:60} drift {drift:8.2} offset off by {offset} ns",
            case.file_name().unwrap().to_string_lossy()
        );
    }
}

#[test]
fn clock_step_during_the_transfer_is_found() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures/shipped");
    let case = shipped.join("random-loss-20mbit-40ms-10000ppm-cubic");
    let at = 1_500_000_000;
    let pairing = compared(&case, |now| if now < at { now } else { now + 60_000_000 });
    let clocks = pairing.clocks.as_ref().unwrap();
    let steps: Vec<_> = clocks.steps().collect();
    let [(from, to, by)] = steps.as_slice() else { panic!("{clocks:?}") };
    assert!(from.nanos() < at + 30_000_000 && to.nanos() > at - 30_000_000, "{from} {to}");
    assert!((by - 60_000_000).abs() < 1_000_000, "{by}");
    assert_eq!(all_counts(&pairing), all_counts(&compared(&case, |at| at)));
}

#[test]
fn order_of_the_recordings_does_not_matter() {
    for Compared { case, pairing, reversed, .. } in &*COMPARED {
        assert_eq!(
            all_counts(pairing),
            all_counts(reversed).into_iter().rev().collect::<Vec<_>>()[..],
            "{}",
            case.display()
        );
    }
}

/// Both recordings of one shipped case, each with its own verdict, compared.
fn merged(case: &str) -> [slowpath_analyses::report::FlowReport; 2] {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures/shipped").join(case);
    let [(one, sent), (other, received)] = ["sender", "receiver"].map(|side| {
        let mut analysis = Analysis::new(AnalysisOptions::default());
        let mut collector = Collector::default();
        let capture = Capture::open(case.join(side).with_extension("pcap.zst")).unwrap();
        let summary = capture.run(&mut Both(&mut analysis, &mut collector)).unwrap();
        (collector.finish(summary.epoch_ns.unwrap()), analysis.finish().flows.remove(0))
    });
    let pairing = pair(&one, &other).unwrap();
    [
        verdict::merge(sent.clone(), Some(&received), &pairing, 0),
        verdict::merge(received, Some(&sent), &pairing, 1),
    ]
}

#[test]
fn reordering_without_loss_is_not_a_repair() {
    let [merged, _] = merged("reordering-20mbit-40ms-20000ppm-by-60ms-nots");
    assert!(merged.main().findings.iter().all(|finding| finding.cause != Cause::FastRecovery));
    let reordering =
        merged.main().findings.iter().find(|finding| finding.cause == Cause::Reordering).unwrap();
    assert!(
        reordering.evidence.iter().any(|one| matches!(one, Evidence::ReorderedBetween { lost: 0, .. })),
        "{:?}",
        reordering.evidence
    );
}

#[test]
fn limits_come_from_the_senders_recording_in_any_order() {
    let reports = merged("small-sndbuf-50mbit-80ms-16k");
    let [sent, received] = reports.each_ref().map(|report| &report.main().findings[0]);
    assert_eq!(sent.cause, received.cause);
    assert!(sent.lasted.abs_diff(received.lasted) < Duration::from_millis(200), "{sent:?} {received:?}");
    for report in &reports {
        let spells = &report.main().spells;
        assert!(
            spells.windows(2).all(|pair| pair[0].to == pair[1].from),
            "no instant in two spells, or in none"
        );
        assert_eq!((spells[0].from, spells.last().unwrap().to), (report.first, report.last));
    }
}
