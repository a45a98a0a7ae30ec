//! Both ends of a flow, one segment each every millisecond or so, by clocks of 1 kHz.

use super::*;
use slowpath_model::{End, Flags, StreamOffset, Timestamps};

/// The time of a segment by the capture's clock and by its sender's, in microseconds.
type Passed = (End, i64, i64);

fn steps(passed: impl IntoIterator<Item = Passed>) -> Vec<ClockStep> {
    let mut nobody = ();
    let mut watch = ClockWatch::new(&mut nobody);
    let mut newest: [Vec<u32>; 2] = Default::default();
    for (n, (from, at, sent)) in passed.into_iter().enumerate() {
        let mut segment = Segment::new(from, Flags::ACK, StreamOffset(1 + 100 * n as i64), 100);
        let val = 5_000 + (sent / 1000) as u32;
        // The segment that the other end sent 20 ms ago has just arrived.
        let ecr = newest[1 - from.index()].iter().nth_back(15).copied().unwrap_or(0);
        segment.timestamps = Some(Timestamps { val, ecr });
        newest[from.index()].push(val);
        segment.frame = n as u64 + 1;
        let event = Event { at: Instant::from_nanos(at * 1000), kind: EventKind::Seen(segment) };
        watch.accept(FlowId(1), &event);
    }
    watch.finish()
}

/// Each end sends once every 1.3 ms, for 3 s.
fn exchange() -> impl Iterator<Item = Passed> {
    (0..4600).map(|n| (if n % 2 == 0 { End::A } else { End::B }, n * 650, n * 650))
}

#[test]
fn steady_clock_has_no_steps() {
    assert_eq!(steps(exchange()), []);
}

#[test]
fn step_size_follows_both_tsval_clocks() {
    for by in [25_000, 1_000_000, 86_400_000_000, -25_000, -400_000, -86_400_000_000] {
        let set = exchange().map(|(end, at, sent)| (end, if at < 1_000_000 { at } else { at + by }, sent));
        let found = steps(set);
        let [step] = found.as_slice() else { panic!("{by}: {found:?}") };
        assert_eq!((step.place, step.frame), (1539, 1540));
        assert!((step.by - by * 1000).abs() < MS, "{by}: {step:?}");
        assert!((step.at.nanos() - 1_000 * MS).abs() < 2 * MS, "{by}: {step:?}");
    }
}

#[test]
fn step_not_confirmed_by_both_ends_is_a_silence() {
    for moving in End::BOTH {
        let silent = exchange().map(|(end, at, sent)| {
            let by = if at < 1_000_000 { 0 } else { 20_000_000 };
            (end, at + by, sent + if end == moving { by } else { 0 })
        });
        assert_eq!(steps(silent), []);
    }
}

#[test]
fn delayed_segments_are_not_a_clock_step() {
    // Held for 2 s, and sent anew after another 20 ms.
    let held = exchange().map(|(end, at, sent)| {
        let by = if at < 1_000_000 { 0 } else { 2_000_000 };
        (end, at + by, sent + if at < 1_020_000 { 0 } else { by })
    });
    assert_eq!(steps(held), []);
}

#[test]
fn end_of_recording_decides_the_suspicion() {
    let set = exchange().map(|(end, at, sent)| (end, if at < 2_800_000 { at } else { at + 5_000_000 }, sent));
    assert_eq!(steps(set).len(), 1);
}

#[test]
fn extreme_timestamps_do_not_overflow() {
    let far = [(End::A, i64::MAX / 1000, 0), (End::B, i64::MIN / 1000, i64::MAX)];
    let hostile = exchange().flat_map(|passed| [far[0], passed, far[1]]);
    assert_eq!(steps(hostile), []);
}

#[test]
fn corrected_times_have_no_clock_step() {
    struct Last(i64);
    impl Sink for Last {
        fn open(&mut self, _: FlowId, _: &FlowKey) {}
        fn accept(&mut self, _: FlowId, event: &Event) {
            assert!(event.at.nanos() >= self.0);
            self.0 = event.at.nanos();
        }
        fn close(&mut self, _: FlowId, _: FlowEnd) {}
    }
    let set = |place, by| ClockStep { place, frame: place + 1, at: Instant::START, by };
    let steps = [set(2, -50), set(3, 200)];
    let mut last = Last(0);
    let mut correction = ClockCorrection::new(&mut last, &steps);
    for at in [0, 10, -35, 175, 185] {
        let kind = EventKind::Missed { events: 1 };
        correction.accept(FlowId(1), &Event { at: Instant::from_nanos(at), kind });
    }
    let times = correction.finish().expect("events");
    assert_eq!(times.span, (Instant::START, Instant::from_nanos(35)));
    assert_eq!((times.largest_back_ns, last.0), (0, 35));
}
