//! Losses that follow a rule for a while, a peer that falls silent, and a sender of jumbo frames on a path that carries
//! smaller ones.

use crate::captures::{self, Answer, at_random, losing};
use crate::transfer::{MS, MSS, ONE_WAY, Setup, Taps, in_between, transfer};
use crate::wire::{Passed, report, script};
use crate::{expect, expect_mainly, expect_none, main_finding, share_of};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Cause, Confidence, Evidence, Limit};
use slowpath_model::{Bytes, End, Flags, Instant, Segment, StreamOffset, Vantage};

/// A one-way delay of 20 ms, in seconds, twice.
const RTT: f64 = 0.04;

/// When the sender first makes its segments smaller.
const FOUND: f64 = 7.85;

/// An upload written line by line, as the tap at the sender has it.
struct Upload {
    lines: Vec<(f64, String)>,
    next: u32,
    id: u32,
}

impl Upload {
    /// A handshake and a short request, which is acknowledged.
    fn begun() -> Self {
        let lines = vec![
            (0.0, "> S 0:0(0) win 64240 <mss 1460,sackOK,TS val 7000 ecr 0,wscale 7> // frame 0 id 101 ttl 64".into()),
            (0.0401, "< S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val 9000 ecr 7000,wscale 7> // frame 0 id 0 ttl 63".into()),
        ];
        let mut upload = Self { lines, next: 1, id: 102 };
        upload.data(0.04015, 1, 0);
        upload.data(0.05, 1, 300);
        upload.ack(0.05 + RTT, 301, 0.05, None);
        upload.next = 301;
        upload
    }

    fn data(&mut self, at: f64, seq: u32, len: u32) {
        let (stamp, echo) = (7_000 + (at * 1e3) as u32, 9_000 + (at * 1e3) as u32 - 40);
        let line = format!(
            "> . {seq}:{}({len}) ack 1 win 502 <TS val {stamp} ecr {echo}> // frame 0 id {} ttl 64",
            seq + len,
            self.id
        );
        self.id += len.div_ceil(MSS).max(1);
        self.lines.push((at, line));
    }

    /// An ACK of what was sent at `of`.
    fn ack(&mut self, at: f64, ack: u32, of: f64, sacked: Option<(u32, u32)>) {
        let (stamp, echo) = (9_000 + (at * 1e3) as u32 - 20, 7_000 + (of * 1e3) as u32);
        let sack = sacked.map_or_else(String::new, |(start, end)| format!(",sack {start}:{end}"));
        let line =
            format!("< . 1:1(0) ack {ack} win 8000 <TS val {stamp} ecr {echo}{sack}> // frame 0 id 0 ttl 63");
        self.lines.push((at, line));
    }

    /// Ten full segments, in packets of so many, and what the timer retransmits: all of it is lost until [`FOUND`]. Then
    /// the head arrives, in a smaller piece.
    fn lost_until_found(&mut self, packet: u32) -> u32 {
        let head = self.next;
        for n in 0..10 / packet {
            self.data(0.1 + 0.0001 * f64::from(n), self.next, packet * MSS);
            self.next += packet * MSS;
        }
        for at in [0.35, 0.85, 1.85, 3.85] {
            self.data(at, head, MSS);
        }
        self.data(FOUND, head, 1024);
        self.ack(FOUND + RTT, head + 1024, FOUND, None);
        head + 1024
    }

    /// What is left of the ten segments, retransmitted in segments of `size` bytes, in slow start.
    fn repaired(&mut self, from: u32, size: u32) -> f64 {
        let (mut at, mut seq, mut flight) = (FOUND + RTT + 0.001, from, 2);
        while seq < self.next {
            for n in 0..flight {
                let len = size.min(self.next - seq);
                if len > 0 {
                    let sent = at + 0.0001 * f64::from(n);
                    self.data(sent, seq, len);
                    self.ack(sent + RTT, seq + len, sent, None);
                    seq += len;
                }
            }
            (at, flight) = (at + RTT + 0.002, flight * 2);
        }
        at
    }

    /// `flights` of 20 packets, of `size` bytes times one of `packets` in turn. In every eighth flight one is lost, and
    /// retransmitted after three duplicate ACKs.
    fn flights(&mut self, mut at: f64, flights: u32, size: u32, packets: &[u32]) {
        for flight in 1..=flights {
            let mut lost = None;
            for n in 0..20_u32 {
                let (sent, seq) = (at + 0.0002 * f64::from(n), self.next);
                let len = size * packets[n as usize % packets.len()];
                self.data(sent, seq, len);
                self.next += len;
                match lost {
                    _ if flight % 8 == 0 && n == 9 => lost = Some((seq, len)),
                    None => self.ack(sent + RTT, self.next, sent, None),
                    Some((hole, missing)) => {
                        self.ack(sent + RTT, hole, at, Some((hole + missing, self.next)));
                    }
                }
            }
            at += RTT + 0.005;
            if let Some((hole, missing)) = lost {
                self.data(at, hole, missing);
                self.ack(at + RTT, self.next, at, None);
                at += RTT + 0.001;
            }
        }
    }

    fn passed(mut self) -> Vec<Passed> {
        self.lines.sort_by(|one, other| one.0.total_cmp(&other.0));
        let line = |(at, line): &(f64, String)| format!("{at:.6} {line}\n");
        script(&self.lines.iter().map(line).collect::<String>())
    }
}

/// The path's MTU is found after 7.85 s; later a queue drops three packets.
fn mtu_found_by_the_sender(first: u32, packets: &[u32]) -> Vec<Passed> {
    let mut upload = Upload::begun();
    let from = upload.lost_until_found(first);
    let at = upload.repaired(from, 1248);
    upload.flights(at, 30, 1248, packets);
    upload.passed()
}

/// An outage of 7.8 s, in which the sender takes the loss for a smaller MTU: a smaller segment is the first to arrive, and
/// then full ones do again.
fn outage_with_an_mtu_probe() -> Vec<Passed> {
    let mut upload = Upload::begun();
    let from = upload.lost_until_found(1);
    let at = upload.repaired(from, MSS);
    upload.flights(at, 30, MSS, &[1]);
    upload.passed()
}

#[test]
fn mtu_black_hole_ends_when_the_sender_finds_the_mtu() {
    for (first, packets) in [(1, &[1][..]), (5, &[1, 2, 4])] {
        let report = report(&mtu_found_by_the_sender(first, packets));
        let findings = &report.main().findings;
        let finding = main_finding(&report);
        assert_eq!(finding.cause, Cause::MtuBlackHole, "{findings:#?}");
        let lasted = finding.lasted.as_secs_f64();
        assert!((7.5..8.2).contains(&lasted), "until the segments are smaller: {finding:#?}");
        let sizes = finding.evidence.iter().find_map(|evidence| match *evidence {
            Evidence::LostAboveSize { smallest, largest_delivered, .. } => {
                Some((smallest, largest_delivered))
            }
            _ => None,
        });
        assert_eq!(sizes, Some((Bytes::new(1448), Bytes::new(1248))), "{finding:#?}");
        let later = |cause: Cause| cause.limit() == Limit::LossRecovery && cause != Cause::MtuBlackHole;
        assert!(findings.iter().any(|finding| later(finding.cause)), "the queue's losses: {findings:#?}");
    }
}

#[test]
fn outage_that_ends_while_the_sender_probes_the_mtu_is_not_an_mtu_black_hole() {
    let report = report(&outage_with_an_mtu_probe());
    expect_none(&report, Cause::MtuBlackHole);
    assert_eq!(main_finding(&report).cause.limit(), Limit::LossRecovery, "{:#?}", report.main().findings);
}

/// What is lost behind a tap in between has passed it.
#[test]
fn rules_of_losses_are_seen_in_between() {
    let rules = [
        (captures::black_hole().a, Cause::MtuBlackHole, "lost-above-size"),
        (mtu_found_by_the_sender(5, &[1, 2, 4]), Cause::MtuBlackHole, "lost-above-size"),
        (captures::unscaled(ONE_WAY).a, Cause::BeyondUnscaledWindow, "lost-beyond-window-field"),
    ];
    for (passed, cause, slug) in rules {
        let report = report(&in_between(&passed));
        assert_eq!(report.vantage.vantage, Vantage::Between);
        let finding = main_finding(&report);
        assert_eq!(finding.cause, cause, "{:#?}", report.main().findings);
        assert!(finding.evidence.iter().any(|evidence| evidence.slug() == slug), "{:#?}", finding.evidence);
    }
    for one_in in [20, 100] {
        let fate = Box::new(losing(at_random(one_in)));
        let taps = transfer(Setup { amount: 1_000_000, fate, ..Setup::default() });
        let report = report(&in_between(&taps.a));
        for rule in [Cause::MtuBlackHole, Cause::BeyondUnscaledWindow, Cause::SuperPacketsDropped] {
            expect_none(&report, rule);
        }
    }
}

/// Next to the receiver, from where A's data was lost beyond `until`, of which it sees an empty segment after `silence`: B
/// closes then.
fn tail_that_never_came(scale: u8, silence: i64, mut lose: impl FnMut(&Segment) -> bool) -> Vec<Passed> {
    let window = Box::new(|_, _| 80 << 10);
    let fate = Box::new(losing(move |segment| segment.from == End::A && segment.len > 0 && lose(segment)));
    let setup = Setup { amount: 400_000, window, scale, fate, until: silence, ..Setup::default() };
    let Taps { a, mut b, .. } = transfer(setup);
    let of = |passed: &[Passed], from| {
        passed.iter().rfind(|(_, segment)| segment.from == from).expect("both ends sent something").1.clone()
    };
    let sent = a.iter().filter(|(_, segment)| segment.from == End::A).map(|(_, segment)| segment.end());
    let next = sent.max().expect("A sent something");
    let at = b.last().expect("something passed").0.max(Instant::START.plus_nanos(silence));
    let close = Segment { flags: Flags::FIN.with(Flags::ACK), ..of(&b, End::B) };
    let answer = Segment { seq: next, len: 0, flags: Flags::ACK, ack: Some(close.end()), ..of(&b, End::A) };
    b.push((at, close));
    b.push((at.plus_nanos(2 * ONE_WAY), answer));
    b
}

/// The field of the window is 80, and all that came was on its way before an ACK with it had passed.
#[test]
fn tail_beyond_a_field_without_room_for_a_segment_is_a_firewalls() {
    let mut acked = false;
    let passed = tail_that_never_came(10, 20_000 * MS, move |segment| {
        acked |= segment.seq.0 > 9 * i64::from(MSS);
        acked
    });
    let evidence = expect(&report(&passed), Cause::BeyondUnscaledWindow, "window-field-too-small");
    let Evidence::WindowFieldTooSmall { field, segment } = evidence else { panic!("{evidence:?}") };
    assert_eq!((field.get(), segment.get()), (80, 1448));
    assert_eq!(main_finding(&report(&passed)).confidence, Confidence::Low, "the losses are not seen");
}

#[test]
fn tail_that_never_came_for_long_is_lost_again_and_again() {
    let beyond = |amount: u32| move |segment: &Segment| segment.seq.0 > i64::from(amount * MSS);
    // The field has room for segments, or more came than the first round trip's.
    for (scale, amount) in [(5, 9), (10, 90)] {
        let passed = tail_that_never_came(scale, 20_000 * MS, beyond(amount));
        expect(&report(&passed), Cause::LostRetransmission, "sent-unseen");
    }
    let soon = tail_that_never_came(5, 700 * MS, beyond(9));
    expect(&report(&soon), Cause::TailLoss, "sent-unseen");
}

/// A receiver whose window is 80 KiB, and a path that loses what `fate` says.
fn under_a_scaled_window(until: i64, fate: impl FnMut(&Segment) -> bool) -> Taps {
    let window = Box::new(|_, _| 80 << 10);
    transfer(Setup { amount: 400_000, window, fate: Box::new(losing(fate)), until, ..Setup::default() })
}

/// The window of the SYN-ACK, which no scale applies to, lets 64 KB pass; the fields of the ACKs lie below that edge.
#[test]
fn nothing_beyond_the_farthest_unscaled_edge_is_a_firewalls() {
    for until in [60_000 * MS, 900_000 * MS] {
        let mut edge = 0;
        let taps = under_a_scaled_window(until, |segment| {
            if let (End::B, Some(ack)) = (segment.from, segment.ack) {
                edge = edge.max(ack.0 + i64::from(segment.window));
            }
            segment.len > 0 && segment.from == End::A && segment.end().0 > edge
        });
        let report = report(&taps.a);
        expect(&report, Cause::BeyondUnscaledWindow, "lost-beyond-window-field");
        expect_none(&report, Cause::PeerGone);
    }
}

#[test]
fn peer_dying_beyond_the_unscaled_edge_is_gone() {
    for until in [60_000 * MS, 900_000 * MS] {
        for at in [90_000, 100_000, 150_000, 300_000] {
            let mut is_dead = false;
            let taps = under_a_scaled_window(until, |segment| {
                is_dead |= segment.from == End::A && segment.end().0 > at;
                is_dead
            });
            expect_mainly(&taps.a, Cause::PeerGone);
            expect_none(&report(&taps.a), Cause::BeyondUnscaledWindow);
        }
    }
}

/// Twice the window of 4 MiB holds the blocks, and A has sent far less.
#[test]
fn sack_blocks_within_the_window_and_beyond_what_was_sent_are_untranslated() {
    for shift in [3_000_000, 6_000_000] {
        let passed = captures::untranslated(20 * MS, shift).a;
        let evidence = expect(&report(&passed), Cause::SackUntranslated, "sack-outside");
        let Evidence::SackOutside { blocks, all } = evidence else { panic!("{evidence:?}") };
        assert!(blocks > 10 && blocks == all, "{evidence:?}");
    }
}

/// The capture misses runs of up to 300 data segments, while the ACKs of them are there.
#[test]
fn sack_blocks_beyond_captured_data_are_not_untranslated() {
    let taps = captures::untranslated(20 * MS, 0);
    for run in [3, 60, 300] {
        for passed in [&taps.a, &taps.b] {
            let mut count = 0;
            let mut passed = passed.clone();
            passed.retain(|(_, segment)| {
                count += u32::from(segment.len > 0);
                segment.len == 0 || count % (2 * run) >= run
            });
            expect_none(&report(&passed), Cause::SackUntranslated);
        }
    }
}

/// The confidence of [`Cause::PeerGone`], and the smallest segment if only large ones were tried.
fn peer_gone(report: &FlowReport) -> (Confidence, Option<Bytes>) {
    let finding = main_finding(report);
    assert_eq!(finding.cause, Cause::PeerGone, "{:#?}", report.main().findings);
    let smallest = finding.evidence.iter().find_map(|evidence| match *evidence {
        Evidence::OnlyLargeUnanswered { smallest } => Some(smallest),
        _ => None,
    });
    (finding.confidence, smallest)
}

/// 290 KB arrive, and whatever A sends then, in full segments, gets no answer.
fn silent_before_the_end() -> Vec<Passed> {
    let amount = 260 * MSS;
    let fate = Box::new(losing(|segment| segment.end().0 > i64::from(200 * MSS)));
    let window = Box::new(|_, _| 4 << 20);
    transfer(Setup { amount, window, fate, until: 30_000 * MS, ..Setup::default() }).a
}

#[test]
fn peer_that_only_large_segments_tried_may_be_behind_a_smaller_mtu() {
    let report = report(&silent_before_the_end());
    assert_eq!(peer_gone(&report), (Confidence::Medium, Some(Bytes::new(MSS.into()))));
}

#[test]
fn peer_that_answers_no_small_request_is_gone() {
    assert_eq!(peer_gone(&report(&captures::after_pause(Answer::Never))), (Confidence::High, None));
}

/// Keepalive probes have a byte or none.
#[test]
fn peer_that_answers_no_keepalive_is_gone() {
    let mut lines = captures::handshake() + &captures::requests(3);
    for n in 0..9 {
        let at = 4.6 + 5.0 * f64::from(n);
        lines += &format!("{at:.6} > . 900:900(0) ack 301 win 502 // frame 0 id {} ttl 64\n", 300 + n);
    }
    assert_eq!(peer_gone(&report(&script(&lines))), (Confidence::High, None));
}

/// What would have passed between ends that allow jumbo frames, on a path where A's segments have 1446 bytes.
fn with_jumbo_mss(passed: &[Passed]) -> Vec<Passed> {
    let whole = |bytes: i64| bytes / i64::from(MSS) * 1446;
    let moved = |offset: StreamOffset| StreamOffset(1 + whole(offset.0 - 1));
    let mut passed = passed.to_vec();
    for (_, segment) in &mut passed {
        segment.mss = segment.mss.map(|_| 8_960);
        if segment.flags.has(Flags::SYN) {
            continue;
        }
        if segment.from == End::A {
            (segment.seq, segment.len) = (moved(segment.seq), segment.len / MSS * 1446);
        } else {
            segment.ack = segment.ack.map(moved);
        }
    }
    passed
}

/// What a tap has behind GRO or before TSO: up to five segments in a row are one.
fn joined(passed: &[Passed]) -> Vec<Passed> {
    let (mut all, mut most): (Vec<Passed>, u32) = (Vec::new(), 1);
    for (at, segment) in passed {
        match all.last_mut() {
            Some((last_at, last))
                if segment.from == End::A
                    && last.from == End::A
                    && last.len > 0
                    && last.end() == segment.seq
                    && last.len + segment.len <= most * MSS =>
            {
                last.len += segment.len;
                *last_at = *at;
            }
            _ => {
                most = most % 5 + 1;
                all.push((*at, *segment));
            }
        }
    }
    all
}

#[test]
fn jumbo_sender_that_fills_the_path_with_smaller_segments_is_not_idle() {
    let taps =
        transfer(Setup { amount: 6_000 * MSS, send_buffer: 300 * MSS, rate: 2_500, ..Setup::default() });
    for passed in [&taps.a, &taps.b, &joined(&taps.a), &joined(&taps.b)] {
        let report = report(&with_jumbo_mss(passed));
        // Until a few flights have shown the size of its segments.
        let idle = share_of(&report, |cause| cause == Cause::SenderIdle);
        assert!(idle < 0.1, "{:#?}", report.main().findings);
        assert_eq!(main_finding(&report).cause.limit(), Limit::Path, "{:#?}", report.main().findings);
    }
}

#[test]
fn program_that_writes_1446_bytes_at_a_time_is_idle() {
    let taps = transfer(Setup { amount: 2_000 * MSS, pace: 5 * MS, pushes: true, ..Setup::default() });
    for passed in [&taps.a, &taps.b] {
        expect_mainly(&with_jumbo_mss(passed), Cause::SenderIdle);
    }
}
