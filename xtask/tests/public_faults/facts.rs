//! Facts that every verdict is based on, in written packets.

use crate::captures::{handshake, handshake_from_afar, one_at_a_time, silent};
use crate::expect;
use crate::transfer::{MSS, Setup, transfer};
use crate::wire::{Passed, count, labels, report, script};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Cause, Confidence, Evidence, Label};
use slowpath_model::{Bytes, End};
use std::time::Duration;

/// A window closes at 2921, and each probe carries the byte there, which the receiver discards. RFC 9293, section
/// 3.8.6.1, asks for that byte; Solaris and Windows send it, Linux sends none.
fn probes_with_a_byte() -> Vec<Passed> {
    let mut lines = handshake();
    lines += "0.050000 > . 1:1461(1460) ack 1 win 502
              0.050010 > P. 1461:2921(1460) ack 1 win 502
              0.090100 < . 1:1(0) ack 2921 win 0\n";
    let (mut at, mut wait) = (0.3, 0.3);
    for _ in 0..5 {
        lines += &format!(
            "{at:.6} > . 2921:2922(1) ack 1 win 502
             {:.6} < . 1:1(0) ack 2921 win 0\n",
            at + 0.0401
        );
        at += wait;
        wait *= 2.0;
    }
    lines += &format!(
        "{at:.6} < . 1:1(0) ack 2921 win 509
         {:.6} > P. 2921:4381(1460) ack 1 win 502
         {:.6} < . 1:1(0) ack 4381 win 509",
        at + 0.0001,
        at + 0.0402
    );
    script(&lines)
}

#[test]
fn one_byte_at_zero_window_edge_is_a_window_probe() {
    let passed = probes_with_a_byte();
    let labels = labels(&passed);
    assert_eq!(count(&labels, End::A, Label::WindowProbe), 5, "{labels:?}");
    assert_eq!(count(&labels, End::A, Label::New), 3, "{labels:?}");
    assert_eq!(report(&passed).main().measures.unique_bytes, Bytes::new(4380));
}

#[test]
fn zero_window_found_by_one_byte_probes_is_the_readers() {
    expect(&report(&probes_with_a_byte()), Cause::ReaderStopped, "window-closed");
}

/// Karn's algorithm (RFC 6298, section 3): the ACK may be of the original.
#[test]
fn ack_of_a_retransmission_gives_no_rtt_sample() {
    let mut lines = handshake();
    lines += &one_at_a_time(10, 1000, [0.1, 0.1, 0.04], [502, 509]);
    // One ACK comes 1 ms after the retransmission, the other 300 ms after the first of two segments.
    lines += "1.200000 > P. 10001:11001(1000) ack 1 win 502
              1.440000 > P. 10001:11001(1000) ack 1 win 502
              1.441000 < . 1:1(0) ack 11001 win 509
              1.500000 > . 11001:12461(1460) ack 1 win 502
              1.500010 > P. 12461:13461(1000) ack 1 win 502
              1.760000 > . 11001:12461(1460) ack 1 win 502
              1.800000 < . 1:1(0) ack 13461 win 509";
    let rtt = report(&script(&lines)).main().measures.rtt_by_ack;
    // The ten, and the handshake's 40.1 ms.
    let [shortest, longest] = [40_000, 40_100].map(Duration::from_micros);
    assert_eq!((rtt.count, rtt.min, rtt.max), (11, Some(shortest), Some(longest)), "{rtt:?}");
}

/// RFC 6691 asks to subtract the option from what the peer's MSS allows; some stacks do not. Their full segments are as
/// long as the MSS.
#[test]
fn segments_of_full_mss_with_timestamps_are_not_super_packets() {
    let mut lines = "0.000000 > S 0:0(0) win 64240 <mss 1392,sackOK,TS val 7000 ecr 0,wscale 7>
         0.040100 < S. 0:0(0) ack 1 win 65160 <mss 1392,sackOK,TS val 4000 ecr 7000,wscale 7>
         0.040150 > . 1:1(0) ack 1 win 502 <TS val 7040 ecr 4000>\n"
        .to_owned();
    for n in 0..50 {
        let (at, start) = (f64::from(n).mul_add(0.05, 0.1), 1 + n * 1392);
        let (now, then) = (7_100 + 50 * n, 4_100 + 50 * n);
        lines += &format!(
            "{at:.6} > P. {start}:{}(1392) ack 1 win 502 <TS val {now} ecr {}>
             {:.6} < . 1:1(0) ack {} win 509 <TS val {then} ecr {now}>\n",
            start + 1392,
            then - 50,
            at + 0.040,
            start + 1392
        );
    }
    let report = report(&script(&lines));
    let measures = &report.main().measures;
    assert_eq!((measures.super_packets, measures.mss_seen, measures.data_packets), (0, 1392, 50));
    let taps = transfer(Setup { offload: 4, ..Setup::default() });
    let measures = crate::wire::report(&taps.a).main().measures.clone();
    assert!(measures.super_packets > 100, "{measures:?}");
}

/// Hosts that count identifications for all their connections leave gaps in each; so do those with random ones.
fn with_ids(passed: &[Passed], mut id: impl FnMut(u16) -> u16) -> Vec<Passed> {
    let ids = passed.iter().map(|&(at, mut segment)| {
        if segment.from == End::A {
            segment.ip.id = segment.ip.id.map(&mut id);
            segment.ip.ttl += 64;
        }
        (at, segment)
    });
    ids.collect()
}

#[test]
fn in_order_data_is_new_for_any_ip_ids() {
    let taps = transfer(Setup { amount: 1_000_000, ..Setup::default() });
    for passed in [&taps.a, &taps.b] {
        let (mut host, mut chance) = (0u16, 1u32);
        let per_host = with_ids(passed, |id| {
            // Other connections take a few now and then, and 300 at times.
            host += if id.is_multiple_of(97) {
                300
            } else if id.is_multiple_of(5) {
                4
            } else {
                0
            };
            id.wrapping_add(host)
        });
        let at_random = with_ids(passed, |_| {
            chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (chance >> 16) as u16
        });
        let swapped = with_ids(passed, u16::swap_bytes);
        let none = with_ids(passed, |_| 0);
        for passed in [per_host, at_random, swapped, none] {
            let labels = labels(&passed);
            assert_eq!(count(&labels, End::A, Label::New), 1_000_000usize.div_ceil(MSS as usize));
            assert_eq!(labels.len(), 1_000_000usize.div_ceil(MSS as usize), "only new data");
            let sent = report(&passed).main().measures.clone();
            assert!(sent.recoveries == 0 && sent.lost_share().is_none_or(|lost| lost == 0.0), "{sent:?}");
        }
    }
}

/// 80 queries, each sent when the answer to the previous one arrives, seen this long after A and before B. The answer
/// carries the ACK of its query, and the next query the ACK of that answer: there is no pure ACK.
fn queries(after_a: f64, before_b: f64) -> Vec<Passed> {
    let mut lines = format!(
        "{:.6} > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7>
         {:.6} < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,wscale 7>
         {:.6} > . 1:1(0) ack 1 win 502\n",
        after_a,
        after_a + 2.0 * before_b + 0.0001,
        3.0 * after_a + 2.0 * before_b + 0.00015,
    );
    for n in 0..80 {
        let (query, answer) = (1 + 60 * n, 1 + 200 * n);
        let at = f64::from(n).mul_add(0.0405, 0.05) + after_a;
        lines += &format!(
            "{at:.6} > P. {query}:{}(60) ack {answer} win 502
             {:.6} < P. {answer}:{}(200) ack {} win 509\n",
            query + 60,
            at + 2.0 * before_b + 0.0002,
            answer + 200,
            query + 60
        );
    }
    script(&lines)
}

#[test]
fn responses_with_piggybacked_acks_are_think_time() {
    for (after_a, before_b) in [(0.0, 0.02), (0.02, 0.0), (0.008, 0.012)] {
        expect(&report(&queries(after_a, before_b)), Cause::ThinkTime, "silence");
    }
}

/// After a full segment, silence at the receiver means an idle sender only if nothing can have been lost or late.
#[test]
fn silence_after_a_full_segment_is_idle_only_if_nothing_is_missing() {
    for (numbered, cause) in [(true, Cause::SenderIdle), (false, Cause::Undetermined)] {
        let report = report(&silent(numbered));
        let silence = report.main().spells.iter().max_by_key(|spell| spell.lasted());
        assert_eq!(silence.map(|spell| spell.cause), Some(cause), "{:#?}", report.main().findings);
    }
}

/// Seen at B, A falls silent for good. If it had sent everything, it was idle or was cut off; behind a full segment,
/// more may have been sent. A FIN shows that there was no more.
#[test]
fn silence_to_the_end_may_be_a_sender_cut_off() {
    let silent_after = |last: &str| {
        let mut lines = handshake_from_afar();
        lines += &one_at_a_time(20, 1460, [0.05, 0.0401, 0.00004], [502, 509]);
        lines += &format!("0.900000 > {last} ack 1 win 502\n");
        let end = if last.starts_with('F') { 29_302 } else { 29_301 };
        lines +=
            &format!("0.900040 < . 1:1(0) ack {end} win 509\n9.000000 < P. 1:101(100) ack {end} win 509\n");
        report(&script(&lines))
    };
    let is_open = |report: &FlowReport| {
        let evidence = report.main().findings.iter().flat_map(|finding| &finding.evidence);
        evidence.filter(|evidence| matches!(evidence, Evidence::SilentToTheEnd { .. })).count() == 1
    };
    let report = silent_after("P. 29201:29301(100)");
    let idle = &report.main().findings[0];
    assert_eq!((idle.cause, idle.confidence), (Cause::SenderIdle, Confidence::Low), "{idle:#?}");
    assert!(is_open(&report));
    let report = silent_after("FP. 29201:29301(100)");
    assert!(!is_open(&report), "{:#?}", report.main().findings);
}

/// On a loopback device a segment may be larger than the window (an MSS of 65,483): small requests do not use it up.
#[test]
fn small_requests_do_not_fill_a_window_below_one_segment() {
    let mut lines = "0.000000 > S 0:0(0) win 43690 <mss 65495,sackOK,wscale 7> // frame 0 id 1 ttl 64
                     0.000025 < S. 0:0(0) ack 1 win 43690 <mss 65495,sackOK,wscale 7> // frame 0 id 0 ttl 64
                     0.000047 > . 1:1(0) ack 1 win 342 // frame 0 id 2 ttl 64\n"
        .to_owned();
    for turn in 0..20 {
        let (at, request, answer) = (0.01 + 0.05 * f64::from(turn), 1 + 300 * turn, 1 + 600 * turn);
        lines += &format!(
            "{at:.6} > P. {request}:{}(300) ack {answer} win 342 // frame 0 id {} ttl 64
             {:.6} < P. {answer}:{}(600) ack {} win 342 // frame 0 id {} ttl 64\n",
            request + 300,
            3 + turn,
            at + 0.01,
            answer + 600,
            request + 300,
            100 + turn
        );
    }
    let report = report(&script(&lines));
    assert!(report.directions.iter().all(|direction| {
        let mut findings = direction.findings.iter();
        findings.all(|finding| finding.cause.limit() != slowpath_analyses::Limit::ReceiveWindow)
    }));
    assert_eq!(report.main().findings[0].cause, Cause::ThinkTime);
}

/// The first packet is a super-packet of two segments: options explain no more than 40 bytes.
#[test]
fn super_packet_is_not_taken_for_the_full_segment_size() {
    let lines = "0.000000 > S 0:0(0) win 64240 <mss 536,sackOK,TS val 7000 ecr 0,wscale 7> // frame 0 id 1 ttl 64
                 0.040000 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val 9000 ecr 7000,wscale 7> // frame 0 id 0 ttl 63
                 0.040050 > . 1:1(0) ack 1 win 502 <TS val 7040 ecr 9000> // frame 0 id 2 ttl 64
                 0.040100 > P. 1:1049(1048) ack 1 win 502 <TS val 7040 ecr 9000> // frame 0 id 3 ttl 64
                 0.040120 > P. 1049:1573(524) ack 1 win 502 <TS val 7040 ecr 9000> // frame 0 id 5 ttl 64
                 0.080200 < . 1:1(0) ack 1573 win 509 <TS val 9040 ecr 7040> // frame 0 id 9 ttl 63\n";
    let measures = report(&script(lines)).main().measures.clone();
    assert_eq!((measures.mss_seen, measures.super_packets), (524, 1));
}

/// ACKs of data arrive for 400 ms in which the sender has nothing new to send, and trigger a fast retransmission.
#[test]
fn retransmission_triggered_by_ack_after_silence_is_not_an_rto() {
    let mut lines = handshake();
    for nth in 0..10 {
        let seq = 1 + 1460 * nth;
        lines += &format!("0.05{nth:04} > . {seq}:{}(1460) ack 1 win 502\n", seq + 1460);
    }
    for (at, ack) in [(0.0906, 1461), (0.2, 2921), (0.35, 4381), (0.5, 5841)] {
        lines += &format!("{at:.6} < . 1:1(0) ack {ack} win 509 <sack 13141:14601>\n");
    }
    lines += "0.500100 > . 5841:7301(1460) ack 1 win 502
              0.540300 < . 1:1(0) ack 14601 win 509\n";
    let report = report(&script(&lines));
    let measures = &report.main().measures;
    assert_eq!((measures.recoveries, measures.timeouts), (1, 0), "{measures:#?}");
}

/// The last segment is retransmitted after the RTO, and once more. With SACK, the first timer that expires is the one of a tail loss
/// probe, which takes no longer than the RTO. Without SACK, or if the next timer takes twice as long, it is the RTO.
#[test]
fn tail_loss_probe_is_no_timeout() {
    let timeouts = |sack: &str, waits: &[f64]| {
        let mut lines = format!(
            "0.000000 > S 0:0(0) win 64240 <mss 1460{sack},wscale 7> // frame 0 id 101 ttl 64
             0.040000 < S. 0:0(0) ack 1 win 65160 <mss 1460{sack},wscale 7> // frame 0 id 0 ttl 63
             0.040040 > . 1:1(0) ack 1 win 502 // frame 0 id 102 ttl 64
             0.050000 > P. 1:301(300) ack 1 win 502 // frame 0 id 103 ttl 64
             0.090000 < . 1:1(0) ack 301 win 509 // frame 0 id 1 ttl 63
             0.100000 > P. 301:601(300) ack 1 win 502 // frame 0 id 104 ttl 64\n"
        );
        let mut at = 0.1;
        for (nth, wait) in waits.iter().enumerate() {
            at += wait;
            lines += &format!("{at:.6} > P. 301:601(300) ack 1 win 502 // frame 0 id {} ttl 64\n", 105 + nth);
        }
        lines += &format!("{:.6} < . 1:1(0) ack 601 win 509 // frame 0 id 2 ttl 63\n", at + 0.04);
        report(&script(&lines)).main().measures.timeouts
    };
    let (once, probed, backed_off) = ([0.241], [0.241, 0.241], [0.241, 0.482]);
    let of = |sack| [&once[..], &probed, &backed_off].map(|waits| timeouts(sack, waits));
    assert_eq!(of(",sackOK"), [0, 1, 2]);
    assert_eq!([timeouts("", &once), timeouts("", &backed_off)], [1, 2]);
}
