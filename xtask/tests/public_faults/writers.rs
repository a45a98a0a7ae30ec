//! Programs that write now and then, and senders that resemble them: next to the sender, over 40 ms unless stated otherwise.

use crate::captures::handshake;
use crate::transfer::{MS, Setup, transfer};
use crate::wire::{Passed, report, script};
use crate::{expect_mainly, main_finding};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Cause, Limit};

/// The payload of a full segment: the MSS of [`handshake`].
const FULL: i64 = 1460;

/// Microseconds from a segment to its ACK.
const RTT: i64 = 40_000;

/// A's stream next to A, with what B sends. Times are in microseconds.
struct Stream {
    /// Each with its time.
    lines: Vec<(i64, String)>,
    sent: i64,
    spoken: i64,
}

impl Stream {
    fn new() -> Self {
        Self { lines: Vec::new(), sent: 1, spoken: 1 }
    }

    fn line(&mut self, at: i64, text: String) {
        self.lines.push((at, format!("{}.{:06} {text}", at / 1_000_000, at % 1_000_000)));
    }

    /// A sends a segment.
    fn send(&mut self, at: i64, len: i64, pushed: bool) {
        let (from, to) = (self.sent, self.sent + len);
        let push = if pushed { "P" } else { "" };
        self.line(at, format!("> {push}. {from}:{to}({len}) ack 1 win 502"));
        self.sent = to;
    }

    /// A's program writes so much at once.
    fn write(&mut self, at: i64, bytes: i64) {
        for nth in 0..bytes / FULL {
            self.send(at + nth, FULL, false);
        }
        self.send(at + bytes / FULL, bytes % FULL, true);
    }

    /// B acknowledges all before `ack`, with so much payload.
    fn acknowledge(&mut self, at: i64, ack: i64, payload: i64) {
        let (from, to) = (self.spoken, self.spoken + payload);
        let push = if payload > 0 { "P" } else { "" };
        self.line(at, format!("< {push}. {from}:{to}({payload}) ack {ack} win 8000"));
        self.spoken = to;
    }

    fn passed(mut self) -> Vec<Passed> {
        self.lines.sort_by_key(|(at, _)| *at);
        let lines: Vec<String> = self.lines.into_iter().map(|(_, line)| line).collect();
        script(&(handshake() + &lines.join("\n")))
    }
}

/// The share of the time of A's direction that goes to such causes.
fn share_of(report: &FlowReport, is_one: impl Fn(Cause) -> bool) -> f64 {
    report.main().findings.iter().filter(|finding| is_one(finding.cause)).map(|finding| finding.share).sum()
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
/// of 40 segments is always full: each ACK of two lets out two, the second of which has the push flag.
fn narrowed() -> Vec<Passed> {
    let mut stream = Stream::new();
    for nth in 0..10 {
        stream.send(60_000 + nth, FULL, false);
    }
    stream.acknowledge(60_000 + RTT, stream.sent, 0);
    for pair in 0..1_500 {
        let at = 150_000 + pair * 2_000;
        let len = if pair % 100 == 50 { 1_400 } else { 1_360 };
        stream.send(at, len, false);
        stream.send(at + 1, 1_360, true);
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
