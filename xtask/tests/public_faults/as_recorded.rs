//! Files that are not the packets: begun amid a transfer, with packets missing, or not in order.

use crate::captures::{at_random, losing};
use crate::transfer::{MS, Setup, Taps, transfer};
use crate::wire::{ENDS, Frame, Passed, file_of, frames, report};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, AnalysisOptions, Confidence, Limit};
use slowpath_model::{Bytes, End};
use slowpath_runs::input::analyse;
use std::fs;
use std::path::Path;

fn bulk() -> Taps {
    transfer(Setup { amount: 6_000_000, fate: Box::new(losing(at_random(300))), ..Setup::default() })
}

/// As `slowpath diagnose` reads a file, which may be twice.
fn read(name: &str, frames: &[Frame]) -> FlowReport {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, file_of(frames)).expect("a file");
    let read = analyse(&path, None, &|| Box::new(|_, _| ()), || Analysis::new(AnalysisOptions::default()));
    read.expect("a capture").2.finish().flows.remove(0)
}

/// Several queues wrote the file, each in batches: stamps are right, and frames are behind later ones.
#[test]
fn file_out_of_order_is_put_in_order_by_its_stamps() {
    let passed = bulk().a;
    let in_order = frames(&passed, ENDS);
    let mut shuffled = in_order.clone();
    for batch in shuffled[200..].chunks_mut(12) {
        // Within 20 ms, not across the pauses of the transfer.
        if batch.last().is_some_and(|last| last.at.nanos_since(batch[0].at) < 20 * MS) {
            batch.sort_by_key(|frame| (frame.at.nanos() / 1_000 * 7_919) % 13);
        }
    }
    let [right, found] =
        [("in-order.pcap", &in_order), ("shuffled.pcap", &shuffled)].map(|(name, frames)| read(name, frames));
    let counts = |report: &FlowReport| report.main().measures.labels;
    assert!(counts(&right).retransmission > 5, "{:?}", counts(&right));
    assert_eq!(counts(&found), counts(&right));
}

/// Stamps that step back where the order of the file is right do not put it out of order.
#[test]
fn stamps_that_step_back_do_not_move_segments() {
    let mut stamped = frames(&bulk().a, ENDS);
    let right = read("stamped-right.pcap", &stamped).main().measures.labels;
    for pair in stamped[200..].chunks_exact_mut(2).step_by(3) {
        let apart = pair[1].at.nanos_since(pair[0].at);
        if apart < MS {
            let (first, second) = (pair[0].at, pair[1].at);
            (pair[0].at, pair[1].at) = (second.plus_nanos(25_000), first);
        }
    }
    let found = read("stamped-back.pcap", &stamped).main().measures.labels;
    assert_eq!(
        (found.new, found.retransmission, found.out_of_order),
        (right.new, right.retransmission, right.out_of_order)
    );
}

/// What had been sent before the capture began is acknowledged in it, and is not missing from it.
#[test]
fn what_was_sent_before_the_capture_is_not_missing() {
    for from in [200, 203, 211, 240] {
        let later = |passed: Vec<Passed>| -> Vec<Passed> {
            passed.into_iter().filter(|(at, _)| at.nanos() > from * MS).collect()
        };
        let taps = transfer(Setup { amount: 6_000_000, ..Setup::default() });
        let measures = report(&later(taps.a)).main().measures.clone();
        assert_eq!((measures.unseen_gaps, measures.unseen_bytes), (0, Bytes::ZERO), "from {from} ms on");
    }
}

/// A transfer, and what a capture has of it that misses every third segment with data.
fn a_third_missing() -> [Vec<Passed>; 2] {
    let whole = bulk().a;
    let mut nth = 0;
    let mut missing = whole.clone();
    missing.retain(|(_, segment)| {
        nth += u32::from(segment.from == End::A && segment.len > 0);
        segment.from == End::B || segment.len == 0 || nth % 3 != 0
    });
    [whole, missing]
}

/// What was acknowledged had arrived, whether or not the capture has it.
#[test]
fn what_is_missing_from_a_capture_was_moved() {
    let [whole, missing] = a_third_missing();
    let moved = |passed: &[Passed]| {
        let report = report(passed);
        let text = slowpath_views::words::moved(&report);
        (text.split(" in ").next().map(str::to_owned), report.main().measures.unseen_gaps > 0)
    };
    let (all, some) = (moved(&whole), moved(&missing));
    assert_eq!((&all.0, all.1, some.1), (&some.0, false, true));
}

#[test]
fn verdict_on_a_part_of_the_data_says_so_and_is_not_sure() {
    let [whole, missing] = a_third_missing().map(|passed| report(&passed));
    let is_sure = |report: &FlowReport| {
        let findings = report.directions.iter().flat_map(|direction| &direction.findings);
        findings
            .filter(|one| one.cause.limit() != Limit::Connection)
            .any(|one| one.confidence == Confidence::High)
    };
    assert!(is_sure(&whole) && !is_sure(&missing), "{:#?}", missing.main().findings);
    let said = |report: &FlowReport| slowpath_views::words::ending(report).unwrap_or_default();
    assert!(said(&missing).contains("33 % of what it moved is not in the capture"), "{}", said(&missing));
    assert!(!said(&whole).contains("is not in the capture"), "{}", said(&whole));
}
