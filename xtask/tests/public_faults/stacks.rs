//! Stacks other than Linux, as their packets show them: full segments shorter than the MSS, timers that go back to the
//! oldest segment early, identifications that are always 0, and buffers of a few segments.

use crate::captures::{at_random, handshake, losing, narrow};
use crate::transfer::{MS, MSS, ONE_WAY, Setup, Taps, transfer, without_timestamps};
use crate::wire::{Passed, count, labels, report, script};
use crate::{DELAYS, expect_mainly, expect_none, main_finding, share_of};
use slowpath_analyses::{Cause, Label};
use slowpath_model::{End, Flags, Instant, SackBlock};
use std::fmt::Write as _;

/// The same transfer between ends whose MSS option allows 28 bytes more than A ever fills: it keeps room for SACK
/// blocks in each segment, as gVisor's netstack does.
fn with_larger_mss(mut passed: Vec<Passed>) -> Vec<Passed> {
    for (_, segment) in passed.iter_mut().filter(|(_, segment)| segment.flags.has(Flags::SYN)) {
        segment.mss = segment.mss.map(|mss| mss + 28);
    }
    passed
}

#[test]
fn largest_unpushed_segments_are_full_segments() {
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
fn pushed_segments_may_be_short() {
    let mut taps = transfer(Setup { amount: 3_000_000, ..Setup::default() });
    for (_, segment) in taps.b.iter_mut().filter(|(_, segment)| segment.len > 0) {
        segment.flags = segment.flags.with(Flags::PSH);
    }
    expect_mainly(&with_larger_mss(taps.b), Cause::Undetermined);
}

/// A segment every 10 ms over 40 ms. Seven milliseconds after one in so many, a timer that is too short retransmits the
/// last two in a row. No segment has an identification or a timestamp.
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
fn early_retransmission_without_ip_id_is_not_a_duplicate() {
    for one_of in [12, 5] {
        let found = labels(&script(&sent_again_soon(one_of)));
        assert_eq!(count(&found, End::A, Label::New), 40, "{found:?}");
        assert_eq!(count(&found, End::A, Label::Duplicate), 0, "{found:?}");
        let again = count(&found, End::A, Label::Retransmission) + count(&found, End::A, Label::Spurious);
        assert_eq!(again, 40 / one_of as usize * 2, "{found:?}");
    }
}

/// 100 full segments, one at a time, each sent as soon as the ACK of the previous one arrives, `delay` seconds after
/// the RTT of 40 ms. A buffer of one segment, as in uIP.
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
fn one_full_segment_at_a_time_is_send_buffer_full() {
    expect_mainly(&one_full_segment_at_a_time(0.0), Cause::SendBufferFull);
    expect_mainly(&one_full_segment_at_a_time(0.04), Cause::NagleDelayedAck);
    expect_mainly(&one_full_segment_at_a_time(0.2), Cause::NagleDelayedAck);
}

#[test]
fn few_segments_replaced_by_each_ack_are_send_buffer_full() {
    for one_way in [ONE_WAY, 75 * MS] {
        let taps = transfer(Setup { amount: 600_000, send_buffer: 4 * MSS, one_way, ..Setup::default() });
        expect_mainly(&taps.a, Cause::SendBufferFull);
    }
}

/// One of ten segments is lost, the receiver SACKs those behind it, and then sends only a larger window, or the same
/// one.
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
fn window_update_without_sack_blocks_is_not_reneging() {
    expect_none(&report(&sacked_then(509)), Cause::SackReneging);
    let taken_back = report(&sacked_then(400));
    assert!(taken_back.main().findings.iter().any(|finding| finding.cause == Cause::SackReneging));
}

/// A stack in a process: its data passes the tap some 0.1 to 0.25 ms later, after the ACK that it waited for.
fn in_a_process(passed: Vec<Passed>) -> Vec<Passed> {
    reacting_within(100_000..250_000, passed)
}

/// Data passes the tap after the ACK that it waited for by so many nanoseconds, more for one segment than for another.
fn reacting_within(nanos: std::ops::Range<i64>, mut passed: Vec<Passed>) -> Vec<Passed> {
    let data = passed.iter_mut().filter(|(_, segment)| segment.from == End::A && segment.len > 0);
    let mut last = Instant::START;
    for (number, (at, _)) in (0..).zip(data) {
        let late = nanos.start + number * 7919 % (nanos.end - nanos.start);
        *at = at.plus_nanos(late).max(last.plus_nanos(10_000));
        last = *at;
    }
    passed.sort_by_key(|(at, _)| *at);
    passed
}

/// The first finding is that the path was full.
#[track_caller]
fn expect_full_path(passed: &[Passed]) {
    let report = report(passed);
    let cause = main_finding(&report).cause;
    assert!(matches!(cause, Cause::BottleneckFull | Cause::StandingQueue), "{:#?}", report.main().findings);
}

/// A bottleneck of 10 Mbit/s, in bytes per millisecond.
const TEN_MBIT: i64 = 1_250;

#[test]
fn late_reactions_to_acks_are_no_idle_application() {
    for one_way in DELAYS {
        let window = Box::new(|_, _| 256 << 10);
        let (amount, rate) = (5_000_000, TEN_MBIT);
        let setup = Setup { amount, rate, pushes: true, window, one_way, ..Setup::default() };
        expect_full_path(&in_a_process(transfer(setup).a));
    }
}

#[test]
fn late_reactions_after_losses_are_no_idle_application() {
    let fate = Box::new(losing(at_random(120)));
    let taps =
        transfer(Setup { amount: 3_000_000, rate: 2 * TEN_MBIT, pushes: true, fate, ..Setup::default() });
    assert_ne!(main_finding(&report(&in_a_process(taps.a))).cause, Cause::SenderIdle);
}

/// A guest on a busy host takes as long to react as its ACKs lie apart. That its ACKs trigger it shows in what is in
/// flight: a segment more in each RTT. A program that writes as much at times of its own has no such steps.
#[test]
fn flight_that_climbs_by_segments_is_a_congestion_window() {
    let fate = Box::new(losing(at_random(800)));
    let (amount, rate) = (6_000_000, 10 * TEN_MBIT);
    let taps = transfer(Setup { amount, rate, fate, ..Setup::default() });
    let report = report(&reacting_within(20_000..1_600_000, taps.a));
    let share = |cause| share_of(&report, |one| one == cause);
    assert!(share(Cause::AfterLoss) > 0.5, "{:#?}", report.main().findings);
    assert!(share(Cause::SenderIdle) < 0.25, "{:#?}", report.main().findings);
}

#[test]
fn window_that_exceeds_a_full_path_limits_nothing() {
    // 64 KiB over 40 ms are 13 Mbit/s, and over a path of 8 Mbit/s a queue.
    let window = || Box::new(|_, _| 65_535);
    let setup = |rate| Setup { amount: 4_000_000, window: window(), scale: 0, rate, ..Setup::default() };
    let (full, fast) = (transfer(setup(1_000)), transfer(setup(12_500)));
    expect_full_path(&full.a);
    expect_full_path(&without_timestamps(&full.b));
    expect_mainly(&fast.a, Cause::WindowScaleTooSmall);
    expect_mainly(&without_timestamps(&fast.b), Cause::WindowScaleTooSmall);
}

#[test]
fn trains_show_a_full_path_where_no_rtt_does() {
    for one_way in DELAYS {
        let setup = Setup { amount: 4_000_000, rate: TEN_MBIT, one_way, ..Setup::default() };
        expect_mainly(&without_timestamps(&transfer(setup).b), Cause::BottleneckFull);
        // A buffer that is smaller than the path leaves pauses.
        let small = Setup { amount: 4_000_000, send_buffer: 65_535, one_way, ..Setup::default() };
        expect_none(&report(&without_timestamps(&transfer(small).b)), Cause::BottleneckFull);
    }
}

#[test]
fn push_flags_of_most_segments_end_no_writes() {
    let fate = Box::new(losing(at_random(120)));
    let mut taps = transfer(Setup { amount: 3_000_000, fate, ..Setup::default() });
    let data = taps.b.iter_mut().filter(|(_, segment)| segment.len > 0);
    for (_, (_, segment)) in data.enumerate().filter(|(number, _)| number % 3 > 0) {
        segment.flags = segment.flags.with(Flags::PSH);
    }
    let report = report(&without_timestamps(&taps.b));
    assert_ne!(main_finding(&report).cause, Cause::SenderIdle, "{:#?}", report.main().findings);
}

#[test]
fn buffer_of_few_segments_is_full_between_losses() {
    let fate = Box::new(losing(at_random(60)));
    let taps = transfer(Setup { amount: 1_500_000, send_buffer: 4 * MSS, fate, ..Setup::default() });
    let report = report(&taps.a);
    let full = report.main().findings.iter().find(|finding| finding.cause == Cause::SendBufferFull);
    assert!(full.is_some_and(|full| full.share > 0.5), "{:#?}", report.main().findings);
}

/// The tenth of each twenty segments of a sender with one segment in flight is lost, and retransmitted after a second.
#[test]
fn one_segment_in_flight_stays_a_full_buffer_after_losses() {
    let (mut lines, mut at) = (handshake(), 0.05);
    for n in 0..80 {
        let (start, end) = (1 + 1460 * n, 1461 + 1460 * n);
        for copy in 0..if n % 20 == 9 { 2 } else { 1 } {
            at += f64::from(copy);
            writeln!(lines, "{at:.6} > P. {start}:{end}(1460) ack 1 win 502").expect("a string takes all");
        }
        at += 0.0401;
        writeln!(lines, "{at:.6} < . 1:1(0) ack {end} win 509").expect("a string takes all");
        at += 0.000_05;
    }
    let report = report(&script(&lines));
    let share = |cause| share_of(&report, |one| one == cause);
    assert!(share(Cause::SendBufferFull) > 0.35, "{:#?}", report.main().findings);
    assert!(share(Cause::AfterLoss) + share(Cause::SlowStart) < 0.1, "{:#?}", report.main().findings);
}

/// What passes the taps if A retransmits what follows each eighth ACK as soon as that has come. Nothing is lost, and B reports each
/// copy by a DSACK.
fn with_needless_retransmissions(taps: &Taps, one_way: i64) -> [Vec<Passed>; 2] {
    let is_data = |passed: &&Passed| passed.1.len > 0;
    let acks = taps.a.iter().filter(|(_, segment)| segment.from == End::B && segment.len == 0).skip(8);
    let (mut at_a, mut at_b) = (taps.a.clone(), taps.b.clone());
    for (at, ack) in acks.step_by(8) {
        let Some(next) = ack.ack else { continue };
        let original = taps.a.iter().filter(is_data).find(|(sent, data)| data.seq == next && sent < at);
        let Some((_, original)) = original else { continue };
        at_a.push((at.plus_nanos(MS / 50), *original));
        let arrives = at.plus_nanos(MS / 50 + one_way);
        at_b.push((arrives, *original));
        let before = taps.b.iter().rfind(|(passed, segment)| segment.from == End::B && *passed < arrives);
        let mut report = before.expect("an ACK").1;
        report.sack.push(SackBlock { start: original.seq, end: original.end() });
        at_b.push((arrives.plus_nanos(MS / 100), report));
        at_a.push((arrives.plus_nanos(MS / 100 + one_way), report));
    }
    [at_a, at_b].map(|mut passed| {
        passed.sort_by_key(|(at, _)| *at);
        // This stack counts no packets.
        passed.iter_mut().for_each(|(_, segment)| segment.ip.id = Some(0));
        passed
    })
}

#[test]
fn retransmissions_that_nothing_called_for_cost_nothing() {
    for one_way in DELAYS {
        let without =
            transfer(Setup { amount: 3_000_000, send_buffer: 32 << 10, one_way, ..Setup::default() });
        let [at_a, at_b] = with_needless_retransmissions(&without, one_way);
        let found = labels(&at_a);
        let again = [Label::Retransmission, Label::Spurious].map(|label| count(&found, End::A, label));
        assert!(again.iter().sum::<usize>() > 80, "{again:?}");
        for (passed, without) in [(at_a, without.a), (at_b, without.b)] {
            let report = report(&passed);
            let cause = main_finding(&self::report(&without)).cause;
            assert_eq!(main_finding(&report).cause, cause, "{:#?}", report.main().findings);
            for cause in [Cause::Reordering, Cause::FastRecovery, Cause::SpuriousTimeout, Cause::AfterLoss] {
                expect_none(&report, cause);
            }
        }
    }
}

/// Windows of 80 KiB over 0.6 ms. From the tenth on, `late` seconds after all of one has arrived, ACKs of so many segments each come
/// within 2 ms.
fn whole_windows(late: f64, by_ack: i32) -> Vec<Passed> {
    const SEGMENTS: i32 = 56;
    let (mut lines, mut at) = (handshake().replace("0.0401", "0.0006"), 0.05);
    let sends = |lines: &mut String, at: f64, n: i32| {
        let (start, end) = (1 + 1460 * n, 1461 + 1460 * n);
        writeln!(lines, "{at:.6} > . {start}:{end}(1460) ack 1 win 502").expect("a string takes all");
    };
    (0..SEGMENTS).for_each(|n| sends(&mut lines, f64::from(n).mul_add(2e-6, at), n));
    for window in 0..80 {
        let (late, by_ack) = if window < 10 { (0.0, 2) } else { (late, by_ack) };
        at += 0.0006 + late;
        let begin = window * SEGMENTS;
        for acked in (by_ack..=SEGMENTS).step_by(by_ack as usize) {
            let acked_at = f64::from(acked).mul_add(0.002 / f64::from(SEGMENTS), at);
            let ack = 1 + 1460 * (begin + acked);
            writeln!(lines, "{acked_at:.6} < . 1:1(0) ack {ack} win 639").expect("a string takes all");
            for n in acked - by_ack..acked {
                sends(
                    &mut lines,
                    f64::from(n - acked).mul_add(1e-6, acked_at + 0.000_2),
                    begin + SEGMENTS + n,
                );
            }
        }
        at += 0.002;
    }
    script(&lines)
}

#[test]
fn windows_acknowledged_as_a_whole_are_answered_when_they_are_read() {
    for late in [0.006, 0.016] {
        expect_mainly(&whole_windows(late, 56), Cause::SlowReader);
        expect_none(&report(&whole_windows(late, 2)), Cause::SlowReader);
    }
}
