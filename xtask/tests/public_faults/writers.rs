//! Programs that write now and then, and senders that resemble them: next to the sender, over 40 ms unless stated otherwise.

use crate::captures::handshake;
use crate::transfer::{MS, MSS, Refills, Setup, nearer_to_b, transfer};
use crate::wire::{Passed, report, script};
use crate::{expect, expect_mainly, expect_none, main_finding, share_of};
use slowpath_analyses::{Cause, Evidence, Limit};
use slowpath_model::{End, Segment};
use std::collections::VecDeque;

/// The payload of a full segment: the MSS of [`handshake`].
pub const FULL: i64 = 1460;

/// Microseconds from a segment to its ACK.
pub const RTT: i64 = 40_000;

/// A's stream next to A, with what B sends. Times are in microseconds.
pub struct Stream {
    /// Each with its time.
    lines: Vec<(i64, String)>,
    sent: i64,
    spoken: i64,
}

impl Stream {
    pub fn new() -> Self {
        Self { lines: Vec::new(), sent: 1, spoken: 1 }
    }

    fn line(&mut self, at: i64, text: String) {
        self.lines.push((at, format!("{}.{:06} {text}", at / 1_000_000, at % 1_000_000)));
    }

    /// The next byte that A sends.
    pub const fn sent(&self) -> i64 {
        self.sent
    }

    /// A sends a segment.
    pub fn send(&mut self, at: i64, len: i64, pushed: bool) {
        let (from, to) = (self.sent, self.sent + len);
        let push = if pushed { "P" } else { "" };
        self.line(at, format!("> {push}. {from}:{to}({len}) ack 1 win 502"));
        self.sent = to;
    }

    /// A's program writes so much at once.
    pub fn write(&mut self, at: i64, bytes: i64) {
        for nth in 0..bytes / FULL {
            self.send(at + nth, FULL, false);
        }
        self.send(at + bytes / FULL, bytes % FULL, true);
    }

    /// B acknowledges all before `ack`, with so much payload.
    pub fn acknowledge(&mut self, at: i64, ack: i64, payload: i64) {
        let (from, to) = (self.spoken, self.spoken + payload);
        let push = if payload > 0 { "P" } else { "" };
        self.line(at, format!("< {push}. {from}:{to}({payload}) ack {ack} win 8000"));
        self.spoken = to;
    }

    pub fn passed(mut self) -> Vec<Passed> {
        self.lines.sort_by_key(|(at, _)| *at);
        let lines: Vec<String> = self.lines.into_iter().map(|(_, line)| line).collect();
        script(&(handshake() + &lines.join("\n")))
    }
}

/// A frame of 11 kB every 30 ms, each thirtieth of 100 kB, acknowledged half a millisecond before another is written.
fn video() -> Vec<Passed> {
    let mut stream = Stream::new();
    for nth in 0..150 {
        let at = 100_000 + nth * 30_000;
        stream.write(at, if nth % 30 == 0 { 100_000 } else { 11_000 });
        let all = stream.sent;
        stream.acknowledge(at + 59_500, all, 0);
    }
    stream.passed()
}

#[test]
fn frames_of_a_video_are_not_a_full_send_buffer() {
    let report = report(&video());
    assert!(share_of(&report, |cause| cause == Cause::SendBufferFull) < 0.1);
    assert_eq!(main_finding(&report).cause, Cause::SenderIdle);
}

/// A program writes 66 kB every 100 ms. The other end's window adjusts of 36 bytes come while some of that is in flight
/// (`whole` is false), or with the ACK of all.
fn blocks(whole: bool) -> Vec<Passed> {
    let mut stream = Stream::new();
    for nth in 0..60 {
        let at = 100_000 + nth * 100_000;
        let before = stream.sent;
        stream.write(at, 66_000);
        let (half, all) = (before + 20 * FULL, stream.sent);
        stream.acknowledge(at + RTT, half, if whole { 0 } else { 36 });
        stream.acknowledge(at + RTT + 2_000, all, if whole { 36 } else { 0 });
    }
    stream.passed()
}

#[test]
fn payload_that_comes_while_data_is_in_flight_asks_for_nothing() {
    let unasked = report(&blocks(false));
    assert!(share_of(&unasked, |cause| cause == Cause::ThinkTime) < 0.1);
    assert_eq!(main_finding(&unasked).cause, Cause::SenderIdle);
    expect_mainly(&blocks(true), Cause::ThinkTime);
}

/// With MTU probing, a sender finds 1360 bytes to be the largest that passes, and probes for more in vain. A congestion window
/// of 40 segments is always full, and grows by one each RTT: each ACK lets out as many as it acknowledges, of which the last
/// has the push flag.
fn narrowed() -> Vec<Passed> {
    let mut stream = Stream::new();
    for nth in 0..10 {
        stream.send(60_000 + nth, FULL, false);
    }
    stream.acknowledge(60_000 + RTT, stream.sent, 0);
    let mut bursts = [2; 20];
    for burst in 0..1_500 {
        let at = 150_000 + burst * 2_000;
        let slot = (burst % 20) as usize;
        if burst % 21 == 0 {
            bursts[slot] += 1;
        }
        for nth in 1..bursts[slot] {
            let len = if nth == 1 && burst % 100 == 50 { 1_400 } else { 1_360 };
            stream.send(at + nth, len, false);
        }
        stream.send(at + bursts[slot], 1_360, true);
        let all = stream.sent;
        stream.acknowledge(at + RTT - 10, all, 0);
    }
    stream.passed()
}

#[test]
fn full_segments_of_a_path_found_to_be_narrower_are_full() {
    let report = report(&narrowed());
    assert!(share_of(&report, |cause| matches!(cause.limit(), Limit::Application | Limit::SendBuffer)) < 0.1);
}

#[test]
fn pairs_of_a_paced_sender_in_front_of_a_full_path_are_not_a_program() {
    let paced = Setup {
        amount: 6_000_000,
        offload: 2,
        pace: 2 * MS,
        rate: 650,
        window: Box::new(|_, _| 8 << 20),
        until: 8_000 * MS,
        ..Setup::default()
    };
    let report = report(&transfer(paced).a);
    assert!(share_of(&report, |cause| cause == Cause::SenderIdle) < 0.1);
    assert_eq!(main_finding(&report).cause.limit(), Limit::Path);
}

/// A program writes `len` bytes at a time until `most` is in flight, and goes on `delay` microseconds after the ACK with
/// which a third of that is free: a writer that a full buffer stops does so at once.
fn refilling(len: i64, most: i64, delay: i64) -> Vec<Passed> {
    let mut stream = Stream::new();
    let mut in_flight: VecDeque<(i64, i64)> = VecDeque::new();
    let (mut at, mut una) = (100_000, stream.sent);
    for _ in 0..150 {
        while stream.sent - una + len <= most {
            stream.send(at, len, true);
            at += 20;
            in_flight.push_back((at + RTT, stream.sent));
        }
        // An ACK for each second segment.
        while (stream.sent - una) * 3 > most * 2 {
            in_flight.pop_front();
            let (acked_at, ack) = in_flight.pop_front().expect("there are more");
            stream.acknowledge(acked_at, ack, 0);
            (at, una) = (acked_at + delay, ack);
        }
        while let Some((acked_at, ack)) = in_flight.front().copied().filter(|(acked_at, _)| *acked_at < at) {
            stream.acknowledge(acked_at, ack, 0);
            in_flight.pop_front();
            una = ack;
        }
    }
    stream.passed()
}

#[test]
fn small_writes_that_refill_a_buffer_are_send_buffer_full() {
    for (len, most) in [(700, 22_400), (300, 10_800), (1_448, 31_856)] {
        expect_mainly(&refilling(len, most, 50), Cause::SendBufferFull);
        expect_mainly(&refilling(len, most, 15_000), Cause::SenderIdle);
    }
}

/// As BBR sends: after each wait for the buffer, 64 KiB, a segment a millisecond.
#[test]
fn paced_bursts_after_waits_for_acks_are_send_buffer_full() {
    let bursts = |delay: i64| {
        let mut stream = Stream::new();
        let mut at = 100_000;
        for _ in 0..40 {
            let before = stream.sent;
            for nth in 0..44 {
                stream.send(at + nth * 1_500, FULL, nth == 43);
                stream.acknowledge(at + nth * 1_500 + RTT, before + (nth + 1) * FULL, 0);
            }
            // Two thirds of what was in flight at the end are acknowledged.
            at += 43 * 1_500 + RTT - 9 * 1_500 + delay;
        }
        stream.passed()
    };
    expect_mainly(&bursts(50), Cause::SendBufferFull);
    expect_mainly(&bursts(800), Cause::SenderIdle);
}

/// Four segments every 12 ms, each acknowledged an RTT later; the last one has `last` bytes.
fn in_steps(last: i64) -> Vec<Passed> {
    let mut stream = Stream::new();
    for burst in 0..300 {
        let at = 100_000 + burst * 12_000;
        for nth in 0..4 {
            stream.send(at + nth * 10, if nth == 3 { last } else { FULL }, nth == 3);
            let ack = stream.sent;
            stream.acknowledge(at + nth * 200 + RTT, ack, 0);
        }
    }
    stream.passed()
}

#[test]
fn full_segments_in_steps_are_a_shaper_and_short_ones_a_program() {
    expect_mainly(&in_steps(FULL), Cause::LocalRateLimit);
    expect_mainly(&in_steps(1_000), Cause::SenderIdle);
}

/// Bunches of full segments, the last of which has `last` bytes, over 0.8 ms: all is acknowledged before the next one. It
/// follows after `pause` microseconds, given the bytes of the bunch.
fn in_bunches(last: i64, pause: fn(i64) -> i64) -> Vec<Passed> {
    let mut stream = Stream::new();
    let mut at = 100_000;
    for bunch in 0..600 {
        let (before, segments) = (stream.sent, 12 + bunch * 7 % 13);
        for nth in 0..segments {
            let ends = nth + 1 == segments;
            stream.send(at + nth, if ends { last } else { FULL }, ends);
            let all = stream.sent;
            stream.acknowledge(at + nth + 800, all, 0);
        }
        at += pause(stream.sent - before);
    }
    stream.passed()
}

/// On a LAN, nothing is in flight for most of a paced sender's time, as if its program were idle.
#[test]
fn pauses_in_proportion_to_bunches_of_full_segments_are_the_hosts() {
    const MBIT: i64 = 100;
    let paced = in_bunches(FULL, |bytes| bytes * 8 / MBIT);
    let evidence = expect(&report(&paced), Cause::LocalRateLimit, "paced-bunches");
    let Evidence::PacedBunches { rate } = evidence else { panic!("{evidence:?}") };
    assert!((rate.get() as f64 / 1e6 / MBIT as f64 - 1.0).abs() < 0.03, "{rate}");
    expect_mainly(&paced, Cause::LocalRateLimit);
    expect_mainly(&in_bunches(FULL, |_| 2_000), Cause::SenderIdle);
    expect_mainly(&in_bunches(700, |bytes| bytes * 8 / MBIT), Cause::SenderIdle);
}

/// A sender over 0.5 ms and a bottleneck of 40 Mbit/s, which takes 292 µs for each segment. It sends a bunch whenever the
/// bottleneck has so many microseconds of work left; from 0 on, a few milliseconds later.
fn in_front_of_a_queue(left: fn(i64) -> i64) -> Vec<Passed> {
    const EACH: i64 = 292;
    let mut stream = Stream::new();
    let (mut at, mut free) = (100_000, 0);
    for bunch in 0..900 {
        for nth in 0..6 + bunch * 7 % 13 {
            stream.send(at + nth, FULL, false);
            free = free.max(at) + EACH;
            let all = stream.sent;
            stream.acknowledge(free + 500, all, 0);
        }
        at = free - left(bunch);
    }
    stream.passed()
}

/// BBR sends in bunches, and data in flight may fall far before the next one. Behind it, the link is busy all the time.
#[test]
fn even_acks_in_a_senders_pauses_are_a_full_path() {
    let report_of = |left| report(&in_front_of_a_queue(left));
    let on_path = |report: &_| share_of(report, |cause| cause.limit() == Limit::Path);
    let busy = report_of(|bunch| if bunch < 4 { 0 } else { 1_620 + bunch * 3 % 4 * 292 });
    assert!(on_path(&busy) > 0.9, "{:#?}", busy.main().findings);
    let idle = report_of(|bunch| -1_500 - bunch * 3 % 4 * 300);
    assert!(on_path(&idle) < 0.1, "{:#?}", idle.main().findings);
}

/// What passes a tap at B over `rtt` microseconds, of what passes one at A.
pub fn at_b(passed: &[Passed], rtt: i64) -> Vec<Passed> {
    nearer_to_b(passed, rtt / 2 * 1_000)
}

/// From afar, what a full buffer lets out and what a program writes after an ACK look alike.
#[test]
fn refills_seen_from_afar_are_not_an_idle_program() {
    for (len, most) in [(700, 22_400), (300, 10_800), (1_448, 31_856)] {
        let report = report(&at_b(&refilling(len, most, 50), RTT));
        let cause = main_finding(&report).cause;
        assert!(
            matches!(cause, Cause::Undetermined | Cause::SendBufferFull),
            "{:#?}",
            report.main().findings
        );
    }
}

/// Each request asks for two answers of 2,000 bytes. Nagle's algorithm holds the short end of the second one back until
/// that of the first is acknowledged; without it, all leaves at once.
fn pairs_of_answers(nagle: bool) -> Vec<Passed> {
    let mut stream = Stream::new();
    for turn in 0..40 {
        let at = 100_000 + turn * 150_000;
        let before = stream.sent;
        stream.acknowledge(at, before, 100);
        for nth in 0..2 {
            stream.send(at + 50 + nth, FULL, false);
            if nth == 0 || !nagle {
                stream.send(at + 50 + nth, 540, true);
            }
        }
        stream.acknowledge(at + RTT, before + 2_000, 0);
        if nagle {
            stream.send(at + RTT + 20, 540, true);
        }
        let all = stream.sent;
        stream.acknowledge(at + 2 * RTT, all, 0);
    }
    stream.passed()
}

#[test]
fn short_segments_after_acks_of_short_ones_are_nagles() {
    let held = share_of(&report(&pairs_of_answers(true)), |cause| cause == Cause::NagleDelayedAck);
    assert!((0.2..0.4).contains(&held), "{held}");
    let free = report(&pairs_of_answers(false));
    assert!(share_of(&free, |cause| cause == Cause::NagleDelayedAck) < 0.01, "{:#?}", free.main().findings);
    assert_eq!(main_finding(&free).cause, Cause::ThinkTime);
}

/// A buffer that holds more than a narrow path needs is refilled all the time, and limits nothing.
#[test]
fn full_buffer_behind_a_standing_queue_is_not_the_limit() {
    let taps = transfer(Setup {
        amount: 1_000_000,
        send_buffer: 100_000,
        refills: Refills::WhenWritable,
        pushes: true,
        rate: 250,
        ..Setup::default()
    });
    let report = report(&taps.a);
    let on_path = share_of(&report, |cause| cause.limit() == Limit::Path);
    assert!(on_path > 0.8, "{:#?}", report.main().findings);
}

/// ACKs of every other 60 ms wait for 3 ms on the way, and then come at once.
fn with_held_acks(segment: &Segment, at: i64) -> i64 {
    let (held, since) = (at / (60 * MS) % 2 == 0, at % (3 * MS));
    if segment.from == End::B && held { at - since + 3 * MS } else { at }
}

/// A shaper on A's host lets a segment out every 0.4 ms, over 10 ms, whatever ACKs do.
#[test]
fn clock_of_the_host_shows_though_acks_come_in_bursts() {
    let taps = transfer(Setup {
        amount: 12_000_000,
        pace: 400_000,
        one_way: 5 * MS,
        arrives: Box::new(with_held_acks),
        ..Setup::default()
    });
    let evidence = expect(&report(&taps.a), Cause::LocalRateLimit, "steady-rate");
    let Evidence::SteadyRate { rate, .. } = evidence else { panic!("{evidence:?}") };
    assert!((rate.get() as f64 * 0.4e-3 / 8.0 / f64::from(MSS) - 1.0).abs() < 0.02, "{rate}");
    expect_mainly(&taps.a, Cause::LocalRateLimit);
}

/// That rate, but each ACK triggers what it acknowledges: a full path, or a full buffer.
#[test]
fn acks_in_bursts_that_trigger_data_are_no_clock() {
    for (rate, send_buffer) in [(3_620, u32::MAX), (12_500, 40_000)] {
        let taps = transfer(Setup {
            amount: 8_000_000,
            rate,
            send_buffer,
            one_way: 5 * MS,
            arrives: Box::new(with_held_acks),
            ..Setup::default()
        });
        expect_none(&report(&taps.a), Cause::LocalRateLimit);
    }
}

/// BBR sends by a clock too: it probes for more in one RTT of eight, and sends less in the next.
#[test]
fn clock_that_probes_for_more_is_not_the_hosts() {
    let mut stream = Stream::new();
    let mut at = 100_000;
    for rtt in 0..100 {
        let gap = match rtt % 8 {
            0 => 800,
            1 => 1_333,
            _ => 1_000,
        };
        for _ in 0..RTT / gap {
            stream.send(at, FULL, false);
            let all = stream.sent;
            stream.acknowledge(at + RTT + 137, all, 0);
            at += gap;
        }
    }
    expect_none(&report(&stream.passed()), Cause::LocalRateLimit);
}

/// A buffer of 190 segments that is refilled when a third is free: what refills it leaves slowly and at another rate each
/// time, as BBR sends, over 43 ms.
fn paced_refills() -> Vec<Passed> {
    const BUFFER: i64 = 190;
    let mut stream = Stream::new();
    let mut acks = VecDeque::new();
    let (mut at, mut acked) = (100_000, 1);
    for refill in 0..160 {
        let gap = [240, 190, 310, 270, 200][refill % 5];
        while stream.sent - acked < BUFFER * FULL {
            stream.send(at, FULL, false);
            acks.push_back((at + 43_000, stream.sent));
            at += gap;
        }
        while let Some((due, all)) = acks.pop_front() {
            stream.acknowledge(due, all, 0);
            acked = all;
            if stream.sent - acked <= BUFFER * 2 / 3 * FULL {
                at = at.max(due + 60);
                break;
            }
        }
    }
    stream.passed()
}

/// ACKs come while a refill leaves, so that less than a third of what was in flight is acknowledged during a pause. Each
/// pause ends with as much in flight.
#[test]
fn pauses_that_end_at_one_level_are_send_buffer_full() {
    expect_mainly(&paced_refills(), Cause::SendBufferFull);
}

/// Segments that arrive at B at 10 Mbit/s without a pause, from the first window on. A program wrote `segments` at a time
/// and a short one.
fn without_a_pause(segments: i64) -> Vec<Passed> {
    let mut stream = Stream::new();
    for nth in 0..3_000 {
        let at = 100_000 + nth * 1_168;
        let ends = nth >= 10 && nth % segments == 0;
        stream.send(at, if ends { 612 } else { FULL }, ends);
        if nth % 2 == 1 {
            let all = stream.sent;
            stream.acknowledge(at + RTT, all, 0);
        }
    }
    at_b(&stream.passed(), RTT)
}

#[test]
fn ends_of_long_writes_do_not_interrupt_a_full_path() {
    expect_mainly(&without_a_pause(45), Cause::BottleneckFull);
    expect_none(&report(&without_a_pause(4)), Cause::BottleneckFull);
}

/// Segments of the least MSS with timestamps, each 150 microseconds after the one before, over 100 ms. The capture begins
/// later than the connection.
fn smallest_by_a_clock() -> Vec<Passed> {
    let mut stream = Stream::new();
    for nth in 0..20_000 {
        let at = 100_000 + nth * 150;
        stream.send(at, 524, nth % 40 == 39);
        if nth % 10 == 9 {
            let all = stream.sent;
            stream.acknowledge(at + 100_000 + nth % 7 * 17, all, 0);
        }
    }
    stream.passed().split_off(3)
}

#[test]
fn segments_of_the_least_mss_are_full() {
    expect_mainly(&smallest_by_a_clock(), Cause::LocalRateLimit);
}

/// Each ACK lets out three segments, of which two are one packet, with a push flag. The capture begins later than the
/// connection.
fn packets_of_one_and_two_segments() -> Vec<Passed> {
    let mut stream = Stream::new();
    for burst in 0..2_000 {
        let at = 100_000 + burst / 12 * RTT + burst % 12 * 3_000;
        stream.send(at, 2 * FULL, true);
        stream.send(at + 5, FULL, false);
        let all = stream.sent;
        stream.acknowledge(at + RTT - 20, all, 0);
    }
    stream.passed().split_off(3)
}

#[test]
fn what_has_more_behind_it_is_a_full_segment() {
    let report = report(&packets_of_one_and_two_segments());
    let own = share_of(&report, |cause| matches!(cause.limit(), Limit::Application | Limit::SendBuffer));
    assert!(own < 0.1, "{:#?}", report.main().findings);
}
