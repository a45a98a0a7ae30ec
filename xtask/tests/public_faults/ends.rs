//! Connections that do not open, and connections that a RST ends.

use crate::captures::{self, Answer, handshake};
use crate::wire::{ENDS, Passed, file_of, frames, report, reports, script};
use crate::{expect, expect_none, main_finding};
use slowpath_analyses::report::{Finding, FlowReport};
use slowpath_analyses::{Cause, Confidence, Evidence};
use slowpath_model::{Bytes, End, IcmpKind};

/// The finding of a reset, which takes no time.
#[track_caller]
fn expect_reset(report: &FlowReport, cause: Cause, by: End) -> &Finding {
    assert_eq!(report.closing.reset.as_ref().map(|reset| (reset.by, reset.cause)), Some((by, Some(cause))));
    let findings = &report.main().findings;
    let finding = findings.iter().find(|finding| finding.cause == cause);
    let finding = finding.unwrap_or_else(|| panic!("{findings:#?}"));
    assert!(finding.lasted.is_zero() && finding.spells == 0, "{finding:#?}");
    finding
}

#[track_caller]
fn expect_no_reset(report: &FlowReport) {
    for cause in Cause::ALL.iter().filter(|cause| cause.is_reset()) {
        expect_none(report, *cause);
    }
}

#[test]
fn rst_answering_a_syn_is_connection_refused() {
    let report = report(&captures::refused());
    let evidence = expect(&report, Cause::Refused, "syn-refused");
    let Evidence::SynRefused { after } = evidence else { panic!("{evidence:?}") };
    assert_eq!(after.as_millis(), 40);
    expect_no_reset(&report);
}

#[test]
fn icmp_error_answering_a_syn_is_unreachable() {
    let report = &reports(captures::unreachable())[0];
    let evidence = expect(report, Cause::Unreachable, "icmp-errors");
    assert_eq!(evidence, Evidence::IcmpErrors { times: 1, kind: IcmpKind::HostUnreachable });
}

#[test]
fn unanswered_syns_at_the_client_are_no_answer() {
    let report = report(&captures::syns("64", "good"));
    let evidence = expect(&report, Cause::NoAnswer, "syn-unanswered");
    assert_eq!(evidence, Evidence::SynUnanswered { times: 6 });
}

#[test]
fn syn_acks_after_the_handshake_are_accept_queue_full() {
    let report = report(&captures::accept_queue_full());
    let evidence = expect(&report, Cause::AcceptQueueFull, "syn-ack-again");
    assert!(matches!(evidence, Evidence::SynAckAgain { times: 2, data: 3.. }), "{evidence:?}");
    assert_eq!(report.main().findings[0].confidence, Confidence::High, "it shows next to the server");
}

/// A full accept queue shows without a second SYN-ACK, in data that had no effect; twice may be chance. From afar, it may be
/// losses.
#[test]
fn first_data_that_has_no_effect_is_accept_queue_full() {
    let passed = captures::accept_queue_full_with_cookies();
    let at_server = report(&passed);
    let evidence = expect(&at_server, Cause::AcceptQueueFull, "syn-ack-again");
    assert_eq!(evidence, Evidence::SynAckAgain { times: 0, data: 5 });
    let finding = &at_server.main().findings[0];
    assert!(finding.share > 0.9 && finding.confidence == Confidence::Medium, "{finding:#?}");

    let mut at_client = passed.clone();
    for (at, segment) in &mut at_client {
        let is_a = segment.from == End::A;
        segment.ip.ttl = if is_a { 64 } else { 63 };
        *at = at.plus_nanos(if is_a { 0 } else { 40_000_000 });
    }
    let at_client = report(&at_client);
    expect(&at_client, Cause::AcceptQueueFull, "syn-ack-again");
    assert_eq!(at_client.main().findings[0].confidence, Confidence::Low);

    let mut twice = passed;
    let mut again = 0;
    twice.retain(|(_, segment)| {
        again += u32::from(segment.from == End::A && segment.len > 0);
        !(3..=4).contains(&again) || segment.from == End::B
    });
    expect_none(&report(&twice), Cause::AcceptQueueFull);
}

#[test]
fn one_repeated_syn_ack_may_be_a_lost_ack() {
    expect_none(&report(&captures::last_ack_lost()), Cause::AcceptQueueFull);
}

#[test]
fn rst_without_ack_after_a_pause_is_reset_unknown() {
    let report = report(&captures::after_pause(Answer::Reset));
    let finding = expect_reset(&report, Cause::ResetUnknown, End::B);
    assert_eq!(finding.confidence, Confidence::High);
    let pause = finding.evidence.iter().find_map(|evidence| match evidence {
        Evidence::ResetAfterPause { pause } => Some(pause.as_secs_f64()),
        _ => None,
    });
    assert!(pause.is_some_and(|pause| (4.0..4.2).contains(&pause)), "{finding:#?}");
}

#[test]
fn request_crossing_a_fin_is_reset_closed() {
    let report = report(&captures::reset_closed());
    let finding = expect_reset(&report, Cause::ResetClosed, End::B);
    let lost = Evidence::UnacknowledgedAtReset { of_resetter: Bytes::ZERO, of_other: Bytes::new(300) };
    assert!(finding.evidence.contains(&lost), "{finding:#?}");
}

/// Its program has closed the connection, and the FIN waits behind data that is still in flight.
#[test]
fn rst_from_an_end_still_sending_is_reset_closed() {
    let mut lines = handshake();
    lines += &captures::burst(0.05, ">", "ack 1 win 502", 103, 64);
    lines += "0.091000 < P. 1:101(100) ack 7301 win 509 // frame 0 id 50 ttl 63
              0.091030 > R 1:1(0) win 0 // frame 0 id 0 ttl 64\n";
    let report = report(&script(&lines));
    expect_reset(&report, Cause::ResetClosed, End::A);
}

#[test]
fn rst_with_ack_amid_data_is_reset_aborted() {
    let report = report(&captures::reset_aborted());
    let finding = expect_reset(&report, Cause::ResetAborted, End::A);
    let lost = Evidence::UnacknowledgedAtReset { of_resetter: Bytes::ZERO, of_other: Bytes::new(7300) };
    assert!(finding.evidence.contains(&lost), "{finding:#?}");
}

/// A device resets the connection in the receiver's name, with its TTL, and the receiver goes on.
#[test]
fn rst_before_more_is_acknowledged_is_reset_on_path() {
    let mut lines = handshake() + &captures::burst(0.05, ">", "ack 1 win 502", 103, 64);
    lines += "0.091000 < R. 1:1(0) ack 7301 win 0 // frame 0 id 9000 ttl 63
              0.091200 < . 1:1(0) ack 4381 win 509 // frame 0 id 50 ttl 63
              0.091230 > R 4381:4381(0) win 0 // frame 0 id 0 ttl 64\n";
    let aborted = script(&lines);
    expect_reset(&report(&aborted), Cause::ResetAborted, End::B);
    lines += "0.091400 < . 1:1(0) ack 8761 win 509 // frame 0 id 51 ttl 63\n";
    let report = report(&script(&lines));
    let finding = expect_reset(&report, Cause::ResetOnPath, End::B);
    assert!(finding.evidence.contains(&Evidence::WentOnReceiving {}), "{finding:#?}");
    assert_eq!(finding.confidence, Confidence::High);
}

#[test]
fn rst_with_ack_after_all_data_is_acknowledged_is_harmless() {
    let lines = handshake()
        + &captures::requests(3)
        + "1.000000 > R. 901:901(0) ack 301 win 502 // frame 0 id 300 ttl 64\n";
    let report = report(&script(&lines));
    assert_eq!(report.closing.reset.as_ref().map(|reset| (reset.by, reset.cause)), Some((End::A, None)));
    expect_no_reset(&report);
}

/// A port scanner writes its own SYNs, unknown to its host.
#[test]
fn rst_answering_a_syn_ack_is_not_a_reset() {
    let lines = "0.000000 > S 0:0(0) win 1024 <mss 1460> // frame 0 id 57377 ttl 43
                 0.040100 < S. 0:0(0) ack 1 win 64240 <mss 1460> // frame 0 id 39705 ttl 115
                 0.040150 > R 1:1(0) win 0 // frame 0 id 0 ttl 64\n";
    let report = report(&script(lines));
    assert_eq!(report.closing.reset, None);
    expect_no_reset(&report);
}

#[test]
fn rst_with_another_ttl_is_reset_on_path() {
    // A device of the same family, nearer; one that starts at 255; one further away than the end itself.
    for ttl in [62, 243, 40] {
        let report = report(&captures::reset_on_path(ttl));
        let finding = expect_reset(&report, Cause::ResetOnPath, End::B);
        let other = Evidence::OtherTtl { ttl: ttl.into(), usual: 52 };
        assert!(finding.evidence.contains(&other), "{finding:#?}");
    }
}

/// All packets of a host take one route, so that a few hops less show another sender. They do not where its other packets
/// are few, or differ too.
#[test]
fn rst_a_few_hops_further_away_than_many_packets_is_reset_on_path() {
    let reset = |lines: String| report(&script(&lines));
    expect_reset(&reset(captures::reset_after_turns(20, 49)), Cause::ResetOnPath, End::B);
    expect_reset(&reset(captures::reset_after_turns(20, 51)), Cause::ResetAborted, End::B);
    expect_reset(&reset(captures::reset_after_turns(3, 49)), Cause::ResetAborted, End::B);
    let rerouted = captures::reset_after_turns(20, 49).replacen("ttl 52", "ttl 50", 8);
    expect_reset(&reset(rerouted), Cause::ResetAborted, End::B);
}

#[test]
fn rst_with_ttl_one_hop_off_is_not_reset_on_path() {
    let report = report(&captures::reset_on_path(51));
    expect_reset(&report, Cause::ResetAborted, End::B);
}

#[test]
fn rst_sooner_than_its_end_can_answer_is_reset_on_path() {
    let report = report(&captures::reset_after(2.0));
    let finding = expect_reset(&report, Cause::ResetOnPath, End::B);
    let slugs: Vec<_> = finding.evidence.iter().map(Evidence::slug).collect();
    assert!(slugs.contains(&"answered-too-soon") && !slugs.contains(&"other-ttl"), "{finding:#?}");
}

#[test]
fn rst_within_the_usual_rtt_is_of_its_end() {
    expect_reset(&report(&captures::reset_after(41.0)), Cause::ResetUnknown, End::B);
}

#[test]
fn rst_of_an_end_that_sends_on_is_reset_on_path() {
    let report = report(&captures::reset_in_an_upload(true));
    let finding = expect_reset(&report, Cause::ResetOnPath, End::A);
    assert!(finding.evidence.contains(&Evidence::WentOnSending {}), "{finding:#?}");
    assert_eq!(finding.confidence, Confidence::High);
}

/// Nothing holds up what has ended: what was under way passes later and has no time.
#[test]
fn time_ends_with_the_reset() {
    for passed in [captures::reset_in_an_upload(true), captures::reset_closed(), captures::reset_aborted()] {
        let report = report(&passed);
        let reset = report.closing.reset.as_ref().expect("a RST").at;
        assert_eq!(report.last, reset);
        for direction in &report.directions {
            assert!(direction.spells.iter().all(|spell| spell.to <= reset), "{:#?}", direction.spells);
        }
    }
}

#[test]
fn ignored_rst_is_not_a_reset() {
    let passed = captures::reset_in_an_upload(false);
    let report = report(&passed);
    expect_no_reset(&report);
    assert_eq!(Some(report.last), passed.last().map(|(at, _)| *at), "the connection goes on");
    let labels = &report.main().measures.labels;
    assert_eq!((labels.new, labels.spurious + labels.retransmission), (2000, 0), "{labels:?}");
    assert_eq!(report.closing.rst, [false; 2]);
}

#[test]
fn rst_after_an_ignored_one_is_of_the_same_device() {
    let mut passed = captures::reset_in_an_upload(false);
    // The client's host answers an ACK of the server, and has no connection any more.
    let answered = 1461 + 1460 * 1990;
    let rst = format!("2.100000 > R {answered}:{answered}(0) win 0 // frame 0 id 0 ttl 63\n");
    passed.extend(script(&rst));
    let report = report(&passed);
    let finding = expect_reset(&report, Cause::ResetOnPath, End::A);
    assert!(finding.evidence.contains(&Evidence::WentOnSending {}), "{finding:#?}");
}

#[test]
fn segment_not_translated_back_by_nat_explains_the_reset() {
    let reports = reports(captures::stray());
    let [connection, stray] = &reports[..] else { panic!("{} flows", reports.len()) };
    let finding = expect_reset(connection, Cause::ResetUnknown, End::B);
    let explains = Evidence::StraySegment { flow: stray.id.0.into() };
    assert!(finding.evidence.contains(&explains), "{finding:#?}");
    let closing = stray.closing.reset.as_ref().expect("its RST");
    assert_eq!(stray.key.endpoint(closing.by), connection.key.a, "the client reset it");
    assert_eq!(stray.closing.stray, None);
}

/// Another client of the server has its connection reset; this one goes on, and ends well.
#[test]
fn reset_of_another_client_explains_nothing() {
    let lines = handshake()
        + "0.050000 > P. 1:301(300) ack 1 win 502 // frame 0 id 103 ttl 64
           0.090000 < P. 1:301(300) ack 301 win 509 // frame 0 id 1 ttl 63
           1.000000 > F. 301:301(0) ack 301 win 502 // frame 0 id 104 ttl 64
           1.040000 < F. 301:301(0) ack 302 win 509 // frame 0 id 2 ttl 63
           1.040020 > . 302:302(0) ack 302 win 502 // frame 0 id 105 ttl 64\n";
    let mut all = frames(&script(&lines), ENDS);
    let other = "0.500000 > P. 901:1201(300) ack 301 win 502 // frame 0 id 9 ttl 64
                 0.540000 < R 301:301(0) win 0 // frame 0 id 0 ttl 63";
    all.extend(frames(&script(other), [(ENDS[0].0, 41_000), ENDS[1]]));
    all.sort_by_key(|frame| frame.at);
    let reports = reports(file_of(&all));
    assert_eq!(reports[0].closing.stray, None);
    assert!(reports[0].main().findings.iter().all(|finding| !finding.cause.is_reset()), "{:#?}", reports[0]);
}

#[test]
fn syns_next_to_an_answering_server_are_not_answered() {
    let opening = |connection: &[Passed]| {
        let reports = reports(captures::syns_beside(connection));
        let syns = reports.iter().find(|report| report.opening.syn_ack.is_none()).expect("the SYNs");
        main_finding(syns).cause
    };
    assert_eq!(opening(&captures::reset_in_an_upload(false)), Cause::NotAnswered, "at the server");
    assert_eq!(opening(&captures::reset_after(2.0)), Cause::NoAnswer, "at the client");
}

/// Next to the receiver, which gives up after six seconds: the first of two segments never arrives.
#[test]
fn hole_that_is_never_filled_is_not_a_delay_spike() {
    let lines = captures::handshake_from_afar()
        + "0.041000 < P. 1:101(100) ack 1 win 502
           0.081000 > P. 1449:1749(300) ack 101 win 501 // frame 0 id 104 ttl 63
           0.081040 < . 101:101(0) ack 1 win 502 <sack 1449:1749>
           6.100000 < F. 101:101(0) ack 1 win 502 <sack 1449:1749>\n";
    let report = report(&script(&lines));
    expect_none(&report, Cause::DelaySpike);
    let of_a = &report.directions[0].findings;
    assert_eq!(of_a[0].cause, Cause::LostRetransmission, "{of_a:#?}");
}

/// The program closes in the middle of an answer. The RST that answers later data overtakes the FIN.
#[test]
fn rst_that_overtakes_the_fin_is_not_of_an_unknown_connection() {
    let lines = |fin: f64, rst: f64| {
        let mut lines = handshake() + &captures::requests(3);
        let mut ends = [
            (fin, format!("{fin:.6} < F. 301:301(0) ack 901 win 509 // frame 0 id 60 ttl 63\n")),
            (rst, format!("{rst:.6} < R 301:301(0) win 0 // frame 0 id 0 ttl 63\n")),
        ];
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        lines += "5.480000 > P. 901:1201(300) ack 301 win 502 // frame 0 id 300 ttl 64\n";
        lines += &ends.map(|(_, line)| line).concat();
        lines
    };
    expect_none(&report(&script(&lines(5.545, 5.535))), Cause::ResetUnknown);
    let alone = lines(9.0, 5.535);
    let alone = alone.trim_end().rsplit_once('\n').expect("the FIN is last").0;
    expect_reset(&report(&script(alone)), Cause::ResetUnknown, End::B);
}

/// A program aborts the connection while data comes. What meets the closed socket is answered at once, and that RST overtakes
/// the abort's.
#[test]
fn rst_that_overtakes_an_abort_is_not_of_an_unknown_connection() {
    let data = |n: i64| {
        let (at, seq) = (5.48 + 0.0001 * n as f64, 901 + 1460 * n);
        format!("{at:.6} > . {seq}:{}(1460) ack 301 win 502 // frame 0 id {} ttl 64\n", seq + 1460, 300 + n)
    };
    let lines = handshake() + &captures::requests(3) + &(0..4).map(data).collect::<String>();
    let plain = "5.520000 < R 301:301(0) win 0 // frame 0 id 0 ttl 63\n";
    let abort = "5.520200 < R. 301:301(0) ack 901 win 509 // frame 0 id 60 ttl 63\n";
    let again = "5.520300 < R 301:301(0) win 0 // frame 0 id 0 ttl 63\n";
    let aborted = [&lines, plain, abort, again].concat();
    expect_reset(&report(&script(&aborted)), Cause::ResetAborted, End::B);
    expect_reset(&report(&script(&[&lines, plain, again].concat())), Cause::ResetUnknown, End::B);
}
