//! The capture's clock is set while recording: the verdict stays that of the capture without the step. Situations that
//! resemble a step stay a silence.

use crate::captures::{at_random, losing};
use crate::transfer::{CLOCK_OF_A, CLOCK_OF_B, MS, Setup, Taps, transfer, without_timestamps};
use crate::wire::{ENDS, Frame, Passed, file_of, frames, read};
use slowpath_analyses::clock_steps::{ClockCorrection, ClockStep, ClockWatch};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, AnalysisOptions, Cause};
use slowpath_model::{End, Flags, Instant, Segment, StreamOffset, Timestamps};

/// When the clock is set, in milliseconds.
const SET_AT: i64 = 1_500;

/// The sizes of the steps, in milliseconds.
const STEPS: [i64; 6] = [50, 1_000, 20_000, -50, -400, -30_000];

/// The clock steps of a capture, and its flows without them.
fn corrected(file: &[u8]) -> (Vec<ClockStep>, Vec<FlowReport>) {
    let mut nobody = ();
    let mut watch = ClockWatch::new(&mut nobody);
    read(file.to_vec(), &mut watch);
    let steps = watch.finish();
    let mut analysis = Analysis::new(AnalysisOptions::default());
    read(file.to_vec(), &mut ClockCorrection::new(&mut analysis, &steps));
    (steps, analysis.finish().flows)
}

/// The causes of a flow's time, with their shares.
fn shares(report: &FlowReport) -> Vec<(Cause, f64)> {
    report.main().findings.iter().map(|finding| (finding.cause, finding.share)).collect()
}

/// The file of a capture whose clock is set by `by` milliseconds during it.
fn set(passed: &[Passed], by: i64) -> Vec<u8> {
    let mut frames = frames(passed, ENDS);
    step(&mut frames, by);
    file_of(&frames)
}

fn step(frames: &mut [Frame], by: i64) {
    // The file's timestamps stay after 1970, however far back the clock is set.
    for frame in frames.iter_mut().filter(|frame| frame.at.nanos() >= SET_AT * MS) {
        frame.at = frame.at.plus_nanos(by * MS);
    }
    for frame in frames {
        frame.at = frame.at.plus_nanos(60_000 * MS);
    }
}

/// Changes the rate of one end's timestamps: from values of 1 ms to those of `ticks` a second.
fn ticking(passed: &[Passed], ticks: u32) -> Vec<Passed> {
    let mut passed = passed.to_vec();
    let of = |val: u32| (u64::from(val) * u64::from(ticks) / 1000) as u32;
    for (_, segment) in &mut passed {
        if let Some(times) = &mut segment.timestamps {
            (times.val, times.ecr) = (of(times.val), of(times.ecr));
        }
    }
    passed
}

/// Some transfers of a few seconds, each with another cause.
fn transfers() -> [(&'static str, Taps); 3] {
    let full =
        || Setup { amount: 6_000_000, rate: 1_250, window: Box::new(|_, _| 180_000), ..Setup::default() };
    let window = Setup { window: Box::new(|_, _| 65_535), ..full() };
    let loss = Setup { rate: 12_500, fate: Box::new(losing(at_random(150))), ..full() };
    [("full link", transfer(full())), ("small window", transfer(window)), ("loss", transfer(loss))]
}

/// A queue that grows without end: each arriving segment was sent longer ago than the last.
fn growing() -> Taps {
    transfer(Setup { amount: 6_000_000, rate: 1_250, ..Setup::default() })
}

#[track_caller]
fn expect_step(what: &str, passed: &[Passed], by: i64) {
    let (none, right) = corrected(&set(passed, 0));
    assert_eq!(none, [], "{what}: no step");
    let (steps, found) = corrected(&set(passed, by));
    let [one] = steps.as_slice() else { panic!("{what}, set by {by} ms: {steps:?}") };
    // Without timestamps, the time between the last packet before the step and the first after it is unknown.
    let unknown = if passed.iter().all(|(_, segment)| segment.timestamps.is_none()) { 5 } else { 2 };
    assert!((one.by - by * MS).abs() < unknown * MS, "{what}, set by {by} ms: {one:?}");
    assert!((one.at.nanos() - SET_AT * MS).abs() < 50 * MS, "{what}, set by {by} ms: {one:?}");
    let (right, found) = (&right[0], &found[0]);
    assert_eq!(right.vantage.vantage, found.vantage.vantage, "{what}, set by {by} ms");
    let (right, found) = (shares(right), shares(found));
    assert_eq!(right.len(), found.len(), "{what}, set by {by} ms: {right:?}, {found:?}");
    for ((cause, share), (as_found, found_share)) in right.iter().zip(&found) {
        let same = cause == as_found && (share - found_share).abs() < 0.01;
        assert!(same, "{what}, set by {by} ms: {right:?}, {found:?}");
    }
}

#[track_caller]
fn expect_none(what: &str, file: &[u8]) {
    assert_eq!(corrected(file).0, [], "{what}");
}

#[test]
fn clock_step_changes_no_verdict() {
    for (what, taps) in transfers() {
        for by in STEPS {
            expect_step(&format!("{what}, at the sender"), &taps.a, by);
            expect_step(&format!("{what}, at the receiver"), &taps.b, by);
        }
    }
}

#[test]
fn clock_step_is_found_while_a_queue_grows() {
    let taps = growing();
    for by in [1_000, 20_000, -400, -30_000] {
        expect_step("growing queue, at the sender", &taps.a, by);
        expect_step("growing queue, at the receiver", &taps.b, by);
    }
}

#[test]
fn clock_step_is_found_with_any_tsval_rate() {
    let [(_, taps), ..] = transfers();
    for ticks in [100, 250, 1_000_000] {
        for by in [20_000, 1_000, -400] {
            expect_step(&format!("{ticks} Hz"), &ticking(&taps.a, ticks), by);
        }
    }
}

#[test]
fn backward_clock_step_is_found_without_timestamps() {
    let [(_, taps), ..] = transfers();
    for passed in [&taps.a, &taps.b] {
        for by in [-50, -400, -30_000] {
            expect_step("no timestamps", &without_timestamps(passed), by);
        }
    }
}

#[test]
fn forward_clock_step_without_timestamps_is_a_silence() {
    let [(_, taps), ..] = transfers();
    expect_none("no timestamps", &set(&without_timestamps(&taps.a), 20_000));
}

#[test]
fn several_clock_steps_are_found() {
    let [_, (_, taps), _] = transfers();
    let mut frames = frames(&taps.a, ENDS);
    for frame in &mut frames {
        let at = frame.at.nanos() / MS;
        let by = if at >= 3_000 {
            700
        } else if at >= SET_AT {
            -300
        } else {
            0
        };
        frame.at = frame.at.plus_nanos(by * MS);
    }
    let (steps, _) = corrected(&file_of(&frames));
    let by: Vec<_> = steps.iter().map(|step| (step.by as f64 / 1e6).round() as i64).collect();
    assert_eq!(by, [-300, 1_000]);
}

/// What a tap sees if both ends wait for 20 s, because of an application, a path or a suspended host; TSval advances.
fn silent(passed: &[Passed], clocks_that_move: &[End]) -> Vec<Passed> {
    const SILENCE: i64 = 20_000;
    let mut passed = passed.to_vec();
    for (at, segment) in &mut passed {
        if at.nanos() >= SET_AT * MS {
            *at = at.plus_nanos(SILENCE * MS);
        }
        let Some(times) = &mut segment.timestamps else { continue };
        for end in clocks_that_move {
            let val = if *end == segment.from { &mut times.val } else { &mut times.ecr };
            let zero = if *end == End::A { CLOCK_OF_A } else { CLOCK_OF_B };
            // Segments in flight have timestamps from before.
            if *val >= zero + SET_AT as u32 {
                *val += SILENCE as u32;
            }
        }
    }
    passed
}

#[test]
fn silence_with_advancing_tsval_is_not_a_clock_step() {
    for (what, taps) in transfers().into_iter().chain([("growing queue", growing())]) {
        for passed in [&taps.a, &taps.b] {
            for moving in [&[End::A, End::B][..], &[End::A], &[End::B]] {
                let file = file_of(&frames(&silent(passed, moving), ENDS));
                expect_none(&format!("{what}, {moving:?} moved"), &file);
            }
        }
    }
}

/// Two queues are written in turns: the timestamps are right, and each batch begins before the previous one ended.
#[test]
fn batches_of_two_queues_are_not_clock_steps() {
    for passed in transfers().iter().flat_map(|(_, taps)| [&taps.a, &taps.b]) {
        for passed in [passed.clone(), without_timestamps(passed)] {
            for batch in [5, 60, 300] {
                let mut queued = passed.clone();
                queued.sort_by_key(|(at, segment)| (at.nanos() / (batch * MS), segment.from == End::B));
                expect_none(&format!("batches of {batch} ms"), &file_of(&frames(&queued, ENDS)));
            }
        }
    }
}

/// Each packet is written by one of two queues, one of them 25 ms behind the other.
#[test]
fn queue_written_late_is_not_a_clock_step() {
    for passed in transfers().iter().flat_map(|(_, taps)| [&taps.a, &taps.b]) {
        for passed in [passed.clone(), without_timestamps(passed)] {
            let mut numbered: Vec<_> = passed.iter().copied().enumerate().collect();
            numbered.sort_by_key(|(n, (at, _))| at.nanos() + if n % 3 == 0 { 25 * MS } else { 0 });
            let late: Vec<_> = numbered.into_iter().map(|(_, passed)| passed).collect();
            expect_none("late", &file_of(&frames(&late, ENDS)));
        }
    }
}

/// Two captures of the same time, one after the other in one file.
#[test]
fn two_captures_in_one_file_are_not_a_clock_step() {
    for (_, taps) in transfers() {
        for both in [[&taps.a, &taps.b], [&taps.a, &taps.a]] {
            for passed in [both.map(Clone::clone), both.map(|passed| without_timestamps(passed))] {
                expect_none("twice", &file_of(&frames(&passed.concat(), ENDS)));
            }
        }
    }
}

/// A connection that exchanges a few bytes every so many milliseconds, between other ports.
fn turns(every: i64, until: i64) -> Vec<Passed> {
    let mut passed = Vec::new();
    for n in 0..until / every {
        for (end, wait) in [(End::A, 0), (End::B, 40 * MS)] {
            let mut segment = Segment::new(end, Flags::ACK.with(Flags::PSH), StreamOffset(1 + 100 * n), 100);
            segment.ack = Some(StreamOffset(1 + 100 * n + if end == End::B { 100 } else { 0 }));
            let at = Instant::from_nanos(n * every * MS + wait);
            // The segment that it answers passed as long ago as it waited.
            let (own, other, ago) =
                if end == End::A { (50_000, 90_000, every - 40) } else { (90_000, 50_000, 40) };
            let now = at.nanos() / MS;
            let [val, ecr] = [own + now, other + now - ago].map(|val| val as u32);
            segment.timestamps = Some(Timestamps { val, ecr });
            (segment.window, segment.ip.ttl) = (500, 64);
            passed.push((at, segment));
        }
    }
    passed
}

/// Both flows are in one file; the second, between other ports.
fn together(one: &[Passed], two: &[Passed]) -> Vec<Frame> {
    let other = ENDS.map(|(address, port)| (address, port + 1));
    let mut all = frames(one, ENDS);
    all.extend(frames(two, other));
    all.sort_by_key(|frame| frame.at);
    all
}

#[test]
fn clock_step_applies_to_all_flows_including_idle_ones() {
    let [(_, taps), ..] = transfers();
    let idle = turns(4_000, 12_000);
    for by in [20_000, -400] {
        let right = corrected(&file_of(&together(&taps.a, &idle))).1;
        let mut set = together(&taps.a, &idle);
        step(&mut set, by);
        let (steps, found) = corrected(&file_of(&set));
        assert_eq!(steps.len(), 1, "{steps:?}");
        for (right, found) in right.iter().zip(&found) {
            assert_eq!(shares(right).len(), shares(found).len());
            let lasted = [right, found].map(|flow| flow.lasted().as_secs_f64());
            assert!((lasted[0] - lasted[1]).abs() < 0.002, "{lasted:?}");
        }
    }
}

/// The transfer pauses for 20 s while the other connection is idle: nothing shows that the clock was set.
#[test]
fn pause_while_the_other_flow_is_idle_is_not_a_clock_step() {
    let [(_, taps), ..] = transfers();
    let paused = silent(&taps.a, &[End::A, End::B]);
    expect_none("a pause", &file_of(&together(&paused, &turns(300, 1_400))));
    expect_none("both pause", &file_of(&together(&paused, &turns(30_000, 60_000))));
}

#[test]
fn turns_with_long_pauses_are_not_clock_steps() {
    for every in [100, 700, 5_000] {
        expect_none("turns", &file_of(&frames(&turns(every, 100 * every), ENDS)));
        expect_none("1024 Hz", &file_of(&frames(&ticking(&turns(every, 100 * every), 1024), ENDS)));
    }
}

#[test]
fn clock_step_between_turns_is_found_in_the_next_turn() {
    for by in [20_000, -2_000] {
        let (steps, _) = corrected(&set(&turns(100, 10_000), by));
        let [one] = steps.as_slice() else { panic!("{by}: {steps:?}") };
        assert!((one.by - by * MS).abs() < 5 * MS, "{one:?}");
    }
}
