//! Writers behind a full buffer or an application's window, on a host that paces what they write, and what resembles them.

use crate::captures::{at_random, losing};
use crate::transfer::{MS, Setup, transfer};
use crate::wire::report;
use crate::writers::{FULL, RTT, Stream, at_b};
use crate::{expect_mainly, expect_none, share_of};
use slowpath_analyses::Cause;
use slowpath_model::{End, Segment};

/// Bursts of 24 super-packets of two segments, one each half a millisecond. The next burst begins so many microseconds after the first
/// ACK of the last, and ends with so many bytes. One burst has more: more segments fit into the buffer.
fn bursts(after_ack: i64, last: i64) -> Stream {
    let mut stream = Stream::new();
    let mut at = 100_000;
    for burst in 0..50 {
        let packets = [5, 10, 20, 40].get(burst).copied().unwrap_or(if burst == 20 { 45 } else { 24 });
        for nth in 0..packets {
            let sent = at + nth * 500;
            let ends = nth + 1 == packets;
            stream.send(sent, if ends { FULL + last } else { 2 * FULL }, true);
            let all = stream.sent();
            stream.acknowledge(sent + RTT, all, 0);
        }
        at += RTT + after_ack;
    }
    stream
}

/// Pacing spreads what the first ACK of a burst lets a writer write, so that few segments leave right after an ACK.
#[test]
fn pacing_does_not_hide_a_full_send_buffer() {
    let full = bursts(600, FULL).passed();
    expect_mainly(&full, Cause::SendBufferFull);
    let from_afar = report(&at_b(&full, RTT));
    assert!(
        share_of(&from_afar, |cause| cause == Cause::SenderIdle) < 0.2,
        "{:#?}",
        from_afar.main().findings
    );
    // A program writes as much at other times.
    expect_mainly(&bursts(-13_000, 700).passed(), Cause::SenderIdle);
}

/// The other end grants 50,000 bytes with 36 of payload four times in an RTT, and the program writes that in two pieces; or it
/// grants nothing, and the program writes so much every 25 ms.
fn pieces(grant: i64) -> Stream {
    let mut stream = Stream::new();
    for nth in 0..160 {
        let at = 100_000 + nth * 25_000;
        let acked = (nth * 50_000 - 150_000).max(0) + 1;
        stream.acknowledge(at, acked, grant);
        stream.write(at + 300, 20_000);
        stream.write(at + 3_300, 30_000);
    }
    stream
}

#[test]
fn payload_that_keeps_data_in_flight_at_a_ceiling_is_protocol_window() {
    expect_mainly(&pieces(36).passed(), Cause::ProtocolWindow);
    expect_none(&report(&pieces(0).passed()), Cause::ProtocolWindow);
}

/// In a local network of 0.6 ms, a sender whose window losses keep small, seen next to the receiver: no ACK passes right before
/// its segments there.
#[test]
fn losses_in_a_local_network_are_not_an_idle_program_at_the_receiver() {
    let mut lost = at_random(150);
    let fate = losing(move |segment: &Segment| segment.from == End::A && lost(segment));
    let taps =
        transfer(Setup { one_way: 3 * MS / 10, amount: 6_000_000, fate: Box::new(fate), ..Setup::default() });
    let report = report(&taps.b);
    assert!(share_of(&report, |cause| cause == Cause::SenderIdle) < 0.1, "{:#?}", report.main().findings);
}

/// A small send buffer whose writer needs 0.4 ms from the ACK to the next two segments: no clock, though each burst has the same
/// distance from the one before.
#[test]
fn a_late_writer_behind_each_ack_has_no_pace() {
    let mut stream = Stream::new();
    let mut at = 100_000;
    for _ in 0..250 {
        stream.send(at, FULL, false);
        stream.send(at, FULL, true);
        let all = stream.sent();
        stream.acknowledge(at + 35_000, all, 0);
        at += 35_400;
    }
    let report = report(&stream.passed());
    expect_none(&report, Cause::LocalRateLimit);
}
