//! Programs that write by the clock, and those that take turns.

use crate::wire::{Passed, report, script};
use crate::writers::{FULL, RTT, Stream};
use crate::{expect, expect_mainly, share_of};
use slowpath_analyses::{Cause, Evidence};
use std::time::Duration;

/// A generator of equal chances (Park and Miller, CACM 1988).
struct Chance(i64);

impl Chance {
    fn up_to(&mut self, most: i64) -> i64 {
        self.0 = self.0 * 16_807 % 2_147_483_647;
        self.0 * most / 2_147_483_647
    }
}

/// Writes of 9,000 bytes, each late by up to 1.5 ms, which B answers with 40 bytes after another 5 to 8 ms. Each is due 100 ms after
/// the one before was `due`, or 50 ms after the answer to the one before.
fn answered(by_the_clock: bool) -> Vec<Passed> {
    let mut stream = Stream::new();
    let mut chance = Chance(7_919);
    let mut due = 100_000;
    for _ in 0..100 {
        let at = due + chance.up_to(1_500);
        stream.write(at, 9_000);
        let answered = at + RTT + 5_000 + chance.up_to(3_000);
        let all = stream.sent();
        stream.acknowledge(at + RTT, all, 0);
        stream.acknowledge(answered, all, 40);
        due = if by_the_clock { due + 100_000 } else { answered + 50_000 };
    }
    stream.passed()
}

#[test]
fn writes_by_the_clock_are_no_turns_though_each_is_answered() {
    let evidence = expect(&report(&answered(true)), Cause::SenderIdle, "written-by-clock");
    let Evidence::WrittenByClock { writes, every, within } = evidence else { panic!("{evidence:?}") };
    assert!(writes >= 90 && every.abs_diff(Duration::from_millis(100)) < Duration::from_micros(50));
    assert!(within < Duration::from_millis(1), "{within:?}");
    expect_mainly(&answered(false), Cause::ThinkTime);
}

/// Eight full segments each 100 ms. Their ACKs let nothing out.
#[test]
fn full_segments_below_the_initial_window_that_acks_follow_with_nothing_are_all_there_was() {
    let mut stream = Stream::new();
    for nth in 0..80 {
        let at = 100_000 + nth * 100_000;
        (0..8).for_each(|segment| stream.send(at + segment * 10, FULL, false));
        let first = stream.sent() - 8 * FULL;
        (1..=4).for_each(|pair| stream.acknowledge(at + RTT + pair * 800, first + pair * 2 * FULL, 0));
    }
    let report = report(&stream.passed());
    assert!(share_of(&report, |cause| cause == Cause::SenderIdle) > 0.9, "{:#?}", report.main().findings);
}

/// Turns of two writes, of which Nagle's algorithm holds the last segment until B has acknowledged the others, seen at B: each burst
/// comes an RTT after what B sent last.
#[test]
fn bursts_one_rtt_after_each_ack_are_by_no_clock() {
    let stamps = |own: i64, at: i64, echo: i64| format!("<TS val {} ecr {}>", own + at / 1000, echo);
    let (a, b) = (7_000_000, 4_000_000);
    let at_b = |at: i64| format!("{}.{:06}", at / 1_000_000, at % 1_000_000);
    let mut lines = format!(
        "0.000000 > S 0:0(0) win 64240 <mss 1460,sackOK,TS val {a} ecr 0,wscale 7> // frame 0 id 101 ttl 63
         0.000040 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val {b} ecr {a},wscale 7> // frame 0 id 0 ttl 64
         0.040200 > . 1:1(0) ack 1 win 502 <TS val {} ecr {b}> // frame 0 id 102 ttl 63\n",
        a + 40
    );
    let mut chance = Chance(7_919);
    let (mut at, mut heard, mut seq, mut answered, mut id) = (50_000, b, 1, 1, 103);
    for _ in 0..60 {
        let mut data = |at: i64, len: i64, heard: i64, answered: i64| {
            let end = seq + len;
            lines += &format!(
                "{} > P. {seq}:{end}({len}) ack {answered} win 502 {} // frame 0 id {id} ttl 63\n",
                at_b(at),
                stamps(a, at - RTT / 2, heard)
            );
            (seq, id) = (end, id + 1);
            end
        };
        data(at, 90, heard, answered);
        let end = data(at + 500, 1448, heard, answered);
        let acked = at + 520;
        heard = b + acked / 1000;
        let rest = acked + RTT + chance.up_to(200);
        let all = data(rest, 552, heard, answered);
        let ack = |at: i64, ack: i64, payload: i64| {
            let text = format!("< P. {answered}:{}({payload}) ack {ack} win 509", answered + payload);
            format!(
                "{} {text} {} // frame 0 id {id} ttl 64\n",
                at_b(at),
                stamps(b, at, a + (at - RTT / 2) / 1000)
            )
        };
        // In the order of time.
        let last = lines.trim_end().rfind('\n').unwrap_or(0) + 1;
        lines.insert_str(last, &ack(acked, end, 0).replace("P.", "."));
        lines += &ack(rest + 100, all, 60);
        (answered, heard) = (answered + 60, b + (rest + 100) / 1000);
        at = rest + 100 + RTT + chance.up_to(200);
    }
    let report = report(&script(&lines));
    let evidence = report.main().findings.iter().flat_map(|finding| &finding.evidence);
    let by_clock = evidence.filter(|evidence| matches!(evidence, Evidence::WrittenByClock { .. })).count();
    assert_eq!(by_clock, 0, "{:#?}", report.main().findings);
}
