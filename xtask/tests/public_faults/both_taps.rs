//! Written packets as two taps see them, by one clock or by two: the clocks, the one-way delays, and late ACKs that are
//! reported.

use crate::captures::{self, losing};
use crate::transfer::{MS, Setup, Taps, transfer};
use crate::wire::{ENDS, Frame, Passed, collected, file_of, frames, report, script};
use slowpath_analyses::pairing::clock::Basis;
use slowpath_analyses::pairing::{Pairing, pair, verdict};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Cause, Evidence, Limit};
use slowpath_model::{End, Instant};
use std::time::Duration;

/// How far the second tap's clock is ahead of the first's: not at all, by half an hour, and with drift.
pub const CLOCKS: [fn(i64) -> i64; 3] = [|_| 0, |_| 1_800_000 * MS, |at| 5_000 * MS + at / 20_000];

/// Both taps' frames of several transfers, each between its own ports and from a given instant on.
pub fn files(transfers: &[(&Taps, i64)], ahead: fn(i64) -> i64) -> [Vec<u8>; 2] {
    let file = |tap: fn(&Taps) -> &[Passed], ahead: &dyn Fn(i64) -> i64| {
        let mut all: Vec<Frame> = Vec::new();
        for ((taps, from), port) in transfers.iter().zip(41_001..) {
            let at = |at: Instant| at.nanos() + from;
            let passed: Vec<Passed> = tap(taps)
                .iter()
                .map(|(when, segment)| (Instant::from_nanos(at(*when) + ahead(at(*when))), *segment))
                .collect();
            all.extend(frames(&passed, [(ENDS[0].0, port), ENDS[1]]));
        }
        all.sort_by_key(|frame| frame.at);
        file_of(&all)
    };
    [file(|taps| &taps.a, &|_| 0), file(|taps| &taps.b, &ahead)]
}

/// The merged report of both, with the flows as in the sender's.
pub fn compared(transfers: &[(&Taps, i64)], ahead: fn(i64) -> i64) -> (Pairing, Vec<FlowReport>) {
    let [(one, sent), (other, received)] = files(transfers, ahead).map(collected);
    let pairing = pair(&one, &other).expect("flows in common");
    let (base, flows) = verdict::merge_all(&pairing, [sent, received]);
    assert_eq!(base, 0, "A sends");
    (pairing, flows)
}

/// Asserts that a direction's least delay is `least`, within the reported uncertainty.
#[track_caller]
fn expect_least(pairing: &Pairing, flow: usize, from: End, least: i64) {
    let way = pairing.flows[flow].directions[from.index()].delay.as_ref().expect("delays");
    let off = i64::try_from(way.uncertainty.as_nanos()).unwrap();
    assert!(
        way.delay.min_ns >= 0 && (way.delay.min_ns - least).abs() <= off + 2_000,
        "{way:?} {:?}",
        pairing.clocks
    );
}

/// 10 Mbit/s: a SYN takes 53 µs.
fn narrow(one_way: i64) -> Taps {
    transfer(Setup { amount: 4_000_000, rate: 1_250, one_way, ..Setup::default() })
}

#[test]
fn lan_queue_is_on_the_path_not_at_the_receiver() {
    let taps = narrow(20_000);
    for (n, clock) in CLOCKS.into_iter().enumerate() {
        let (pairing, flows) = compared(&[(&taps, 0)], clock);
        let clocks = pairing.clocks.as_ref().unwrap();
        assert_eq!(clocks.stretches.len(), 1, "{clocks:?}");
        let basis = if n == 0 { Basis::EqualClocks } else { Basis::EqualWays };
        assert_eq!(clocks.stretches[0].basis, basis, "{clocks:?}");
        expect_least(&pairing, 0, End::A, 73_000);
        expect_least(&pairing, 0, End::B, 20_000);
        let back = &pairing.flows[0].directions[1].delay.as_ref().unwrap().delay;
        assert!(back.p95_ns < 200_000, "the queue is on the other way: {back:?}");
        let late = flows[0].main().findings.iter().find(|f| f.cause.limit() == Limit::ReceiverProcessing);
        assert!(late.is_none(), "{:#?}", flows[0].main().findings);
        assert_eq!(flows[0].main().findings[0].cause.limit(), Limit::Path, "{:#?}", flows[0].main().findings);
    }
}

#[test]
fn handshake_of_another_flow_bounds_the_clock_offset() {
    // The captures start when the queue stands, and end before it drains.
    let whole = narrow(10 * MS);
    let within = |passed: &[Passed]| -> Vec<Passed> {
        let queued = passed.iter().filter(|(at, _)| (800 * MS..2_500 * MS).contains(&at.nanos()));
        queued.copied().collect()
    };
    let queued = Taps { a: within(&whole.a), b: within(&whole.b) };
    let other = transfer(Setup { amount: 20_000, one_way: 10 * MS, ..Setup::default() });
    for clock in CLOCKS {
        let (alone, _) = compared(&[(&queued, 0)], clock);
        let (both, _) = compared(&[(&queued, 0), (&other, 1_500 * MS)], clock);
        let uncertainty = |pairing: &Pairing| pairing.clocks.as_ref().unwrap().uncertainty();
        // The flow alone cannot show half of what a queue adds.
        assert!(uncertainty(&alone) > Duration::from_millis(50), "{:?}", alone.clocks);
        assert!(uncertainty(&both) < Duration::from_millis(11), "{:?}", both.clocks);
        // In the first, the receiver's ACK came first, so the receiver is A.
        expect_least(&both, 0, End::A, 10 * MS);
        expect_least(&both, 1, End::A, 10 * MS);
        expect_least(&both, 1, End::B, 10 * MS);
        for pairing in [&alone, &both] {
            let delays = pairing.flows.iter().flat_map(|pair| &pair.directions).flat_map(|way| &way.delay);
            assert!(delays.clone().count() > 0 && delays.clone().all(|way| way.delay.min_ns >= 0));
        }
    }
}

#[test]
fn late_acks_at_the_receiver_stay_the_receivers() {
    let taps = captures::unread(10 * MS);
    let own = |flow: &FlowReport| -> Duration {
        let findings = flow.main().findings.iter();
        findings.filter(|f| f.cause.limit() == Limit::ReceiverProcessing).map(|f| f.lasted).sum()
    };
    let (_, flows) = compared(&[(&taps, 0)], CLOCKS[0]);
    let received = &collected(files(&[(&taps, 0)], CLOCKS[0])[1].clone()).1[0];
    assert!(own(&flows[0]) >= own(received) / 2, "{:?} {:?}", own(&flows[0]), own(received));
}

/// A download that the client, A, opens with its second SYN: the server's recording does not have the first. `lag` is how
/// much later than at its sender a packet passes, from A and from B.
fn download_after_a_lost_syn(lag: [f64; 2], has_first: bool) -> Vec<Passed> {
    let [forth, back] = lag;
    let syn = "S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7>";
    let first =
        if has_first { format!("0.000000 > {syn} // frame 0 id 101 ttl 64\n") } else { String::new() };
    let mut lines = format!(
        "{first}{:.6} > {syn} // frame 0 id 102 ttl 64
         {:.6} < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,wscale 7> // frame 0 id 0 ttl 64
         {:.6} > . 1:1(0) ack 1 win 502 // frame 0 id 103 ttl 64
         {:.6} > P. 1:301(300) ack 1 win 502 // frame 0 id 104 ttl 64\n",
        1.0 + forth,
        1.02 + back,
        1.04 + forth,
        1.0401 + forth
    );
    for n in 0..8 {
        let (at, from) = (1.0602 + 0.0001 * f64::from(n), 1 + 1460 * n);
        lines += &format!(
            "{:.6} < . {from}:{}(1460) ack 301 win 509 // frame 0 id {} ttl 64\n",
            at + back,
            from + 1460,
            n + 1
        );
    }
    for n in 1..=4 {
        let at = 1.0804 + 0.0002 * f64::from(n) + forth;
        lines += &format!(
            "{at:.6} > . 301:301(0) ack {} win 502 // frame 0 id {} ttl 64\n",
            1 + 2920 * n,
            104 + n
        );
    }
    script(&lines)
}

#[test]
fn syn_lost_before_one_recording_counts_in_both() {
    let taps = Taps {
        a: download_after_a_lost_syn([0.0, 0.02], true),
        b: download_after_a_lost_syn([0.02, 0.0], false),
    };
    let [(one, at_a), (other, at_b)] = files(&[(&taps, 0)], CLOCKS[0]).map(collected);
    let pairing = pair(&one, &other).expect("flows in common");
    let (base, flows) = verdict::merge_all(&pairing, [at_a, at_b]);
    assert_eq!(base, 1, "B sends");
    let finding = &flows[0].main().findings[0];
    assert_eq!(finding.cause, Cause::SynLost, "{:#?}", flows[0].main().findings);
    assert!(finding.share > 0.8 && flows[0].opening.retransmitted == 1, "{finding:#?}");
}

/// Nothing that A sends after the handshake arrives: B's recording alone does not show that it sends anything.
#[test]
fn data_that_never_arrives_is_judged_where_it_was_sent() {
    let taps = transfer(Setup {
        amount: 100_000,
        until: 8_000 * MS,
        fate: Box::new(losing(|segment| segment.len > 500)),
        ..Setup::default()
    });
    let [(sent, at_a), (received, at_b)] = files(&[(&taps, 0)], CLOCKS[0]).map(collected);
    let pairing = pair(&received, &sent).expect("flows in common");
    let (base, flows) = verdict::merge_all(&pairing, [at_b, at_a]);
    assert_eq!(base, 1, "A sends");
    let cause = flows[0].main().findings[0].cause;
    assert!(matches!(cause.limit(), Limit::LossRecovery | Limit::Connection), "{cause:?}");
}

/// The accept queue is full: five SYNs arrive before one is answered. `lag` is how much later than at its sender a packet
/// passes, from A and from B.
fn answered_at_last(lag: [f64; 2]) -> Vec<Passed> {
    let [forth, back] = lag;
    let mut lines = String::new();
    for (n, at) in [0.0, 1.0, 3.0, 7.0, 15.0].iter().enumerate() {
        lines += &format!(
            "{:.6} > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7> // frame 0 id {} ttl 64\n",
            at + forth,
            101 + n
        );
    }
    lines += &format!(
        "{:.6} < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,wscale 7> // frame 0 id 0 ttl 64
         {:.6} > . 1:1(0) ack 1 win 502 // frame 0 id 106 ttl 64
         {:.6} > P. 1:301(300) ack 1 win 502 // frame 0 id 107 ttl 64
         {:.6} < . 1:1(0) ack 301 win 509 // frame 0 id 1 ttl 64\n",
        15.02 + back,
        15.04 + forth,
        15.0401 + forth,
        15.0602 + back
    );
    script(&lines)
}

#[test]
fn syns_that_arrive_in_vain_are_not_lost() {
    let taps = Taps { a: answered_at_last([0.0, 0.02]), b: answered_at_last([0.02, 0.0]) };
    let (_, flows) = compared(&[(&taps, 0)], CLOCKS[0]);
    assert_eq!(flows[0].main().findings[0].cause, Cause::NotAnswered, "{:#?}", flows[0].main().findings);
}

/// A firewall has forgotten a connection that was idle: the client's next request never arrives. The server, which sent
/// more, sees nothing of that.
#[test]
fn request_that_never_arrives_is_a_peer_gone_in_both_directions() {
    let lines = |lag: [f64; 2], at_client: bool| {
        let [forth, back] = lag;
        let mut lines = captures::handshake();
        for n in 0..3i64 {
            let at = 1.0 + 0.1 * n as f64;
            let (sent, answered) = (1 + 100 * n, 1 + 1400 * n);
            lines += &format!(
                "{:.6} > P. {sent}:{}(100) ack {answered} win 502 // frame 0 id {} ttl 64\n\
                 {:.6} < P. {answered}:{}(1400) ack {} win 509 // frame 0 id {} ttl 64\n\
                 {:.6} > . {}:{}(0) ack {} win 502 // frame 0 id {} ttl 64\n",
                at + forth,
                sent + 100,
                200 + 2 * n,
                at + 0.02 + back,
                answered + 1400,
                sent + 100,
                50 + n,
                at + 0.04 + forth,
                sent + 100,
                sent + 100,
                answered + 1400,
                201 + 2 * n,
            );
        }
        // The client retransmits its request, and the server in the end its FIN, once, each in vain.
        let tries = [0.0, 0.3, 0.9, 2.1, 4.5, 9.3].iter().enumerate();
        for (n, after) in tries.filter(|(n, _)| at_client || n % 5 == 0) {
            lines += &match at_client {
                true => format!(
                    "{:.6} > P. 301:401(100) ack 4201 win 502 // frame 0 id {} ttl 64\n",
                    60.0 + after,
                    300 + n
                ),
                false => format!(
                    "{:.6} < F. 4201:4201(0) ack 301 win 509 // frame 0 id {} ttl 64\n",
                    62.0 + after,
                    60 + n
                ),
            };
        }
        script(&lines)
    };
    let taps = Taps { a: lines([0.0, 0.02], true), b: lines([0.02, 0.0], false) };
    let [(one, at_a), (other, at_b)] = files(&[(&taps, 0)], CLOCKS[0]).map(collected);
    let pairing = pair(&one, &other).expect("flows in common");
    let (_, flows) = verdict::merge_all(&pairing, [at_a, at_b]);
    for direction in &flows[0].directions {
        let gone = direction.findings.iter().any(|finding| finding.cause == Cause::PeerGone);
        assert!(gone, "{:#?}", direction.findings);
    }
}

/// Each SYN arrives and is answered, and each SYN-ACK is lost. The server's capture goes on for longer.
#[test]
fn syn_acks_lost_on_the_way_back_are_lost_though_the_client_sees_no_answer() {
    let lines = |lag: f64, at_server: bool| {
        let mut lines = String::new();
        for (n, at) in [0.0, 1.0, 3.0, 7.0].iter().enumerate() {
            lines += &format!(
                "{:.6} > S 0:0(0) win 64240 <mss 1460,sackOK,TS val {} ecr 0,wscale 7> // frame 0 id {} ttl 64\n",
                at + lag,
                7_000 + (at * 1e3) as u32,
                101 + n
            );
            if at_server {
                lines += &format!(
                    "{:.6} < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val {} ecr 7000,wscale 7> // frame 0 id 0 ttl 64\n",
                    at + lag + 0.00003,
                    9_000 + (at * 1e3) as u32
                );
            }
        }
        script(&lines)
    };
    let taps = Taps { a: lines(0.0, false), b: lines(0.02, true) };
    for clock in CLOCKS {
        let (pairing, flows) = compared(&[(&taps, 0)], clock);
        let [forth, back] = &pairing.flows[0].directions;
        assert_eq!((forth.lost.count, forth.overtaken.count, back.lost_syns), (0, 0, 3), "{back:?}");
        let finding = &flows[0].main().findings[0];
        assert_eq!(finding.cause, Cause::SynLost, "{:#?}", flows[0].main().findings);
        assert!(
            finding.evidence.contains(&Evidence::SynLostBetween { syns: 0, syn_acks: 3 }),
            "{finding:#?}"
        );
    }
}

/// Both taps of a path in one file, as mergecap makes it: each packet passes twice, `ONE_WAY` or more apart, as a
/// super-packet at A and as segments at B, with one router in between.
fn merged(taps: &Taps) -> Vec<Passed> {
    let mut both = taps.a.clone();
    for (own, segment) in both.iter_mut().map(|(_, segment)| (segment.from == End::A, segment)) {
        segment.ip.ttl = if own { 64 } else { 63 };
    }
    both.extend(taps.b.iter().map(|(at, segment)| {
        let mut segment = *segment;
        segment.ip.ttl = if segment.from == End::A { 63 } else { 64 };
        (*at, segment)
    }));
    both.sort_by_key(|(at, _)| *at);
    both
}

#[test]
fn packets_of_both_taps_in_one_file_are_captured_twice() {
    let taps = narrow(20_000);
    let far = narrow(15 * MS);
    let lossy = || {
        let mut n = 0;
        transfer(Setup {
            one_way: 15 * MS,
            fate: Box::new(losing(move |segment| {
                n += u32::from(segment.len > 0);
                segment.len > 0 && n % 100 == 50
            })),
            ..Setup::default()
        })
    };
    for taps in [taps, far, lossy()] {
        let (alone, both) = (report(&taps.a), report(&merged(&taps)));
        let [alone, both] = [&alone, &both].map(|report| report.main());
        let sent = alone.measures.labels;
        let found = both.measures.labels;
        assert_eq!(found.new, sent.new, "{found:?}");
        assert_eq!(found.retransmission + found.spurious, sent.retransmission + sent.spurious, "{found:?}");
        assert!(found.duplicate > 0 && found.duplicate <= sent.new + sent.retransmission, "{found:?}");
        assert_eq!(both.findings[0].cause.limit(), alone.findings[0].cause.limit(), "{:#?}", both.findings);
    }
}

/// The route changes: from then on, all packets have the TTL with which one came twice before.
#[test]
fn packets_of_a_new_route_are_no_copies() {
    let mut passed = narrow(15 * MS).a;
    passed.iter_mut().for_each(|(_, segment)| segment.ip.ttl = 60);
    let before = report(&passed);
    let (at, mut copy) = passed[0];
    copy.ip.ttl = 58;
    passed.insert(1, (at.plus_nanos(20_000), copy));
    let half = passed.len() / 2;
    passed[half..].iter_mut().for_each(|(_, segment)| segment.ip.ttl = 58);
    let after = report(&passed);
    let [before, after] = [&before, &after].map(|report| report.main().measures.labels);
    assert_eq!((after.new, after.retransmission), (before.new, before.retransmission));
}

/// The window closes for a second, and the ACKs that open it again are lost: the client asks when its persist timer expires.
/// `lag` is how much later than at its sender a packet passes, from A and from B.
fn window_opened_in_vain(lag: [f64; 2], has_updates: bool) -> Vec<Passed> {
    let [forth, back] = lag;
    let syn = "<mss 1460,sackOK,wscale 0>";
    let mut lines = format!(
        "{:.6} > S 0:0(0) win 64240 {syn} // frame 0 id 101 ttl 64
         {:.6} < S. 0:0(0) ack 1 win 14600 {syn} // frame 0 id 0 ttl 64
         {:.6} > . 1:1(0) ack 1 win 64240 // frame 0 id 102 ttl 64\n",
        forth,
        0.02 + back,
        0.04 + forth
    );
    let (mut id, mut next) = (103, 1);
    let mut burst = |lines: &mut String, at: f64, left: &mut u32| {
        for n in 0..10 {
            let when = at + 0.0001 * f64::from(n) + forth;
            *lines += &format!(
                "{when:.6} > . {next}:{}(1460) ack 1 win 64240 // frame 0 id {id} ttl 64\n",
                next + 1460
            );
            (id, next) = (id + 1, next + 1460);
        }
        *left = next;
    };
    let mut end = 1;
    burst(&mut lines, 0.05, &mut end);
    lines += &format!("{:.6} < . 1:1(0) ack {end} win 0 // frame 0 id 1 ttl 64\n", 0.071 + back);
    // Probes, each answered: the timer's intervals double.
    for (n, (at, window)) in [(0.27, 0), (0.67, 0), (6.27, 14_600)].into_iter().enumerate() {
        lines += &format!(
            "{:.6} > . {}:{}(0) ack 1 win 64240 // frame 0 id {} ttl 64
             {:.6} < . 1:1(0) ack {end} win {window} // frame 0 id {} ttl 64\n",
            at + forth,
            end - 1,
            end - 1,
            300 + n,
            at + 0.02 + back,
            10 + n
        );
    }
    if has_updates {
        lines += &format!("1.100000 < . 1:1(0) ack {end} win 14600 // frame 0 id 5 ttl 64\n");
        lines += &format!("1.100100 < . 1:1(0) ack {end} win 14600 // frame 0 id 6 ttl 64\n");
    }
    let mut at = 6.3;
    for n in 0..5 {
        burst(&mut lines, at, &mut end);
        lines += &format!(
            "{:.6} < . 1:1(0) ack {end} win 14600 // frame 0 id {} ttl 64\n",
            at + 0.021 + back,
            30 + n
        );
        at += 0.042;
    }
    let mut passed = script(&lines);
    passed.sort_by_key(|(at, _)| *at);
    passed
}

#[test]
fn lost_window_update_is_not_the_readers_time() {
    let taps =
        Taps { a: window_opened_in_vain([0.0, 0.02], false), b: window_opened_in_vain([0.02, 0.0], true) };
    for clock in CLOCKS {
        let (pairing, flows) = compared(&[(&taps, 0)], clock);
        assert_eq!(pairing.flows[0].directions[1].lost.count, 2);
        let finding = &flows[0].main().findings[0];
        assert_eq!(finding.cause, Cause::ReaderStopped, "{:#?}", flows[0].main().findings);
        let lost = finding.evidence.iter().find_map(|evidence| match evidence {
            Evidence::WindowUpdateLost { updates, waited } => Some((*updates, waited.as_secs_f64())),
            _ => None,
        });
        let (updates, waited) = lost.unwrap_or_else(|| panic!("{finding:#?}"));
        assert!(updates == 2 && (5.0..5.25).contains(&waited), "{updates} {waited}");
    }
    // The window that opens at the probe only is the reader's.
    let taps = Taps { b: window_opened_in_vain([0.02, 0.0], false), ..taps };
    let (_, flows) = compared(&[(&taps, 0)], CLOCKS[0]);
    let finding = &flows[0].main().findings[0];
    assert_eq!(finding.cause, Cause::ReaderStopped, "{:#?}", flows[0].main().findings);
    assert!(finding.evidence.iter().all(|evidence| evidence.slug() != "window-update-lost"), "{finding:#?}");
}
