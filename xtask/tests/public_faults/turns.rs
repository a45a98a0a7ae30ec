//! What an end waited for before it sent: a request, an answer, data of the other end that was lost, a reader.

use crate::captures::{handshake, handshake_from_afar};
use crate::transfer::{MS, MSS, Setup, transfer};
use crate::wire::{Passed, report, script};
use crate::{expect, expect_mainly, expect_none, main_finding, share_of};
use slowpath_analyses::{Cause, Confidence, Evidence, Limit};
use slowpath_model::End;
use slowpath_views::headline;

/// The lines of a capture, with the time of each in microseconds.
#[derive(Default)]
struct Lines(Vec<(i64, String)>);

impl Lines {
    fn add(&mut self, at: i64, text: impl AsRef<str>) {
        self.0.push((at, format!("{}.{:06} {}", at / 1_000_000, at % 1_000_000, text.as_ref())));
    }

    fn passed(mut self, handshake: &str) -> Vec<Passed> {
        self.0.sort_by_key(|(at, _)| *at);
        let lines: Vec<String> = self.0.into_iter().map(|(_, line)| line).collect();
        script(&(handshake.to_owned() + &lines.join("\n")))
    }
}

/// B sends 60 segments, two each millisecond from `begin` on, over 40 ms from the client's tap; `request` is when A asks
/// for them.
fn page(request: Option<i64>, begin: i64) -> Vec<Passed> {
    let mut lines = Lines::default();
    let asked = if request.is_some() { 101 } else { 1 };
    if let Some(at) = request {
        lines.add(at, "> P. 1:101(100) ack 1 win 502");
        lines.add(at + 40_000, "< . 1:1(0) ack 101 win 509");
    }
    for pair in 0..30 {
        let (at, start) = (begin + pair * 1_000, 1 + pair * 2_920);
        let (middle, end) = (start + 1_460, start + 2_920);
        lines.add(at, format!("< . {start}:{middle}(1460) ack {asked} win 509"));
        lines.add(at + 1, format!("< P. {middle}:{end}(1460) ack {asked} win 509"));
        lines.add(at + 20, format!("> . {asked}:{asked}(0) ack {end} win 502"));
    }
    lines.passed(&handshake())
}

/// A response of a short header and nine full segments, which fill the initial window, and an RTT later the rest: first a full
/// segment, then a short one. At the server, or 20 ms from it.
fn response(at_server: bool) -> Vec<Passed> {
    let mut lines = Lines::default();
    let later = if at_server { 0 } else { 20_000 };
    lines.add(60_000 - later, "> P. 1:101(100) ack 1 win 502");
    let mut flight = |at: i64, start: i64, sizes: &[i64]| {
        let mut start = start;
        for (nth, size) in (0i64..).zip(sizes) {
            let (end, push) = (start + size, if *size < 1_460 { "P" } else { "" });
            lines.add(at + later + nth, format!("< {push}. {start}:{end}({size}) ack 101 win 509"));
            start = end;
        }
        lines.add(at + 40_000 - later, format!("> . 101:101(0) ack {start} win 502"));
        start
    };
    let next = flight(60_100, 1, &[242, 1_460, 1_460, 1_460, 1_460, 1_460, 1_460, 1_460, 1_460, 1_460]);
    flight(100_110, next, &[1_460, 520]);
    lines.passed(&if at_server { handshake_from_afar() } else { handshake() })
}

/// What the initial window held back is more than a segment: Nagle's algorithm holds back less.
#[test]
fn rest_of_a_short_response_does_not_wait_for_nagle() {
    for at_server in [true, false] {
        expect_none(&report(&response(at_server)), Cause::NagleDelayedAck);
    }
}

#[test]
fn wait_for_the_first_answer_is_think_time() {
    let answered = report(&page(Some(41_000), 2_600_000));
    let main = headline::main_finding(&answered).expect("a finding");
    assert_eq!((main.cause, main.from), (Cause::ThinkTime, End::B), "{:#?}", answered.main().findings);
    assert!(main.share > 0.9, "{main:#?}");
    // A connection opened long before its request: B waits for that, and the evidence says so.
    let early = report(&page(Some(2_500_000), 2_600_000));
    let main = headline::main_finding(&early).expect("a finding");
    assert!(main.cause == Cause::ThinkTime && main.share > 0.9, "{main:#?}");
    let took = main.evidence.iter().find_map(|evidence| match evidence {
        Evidence::TurnsTook { sender, receiver } => Some((sender.as_millis(), receiver.as_millis())),
        _ => None,
    });
    assert!(took.is_some_and(|(own, other)| own < 150 && other > 2_300), "{took:?}");
    // A server that speaks first, late.
    expect_none(&report(&page(None, 2_600_000)), Cause::ThinkTime);
}

#[test]
fn lost_last_ack_of_the_handshake_delays_a_server_that_speaks_first() {
    let mut lines = Lines::default();
    lines.add(1_060_000, "< S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,wscale 7>");
    lines.add(1_060_050, "> . 1:1(0) ack 1 win 502");
    lines.add(1_101_000, "< P. 1:41(40) ack 1 win 509");
    lines.add(1_101_050, "> . 1:1(0) ack 41 win 502");
    let report = report(&lines.passed(&handshake()));
    expect(&report, Cause::SynLost, "syn-retransmitted");
}

/// Thirty turns next to A, which asks for 12 kB each. The first copy of each third request is lost behind the tap, if
/// `lost`; otherwise A takes as long to ask.
fn requests(lost: bool) -> Vec<Passed> {
    let mut lines = Lines::default();
    let (mut at, mut asked, mut got) = (50_000, 1, 1);
    for turn in 0..30 {
        let (from, to) = (asked, asked + 100);
        let request = format!("> P. {from}:{to}(100) ack {got} win 502");
        if turn % 3 == 0 {
            if lost {
                lines.add(at, &request);
            }
            at += 300_000;
        }
        lines.add(at, &request);
        asked = to;
        for pair in 0..4 {
            let begin = got + pair * 2_920;
            let (middle, end) = (begin + 1_460, begin + 2_920);
            lines.add(at + 40_000 + pair * 100, format!("< . {begin}:{middle}(1460) ack {asked} win 509"));
            lines.add(at + 40_001 + pair * 100, format!("< P. {middle}:{end}(1460) ack {asked} win 509"));
            lines.add(at + 40_020 + pair * 100, format!("> . {asked}:{asked}(0) ack {end} win 502"));
        }
        got += 4 * 2_920;
        at += 42_000;
    }
    lines.passed(&handshake())
}

#[test]
fn lost_requests_are_losses_of_the_requests() {
    let lossy = report(&requests(true));
    let main = main_finding(&lossy);
    assert_eq!(
        (main.cause.limit(), main.from),
        (Limit::LossRecovery, End::A),
        "{:#?}",
        lossy.main().findings
    );
    assert!(main.evidence.iter().any(|evidence| evidence.slug() == "awaited-data"), "{:#?}", main.evidence);
    assert!(main.evidence.iter().any(|evidence| evidence.slug() == "retransmitted"), "{:#?}", main.evidence);
    assert_eq!(lossy.main().from, End::B);
    let late = report(&requests(false));
    assert_eq!(main_finding(&late).cause, Cause::ThinkTime, "{:#?}", late.main().findings);
    expect_none(&late, Cause::TailLoss);
}

/// Next to B, whose window begins with 64 kB, and whose program then reads 8 kB every 33 ms: its kernel acknowledges only
/// then.
fn paced_reader() -> Vec<Passed> {
    let mut lines = Lines::default();
    let mut sent = 1;
    for nth in 0..44 {
        lines.add(41_000 + nth * 100, format!("> . {sent}:{}(1460) ack 1 win 502", sent + 1_460));
        sent += 1_460;
        if nth % 2 == 1 {
            lines.add(41_010 + nth * 100, format!("< . 1:1(0) ack {sent} win {}", 512 - 8 * nth));
        }
    }
    for turn in 0..90 {
        let at = 80_000 + turn * 33_000;
        for nth in 0..6 {
            lines.add(at + nth * 400, format!("> . {sent}:{}(1460) ack 1 win 502", sent + 1_460));
            sent += 1_460;
        }
        lines.add(at + 32_000, format!("< . 1:1(0) ack {sent} win {}", 160 + turn % 3 * 8));
    }
    lines.passed(&handshake_from_afar())
}

#[test]
fn late_acks_of_a_shrunk_window_are_the_readers() {
    expect(&report(&paced_reader()), Cause::SlowReader, "window-shrank");
}

/// A window of 64 kB, over an RTT of 40 ms and a path of so many bytes each millisecond.
fn windowed(rate: i64) -> Vec<Passed> {
    let window = Box::new(|_, _| 44 * MSS);
    transfer(Setup { amount: 6_000_000, rate, window, scale: 3, until: 5_000 * MS, ..Setup::default() }).a
}

#[test]
fn window_beyond_a_full_path_is_no_limit() {
    let full = report(&windowed(250));
    assert_eq!(main_finding(&full).cause.limit(), Limit::Path, "{:#?}", full.main().findings);
    let small = report(&windowed(3_000));
    assert_eq!(main_finding(&small).cause, Cause::ReceiveBufferTooSmall, "{:#?}", small.main().findings);
}

#[test]
fn window_of_two_segments_closes_without_a_slow_reader() {
    let mut lines = Lines::default();
    let begin = "0.000000 > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7> // frame 0 id 101 ttl 64
                 0.020100 < S. 0:0(0) ack 1 win 1152 <mss 1460,sackOK,wscale 0> // frame 0 id 0 ttl 63
                 0.020150 > . 1:1(0) ack 1 win 502 // frame 0 id 102 ttl 64\n";
    for nth in 0..200 {
        let (at, start) = (21_000 + nth * 20_300, 1 + nth * 576);
        lines.add(at, format!("> . {start}:{}(576) ack 1 win 502", start + 576));
        lines.add(at + 20_200, format!("< . 1:1(0) ack {} win 576", start + 576));
    }
    let report = report(&lines.passed(begin));
    expect(&report, Cause::ReceiveBufferTooSmall, "window-filled");
}

/// A receiver with room for one segment, which its program reads 30 ms after it came: an ACK closes the window, and another opens
/// it.
#[test]
fn reader_of_a_tiny_buffer_is_slow() {
    let mut lines = Lines::default();
    let begin = "0.000000 > S 0:0(0) win 64240 <mss 1460,sackOK> // frame 0 id 101 ttl 64
                 0.014500 < S. 0:0(0) ack 1 win 2920 <mss 1460,sackOK> // frame 0 id 0 ttl 63
                 0.014550 > . 1:1(0) ack 1 win 64240 // frame 0 id 102 ttl 64\n";
    for nth in 0..100 {
        let (at, start) = (21_000 + nth * 90_000, 1 + nth * 1_460);
        lines.add(at, format!("> . {start}:{}(1460) ack 1 win 64240", start + 1_460));
        lines.add(at + 58_000, format!("< . 1:1(0) ack {} win 0", start + 1_460));
        lines.add(at + 89_900, format!("< . 1:1(0) ack {} win 1460", start + 1_460));
    }
    expect_mainly(&lines.passed(begin), Cause::SlowReader);
}

/// Far from A, which sends data for a second. Then RSTs of A come that no abort sends: at once, or after a pause.
fn vanished(pause: i64) -> Vec<Passed> {
    let mut lines = Lines::default();
    let mut sent = 1;
    for pair in 0..500 {
        let at = 81_000 + pair * 2_000;
        lines.add(at, format!("> . {sent}:{}(1460) ack 1 win 502", sent + 1_460));
        lines.add(at + 1, format!("> P. {}:{}(1460) ack 1 win 502", sent + 1_460, sent + 2_920));
        sent += 2_920;
        lines.add(at + 10, format!("< . 1:1(0) ack {sent} win 509"));
    }
    let at = 81_000 + 500 * 2_000 + pause;
    if pause > 0 {
        lines.add(at, format!("< P. 1:101(100) ack {sent} win 509"));
    }
    lines.add(
        at + 40_000 * i64::from(pause > 0),
        format!("> R {sent}:{sent}(0) win 0 // frame 0 id 0 ttl 63"),
    );
    lines.passed(&handshake_from_afar())
}

#[test]
fn host_that_was_still_sending_may_have_closed_the_connection() {
    let confidence = |pause| {
        let report = report(&vanished(pause));
        let unknown = report.main().findings.iter().find(|finding| finding.cause == Cause::ResetUnknown);
        let headline = headline::main_finding(&report).expect("a finding").cause;
        (unknown.expect("a reset").confidence, headline == Cause::ResetUnknown)
    };
    assert_eq!(confidence(0), (Confidence::Medium, false));
    assert_eq!(confidence(4_000_000), (Confidence::High, true));
}

#[test]
fn steady_flight_below_the_initial_window_is_not_determined_from_afar() {
    let mut lines = Lines::default();
    let mut sent = 1;
    for turn in 0..100 {
        for pair in 0..4 {
            let at = 81_000 + turn * 41_000 + pair * 1_000;
            lines.add(at, format!("> . {sent}:{}(1460) ack 1 win 502", sent + 1_460));
            lines.add(at + 300, format!("> P. {}:{}(1460) ack 1 win 502", sent + 1_460, sent + 2_920));
            sent += 2_920;
            lines.add(at + 310, format!("< . 1:1(0) ack {sent} win 509"));
        }
    }
    let report = report(&lines.passed(&handshake_from_afar()));
    assert_eq!(main_finding(&report).cause, Cause::Undetermined, "{:#?}", report.main().findings);
}

/// Next to B, which answers after 2.5 s and closes. A had closed after a second, and answers the data, if `resets`, with a
/// RST; otherwise with an ACK, and with a RST when all is over.
fn given_up(resets: bool) -> Vec<Passed> {
    let mut lines = Lines::default();
    lines.add(40_200, "> P. 1:201(200) ack 1 win 502");
    lines.add(40_210, "< . 1:1(0) ack 201 win 508");
    lines.add(1_041_000, "> F. 201:201(0) ack 1 win 502");
    lines.add(1_041_010, "< . 1:1(0) ack 202 win 508");
    lines.add(2_540_000, "< P. 1:1001(1000) ack 202 win 508");
    lines.add(2_540_100, "< F. 1001:1001(0) ack 202 win 508");
    if !resets {
        lines.add(2_580_000, "> . 202:202(0) ack 1002 win 502");
    }
    lines.add(2_580_100, "> R 202:202(0) win 0 // frame 0 id 0 ttl 63");
    lines.passed(&handshake_from_afar())
}

#[test]
fn rst_after_both_fins_is_reported_if_data_was_lost() {
    let closed = |resets| {
        let report = report(&given_up(resets));
        report.main().findings.iter().any(|finding| finding.cause == Cause::ResetClosed)
    };
    assert!(closed(true));
    assert!(!closed(false));
}

/// On a router that is next to B: each segment on its way in, and again on its way out 30 ms later, if it waits in a queue
/// there; otherwise at once.
fn on_a_router(waits: bool) -> Vec<Passed> {
    let mut lines = Lines::default();
    let mut sent = 1;
    for burst in 0..100 {
        let at = 81_000 + burst * 30_000;
        let out = at + if waits { 29_000 } else { 10 };
        for nth in 0..6 {
            let segment = format!("> P. {sent}:{}(1460) ack 1 win 502", sent + 1_460);
            let id = 500 + burst * 6 + nth;
            lines.add(at + nth * 20, format!("{segment} // frame 0 id {id} ttl 63"));
            lines.add(out + nth * 20, format!("{segment} // frame 0 id {id} ttl 62"));
            sent += 1_460;
        }
        lines.add(
            at + 29_500,
            format!("< . 1:1(0) ack {sent} win {} // frame 0 id {} ttl 64", 509 + burst, 7_000 + burst),
        );
    }
    lines.passed(&handshake_from_afar())
}

#[test]
fn acks_are_late_from_the_last_copy_of_a_segment_on() {
    expect_none(&report(&on_a_router(true)), Cause::AcksHeldBack);
    let late = report(&on_a_router(false));
    assert_eq!(main_finding(&late).cause, Cause::AcksHeldBack, "{:#?}", late.main().findings);
}

/// A has sent ten segments and closes. Its FIN is retransmitted so often, and then B closes without having seen it.
fn unanswered_fin(times: i64) -> Vec<Passed> {
    let mut lines = Lines::default();
    for nth in 0..10 {
        lines.add(
            41_000 + nth,
            format!("> . {}:{}(1460) ack 1 win 502", 1 + nth * 1_460, 1_461 + nth * 1_460),
        );
    }
    lines.add(81_000, "< . 1:1(0) ack 14601 win 509");
    for nth in 0..=times {
        lines.add(100_000 + nth * nth * 300_000, "> F. 14601:14601(0) ack 1 win 502");
    }
    lines.add(9_000_000, "< F. 1:1(0) ack 14601 win 509");
    lines.passed(&handshake())
}

#[test]
fn fin_retransmitted_in_vain_is_not_an_idle_sender() {
    expect(&report(&unanswered_fin(5)), Cause::PeerGone, "fin-unanswered");
    expect_none(&report(&unanswered_fin(1)), Cause::PeerGone);
}

#[test]
fn fin_with_data_to_an_end_that_is_gone_has_the_evidence_of_both() {
    let mut lines = Lines::default();
    lines.add(41_000, "> . 1:1461(1460) ack 1 win 502");
    lines.add(81_000, "< . 1:1(0) ack 1461 win 509");
    for nth in 0..6 {
        lines.add(100_000 + nth * nth * 300_000, "> FP. 1461:1661(200) ack 1 win 502");
    }
    let report = report(&lines.passed(&handshake()));
    expect(&report, Cause::PeerGone, "fin-unanswered");
    expect(&report, Cause::PeerGone, "peer-silent");
}

/// Next to B, whose window falls from 64 to 24 kB once and is the same from then on. Over an RTT of 40 ms, A sends a window
/// each RTT, or each other one, since B reads only then.
fn clamped(every: i64) -> Vec<Passed> {
    let mut lines = Lines::default();
    let mut sent = 1;
    for turn in 0..120 {
        let field = if turn < 2 { 512 } else { 184 };
        let at = 41_000 + turn * every;
        for nth in 0..16 {
            lines.add(at + nth * 100, format!("> . {sent}:{}(1460) ack 1 win 502", sent + 1_460));
            sent += 1_460;
            if nth % 2 == 1 {
                let late = if every > 41_000 && turn >= 2 { every - 41_000 } else { 10 };
                lines.add(at + nth * 100 + late, format!("< . 1:1(0) ack {sent} win {field}"));
            }
        }
    }
    lines.passed(&handshake_from_afar())
}

#[test]
fn window_that_shrank_once_and_is_used_up_each_rtt_is_too_small() {
    let clamp = report(&clamped(41_000));
    assert_eq!(main_finding(&clamp).cause, Cause::ReceiveBufferTooSmall, "{:#?}", clamp.main().findings);
    let slow = report(&clamped(82_000));
    assert_eq!(main_finding(&slow).cause, Cause::SlowReader, "{:#?}", slow.main().findings);
}

/// A window of 64 kB that 13 bytes of B open by a segment each millisecond; over 40 ms, next to A.
fn sliding() -> Vec<Passed> {
    let mut lines = Lines::default();
    let (mut sent, mut spoken) = (1, 1);
    for nth in 0..44 {
        lines.add(50_000 + nth * 900, format!("> . {sent}:{}(1460) ack 1 win 502", sent + 1_460));
        sent += 1_460;
    }
    for nth in 0..3_000 {
        let (at, acked) = (90_000 + nth * 1_000, 1 + (nth + 1) * 1_460);
        lines.add(at, format!("< P. {spoken}:{}(13) ack {acked} win 4000", spoken + 13));
        spoken += 13;
        lines.add(at + 20, format!("> . {sent}:{}(1460) ack {spoken} win 502", sent + 1_460));
        sent += 1_460;
    }
    lines.passed(&handshake())
}

/// A window of 64 KiB that 13 bytes of B open by a quarter every 10 ms, in jumbo frames.
fn sliding_in_jumbo_frames() -> Vec<Passed> {
    const QUARTER: i64 = 16_384;
    let mut lines = Lines::default();
    let (mut sent, mut spoken) = (1, 1);
    for nth in -4..300 {
        let at = 90_000 + nth * 10_000;
        if nth >= 0 {
            let acked = 1 + (nth + 1) * QUARTER;
            lines.add(at, format!("< P. {spoken}:{}(13) ack {acked} win 4000", spoken + 13));
            spoken += 13;
        }
        for (after, len) in [(20, 8_960), (30, QUARTER - 8_960)] {
            lines.add(at + after, format!("> P. {sent}:{}({len}) ack {spoken} win 502", sent + len));
            sent += len;
        }
    }
    lines.passed(&handshake().replace("mss 1460", "mss 8960"))
}

#[test]
fn window_of_the_application_that_slides_is_no_turns() {
    expect_mainly(&sliding_in_jumbo_frames(), Cause::ProtocolWindow);
    let report = report(&sliding());
    assert_eq!(main_finding(&report).cause, Cause::ProtocolWindow, "{:#?}", report.main().findings);
}

/// Next to A, over 40 ms: each ACK of two segments lets out two. `first` segments are in flight in the first five RTTs, and
/// 20 from then on, without a loss.
fn held_down(first: i64) -> Vec<Passed> {
    let mut lines = Lines::default();
    let mut sent = 1;
    for turn in 0..80 {
        let (begin, flight) = (50_000 + turn * 40_000, if turn < 5 { first } else { 20 });
        for pair in 0..flight / 2 {
            let at = begin + pair * 40_000 / flight;
            lines.add(at, format!("> . {sent}:{}(1460) ack 1 win 502", sent + 1_460));
            lines.add(at + 1, format!("> . {}:{}(1460) ack 1 win 502", sent + 1_460, sent + 2_920));
            sent += 2_920;
            lines.add(at + 39_990, format!("< . 1:1(0) ack {sent} win 8000"));
        }
    }
    lines.passed(&handshake())
}

#[test]
fn window_below_an_earlier_flight_without_loss_is_not_stuck() {
    let fell = report(&held_down(200));
    let stuck = fell.main().findings.iter().find(|finding| finding.cause == Cause::EarlyExit);
    assert!(stuck.is_none_or(|stuck| stuck.share < 0.2), "{stuck:#?}");
    expect_mainly(&held_down(20), Cause::EarlyExit);
    // Without the SYNs, the window may be smaller than it seems, and the limit.
    expect_none(&report(&held_down(20)[3..]), Cause::EarlyExit);
}

/// Each grant of the receiver lets out 32 KB, 0.5 ms later: the program had to wake up. Two ACKs come in between.
#[test]
fn credit_shows_though_the_program_has_to_wake_up() {
    const WRITE: u32 = 22 * 1460 + 500;
    let mut lines = handshake();
    for n in 0..60 {
        let (at, granted, sent) = (0.05 + 0.05 * f64::from(n), 1 + 36 * n, 1 + WRITE * n);
        let acked = sent - if n > 0 { 1460 } else { 0 };
        lines += &format!(
            "{at:.6} < P. {granted}:{}(36) ack {acked} win 2000\n{:.6} < . {g}:{g}(0) ack {acked} win 2000\n\
             {:.6} < . {g}:{g}(0) ack {sent} win 2000\n",
            granted + 36,
            at + 0.000_1,
            at + 0.000_4,
            g = granted + 36,
        );
        let mut from = sent;
        while from < sent + WRITE {
            let to = (from + 1460).min(sent + WRITE);
            let left = at + 0.000_5 + 0.000_003 * f64::from((from - sent) / 1460);
            lines += &format!("{left:.6} > . {from}:{to}({}) ack {} win 502\n", to - from, granted + 36);
            from = to;
        }
    }
    expect_mainly(&script(&lines), Cause::ProtocolWindow);
}

/// A writes its request in two parts, and Nagle's algorithm holds the second back until the ACK of the first, which is
/// delayed. B moves more data, and waits for the request.
#[test]
fn request_held_back_by_nagle_is_not_thought() {
    let mut lines = Lines::default();
    for turn in 0..60 {
        let (at, asked, answered) = (100_000 + turn * 70_000, 1 + 160 * turn, 1 + 600 * turn);
        lines.add(at, format!("> P. {asked}:{}(100) ack {answered} win 502", asked + 100));
        lines.add(at + 42_000, format!("< . {answered}:{answered}(0) ack {} win 509", asked + 100));
        lines.add(at + 42_020, format!("> P. {}:{}(60) ack {answered} win 502", asked + 100, asked + 160));
        lines
            .add(at + 44_000, format!("< P. {answered}:{}(600) ack {} win 509", answered + 600, asked + 160));
    }
    let found = report(&lines.passed(&handshake()));
    let main = headline::main_finding(&found).expect("a finding");
    assert_eq!((main.cause, main.from), (Cause::NagleDelayedAck, End::A), "{:#?}", found.main().findings);
}

/// A request of 36 bytes asks for an answer of 17 KB, after the answer before has arrived.
#[test]
fn short_answer_to_a_short_request_is_no_credit() {
    const ANSWER: u32 = 11 * 1460 + 700;
    let mut lines = handshake();
    for n in 0..60 {
        let (at, asked, sent) = (0.05 + 0.05 * f64::from(n), 1 + 36 * n, 1 + ANSWER * n);
        lines += &format!("{at:.6} < P. {asked}:{}(36) ack {sent} win 2000\n", asked + 36);
        for nth in 0..12 {
            let (from, to) = (sent + 1460 * nth, (sent + 1460 * (nth + 1)).min(sent + ANSWER));
            let (left, g) = (at + 0.000_5 + 0.000_003 * f64::from(nth), asked + 36);
            lines += &format!("{left:.6} > . {from}:{to}({}) ack {g} win 502\n", to - from);
        }
        let g = asked + 36;
        lines += &format!("{:.6} < . {g}:{g}(0) ack {} win 2000\n", at + 0.041, sent + ANSWER);
    }
    expect_mainly(&script(&lines), Cause::ThinkTime);
}

/// A program sets its receive buffer after it has accepted the connection: the window falls once. From then on it is the same,
/// in whole units of the window scale.
#[test]
fn window_in_whole_units_is_the_same_in_each_rtt() {
    let window = |_: i64, next: u32| match next {
        0..20_000 => 65_280,
        _ if (next / (2 * MSS)).is_multiple_of(2) => 37_888,
        _ => 36_864,
    };
    let taps = transfer(Setup { scale: 10, window: Box::new(window), ..Setup::default() });
    for passed in [&taps.a, &taps.b] {
        expect_mainly(passed, Cause::ReceiveBufferTooSmall);
    }
}

/// Thirty uploads of 22 kB next to A over 40 ms, each as soon as B's answer of so many bytes to the one before comes: this many
/// microseconds after the ACK of all of it.
fn uploads(answer: i64, after: i64) -> Vec<Passed> {
    let mut lines = Lines::default();
    let (mut at, mut sent, mut answered) = (60_000, 1, 1);
    for _ in 0..30 {
        for nth in 0..16 {
            let (end, push) = (sent + if nth < 15 { 1_460 } else { 455 }, if nth < 15 { "" } else { "P" });
            lines.add(at + nth, format!("> {push}. {sent}:{end}({}) ack {answered} win 502", end - sent));
            sent = end;
        }
        lines.add(at + 40_020, format!("< . {answered}:{answered}(0) ack {sent} win 5090"));
        let end = answered + answer;
        lines.add(at + 40_020 + after, format!("< P. {answered}:{end}({answer}) ack {sent} win 5090"));
        answered = end;
        at += 40_120 + after;
    }
    lines.passed(&handshake())
}

/// A few bytes that come when B has had everything for a while are an answer, and so are more than a grant of the whole window
/// takes; those that come with the ACK let A go on.
#[test]
fn upload_that_waits_for_each_answer_is_think_time() {
    for (answer, after, cause) in [
        (40, 20_000, Cause::ThinkTime),
        (120, 20_000, Cause::ThinkTime),
        (120, 100, Cause::ThinkTime),
        (80, 100, Cause::ThinkTime),
        (40, 100, Cause::ProtocolWindow),
    ] {
        let report = report(&uploads(answer, after));
        let main = main_finding(&report);
        assert!(main.cause == cause && main.share > 0.8, "{answer} bytes after {after} us: {main:#?}");
    }
}

/// A mail server that greets 4 s late, and whose greeting is answered at once.
#[test]
fn silence_before_a_greeting_is_of_the_end_that_greets() {
    let mut lines = Lines::default();
    lines.add(4_184_000, "< P. 1:61(60) ack 1 win 509");
    lines.add(4_184_020, "> . 1:1(0) ack 61 win 502");
    for (nth, (start, end)) in (0i64..).zip([(1, 1_461), (1_461, 2_921), (2_921, 3_001)]) {
        lines.add(4_184_100 + nth, format!("> P. {start}:{end}({}) ack 61 win 502", end - start));
    }
    lines.add(4_224_300, "< . 61:61(0) ack 3001 win 509");
    lines.add(4_224_400, "< P. 61:91(30) ack 3001 win 509");
    let report = report(&lines.passed(&handshake()));
    let main = headline::main_finding(&report).expect("a finding");
    assert_eq!((main.cause, main.from), (Cause::ThinkTime, End::A), "{:#?}", report.main().findings);
    assert!(main.share > 0.9, "{main:#?}");
}

/// A request whose answer comes 10 s later, when the client has closed its direction.
#[test]
fn answer_after_the_fin_is_what_was_waited_for() {
    let mut lines = Lines::default();
    lines.add(41_000, "> P. 1:42(41) ack 1 win 502");
    lines.add(81_000, "< . 1:1(0) ack 42 win 509");
    lines.add(9_400_000, "> F. 42:42(0) ack 1 win 502");
    lines.add(9_440_000, "< . 1:1(0) ack 43 win 509");
    lines.add(10_070_000, "< P. 1:42(41) ack 43 win 509");
    expect_mainly(&lines.passed(&handshake()), Cause::ThinkTime);
}

/// Two writes each 450 ms. Nagle's algorithm holds the second one back until the delayed ACK of the first; the delayed ACK of the
/// second lets nothing out.
#[test]
fn ack_that_lets_nothing_out_is_no_wait_for_nagle() {
    let mut lines = Lines::default();
    for nth in 0..20 {
        let (at, start) = (100_000 + nth * 450_000, 1 + nth * 800);
        let (middle, end) = (start + 180, start + 800);
        lines.add(at, format!("> P. {start}:{middle}(180) ack 1 win 513"));
        lines.add(at + 202_000, format!("< . 1:1(0) ack {middle} win 255"));
        lines.add(at + 202_010, format!("> P. {middle}:{end}(620) ack 1 win 513"));
        lines.add(at + 404_050, format!("< . 1:1(0) ack {end} win 255"));
    }
    let report = report(&lines.passed(&handshake()));
    let held = share_of(&report, |cause| cause == Cause::NagleDelayedAck);
    assert!((0.4..0.5).contains(&held), "{held:.2}, {:#?}", report.main().findings);
}

/// A request that is acknowledged and never answered, until the client gives up; and a client that pauses between two writes.
#[test]
fn idle_sender_whose_last_data_got_no_answer_points_at_the_other_end() {
    let advice = |writes: &[i64]| {
        let mut lines = Lines::default();
        for (at, start) in writes.iter().zip((1..).step_by(2_000)) {
            lines.add(*at, format!("> P. {start}:{}(2000) ack 1 win 502", start + 2_000));
            lines.add(at + 40_100, format!("< . 1:1(0) ack {} win 509", start + 2_000));
        }
        let end = 1 + 2_000 * writes.len();
        lines.add(6_300_000, format!("> F. {end}:{end}(0) ack 1 win 502"));
        lines.add(6_340_000, format!("< F. 1:1(0) ack {} win 509", end + 1));
        let report = report(&lines.passed(&handshake()));
        let idle = main_finding(&report).clone();
        assert_eq!(idle.cause, Cause::SenderIdle);
        slowpath_remedies::advise(&idle, &report)[0].text.clone()
    };
    assert!(advice(&[60_000]).contains("the other end did not answer"));
    assert!(!advice(&[60_000, 6_000_000]).contains("the other end did not answer"));
}

/// The client asks again after a pause, in vain: the server answered at once each time before, and has nothing to answer
/// afterwards.
#[test]
fn pause_before_a_request_in_vain_is_not_the_servers() {
    let mut lines = Lines::default();
    for n in 0..6 {
        let (at, start) = (50_000 + 60_000 * n, 1 + 1_000 * n);
        let asked = 1 + 100 * n;
        lines.add(at, format!("> P. {asked}:{}(100) ack {start} win 502", asked + 100));
        lines.add(at + 40_050, format!("< P. {start}:{}(1000) ack {} win 509", start + 1_000, asked + 100));
        lines.add(at + 40_070, format!("> . {0}:{0}(0) ack {1} win 502", asked + 100, start + 1_000));
    }
    for wait in [0, 300, 900, 2_100, 4_500, 9_300] {
        lines.add(4_000_000 + wait * 1_000, "> P. 601:701(100) ack 6001 win 502");
    }
    let report = report(&lines.passed(&handshake()));
    let server = &report.directions[End::B.index()];
    let turns = server.findings.iter().find(|finding| finding.cause == Cause::ThinkTime).expect("turns");
    let took = turns.evidence.iter().find_map(|evidence| match evidence {
        Evidence::TurnsTook { sender, .. } => Some(*sender),
        _ => None,
    });
    assert!(took.is_some_and(|sender| sender.as_millis() < 400), "{turns:#?}");
}

/// Many short turns in one spell are not one long wait, though each request is acknowledged before it is answered.
#[test]
fn many_short_waits_are_not_one_long_wait() {
    let mut lines = Lines::default();
    for n in 0..90 {
        let (at, asked, start) = (50_000 + 57_000 * n, 1 + 30 * n, 1 + 200 * n);
        lines.add(at, format!("> P. {asked}:{}(30) ack {start} win 502", asked + 30));
        lines.add(at + 1_100, format!("< . {start}:{start}(0) ack {} win 509", asked + 30));
        lines.add(at + 44_000, format!("< P. {start}:{}(200) ack {} win 509", start + 200, asked + 30));
    }
    let near = handshake().replace("0.0401", "0.0011");
    let report = report(&lines.passed(&near));
    let turns = main_finding(&report).clone();
    assert_eq!(turns.cause, Cause::ThinkTime);
    let advice = slowpath_remedies::advise(&turns, &report);
    assert!(!advice[0].text.contains("one wait of"), "{}", advice[0].text);
}
