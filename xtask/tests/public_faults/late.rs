//! Captures that begin after the handshake, without timestamps: neither the window's scale nor the sender's distance from
//! the tap is known, unless something later shows it.

use crate::captures::{at_random, losing};
use crate::transfer::{MS, MSS, ONE_WAY, Setup, transfer, without_timestamps};
use crate::wire::{Passed, report, script};
use crate::{expect, expect_mainly};
use slowpath_analyses::report::{Finding, ScaleKnown};
use slowpath_analyses::{Cause, Evidence};
use slowpath_model::{Flags, Segment};
use std::cell::Cell;
use std::fmt::Write as _;

/// The packets from a third of them on, without timestamps.
fn late(passed: &[Passed]) -> Vec<Passed> {
    without_timestamps(&passed[passed.len() / 3..])
}

/// Bursts into a window of 124 or 135 units of 128 bytes, as A (`at_a`) or B sees them: B acknowledges each burst, and the
/// next but one ends where that ACK's window ends.
fn bursts(at_a: bool) -> Vec<Passed> {
    const SCALE: u32 = 7;
    let (mut lines, mut seq, mut edge) = (String::new(), 1, 8_761);
    for n in 0..100 {
        let at = f64::from(n) * 0.0234;
        let acked = seq;
        let field = if n % 3 == 0 { 135 } else { 124 };
        let (mut sent, gap) = if at_a { (at + 0.000_02, 0.000_01) } else { (at + 0.008, 0.000_9) };
        let next = acked + (field << SCALE);
        writeln!(lines, "{at:.6} < . 1:1(0) ack {acked} win {field}").expect("a string takes all");
        let until = if at_a { next } else { edge };
        while seq < until {
            let end = until.min(seq + 1460);
            writeln!(lines, "{sent:.6} > . {seq}:{end}({}) ack 1 win 502", end - seq)
                .expect("a string takes all");
            (seq, sent) = (end, sent + gap);
        }
        edge = next;
    }
    script(&lines)
}

#[test]
fn segments_that_end_with_the_window_show_its_scale() {
    for at_a in [true, false] {
        let report = report(&bursts(at_a));
        assert_eq!(report.directions[(!report.sender).index()].measures.window_scale, ScaleKnown::Fits(7));
        let evidence = expect(&report, Cause::ReceiveBufferTooSmall, "scale-fits");
        assert_eq!(evidence, Evidence::ScaleFits { shift: 7 });
    }
}

/// A program writes 8 KiB each time half of what it wrote is acknowledged, into a window of 64 KiB that is never used up.
#[test]
fn writes_of_a_program_show_no_scale() {
    let taps = transfer(Setup {
        amount: 1_500_000,
        credit: Some(8 << 10),
        window: Box::new(|_, _| 512 << 7),
        ..Setup::default()
    });
    for passed in [taps.a, taps.b] {
        let report = report(&late(&passed));
        let scale = report.directions[(!report.sender).index()].measures.window_scale;
        assert!(!matches!(scale, ScaleKnown::Fits(_)), "{scale:?}");
    }
}

/// A window opens long after the last data: as much as it opens by had waited to be read.
#[test]
fn window_that_opens_after_the_last_data_shows_a_slow_reader() {
    let amount = 1_500_000;
    for (opens, cause) in [(4 << 10, Cause::ReceiveBufferTooSmall), (512 << 10, Cause::SlowReader)] {
        let ended = Cell::new(i64::MAX / 2);
        let run = |updates: Vec<i64>| {
            transfer(Setup {
                amount,
                updates,
                window: Box::new(|at, next| {
                    if next >= amount && ended.get() > at {
                        ended.set(at);
                    }
                    if at > ended.get() + 50 * MS { (700 << 7) + opens } else { 700 << 7 }
                }),
                ..Setup::default()
            })
        };
        run(Vec::new());
        let taps = run(vec![ended.get() + 100 * MS]);
        for passed in [taps.a, taps.b] {
            expect_mainly(&passed, cause);
        }
    }
}

/// A small send buffer, seen at B: bursts an RTT apart. How far A is shows only with its ACK of B's FIN.
#[test]
fn distance_known_at_the_end_shows_nothing_of_before() {
    let taps =
        transfer(Setup { amount: 600_000, send_buffer: 8 * MSS + 500, pushes: true, ..Setup::default() });
    let mut passed = late(&taps.b);
    let answers = |(_, segment): &&Passed| segment.len == 0;
    let (at, last) = *passed.iter().rev().find(answers).expect("B answers");
    let fin = Segment { flags: last.flags.with(Flags::FIN), ..last };
    let back = Segment {
        from: !fin.from,
        seq: last.ack.expect("an ACK"),
        ack: Some(fin.seq + 1),
        flags: last.flags,
        ..last
    };
    passed.push((at.plus_nanos(100 * MS), fin));
    passed.push((at.plus_nanos(100 * MS + 2 * ONE_WAY), back));
    expect_mainly(&passed, Cause::Undetermined);
}

/// New data passes right after the ACKs that let it out: the tap is next to A, which shows what held it. Next to B, each ACK
/// follows data.
#[test]
fn data_right_after_acks_shows_the_sender() {
    let fate = Box::new(losing(at_random(200)));
    let taps = transfer(Setup { amount: 8_000_000, fate, ..Setup::default() });
    expect_mainly(&taps.a, Cause::AfterLoss);
    expect_mainly(&late(&taps.a), Cause::AfterLoss);
    expect_mainly(&late(&taps.b), Cause::Undetermined);
}

/// Super-packets of a sender whose SYN is not there: all are multiples of its full segments.
#[test]
fn super_packets_show_the_full_segment() {
    let fate = Box::new(losing(at_random(100)));
    let taps = transfer(Setup { amount: 8_000_000, offload: 8, fate, ..Setup::default() });
    let begun_late = &taps.a[taps.a.len() / 3..];
    assert!(begun_late.iter().any(|(_, segment)| segment.len > 2 * MSS));
    let idle = |finding: &Finding| finding.cause == Cause::SenderIdle && finding.share > 0.05;
    assert!(!report(begun_late).main().findings.iter().any(idle));
}

/// Requests and answers of one segment each, the windows' scale unknown: the least scale that fits gives a window of less
/// than two answers, which does not bound them.
#[test]
fn windows_of_few_segments_and_unknown_scale_are_no_bounds() {
    let mut lines = String::new();
    for n in 0..60 {
        let (at, asked, answered) = (0.2 * f64::from(n), 1 + 271 * n, 1 + 949 * n);
        writeln!(
            lines,
            "{at:.6} < P. {asked}:{}(271) ack {answered} win 420
             {:.6} > P. {answered}:{}(949) ack {} win 501",
            asked + 271,
            at + 0.000_2,
            answered + 949,
            asked + 271
        )
        .expect("a string takes all");
    }
    expect_mainly(&script(&lines), Cause::ThinkTime);
}

/// The first super-packet seen is what was left of a program's write; all others hold full segments.
#[test]
fn full_segment_is_what_most_super_packets_are_multiples_of() {
    let (mut lines, mut seq) = (String::new(), 1);
    let full = [2, 3, 9, 35].map(|segments| segments * MSS);
    for (nth, len) in [4_096].into_iter().chain(full.into_iter().cycle()).take(50).enumerate() {
        let (at, end) = (nth as f64 * 0.01, seq + len);
        writeln!(lines, "{at:.6} > P. {seq}:{end}({len}) ack 1 win 502").expect("a string takes all");
        writeln!(lines, "{:.6} < . 1:1(0) ack {end} win 8000", at + 0.005).expect("a string takes all");
        seq = end;
    }
    assert_eq!(report(&script(&lines)).main().measures.mss_seen, MSS);
}
