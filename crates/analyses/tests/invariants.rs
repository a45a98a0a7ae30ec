//! What holds for every report, whatever the segments: no panic, every instant in one spell, every segment one label.

use proptest::prelude::*;
use slowpath_analyses::report::{DirectionReport, FlowReport};
use slowpath_analyses::{Analysis, AnalysisOptions, Cause, Limit};
use slowpath_model::{
    Bytes, End, Endpoint, Event, EventKind, Flags, FlowEnd, FlowId, FlowKey, Instant, SackBlock, Segment,
    Sink, StreamOffset, Timestamps,
};

fn key() -> FlowKey {
    let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
    FlowKey { a: end(1, 40_000), b: end(2, 80), occurrence: 0 }
}

fn analyse(events: impl IntoIterator<Item = Event>) -> FlowReport {
    let mut analysis = Analysis::new(AnalysisOptions::default());
    analysis.open(FlowId(1), &key());
    for event in events {
        analysis.accept(FlowId(1), &event);
    }
    analysis.close(FlowId(1), FlowEnd::EndOfRecording);
    analysis.finish().flows.remove(0)
}

/// A segment from a small world, so that offsets meet, wrap and contradict each other often.
fn segment() -> impl Strategy<Value = (i64, Segment)> {
    let offset = prop_oneof![4 => -5i64..60, 1 => any::<i64>().prop_map(|n| n >> 16)];
    let block = (offset.clone(), offset.clone());
    (
        (
            prop_oneof![8 => 0i64..50_000_000, 1 => -10_000_000_000i64..10_000_000_000, 1 => any::<i64>()],
            any::<bool>(),
            0u16..64,
        ),
        (offset.clone(), prop_oneof![4 => 0u32..4, 1 => any::<u32>()], prop::option::of(offset)),
        (any::<u16>(), prop::option::of((0u32..50, 0u32..50)), prop::collection::vec(block, 0..=4)),
        (
            prop::option::of(0u16..40),
            prop::option::of(any::<u16>()),
            prop::option::of(any::<u8>()),
            any::<bool>(),
        ),
    )
        .prop_map(
            |((step, a, flags), (seq, len, ack), (window, stamps, blocks), (id, mss, scale, sack))| {
                let from = if a { End::A } else { End::B };
                let mut segment = Segment::new(from, Flags(flags), StreamOffset(seq), len);
                segment.ack = ack.map(StreamOffset);
                segment.window = window;
                segment.timestamps = stamps.map(|(val, ecr)| Timestamps { val, ecr });
                for (start, end) in blocks {
                    segment.sack.push(SackBlock { start: StreamOffset(start), end: StreamOffset(end) });
                }
                (segment.ip.id, segment.mss, segment.window_scale, segment.sack_permitted) =
                    (id, mss, scale, sack);
                (step, segment)
            },
        )
}

fn check_direction(report: &FlowReport, direction: &DirectionReport) -> Result<(), TestCaseError> {
    let measures = &direction.measures;
    let labels = &measures.labels;
    let labelled =
        labels.new + labels.retransmission + labels.spurious + labels.out_of_order + labels.duplicate;
    let probes = labels.keep_alive + labels.window_probe;
    prop_assert!(labelled <= measures.data_packets, "{labels:?} of {}", measures.data_packets);
    prop_assert!(measures.data_packets <= labelled + probes, "{labels:?} of {}", measures.data_packets);
    prop_assert!(measures.unique_bytes <= measures.bytes);
    prop_assert!(measures.data_packets + measures.pure_acks <= measures.packets);
    if direction.spells.is_empty() {
        return Ok(());
    }
    prop_assert_eq!(direction.spells[0].from, report.first);
    prop_assert_eq!(direction.spells[direction.spells.len() - 1].to, report.last);
    for pair in direction.spells.windows(2) {
        prop_assert_eq!(pair[0].to, pair[1].from, "no gap and no overlap");
        prop_assert!(pair[0].cause != pair[1].cause, "neighbours differ");
    }
    prop_assert!(direction.spells.iter().all(|spell| spell.from < spell.to));
    let share: f64 = direction.findings.iter().map(|finding| finding.share).sum();
    prop_assert!((share - 1.0).abs() < 1e-6, "shares add up to {share}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn hostile_segments_keep_report_invariants(segments in prop::collection::vec(segment(), 1..80)) {
        let mut now = 0i64;
        let report = analyse(segments.into_iter().enumerate().map(|(n, (step, mut segment))| {
            now = now.saturating_add(step);
            segment.frame = n as u64 + 1;
            Event { at: Instant::from_nanos(now), kind: EventKind::Seen(segment) }
        }));
        for direction in &report.directions {
            check_direction(&report, direction)?;
        }
    }
}

/// Reads a script in the model's notation.
fn script(lines: &str) -> FlowReport {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    analyse(lines.map(|line| line.parse().unwrap_or_else(|error| panic!("{line}: {error}"))))
}

#[test]
fn tail_lost_twice_is_found_without_ip_id_or_timestamps() {
    let report = script(
        "0.000 > S 0:0(0) win 64000 <mss 1000,sackOK>
         0.020 < S. 0:0(0) ack 1 win 64000 <mss 1000,sackOK>
         0.020 > . 1:1(0) ack 1 win 64000
         0.020 > P. 1:501(500) ack 1 win 64000
         0.320 > P. 1:501(500) ack 1 win 64000
         0.920 > P. 1:501(500) ack 1 win 64000
         0.940 < . 1:1(0) ack 501 win 64000",
    );
    let measures = &report.main().measures;
    assert_eq!((measures.labels.new, measures.labels.retransmission), (1, 2));
    assert_eq!((measures.timeouts, measures.recoveries), (2, 1));
    assert_eq!(measures.unique_bytes, Bytes::new(500));
    let top = &report.main().findings[0];
    assert_eq!(top.cause.to_string(), "loss-recovery/lost-retransmission");
    assert!(top.share > 0.9);
}

#[test]
fn nagle_waiting_for_delayed_ack_is_found() {
    let mut lines = "0.000 > S 0:0(0) win 64000 <mss 1000>
         0.010 < S. 0:0(0) ack 1 win 64000 <mss 1000>
         0.010 > . 1:1(0) ack 1 win 64000\n"
        .to_owned();
    // Each message is two writes: the second leaves only when the first was acknowledged, 40 ms late.
    for message in 0..20u32 {
        let (at, seq) = (f64::from(message).mul_add(0.2, 0.1), 1 + 200 * message);
        lines += &format!(
            "{at:.3} > P. {seq}:{}(100) ack 1 win 64000
             {:.3} < . 1:1(0) ack {} win 64000
             {:.3} > P. {}:{}(100) ack 1 win 64000
             {:.3} < . 1:1(0) ack {} win 64000\n",
            seq + 100,
            at + 0.050,
            seq + 100,
            at + 0.050,
            seq + 100,
            seq + 200,
            at + 0.060,
            seq + 200,
        );
    }
    let report = script(&lines);
    let nagle = report.main().findings.iter().find(|finding| finding.cause == Cause::NagleDelayedAck);
    let share = nagle.map_or(0.0, |finding| finding.share);
    // A quarter of the time is Nagle's, and the last ACK's round trip seems to be.
    assert!((0.2..0.32).contains(&share), "{:?}", report.main().findings);
}

#[test]
fn zero_window_is_the_readers_and_window_probes_are_not_retransmissions() {
    let report = script(
        "0.000 > S 0:0(0) win 64000 <mss 1000>
         0.010 < S. 0:0(0) ack 1 win 2000 <mss 1000>
         0.010 > . 1:1(0) ack 1 win 64000
         0.010 > . 1:1001(1000) ack 1 win 64000
         0.010 > . 1001:2001(1000) ack 1 win 64000
         0.020 < . 1:1(0) ack 2001 win 0
         0.220 > . 2000:2000(0) ack 1 win 64000
         0.230 < . 1:1(0) ack 2001 win 0
         0.630 > . 2000:2000(0) ack 1 win 64000
         0.640 < . 1:1(0) ack 2001 win 2000
         0.640 > . 2001:3001(1000) ack 1 win 64000
         0.650 < . 1:1(0) ack 3001 win 2000",
    );
    let measures = &report.main().measures;
    assert_eq!((measures.labels.new, measures.labels.window_probe), (3, 2));
    assert_eq!(report.directions[1].measures.window.zero_count, 1);
    assert_eq!(report.directions[1].measures.window.zero_time.as_millis(), 620);
    let by_window = report.main().findings.iter().filter(|f| f.cause.limit() == Limit::ReceiveWindow);
    let share: f64 = by_window.map(|finding| finding.share).sum();
    assert!(share > 0.9, "{:?}", report.main().findings);
}

#[test]
fn window_scale_without_handshake_is_the_smallest_that_fits() {
    let report = script(
        "0.000 > . 1:1001(1000) ack 1 win 500
         0.001 < . 1:1(0) ack 1 win 10
         0.001 > . 1001:2001(1000) ack 1 win 500
         0.010 < . 1:1(0) ack 2001 win 10",
    );
    use slowpath_analyses::report::ScaleKnown;
    // 2000 bytes do not fit a window of 10 << 7.
    assert_eq!(report.directions[1].measures.window_scale, ScaleKnown::AtLeast(8));
}

#[test]
fn one_direction_capture_is_unknown_with_evidence() {
    let report = script(
        "0.000 > . 1:1001(1000) ack 1 win 500
         0.500 > . 1001:2001(1000) ack 1 win 500",
    );
    assert_eq!(report.main().findings[0].cause.to_string(), "unknown/one-direction");
}

#[test]
fn silence_with_unseen_data_acknowledged_is_a_capture_gap() {
    let report = script(
        "0.000 > S 0:0(0) win 64000 <mss 1000>
         0.010 < S. 0:0(0) ack 1 win 64000 <mss 1000>
         0.010 > . 1:1(0) ack 1 win 64000
         0.010 > . 1:1001(1000) ack 1 win 64000
         0.020 < . 1:1(0) ack 1001 win 64000
         0.500 < . 1:1(0) ack 9001 win 64000
         0.500 > . 9001:10001(1000) ack 1 win 64000
         0.510 < . 1:1(0) ack 10001 win 64000",
    );
    let main = report.main();
    assert_eq!((main.measures.unseen_bytes, main.measures.unseen_gaps), (Bytes::new(8000), 1));
    assert_eq!(main.measures.labels.new, 2);
    assert_eq!(main.findings[0].cause.to_string(), "unknown/capture-gap");
}
