//! Labels of hand-made sequences of segments.

use super::*;
use proptest::prelude::*;
use slowpath_model::{End, Event, EventKind, Flags, SackBlock};

const NONE_MISSING: Missing = Missing { packets: 0, mss: 1000, timer_ran_out: false, only_data: false };

const NEAR: Times = Times { nearest: Some(10_000_000), soon: 0, alike: None, twice: false };

/// Plays lines of one direction's data (`>`) and its ACKs (`<`); returns the labels, corrections as `-1`.
fn play(lines: &[&str]) -> (Vec<Label>, u32, Outstanding) {
    let (mut outstanding, mut order) = (Outstanding::default(), SendOrder::default());
    for id in 0..20 {
        order.saw(id, 1);
    }
    let (mut labels, mut spurious) = (Vec::new(), 0);
    for line in lines {
        let event: Event = line.parse().expect(line);
        let EventKind::Seen(segment) = event.kind else { panic!("{line}") };
        match segment.from {
            End::A => {
                if let Some(id) = segment.ip.id {
                    order.saw(id, 1);
                }
                labels.push(outstanding.data(event.at, &segment, NONE_MISSING, &order, NEAR).label);
            }
            End::B => {
                let ack = segment.ack.expect(line);
                spurious += outstanding.ack(event.at, ack, &segment, None).spurious;
            }
        }
    }
    (labels, spurious, outstanding)
}

#[test]
fn ip_id_distinguishes_retransmission_from_reordering_in_a_hole() {
    let (labels, _, _) = play(&[
        "0.00 > . 1:1001(1000) ack 1 // id 20",
        "0.01 > . 2001:3001(1000) ack 1 // id 22",
        "0.02 > . 1001:2001(1000) ack 1 // id 21",
        "0.03 > . 4001:5001(1000) ack 1 // id 24",
        "0.04 > . 3001:4001(1000) ack 1 // id 25",
    ]);
    use Label::*;
    assert_eq!(labels, [New, New, OutOfOrder, New, Retransmission]);
}

/// Parts of a super-packet are retransmitted within one tick of the timestamp clock, and so is new data.
#[test]
fn echo_of_a_timestamp_that_several_transmissions_carry_gives_no_round_trip() {
    let round_trip = |second: u32| {
        let (_, _, mut outstanding) = play(&[
            "0.000 > . 1:2001(2000) ack 1 <TS val 100 ecr 1>",
            "0.040 > . 1:1001(1000) ack 1 <TS val 140 ecr 1>",
            &format!("0.0404 > . 1001:2001(1000) ack 1 <TS val {second} ecr 1>"),
        ]);
        let event: Event = "0.0408 < . 1:1(0) ack 1001 <TS val 9 ecr 140>".parse().expect("an ACK");
        let EventKind::Seen(mut segment) = event.kind else { panic!("a segment") };
        (segment.ack, segment.timestamps) = (
            Some(StreamOffset(1001)),
            segment.timestamps.map(|stamps| slowpath_model::Timestamps { ecr: second, ..stamps }),
        );
        outstanding.ack(event.at, StreamOffset(1001), &segment, None).round_trip
    };
    assert_eq!(round_trip(140), None, "the first of them was sent 800 us before");
    assert_eq!(round_trip(141), Some(400_000));
}

/// Of an ACK whose options the snapshot length cut, nobody knows whether it reports what is held.
#[test]
fn ack_with_cut_options_is_no_reneging() {
    for cut in [false, true] {
        let (_, _, mut outstanding) = play(&[
            "0.00 > . 1:1001(1000) ack 1",
            "0.01 > . 1001:2001(1000) ack 1",
            "0.02 > . 2001:3001(1000) ack 1",
            "0.05 < . 1:1(0) ack 1001 win 500 <sack 2001:3001>",
        ]);
        let mut ack = Segment::new(End::B, Flags::ACK, StreamOffset(1), 0);
        (ack.ack, ack.window, ack.options_cut) = (Some(StreamOffset(1001)), 500, cut);
        let acked = outstanding.ack(Instant::from_nanos(60_000_000), StreamOffset(1001), &ack, None);
        assert_eq!(acked.reneged, !cut);
    }
}

#[test]
fn halves_of_a_super_packet_retransmitted_separately_are_not_repeated() {
    let (_, _, mut outstanding) =
        play(&["0.00 > . 1:2001(2000) ack 1", "0.30 > . 1:1001(1000) ack 1", "0.35 < . 1:1(0) ack 1001"]);
    let mut repeated = |at: i64, seq: i64| {
        let segment = Segment::new(End::A, Flags::ACK, StreamOffset(seq), 1000);
        let at = Instant::from_nanos(at * 1_000_000);
        outstanding.data(at, &segment, NONE_MISSING, &SendOrder::default(), NEAR).repeated
    };
    assert!(!repeated(360, 1001), "its first half was");
    assert!(repeated(800, 1001), "this one was");
}

#[test]
fn without_ip_id_tsval_then_time_distinguish_reordering() {
    let (labels, _, _) = play(&[
        "0.000 > . 1:1001(1000) ack 1 <TS val 10 ecr 1>",
        "0.010 > . 2001:3001(1000) ack 1 <TS val 20 ecr 1>",
        "0.050 > . 1001:2001(1000) ack 1 <TS val 19 ecr 1>",
        "0.060 > . 4001:5001(1000) ack 1 <TS val 60 ecr 1>",
        "0.061 > . 3001:4001(1000) ack 1 <TS val 61 ecr 1>",
        "0.070 > . 6001:7001(1000) ack 1 <TS val 70 ecr 1>",
        "0.071 > . 5001:6001(1000) ack 1 <TS val 70 ecr 1>",
        "0.080 > . 8001:9001(1000) ack 1 <TS val 80 ecr 1>",
        "0.095 > . 7001:8001(1000) ack 1 <TS val 80 ecr 1>",
    ]);
    use Label::*;
    assert_eq!(labels, [New, New, OutOfOrder, New, Retransmission, New, OutOfOrder, New, Retransmission]);
}

#[test]
fn frame_captured_twice_is_a_duplicate() {
    let (labels, _, outstanding) = play(&[
        "0.000 > . 1:1001(1000) ack 1 // id 20",
        "0.000 > . 1:1001(1000) ack 1 // id 20",
        "0.300 > . 1:1001(1000) ack 1 // id 21",
    ]);
    assert_eq!(labels, [Label::New, Label::Duplicate, Label::Retransmission]);
    assert_eq!(outstanding.flight(), 1000);
}

#[test]
fn dsack_marks_retransmission_spurious_once() {
    let (_, spurious, _) = play(&[
        "0.0 > . 1:1001(1000) ack 1 // id 20",
        "0.3 > . 1:1001(1000) ack 1 // id 21",
        "0.4 < . 1:1(0) ack 1001",
        "0.5 < . 1:1(0) ack 1001 <sack 1:1001>",
        "0.6 < . 1:1(0) ack 1001 <sack 1:1001>",
    ]);
    assert_eq!(spurious, 1);
}

#[test]
fn tsecr_of_original_marks_retransmission_spurious() {
    let late =
        ["0.0 > . 1:1001(1000) ack 1 <TS val 10 ecr 1>", "0.3 > . 1:1001(1000) ack 1 <TS val 310 ecr 1>"];
    let play_ack = |ack: &str| play(&[late[0], late[1], ack]).1;
    assert_eq!(play_ack("0.4 < . 1:1(0) ack 1001 <TS val 5 ecr 10>"), 1);
    assert_eq!(play_ack("0.4 < . 1:1(0) ack 1001 <TS val 5 ecr 310>"), 0);
}

/// The second segment's retransmission passed 10 ms before its ACK, and no answer ever came in less than 40 ms.
#[test]
fn ack_sooner_than_any_answer_marks_retransmission_spurious() {
    let spurious = |soonest: Option<i64>, answer: &str| {
        let mut outstanding = play(&[
            "0.00 > . 1:1001(1000) ack 1",
            "0.00 > . 1001:2001(1000) ack 1",
            "0.00 > . 2001:3001(1000) ack 1",
            "0.05 > . 1:1001(1000) ack 1",
            "0.09 > . 1001:2001(1000) ack 1",
        ])
        .2;
        let event: Event = answer.parse().expect("an ACK");
        let EventKind::Seen(ack) = event.kind else { panic!("a segment") };
        let acked = outstanding.ack(event.at, ack.ack.expect("an ACK"), &ack, soonest);
        (acked.spurious, outstanding.found_spurious().first().map(|found| found.low.0))
    };
    let soonest = Some(40_000_000);
    assert_eq!(spurious(soonest, "0.10 < . 1:1(0) ack 3001"), (1, Some(1001)));
    assert_eq!(spurious(soonest, "0.10 < . 1:1(0) ack 1 <sack 1001:3001>"), (1, Some(1001)));
    assert_eq!(spurious(soonest, "0.13 < . 1:1(0) ack 3001"), (0, None), "after 40 ms");
    assert_eq!(spurious(None, "0.10 < . 1:1(0) ack 3001"), (0, None), "no answer was ever seen");
    // Stamps of a hostile capture.
    assert_eq!(spurious(Some(i64::MAX), "0.13 < . 1:1(0) ack 3001"), (2, Some(1001)));
}

/// The ACK that came too soon has marked the last one already when a DSACK reports it.
#[test]
fn dsack_of_a_retransmission_known_to_be_spurious_marks_no_other() {
    let mut outstanding =
        play(&["0.00 > . 1:1001(1000) ack 1", "0.30 > . 1:1001(1000) ack 1", "0.33 > . 1:1001(1000) ack 1"])
            .2;
    let mut spurious = |answer: &str| {
        let event: Event = answer.parse().expect("an ACK");
        let EventKind::Seen(ack) = event.kind else { panic!("a segment") };
        outstanding.ack(event.at, ack.ack.expect("an ACK"), &ack, Some(40_000_000)).spurious
    };
    assert_eq!(spurious("0.34 < . 1:1(0) ack 1001"), 1);
    assert_eq!(spurious("0.37 < . 1:1(0) ack 1001 <sack 1:1001>"), 0, "the one at 0.33 again");
    assert_eq!(spurious("0.38 < . 1:1(0) ack 1001 <sack 1:1001>"), 1, "the one before");
}

#[test]
fn delayed_ack_of_two_retransmissions_marks_neither_spurious() {
    let (_, spurious, _) = play(&[
        "0.0 > . 1:1001(1000) ack 1 <TS val 10 ecr 1>",
        "0.0 > . 1001:2001(1000) ack 1 <TS val 10 ecr 1>",
        "0.3 > . 1:1001(1000) ack 1 <TS val 310 ecr 1>",
        "0.3 > . 1001:2001(1000) ack 1 <TS val 311 ecr 1>",
        "0.4 < . 1:1(0) ack 2001 <TS val 5 ecr 310>",
    ]);
    assert_eq!(spurious, 0);
}

#[test]
fn ack_of_unseen_data_is_a_capture_gap() {
    let mut outstanding = play(&["0.0 > . 1:1001(1000) ack 1", "0.1 > . 2001:3001(1000) ack 1"]).2;
    let line: Event = "0.2 < . 1:1(0) ack 5001".parse().unwrap();
    let EventKind::Seen(ack) = line.kind else { panic!() };
    let acked = outstanding.ack(line.at, StreamOffset(5001), &ack, None);
    assert_eq!((acked.unseen, acked.advanced), (3000, 5000));
    assert_eq!(outstanding.flight(), 0);
}

#[test]
fn flight_excludes_sacked_data() {
    let outstanding = play(&[
        "0.0 > . 1:1001(1000) ack 1",
        "0.0 > . 1001:4001(3000) ack 1",
        "0.1 < . 1:1(0) ack 1 <sack 2001:4001>",
    ])
    .2;
    assert_eq!(outstanding.flight(), 2000);
}

proptest! {
    /// The fast paths have the same results as the full ones.
    #[test]
    fn fast_path_matches_slow_path(
        steps in prop::collection::vec(
            (
                any::<bool>(),
                prop_oneof![6 => Just(0i64), 1 => -8i64..8],
                1u32..4,
                prop_oneof![4 => 0i64..8, 1 => -2i64..20],
                prop::option::weighted(0.2, (-2i64..12, 1i64..6)),
            ),
            1..80,
        ),
    ) {
        let (mut outstanding, order) = (Outstanding::default(), SendOrder::default());
        for (nth, (sends, jump, len, advance, block)) in (0..).zip(steps) {
            let at = Instant::from_nanos(nth * 60_000_000);
            let mut short = outstanding.clone();
            if sends {
                let seq = outstanding.nxt().plus(jump);
                let segment = Segment::new(End::A, Flags::ACK, seq, len);
                let placed = outstanding.data(at, &segment, NONE_MISSING, &order, Times { nearest: None, ..NEAR });
                if short.is_next(seq) {
                    prop_assert_eq!(short.next(at, &segment), placed);
                    prop_assert_eq!(format!("{short:?}"), format!("{outstanding:?}"));
                }
            } else {
                let ack = outstanding.una().plus(advance);
                let mut segment = Segment::new(End::B, Flags::ACK, StreamOffset(1), 0);
                if let Some((above, len)) = block {
                    let start = ack.plus(above);
                    segment.sack.push(SackBlock { start, end: start.plus(len) });
                }
                let acked = outstanding.ack(at, ack, &segment, None);
                if short.is_plain(ack, &segment) {
                    let mut retired = Acked::default();
                    short.retire(at, ack, &mut retired);
                    prop_assert_eq!(retired, acked);
                    prop_assert_eq!(format!("{short:?}"), format!("{outstanding:?}"));
                }
            }
        }
    }
}
