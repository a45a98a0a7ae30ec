//! Publicly reported faults, as written packets: each must be reported with its cause, from each place that shows it,
//! and situations that resemble it must not.
//!
//! No kernel made these captures, so every number in them is known. The lab's captures are the other half.

mod ack_path;
mod as_recorded;
mod both_taps;
mod captures;
mod clock_steps;
mod clockwork;
mod delayed_acks;
mod ends;
mod facts;
mod host_refuses;
mod in_fragments;
mod labels;
mod late;
mod late_openings;
mod loss_rules;
mod never_came;
mod own_queue;
mod paced_writers;
mod pages;
mod paths;
mod simulated;
mod stacks;
#[path = "../contradictions/statements.rs"]
mod statements;
mod transfer;
mod turns;
mod unstamped;
mod window_scale;
mod wire;
mod writers;

use captures::{Answer, at_random, losing};
use slowpath_analyses::report::{Finding, FlowReport};
use slowpath_analyses::{Cause, Confidence, Evidence, Limit};
use slowpath_model::{Bytes, End, Flags, Instant};
use transfer::{CLOCK_OF_A, Fate, MS, MSS, ONE_WAY, Refills, Setup, transfer};
use wire::{Passed, report};

/// Paths of 20, 40 and 150 ms.
const DELAYS: [i64; 3] = [10 * MS, ONE_WAY, 75 * MS];

/// The finding with the most time.
fn main_finding(report: &FlowReport) -> &Finding {
    report.main().findings.first().unwrap_or_else(|| panic!("no finding: {report:#?}"))
}

/// The share of the time of A's direction that goes to such causes.
fn share_of(report: &FlowReport, is_one: impl Fn(Cause) -> bool) -> f64 {
    report.main().findings.iter().filter(|finding| is_one(finding.cause)).map(|finding| finding.share).sum()
}

/// `cause` has the most time, more than four fifths, and evidence of the kind `slug`.
#[track_caller]
fn expect(report: &FlowReport, cause: Cause, slug: &str) -> Evidence {
    let finding = main_finding(report);
    assert!(finding.cause == cause && finding.share > 0.8, "{:#?}", report.main().findings);
    let evidence = finding.evidence.iter().find(|evidence| evidence.slug() == slug);
    *evidence.unwrap_or_else(|| panic!("no {slug}: {:#?}", finding.evidence))
}

/// `cause` has no time.
#[track_caller]
fn expect_none(report: &FlowReport, cause: Cause) {
    let findings = report.directions.iter().flat_map(|direction| &direction.findings);
    for finding in findings {
        assert!(finding.cause != cause, "{finding:#?}");
    }
}

/// The first finding has `cause`.
#[track_caller]
fn expect_mainly(passed: &[Passed], cause: Cause) {
    let report = report(passed);
    assert_eq!(main_finding(&report).cause, cause, "{:#?}", report.main().findings);
}

#[test]
fn reports_of_written_captures_have_no_contradictions() {
    let taps = [
        captures::credit(ONE_WAY),
        captures::shrinking(),
        captures::closing(),
        captures::marked(ONE_WAY),
        captures::black_hole(),
        captures::long_ones_dropped(ONE_WAY),
        captures::unscaled(ONE_WAY),
        captures::paced(ONE_WAY),
        captures::untranslated(ONE_WAY, 1 << 30),
        captures::unread(ONE_WAY),
        captures::not_accepted(ONE_WAY, Fate::Refuse),
        captures::not_accepted(ONE_WAY, Fate::Damage),
        captures::ecn_cleared(ONE_WAY),
    ];
    let scripts = [
        window_scale::after_the_first_flight(&[1018; 20], 509),
        captures::old_connection(),
        captures::fast_open(1),
        captures::fast_open(2),
        captures::not_answered(),
        captures::queue_full(),
        captures::after_pause(Answer::Never),
        captures::after_pause(Answer::AtLast),
        captures::after_pause(Answer::Reset),
        captures::refused(),
        captures::syns("64", "good"),
        captures::accept_queue_full(),
        captures::last_ack_lost(),
        captures::reset_closed(),
        captures::reset_aborted(),
        captures::reset_on_path(62),
        captures::reset_after(2.0),
    ];
    for passed in taps.into_iter().flat_map(|taps| [taps.a, taps.b]).chain(scripts) {
        let wrong = statements::contradictions(&report(&passed));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn challenge_ack_is_an_old_connection() {
    let report = report(&captures::old_connection());
    let evidence = expect(&report, Cause::OldConnection, "challenge-ack");
    assert_eq!(evidence, Evidence::ChallengeAck { times: 1 });
    let opening = &report.opening;
    assert!(opening.established.is_some() && report.closing.rst == [false; 2], "{report:#?}");
    for direction in &report.directions {
        assert_eq!(direction.measures.bytes, direction.measures.unique_bytes);
        assert!(
            direction.measures.bytes <= Bytes::new(420),
            "numbers of the old connection do not count as data"
        );
    }
}

#[test]
fn retransmitted_syn_without_challenge_ack_is_not_an_old_connection() {
    let passed: Vec<Passed> = captures::old_connection()
        .into_iter()
        .enumerate()
        .filter(|(n, _)| ![1, 2].contains(n))
        .map(|(_, passed)| passed)
        .collect();
    expect_none(&report(&passed), Cause::OldConnection);
}

#[test]
fn lost_syn_with_data_is_fast_open_lost() {
    let evidence = expect(&report(&captures::fast_open(1)), Cause::FastOpenLost, "syn-data-lost");
    assert_eq!(evidence, Evidence::SynDataLost { times: 1 });
}

#[test]
fn lost_syn_without_data_is_not_fast_open_lost() {
    let report = report(&captures::fast_open(2));
    expect_none(&report, Cause::FastOpenLost);
    assert_eq!(main_finding(&report).cause, Cause::SynLost);
}

#[test]
fn syns_with_wrong_checksum_are_not_answered() {
    let evidence = expect(&report(&captures::not_answered()), Cause::NotAnswered, "syn-not-answered");
    assert_eq!(evidence, Evidence::SynNotAnswered { times: 6, wrong_checksum: 6 });
}

#[test]
fn syns_dropped_by_a_full_queue_are_not_answered() {
    let evidence = expect(&report(&captures::queue_full()), Cause::NotAnswered, "syn-not-answered");
    assert_eq!(evidence, Evidence::SynNotAnswered { times: 3, wrong_checksum: 0 });
}

#[test]
fn unanswered_syns_at_the_client_may_be_lost() {
    expect_none(&report(&captures::syns("64", "good")), Cause::NotAnswered);
}

#[test]
fn peer_silent_after_a_pause_is_gone() {
    let report = report(&captures::after_pause(Answer::Never));
    let silent = expect(&report, Cause::PeerGone, "peer-silent");
    assert!(matches!(silent, Evidence::PeerSilent { retransmissions: 7, .. }), "{silent:?}");
    let pause = expect(&report, Cause::PeerGone, "silent-after-pause");
    let Evidence::SilentAfterPause { pause } = pause else { panic!("{pause:?}") };
    assert!((4.0..4.2).contains(&pause.as_secs_f64()), "{pause:?}");
}

#[test]
fn peer_that_answers_in_the_end_is_not_gone() {
    let report = report(&captures::after_pause(Answer::AtLast));
    expect_none(&report, Cause::PeerGone);
}

/// After a pause A tries four times, B closes four times, and neither gets what the other sends. A tap `far` seconds from
/// A, on a path of 20 ms.
fn cut_in_both_directions(far: f64) -> Vec<Passed> {
    let at = |at: f64| at + far;
    let (there, back) = (2.0 * (0.02 - far), 2.0 * far);
    let mut lines = format!(
        "{:.6} > S 0:0(0) win 64240 <mss 1460,TS val 1000 ecr 0,wscale 7>
         {:.6} < S. 0:0(0) ack 1 win 65160 <mss 1460,TS val 5000 ecr 1000,wscale 7>
         {:.6} > . 1:1(0) ack 1 win 502 <TS val 1040 ecr 5000>
         {:.6} > P. 1:501(500) ack 1 win 502 <TS val 1041 ecr 5000>
         {:.6} < . 1:1(0) ack 501 win 502 <TS val 5041 ecr 1041>
        ",
        at(0.0),
        at(0.0) + there,
        at(0.0) + there + back,
        at(0.001) + there + back,
        at(0.001) + 2.0 * there + back,
    );
    let resent = [1.0, 1.3, 1.9, 3.1, 5.5].map(|seconds| (seconds, true));
    let closes = [9.0, 9.3, 9.9, 11.1].map(|seconds| (seconds, false));
    for (seconds, of_a) in resent.into_iter().chain(closes) {
        let stamp = 1000.0 * seconds;
        lines += &if of_a {
            format!(
                "{:.6} > P. 501:1501(1000) ack 1 win 502 <TS val {} ecr 5041>\n",
                at(seconds),
                1000.0 + stamp
            )
        } else {
            format!("{:.6} < F. 1:1(0) ack 501 win 502 <TS val {} ecr 1041>\n", at(seconds), 5000.0 + stamp)
        };
    }
    wire::script(&lines)
}

#[test]
fn ends_that_hear_nothing_of_each_other_are_gone_from_in_between() {
    let report = report(&cut_in_both_directions(0.008));
    let unaware = expect(&report, Cause::PeerGone, "peer-unaware");
    assert!(matches!(unaware, Evidence::PeerUnaware { retransmissions: 4, segments: 4, .. }), "{unaware:?}");
    assert_eq!(main_finding(&report).confidence, Confidence::High);
}

/// A acknowledges B's FIN, so that only the way to B is cut.
#[test]
fn end_that_answers_is_not_cut_off() {
    let mut passed = cut_in_both_directions(0.008);
    passed.extend(wire::script("11.200000 > . 1501:1501(0) ack 2 win 502 <TS val 12200 ecr 16100>"));
    let report = report(&passed);
    expect_none(&report, Cause::PeerGone);
    assert_eq!(main_finding(&report).cause.limit(), Limit::LossRecovery);
}

/// Next to A, what B sends has arrived.
#[test]
fn end_that_is_heard_of_is_not_gone() {
    expect_none(&report(&cut_in_both_directions(0.0001)), Cause::PeerGone);
}

#[test]
fn peer_silent_amid_a_transfer_is_gone() {
    // Everything after the first thousand packets is lost, in both directions.
    let mut passed = 0;
    let fate = Box::new(losing(move |_| {
        passed += 1;
        passed > 1_000
    }));
    let taps = transfer(Setup { amount: 4_000_000, fate, until: 30_000 * MS, ..Setup::default() });
    let report = report(&taps.a);
    let silent = expect(&report, Cause::PeerGone, "peer-silent");
    assert!(matches!(silent, Evidence::PeerSilent { retransmissions: 5.., .. }), "{silent:?}");
    let evidence = &main_finding(&report).evidence;
    assert!(evidence.iter().all(|evidence| evidence.slug() != "silent-after-pause"), "{evidence:?}");
}

/// A request of 191 bytes fits every MTU.
#[test]
fn unanswered_small_requests_are_not_an_mtu_black_hole() {
    let mut lines = captures::handshake();
    let (mut at, mut wait) = (0.05, 0.24);
    for n in 0..9 {
        lines += &format!("{at:.6} > P. 1:192(191) ack 1 win 502 // frame 0 id {} ttl 64\n", 300 + n);
        at += wait;
        wait *= 2.0;
    }
    let silent = report(&wire::script(&lines));
    expect_none(&silent, Cause::MtuBlackHole);
    expect(&silent, Cause::PeerGone, "peer-silent");
    // The host that answers at last does not know the connection.
    lines += &format!("{at:.6} < R 1:1(0) win 0 // frame 0 id 0 ttl 63\n");
    let reset = report(&wire::script(&lines));
    expect(&reset, Cause::PeerGone, "peer-silent");
    assert_eq!(reset.closing.cause(), Some(Cause::ResetUnknown));
}

#[test]
fn short_capture_does_not_show_a_gone_peer() {
    let passed = captures::after_pause(Answer::Never);
    expect_none(&report(&passed[..15]), Cause::PeerGone);
}

#[test]
fn data_triggered_by_credit_is_protocol_window() {
    for one_way in DELAYS {
        let taps = captures::credit(one_way);
        for passed in [&taps.a, &taps.b] {
            let evidence = expect(&report(passed), Cause::ProtocolWindow, "follows-payload");
            let Evidence::FollowsPayload { waits, by_ack } = evidence else { panic!("{evidence:?}") };
            assert!(waits >= 40 && by_ack <= waits / 10, "{evidence:?}");
        }
    }
}

#[test]
fn data_triggered_by_acks_is_not_protocol_window() {
    let taps = transfer(Setup { amount: 3_000_000, send_buffer: 65_535, ..Setup::default() });
    expect_none(&report(&taps.a), Cause::ProtocolWindow);
    expect_none(&report(&taps.b), Cause::ProtocolWindow);
}

#[test]
fn evenly_paced_data_is_local_rate_limit() {
    for one_way in DELAYS {
        let taps = captures::paced(one_way);
        for passed in [&taps.a, &taps.b] {
            let evidence = expect(&report(passed), Cause::LocalRateLimit, "steady-rate");
            let Evidence::SteadyRate { rate, .. } = evidence else { panic!("{evidence:?}") };
            let paced = f64::from(MSS) * 8e9 / 1.2e6;
            assert!((rate.get() as f64 / paced - 1.0).abs() < 0.05, "{rate}");
        }
        let near = expect(&report(&taps.a), Cause::LocalRateLimit, "unprompted-sends");
        let Evidence::UnpromptedSends { share } = near else { panic!("{near:?}") };
        assert!(share > 0.9, "{share}");
        assert_eq!(
            main_finding(&report(&taps.b)).confidence,
            Confidence::Low,
            "from afar, ACKs may have triggered it"
        );
    }
}

/// B's host is busy for 30 ms in every third RTT and then sends one ACK: more seems to be in flight, and A's pace is the
/// same.
#[test]
fn pace_shows_though_the_receiver_holds_acks_back() {
    let mut passed = captures::paced(90 * MS).b;
    let is_busy = |at: Instant| at.nanos_since(Instant::START) % (540 * MS) < 30 * MS;
    passed.retain(|(at, segment)| segment.from == End::A || segment.flags.has(Flags::SYN) || !is_busy(*at));
    expect_mainly(&passed, Cause::LocalRateLimit);
}

#[test]
fn full_segments_written_one_by_one_are_not_local_rate_limit() {
    for one_way in DELAYS {
        let pace = 1_200_000;
        let taps = transfer(Setup { amount: 8_000_000, pace, pushes: true, one_way, ..Setup::default() });
        expect_mainly(&taps.a, Cause::SenderIdle);
        expect_none(&report(&taps.a), Cause::LocalRateLimit);
        expect_none(&report(&taps.b), Cause::LocalRateLimit);
    }
}

#[test]
fn ack_clocked_data_is_not_local_rate_limit() {
    for one_way in DELAYS {
        let narrow = captures::narrow(one_way);
        let small = transfer(Setup { amount: 3_000_000, send_buffer: 65_535, one_way, ..Setup::default() });
        for passed in [&narrow.a, &narrow.b, &small.a, &small.b] {
            expect_none(&report(passed), Cause::LocalRateLimit);
        }
    }
}

#[test]
fn alternatives_of_a_paced_sender_are_excluded_by_evidence() {
    let report = report(&captures::paced(ONE_WAY).a);
    let found = main_finding(&report);
    let excluded: Vec<_> = found
        .alternatives
        .iter()
        .map(|other| (other.limit, other.excluded_by.map_or("nothing", |fact| fact.slug())))
        .collect();
    let wanted = [
        (Limit::Application, "always-more-to-send"),
        (Limit::ReceiveWindow, "room-in-window"),
        (Limit::CongestionWindow, "unprompted-sends"),
        (Limit::LossRecovery, "nothing-repaired"),
        (Limit::Path, "no-queue"),
    ];
    assert_eq!(excluded, wanted);
}

#[test]
fn small_receive_buffer_behind_cross_traffic_is_not_a_slow_reader() {
    for one_way in DELAYS {
        let others = |now| if now > 500 * MS { 40 * MS } else { 0 };
        let window = Box::new(|_, _| 44 * MSS);
        let taps =
            transfer(Setup { amount: 6_000_000, window, scale: 3, others, one_way, ..Setup::default() });
        expect_mainly(&taps.a, Cause::ReceiveBufferTooSmall);
        for passed in [&taps.a, &taps.b] {
            expect_none(&report(passed), Cause::SlowReader);
        }
    }
}

/// Its bursts leave when no ACK has just come, and are still released by ACKs. A program that writes as much by its own
/// clock is no such writer.
#[test]
fn polling_writer_is_send_buffer_full() {
    for one_way in [ONE_WAY, 75 * MS] {
        let taps = transfer(Setup {
            amount: 6_000_000,
            send_buffer: 128 << 10,
            refills: Refills::WhenWritable,
            one_way,
            ..Setup::default()
        });
        expect_mainly(&taps.a, Cause::SendBufferFull);
        let taps =
            transfer(Setup { amount: 6_000_000, pace: 2 * MS, pushes: true, one_way, ..Setup::default() });
        expect_none(&report(&taps.a), Cause::SendBufferFull);
    }
}

/// It fills what is free a little later than each ACK, with segments of any length. No more is ever in flight, to the byte, and
/// it is still while no ACK comes.
#[test]
fn writer_that_asks_for_free_space_is_send_buffer_full() {
    for (send_buffer, one_way) in [(65_536, 45 * MS), (12_964, ONE_WAY), (243_016, 75 * MS)] {
        let taps = transfer(Setup {
            amount: 40 * send_buffer,
            send_buffer,
            refills: Refills::Every(MS / 2),
            one_way,
            ..Setup::default()
        });
        expect_mainly(&taps.a, Cause::SendBufferFull);
        let idle = share_of(&report(&taps.a), |cause| cause == Cause::SenderIdle);
        assert!(idle < 0.05, "{send_buffer}: {idle:.2}");
    }
}

/// Its window stays at 128 bytes, and nobody sends into that.
#[test]
fn window_below_one_segment_is_reader_stopped() {
    let window = |at: i64, next: u32| {
        let room = 65_280_u32.saturating_sub(next);
        if at < 5_000 * MS { room.max(128) } else { 65_280 }
    };
    let updates = vec![5_000 * MS];
    let taps = transfer(Setup { amount: 90_000, window: Box::new(window), updates, ..Setup::default() });
    for passed in [&taps.a, &taps.b] {
        expect_mainly(passed, Cause::ReaderStopped);
    }
}

#[test]
fn acks_waiting_for_a_reader_are_neither_queue_nor_acks_held_back() {
    for one_way in DELAYS {
        let taps = captures::unread(one_way);
        for passed in [&taps.a, &taps.b] {
            let report = report(passed);
            expect_mainly(passed, Cause::SlowReader);
            expect_none(&report, Cause::StandingQueue);
            // The last ACK before the reader continues opens the window, and is late.
            let late = report.main().findings.iter().find(|finding| finding.cause == Cause::AcksHeldBack);
            assert!(late.is_none_or(|late| late.share < 0.05 && late.spells == 1), "{late:#?}");
        }
    }
}

#[test]
fn window_shrunk_below_data_in_flight_is_taken_back() {
    let taps = captures::shrinking();
    for passed in [&taps.a, &taps.b] {
        let evidence = expect(&report(passed), Cause::WindowTakenBack, "edge-moved-back");
        let Evidence::EdgeMovedBack { times: 1, largest } = evidence else { panic!("{evidence:?}") };
        assert!((64 << 10..=128 << 10).contains(&largest.get()), "{evidence:?}");
    }
}

#[test]
fn window_closing_as_it_fills_is_not_taken_back() {
    let taps = captures::closing();
    for passed in [&taps.a, &taps.b] {
        expect_none(&report(passed), Cause::WindowTakenBack);
        expect_mainly(passed, Cause::ReaderStopped);
    }
}

#[test]
fn data_arriving_repeatedly_is_not_accepted() {
    for one_way in DELAYS {
        for (fate, confidence) in [(Fate::Refuse, Confidence::Medium), (Fate::Damage, Confidence::High)] {
            let taps = captures::not_accepted(one_way, fate);
            let report = report(&taps.b);
            let finding = report.main().findings.iter().find(|finding| finding.cause == Cause::NotAccepted);
            let finding = finding.unwrap_or_else(|| panic!("{:#?}", report.main().findings));
            assert!(finding.confidence == confidence && finding.share > 0.4, "{finding:#?}");
            let damaged = finding.evidence.iter().any(|evidence| evidence.slug() == "damaged-on-arrival");
            assert_eq!(damaged, fate == Fate::Damage);
            expect_none(&self::report(&taps.a), Cause::NotAccepted);
        }
    }
}

#[test]
fn data_lost_on_the_path_is_not_reported_as_not_accepted() {
    for one_way in DELAYS {
        let taps = captures::not_accepted(one_way, Fate::Lose);
        expect_none(&report(&taps.b), Cause::NotAccepted);
    }
}

#[test]
fn negotiated_ecn_without_ect_is_ecn_cleared() {
    let taps = captures::ecn_cleared(ONE_WAY);
    let findings = report(&taps.b).main().findings.clone();
    let cleared = findings.iter().find(|finding| finding.cause == Cause::EcnCleared);
    assert!(cleared.is_some_and(|found| found.lasted.is_zero()), "{findings:#?}");
    expect_none(&report(&taps.a), Cause::EcnCleared);
    for ecn in [true, false] {
        let taps = transfer(Setup { amount: 400_000, ecn, ..Setup::default() });
        expect_none(&report(&taps.b), Cause::EcnCleared);
    }
}

#[test]
fn ecn_marks_reduce_cwnd_without_loss() {
    for one_way in DELAYS {
        let taps = captures::marked(one_way);
        for (passed, at_receiver) in [(&taps.a, false), (&taps.b, true)] {
            let evidence = expect(&report(passed), Cause::EcnMarks, "ecn-marked");
            let Evidence::EcnMarked { marked, echoes, reductions } = evidence else { panic!("{evidence:?}") };
            assert_eq!(marked > 0, at_receiver, "CE marks show only behind the queue: {evidence:?}");
            assert!(echoes >= reductions && reductions > 4, "{evidence:?}");
        }
    }
}

/// With a standing queue, marks do what ECN is for: the path carries its full rate.
#[test]
fn ecn_marks_of_a_standing_queue_leave_the_path_full() {
    // 10 Mbit/s; packets that would wait more than 30 ms are marked.
    let rate = 1_250;
    let mut empty_at = 0.0;
    let queue = move |segment: &slowpath_model::Segment| {
        if segment.len == 0 {
            return Fate::Pass;
        }
        let now = segment.timestamps.map_or(0.0, |times| f64::from(times.val - CLOCK_OF_A));
        empty_at = f64::max(empty_at, now) + f64::from(segment.len + 66) / rate as f64;
        if empty_at > now + 30.0 { Fate::Mark } else { Fate::Pass }
    };
    let taps =
        transfer(Setup { amount: 6_000_000, ecn: true, rate, fate: Box::new(queue), ..Setup::default() });
    for passed in [&taps.a, &taps.b] {
        let report = report(passed);
        assert_eq!(main_finding(&report).cause, Cause::BottleneckFull, "{:#?}", report.main().findings);
        assert!(main_finding(&report).share > 0.8, "{:#?}", report.main().findings);
    }
}

#[test]
fn rare_losses_are_not_reported_as_ecn_marks() {
    let ecn = [false, true];
    for ecn in ecn {
        let fate = Box::new(losing(at_random(200)));
        let taps = transfer(Setup { amount: 4_000_000, ecn, fate, ..Setup::default() });
        expect_none(&report(&taps.a), Cause::EcnMarks);
        expect_none(&report(&taps.b), Cause::EcnMarks);
    }
}

#[test]
fn large_segments_always_lost_are_an_mtu_black_hole() {
    let taps = captures::black_hole();
    let evidence = expect(&report(&taps.a), Cause::MtuBlackHole, "lost-above-size");
    let Evidence::LostAboveSize { lost, smallest, largest_delivered } = evidence else {
        panic!("{evidence:?}")
    };
    assert_eq!((smallest, largest_delivered), (Bytes::new(1460), Bytes::new(300)));
    assert!(lost >= 6, "{evidence:?}");
}

#[test]
fn unseen_data_shows_in_later_sequence_numbers() {
    let taps = captures::black_hole();
    let evidence = expect(&report(&taps.b), Cause::MtuBlackHole, "sent-unseen");
    assert_eq!(evidence, Evidence::SentUnseen { data: Bytes::new(14_600) });
}

#[test]
fn random_losses_of_any_size_are_not_an_mtu_black_hole() {
    for one_in in [5, 20, 100] {
        let fate = Box::new(losing(at_random(one_in)));
        // A grant of 2,000 bytes is a full segment and a short one.
        let taps = transfer(Setup { amount: 100_000, credit: Some(2_000), fate, ..Setup::default() });
        expect_none(&report(&taps.a), Cause::MtuBlackHole);
        expect_none(&report(&taps.b), Cause::MtuBlackHole);
    }
}

#[test]
fn two_segment_packets_always_lost_are_super_packets_dropped() {
    for one_way in DELAYS {
        let taps = captures::long_ones_dropped(one_way);
        let evidence = expect(&report(&taps.a), Cause::SuperPacketsDropped, "lost-above-size");
        let Evidence::LostAboveSize { lost, smallest, largest_delivered } = evidence else {
            panic!("{evidence:?}")
        };
        assert!(
            smallest > Bytes::new(MSS.into()) && largest_delivered == Bytes::new(MSS.into()),
            "{evidence:?}"
        );
        assert!(lost > 10, "{evidence:?}");
    }
}

#[test]
fn random_losses_of_packets_are_not_super_packets_dropped() {
    for one_in in [5, 20, 100] {
        let fate = Box::new(losing(at_random(one_in)));
        let taps = transfer(Setup { amount: 1_000_000, offload: 4, fate, ..Setup::default() });
        let report = report(&taps.a);
        expect_none(&report, Cause::SuperPacketsDropped);
        expect_none(&report, Cause::MtuBlackHole);
    }
}

#[test]
fn losses_beyond_unscaled_window_are_reported_as_a_firewalls() {
    for one_way in DELAYS {
        let taps = captures::unscaled(one_way);
        let evidence = expect(&report(&taps.a), Cause::BeyondUnscaledWindow, "lost-beyond-window-field");
        let Evidence::LostBeyondWindowField { lost, delivered } = evidence else { panic!("{evidence:?}") };
        assert!(lost > 10 && delivered > lost, "{evidence:?}");
    }
}

#[test]
fn untranslated_sack_blocks_are_reported() {
    for one_way in DELAYS {
        // The second is within the largest window that TCP has, and beyond the one that was offered.
        for shift in [1 << 30, 123_456_789] {
            let passed = captures::untranslated(one_way, shift).a;
            let evidence = expect(&report(&passed), Cause::SackUntranslated, "sack-outside");
            let Evidence::SackOutside { blocks, all } = evidence else { panic!("{evidence:?}") };
            assert!(blocks > 10 && blocks == all, "{evidence:?}");
        }
    }
}

/// Blocks that stay within what was sent, and begin within segments.
#[test]
fn sack_blocks_shifted_within_the_window_are_reported_as_untranslated() {
    for one_way in DELAYS {
        for shift in [99, 77_777] {
            let reported = report(&captures::untranslated(one_way, shift).a);
            let share = share_of(&reported, |cause| cause == Cause::SackUntranslated);
            assert!(share > 0.7, "{shift}: {:#?}", reported.main().findings);
            expect_none(&reported, Cause::SackReneging);
        }
    }
}

#[test]
fn sack_blocks_of_sent_data_are_not_reported_as_untranslated() {
    let fate = Box::new(losing(at_random(100)));
    let taps = transfer(Setup { amount: 2_000_000, fate, ..Setup::default() });
    for passed in [&taps.a, &taps.b] {
        expect_none(&report(passed), Cause::SackUntranslated);
        // Nor in a capture that begins in the middle, whose first offsets are not known.
        expect_none(&report(&passed[passed.len() / 2..]), Cause::SackUntranslated);
    }
}

#[test]
fn random_losses_under_a_scaled_window_are_not_a_firewalls() {
    for one_in in [20, 100, 500] {
        let window = Box::new(|_, _| 120 << 10);
        let fate = Box::new(losing(at_random(one_in)));
        let taps = transfer(Setup { amount: 4_000_000, scale: 1, window, fate, ..Setup::default() });
        expect_none(&report(&taps.a), Cause::BeyondUnscaledWindow);
    }
}

#[test]
fn few_segments_in_an_rtt_by_a_clock_are_local_rate_limit() {
    let sent = |pushes| {
        transfer(Setup { amount: 2_000_000, pace: 1_400_000, one_way: 2 * MS, pushes, ..Setup::default() })
    };
    expect(&report(&sent(false).a), Cause::LocalRateLimit, "unprompted-sends");
    expect_none(&report(&sent(true).a), Cause::LocalRateLimit);
}
