//! How late an ACK may be: that of one segment by a timer, others hardly.

use crate::wire::{Passed, report, script};
use crate::{expect, expect_none, main_finding, share_of};
use slowpath_analyses::{Cause, Evidence, Limit};
use std::fmt::Write as _;
use std::time::Duration;

/// A fills a window of so many segments again and again, over 0.5 ms; B acknowledges all of it `late` microseconds after its last
/// segment. At A's tap, or at B's.
fn windows(segments: i64, late: i64, at_b: bool) -> Vec<Passed> {
    flights(segments, segments * 1_460, late, at_b)
}

/// As [`windows`], with this window.
fn flights(segments: i64, window: i64, late: i64, at_b: bool) -> Vec<Passed> {
    let [to_b, to_a] = if at_b { [250, 0] } else { [0, 250] };
    let [ttl_a, ttl_b] = if at_b { [63, 64] } else { [64, 63] };
    let mut lines = String::new();
    let mut line = |at: i64, text: String| {
        writeln!(lines, "{}.{:06} {text}", at / 1_000_000, at % 1_000_000).expect("a string takes all");
    };
    line(to_b, format!("> S 0:0(0) win 65535 <mss 1460> // frame 0 id 1 ttl {ttl_a}"));
    line(
        to_b + 2 * to_a + 30,
        format!("< S. 0:0(0) ack 1 win {window} <mss 1460> // frame 0 id 1 ttl {ttl_b}"),
    );
    line(530 + to_b, format!("> . 1:1(0) ack 1 win 65535 // frame 0 id 2 ttl {ttl_a}"));
    let (mut at, mut sent) = (600, 1);
    for nth in 0..60 {
        for _ in 0..segments {
            let end = sent + 1_460;
            line(
                at + to_b,
                format!(
                    "> . {sent}:{end}(1460) ack 1 win 65535 // frame 0 id {} ttl {ttl_a}",
                    sent / 1_460 + 3
                ),
            );
            (at, sent) = (at + 10, end);
        }
        at += late + 500;
        line(at - to_b, format!("< . 1:1(0) ack {sent} win {window} // frame 0 id {} ttl {ttl_b}", nth + 2));
        at += 30;
    }
    script(&lines)
}

#[test]
fn window_of_one_segment_waits_for_a_delayed_ack() {
    let took = expect(&report(&windows(1, 42_000, false)), Cause::ReceiveBufferTooSmall, "window-took");
    let Evidence::WindowTook { took, rtt } = took else { panic!("{took:?}") };
    assert!((41..45).contains(&took.as_millis()) && rtt < Duration::from_millis(1), "{took:?} {rtt:?}");
    let at_once = report(&windows(1, 20, false));
    assert_eq!(main_finding(&at_once).cause, Cause::ReceiveBufferTooSmall);
    expect(&at_once, Cause::ReceiveBufferTooSmall, "window-allows");
}

#[test]
fn receiver_that_acknowledges_a_whole_window_by_a_timer_holds_back_acks() {
    let by_timer = report(&windows(8, 98_000, true));
    assert_eq!(main_finding(&by_timer).cause, Cause::AcksHeldBack, "{:#?}", by_timer.main().findings);
    expect_none(&report(&windows(8, 200, true)), Cause::AcksHeldBack);
}

#[test]
fn acks_that_leave_when_the_program_reads_show_a_slow_reader_whose_window_never_changes() {
    let read = report(&flights(8, 40 * 1_460, 5_000, true));
    let Evidence::AnswersWhenRead { acks, after } = expect(&read, Cause::SlowReader, "answers-when-read")
    else {
        panic!("{:#?}", read.main().findings)
    };
    assert!(acks >= 50 && (4..6).contains(&after.as_millis()), "{acks} {after:?}");
    expect_none(&report(&flights(8, 40 * 1_460, 200, true)), Cause::SlowReader);
    expect_none(&report(&flights(2, 40 * 1_460, 5_000, true)), Cause::SlowReader);
}

/// At A's tap, with an RTT of 2 ms: one ACK for each of 80 flights of 20 to 26 segments. It comes after `each` microseconds for
/// each segment of this flight, or of the one before if B's program deals with that first.
fn one_ack_a_flight(each: i64, deals_first: bool) -> Vec<Passed> {
    let mut lines = "0.000000 > S 0:0(0) win 65535 <mss 1460> // frame 0 id 1 ttl 64
         0.002000 < S. 0:0(0) ack 1 win 65535 <mss 1460> // frame 0 id 1 ttl 63
         0.002030 > . 1:1(0) ack 1 win 65535 // frame 0 id 2 ttl 64\n"
        .to_owned();
    let (mut at, mut sent, mut before) = (2_100, 1, 20);
    for nth in 0..80 {
        let segments = 20 + nth / 2 % 7;
        for _ in 0..segments {
            let end = sent + 1_460;
            let id = sent / 1_460 + 3;
            writeln!(
                lines,
                "{}.{:06} > . {sent}:{end}(1460) ack 1 win 65535 // frame 0 id {id} ttl 64",
                at / 1_000_000,
                at % 1_000_000
            )
            .expect("a string takes all");
            (at, sent) = (at + 1, end);
        }
        at += each * if deals_first { before } else { segments };
        writeln!(
            lines,
            "{}.{:06} < . 1:1(0) ack {sent} win 65535 // frame 0 id {} ttl 63",
            at / 1_000_000,
            at % 1_000_000,
            nth + 2
        )
        .expect("a string takes all");
        (at, before) = (at + 20, segments);
    }
    script(&lines)
}

#[test]
fn acks_that_wait_for_what_was_read_before_show_a_slow_reader_at_the_sender() {
    let read = expect(&report(&one_ack_a_flight(1_200, true)), Cause::SlowReader, "acks-follow-reads");
    assert!(matches!(read, Evidence::AcksFollowReads { times: 20.. }), "{read:?}");
    expect_none(&report(&one_ack_a_flight(1_200, false)), Cause::SlowReader);
}

/// 60 turns of 10 ms at A; each tenth takes 195 ms. `acked` has the request acknowledged 50 ms after it by itself, as a server
/// does that computes for so long. B's packets start with a TTL of `ttl`.
fn turns(acked: bool, ttl: u8) -> Vec<Passed> {
    let mut lines = format!(
        "0.000000 > S 0:0(0) win 64240 <mss 1460,sackOK,TS val 1000 ecr 0,wscale 7> // frame 0 id 1 ttl 64
         0.010000 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val 5005 ecr 1000,wscale 7> // frame 0 id 0 ttl {}
         0.010050 > . 1:1(0) ack 1 win 502 <TS val 1010 ecr 5005> // frame 0 id 2 ttl 64\n",
        ttl - 1
    );
    let mut at: i64 = 11_000;
    let mut line = |at: i64, text: String| {
        writeln!(lines, "{}.{:06} {text}", at / 1_000_000, at % 1_000_000).expect("a string takes all");
    };
    // The clock of B is 4 s and 5 ms ahead of A's, in milliseconds.
    let clocks = |at: i64| (1000 + at / 1000, 5000 + (at - 5_000) / 1000);
    let mut echoed = 5005;
    for nth in 0..60_i64 {
        let (asked, answered) = (1 + nth * 208, 1 + nth * 200);
        let (a, _) = clocks(at);
        line(
            at,
            format!(
                "> P. {asked}:{}(208) ack {answered} win 502 <TS val {a} ecr {echoed}> // frame 0 id {} ttl 64",
                asked + 208,
                nth + 3
            ),
        );
        let is_late = nth % 10 == 9;
        if is_late && acked {
            let (_, b) = clocks(at + 50_000);
            line(
                at + 50_000,
                format!(
                    "< . {answered}:{answered}(0) ack {} win 502 <TS val {b} ecr {a}> // frame 0 id {} ttl {}",
                    asked + 208,
                    2 * nth + 1,
                    ttl - 1
                ),
            );
        }
        at += if is_late { 195_000 } else { 10_100 };
        let (_, b) = clocks(at);
        line(
            at,
            format!(
                "< P. {answered}:{}(200) ack {} win 502 <TS val {b} ecr {a}> // frame 0 id {} ttl {}",
                answered + 200,
                asked + 208,
                2 * nth + 2,
                ttl - 1
            ),
        );
        echoed = b;
        at += 100;
    }
    script(&lines)
}

/// A server that computes acknowledges the request meanwhile, once its delayed ACK is due.
#[test]
fn answer_without_an_ack_before_it_was_late_on_its_way() {
    let on_the_way = report(&turns(false, 64));
    let spikes = share_of(&on_the_way, |cause| cause == Cause::DelaySpike);
    assert!((0.5..0.7).contains(&spikes), "{:#?}", on_the_way.main().findings);
    for at_the_server in [turns(true, 64), turns(false, 128)] {
        let report = report(&at_the_server);
        let turns = share_of(&report, |cause| cause.limit() == Limit::Application);
        assert!(turns > 0.95, "{:#?}", report.main().findings);
    }
}
