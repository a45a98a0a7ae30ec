//! What other stacks than Linux do, as their packets show it: full segments shorter than the MSS, timers that go back to
//! the oldest segment soon, identifications that are always 0, and buffers of a few segments.

use crate::captures::{handshake, narrow};
use crate::transfer::{MS, MSS, ONE_WAY, Setup, transfer};
use crate::wire::{Passed, count, labels, report, script};
use crate::{DELAYS, expect_mainly, expect_none, main_finding};
use slowpath_analyses::{Cause, Label};
use slowpath_model::{End, Flags};
use std::fmt::Write as _;

/// That transfer between ends whose MSS option allows 28 bytes more than A ever fills: it keeps room for SACK blocks in
/// each segment, as gVisor's netstack does.
fn with_larger_mss(mut passed: Vec<Passed>) -> Vec<Passed> {
    for (_, segment) in passed.iter_mut().filter(|(_, segment)| segment.flags.has(Flags::SYN)) {
        segment.mss = segment.mss.map(|mss| mss + 28);
    }
    passed
}

#[test]
fn segments_as_long_as_any_with_more_behind_them_are_full_ones() {
    for one_way in DELAYS {
        let small = transfer(Setup { amount: 3_000_000, send_buffer: 65_535, one_way, ..Setup::default() });
        let narrow = narrow(one_way);
        for passed in [small.a, small.b, narrow.a, narrow.b] {
            let cause = main_finding(&report(&passed)).cause;
            expect_mainly(&with_larger_mss(passed), cause);
        }
    }
}

#[test]
fn segments_that_all_end_a_write_may_be_short() {
    let mut taps = transfer(Setup { amount: 3_000_000, ..Setup::default() });
    for (_, segment) in taps.b.iter_mut().filter(|(_, segment)| segment.len > 0) {
        segment.flags = segment.flags.with(Flags::PSH);
    }
    expect_mainly(&with_larger_mss(taps.b), Cause::Undetermined);
}

/// A segment each 10 ms over 40 ms. Seven milliseconds after one of so many, a timer that is too short sends the last two once more
/// in a row. No segment has an identification or a timestamp.
fn sent_again_soon(one_of: i32) -> String {
    let mut lines: Vec<(f64, String)> = Vec::new();
    let segment = |n: i32| format!("> . {}:{}(1460) ack 1 win 502 // id 0", 1 + 1460 * n, 1461 + 1460 * n);
    for n in 0..40 {
        let at = f64::from(n).mul_add(0.01, 0.05);
        lines.push((at, segment(n)));
        lines.push((at + 0.0405, format!("< . 1:1(0) ack {} win 509 // id 0", 1461 + 1460 * n)));
        if n % one_of == one_of - 1 {
            for again in n - 1..=n {
                lines.push((f64::from(again - n).mul_add(1e-5, at + 0.007), segment(again)));
            }
        }
    }
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    lines.iter().fold(handshake(), |mut all, (at, line)| {
        writeln!(all, "{at:.6} {line}").expect("a string takes all");
        all
    })
}

#[test]
fn what_is_sent_again_soon_and_without_identification_is_no_copy() {
    for one_of in [12, 5] {
        let found = labels(&script(&sent_again_soon(one_of)));
        assert_eq!(count(&found, End::A, Label::New), 40, "{found:?}");
        assert_eq!(count(&found, End::A, Label::Duplicate), 0, "{found:?}");
        let again = count(&found, End::A, Label::Retransmission) + count(&found, End::A, Label::Spurious);
        assert_eq!(again, 40 / one_of as usize * 2, "{found:?}");
    }
}

/// 100 full segments, one at a time, each sent as soon as the ACK of the one before comes, `delay` seconds after the RTT of
/// 40 ms. A buffer of one segment, as uIP has it.
fn one_full_segment_at_a_time(delay: f64) -> Vec<Passed> {
    let (mut lines, mut at) = (handshake(), 0.05);
    for n in 0..100 {
        let (start, end) = (1 + 1460 * n, 1461 + 1460 * n);
        writeln!(lines, "{at:.6} > P. {start}:{end}(1460) ack 1 win 502").expect("a string takes all");
        at += 0.0401 + delay;
        writeln!(lines, "{at:.6} < . 1:1(0) ack {end} win 509").expect("a string takes all");
        at += 0.000_05;
    }
    script(&lines)
}

#[test]
fn one_full_segment_at_a_time_is_a_buffer_of_one_segment() {
    expect_mainly(&one_full_segment_at_a_time(0.0), Cause::SendBufferFull);
    expect_mainly(&one_full_segment_at_a_time(0.04), Cause::NagleDelayedAck);
    expect_mainly(&one_full_segment_at_a_time(0.2), Cause::NagleDelayedAck);
}

#[test]
fn a_few_segments_that_acks_replace_one_by_one_are_a_buffer_of_a_few() {
    for one_way in [ONE_WAY, 75 * MS] {
        let taps = transfer(Setup { amount: 600_000, send_buffer: 4 * MSS, one_way, ..Setup::default() });
        expect_mainly(&taps.a, Cause::SendBufferFull);
    }
}

/// A segment is lost of ten, the receiver SACKs what comes behind it, and then only says that its window is larger, or that
/// it is not.
fn sacked_then(window: u32) -> Vec<Passed> {
    let mut lines = handshake();
    for n in 0..10 {
        let at = f64::from(n).mul_add(0.000_1, 0.05);
        writeln!(lines, "{at:.6} > . {}:{}(1460) ack 1 win 502", 1 + 1460 * n, 1461 + 1460 * n)
            .expect("text");
    }
    for n in 1..10 {
        let at = f64::from(n).mul_add(0.000_1, 0.0905);
        writeln!(lines, "{at:.6} < . 1:1(0) ack 1 win 400 <sack 1461:{}>", 1461 + 1460 * n).expect("text");
    }
    lines += "0.091500 > . 1:1461(1460) ack 1 win 502\n";
    writeln!(lines, "0.091600 < . 1:1(0) ack 1 win {window}").expect("text");
    lines += "0.132000 < . 1:1(0) ack 14601 win 509";
    script(&lines)
}

#[test]
fn an_update_of_the_window_without_sack_blocks_takes_nothing_back() {
    expect_none(&report(&sacked_then(509)), Cause::SackReneging);
    let taken_back = report(&sacked_then(400));
    assert!(taken_back.main().findings.iter().any(|finding| finding.cause == Cause::SackReneging));
}
