//! What came and was not taken, and what never came: seen next to the end that it concerns, and from elsewhere.

use crate::both_taps::files;
use crate::captures::{at_random, losing};
use crate::transfer::{CLOCK_OF_A, MS, MSS, Setup, Taps, nearer_to_b, transfer};
use crate::wire::{Passed, collected, report, script};
use crate::{expect, expect_mainly, main_finding, share_of};
use slowpath_analyses::pairing::{pair, verdict};
use slowpath_analyses::{Cause, Confidence, Evidence, Limit};
use slowpath_model::{End, Vantage};

/// The client's host drops the first two SYN-ACKs for their checksum; seen there, 30 ms from the server.
fn damaged_syn_acks() -> Vec<Passed> {
    let mut lines = String::new();
    for (nth, [syn, answer]) in [[0.0, 0.030], [1.020, 1.050], [2.044, 2.074]].into_iter().enumerate() {
        let checksum = if nth < 2 { "wrong" } else { "good" };
        let (val, own) = (7_000 + (syn * 1000.0) as u32, 9_000 + (syn * 1000.0) as u32);
        lines += &format!(
            "{syn:.6} > S 0:0(0) win 64240 <mss 1460,sackOK,TS val {val} ecr 0,wscale 7> // frame 0 id {} ttl 64\n\
             {answer:.6} < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val {own} ecr {val},wscale 7> // frame 0 id 0 \
             ttl 60 checksum {checksum}\n",
            101 + nth,
        );
    }
    lines += "2.074040 > . 1:1(0) ack 1 win 502 <TS val 9074 ecr 11044> // frame 0 id 104 ttl 64
        2.074100 > P. 1:421(420) ack 1 win 502 <TS val 9074 ecr 11044> // frame 0 id 105 ttl 64
        2.104300 < . 1:1(0) ack 421 win 506 <TS val 11104 ecr 9074> // frame 0 id 1 ttl 60
        2.106000 < P. 1:1001(1000) ack 421 win 506 <TS val 11106 ecr 9074> // frame 0 id 2 ttl 60
        2.106050 > . 421:421(0) ack 1001 win 501 <TS val 9106 ecr 11106> // frame 0 id 106 ttl 64";
    script(&lines)
}

#[test]
fn syn_acks_that_reach_the_client_are_not_answered() {
    let report = report(&damaged_syn_acks());
    let evidence = expect(&report, Cause::NotAnswered, "syn-ack-not-answered");
    assert_eq!(evidence, Evidence::SynAckNotAnswered { times: 2, wrong_checksum: 2 });
    assert_eq!(main_finding(&report).confidence, Confidence::High);
}

/// There, it does not show whether the client's host had them.
#[test]
fn syn_acks_that_left_the_server_may_be_lost() {
    expect_mainly(&nearer_to_b(&damaged_syn_acks(), 15 * MS), Cause::SynLost);
}

/// The server does not answer the first SYN, and its first SYN-ACK is lost on the way: nothing reached the client and was not
/// answered there.
#[test]
fn syns_that_reach_the_server_are_not_syn_acks_at_the_client() {
    let passed = script(
        "0.000000 > S 0:0(0) win 64240 <mss 1460,sackOK,TS val 7000 ecr 0,wscale 7> // frame 0 id 1 ttl 60
        1.014000 > S 0:0(0) win 64240 <mss 1460,sackOK,TS val 8014 ecr 0,wscale 7> // frame 0 id 2 ttl 60
        1.014040 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val 9000 ecr 8014,wscale 7> // frame 0 id 0 ttl 64
        2.038000 > S 0:0(0) win 64240 <mss 1460,sackOK,TS val 9038 ecr 0,wscale 7> // frame 0 id 3 ttl 60
        2.038040 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val 10024 ecr 9038,wscale 7> // frame 0 id 0 ttl 64
        2.068000 > . 1:1(0) ack 1 win 502 <TS val 9068 ecr 10024> // frame 0 id 4 ttl 60
        2.068100 > P. 1:421(420) ack 1 win 502 <TS val 9068 ecr 10024> // frame 0 id 5 ttl 60
        2.068150 < . 1:1(0) ack 421 win 506 <TS val 10054 ecr 9068> // frame 0 id 1 ttl 64
        2.070000 < P. 1:1001(1000) ack 421 win 506 <TS val 10056 ecr 9068> // frame 0 id 2 ttl 64
        2.101000 > . 421:421(0) ack 1001 win 501 <TS val 9101 ecr 10056> // frame 0 id 6 ttl 60",
    );
    let evidence = expect(&report(&passed), Cause::NotAnswered, "syn-not-answered");
    assert_eq!(evidence, Evidence::SynNotAnswered { times: 1, wrong_checksum: 0 });
}

/// With the server's recording it is known that none was lost on the way.
#[test]
fn syn_acks_that_passed_both_recordings_are_not_answered() {
    let client = damaged_syn_acks();
    let taps = Taps { b: nearer_to_b(&client, 15 * MS), a: client };
    let [(one, at_client), (other, at_server)] = files(&[(&taps, 0)], |_| 0).map(collected);
    let pairing = pair(&one, &other).expect("a flow in common");
    let (base, flows) = verdict::merge_all(&pairing, [at_client, at_server]);
    assert_eq!(base, 1, "the server sends more");
    let evidence = expect(&flows[0], Cause::NotAnswered, "syn-ack-not-answered");
    assert_eq!(evidence, Evidence::SynAckNotAnswered { times: 2, wrong_checksum: 2 });
}

/// The server's tap has the second segment of a request, and never the first, which is too large for the path.
#[test]
fn data_that_never_came_is_counted() {
    let passed = script(
        "0.000000 > S 0:0(0) win 64240 <mss 1460,sackOK,TS val 7000 ecr 0,wscale 7> // frame 0 id 1 ttl 60
        0.000030 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val 9000 ecr 7000,wscale 7> // frame 0 id 0 ttl 64
        0.038000 > . 1:1(0) ack 1 win 502 <TS val 7038 ecr 9000> // frame 0 id 2 ttl 60
        0.044000 > P. 1449:1901(452) ack 1 win 502 <TS val 7044 ecr 9000> // frame 0 id 4 ttl 60
        0.044010 < . 1:1(0) ack 1 win 510 <sack 1449:1901,TS val 9044 ecr 7038> // frame 0 id 1 ttl 64",
    );
    assert_eq!(report(&passed).main().measures.missing_bytes.get(), 1448);
}

/// Request and answer, until an answer is lost again and again for seconds.
#[test]
fn outage_in_turns_is_no_full_path() {
    let mut lines = String::from(
        "0.000000 > S 0:0(0) win 64240 <mss 1460,sackOK,TS val 7000 ecr 0,wscale 7> // frame 0 id 1 ttl 60
        0.000030 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val 9000 ecr 7000,wscale 7> // frame 0 id 0 ttl 64
        0.030000 > . 1:1(0) ack 1 win 502 <TS val 7030 ecr 9000> // frame 0 id 2 ttl 60\n",
    );
    let (mut id, mut at) = (3, 0.031);
    let [mut asked, mut answered] = [1, 1];
    let mut put = |at: f64, text: String| {
        id += 1;
        lines += &format!("{at:.6} {text} // frame 0 id {id}\n");
    };
    let stamps = |at: f64, own: i32, other: i32| {
        let clock = |at: f64, clock: i32| clock + (at * 1000.0) as i32;
        format!("<TS val {} ecr {}>", clock(at, own), clock(at - 0.031, other))
    };
    let ack = |at: f64, asked: u32, answered: u32| {
        format!("> . {asked}:{asked}(0) ack {answered} win 502 {}", stamps(at, 6_985, 9_000))
    };
    for nth in 0..60 {
        let end = asked + 80;
        put(at, format!("> P. {asked}:{end}(80) ack {answered} win 502 {}", stamps(at, 6_985, 9_000)));
        asked = end;
        // Long answers take longer, some of them behind others' packets.
        let sizes: &[u32] = if nth % 10 == 5 { &[1448, 1448, 1104] } else { &[900] };
        let send = |at: f64, from: u32, len: u32| {
            format!("< P. {from}:{}({len}) ack {asked} win 510 {}", from + len, stamps(at, 9_000, 7_016))
        };
        for len in sizes {
            put(at + 0.000_5, send(at, answered, *len));
            answered += len;
        }
        if sizes.len() > 1 {
            at += if nth % 20 == 5 { 0.005 } else { 0.015 };
            put(at + 0.031, ack(at, asked, answered - 1104));
        }
        if nth == 59 {
            for later in [0.235, 0.475, 0.955, 1.915, 3.835] {
                put(at + later, send(at + later, answered - 900, 900));
            }
            at += 3.835;
        }
        at += 0.0312;
    }
    put(at, ack(at, asked, answered));
    let report = report(&script(&lines));
    let findings = &report.directions[1].findings;
    let share = |limit: Limit| -> f64 {
        findings.iter().filter(|finding| finding.cause.limit() == limit).map(|finding| finding.share).sum()
    };
    assert!(share(Limit::Path) == 0.0 && share(Limit::LossRecovery) > 0.5, "{findings:#?}");
}

/// On a short path both ends answer at once. What is retransmitted and never passed before was lost before the tap, which is not at
/// the sender then.
#[test]
fn losses_before_a_tap_on_a_short_path_place_it() {
    let taps = transfer(Setup {
        amount: 8_000_000,
        rate: 12_500,
        one_way: 200_000,
        fate: Box::new(losing(at_random(100))),
        ..Setup::default()
    });
    // Less than five times as far from one end as from the other.
    let between = report(&nearer_to_b(&taps.b, -120_000));
    assert_ne!(between.vantage.vantage, Vantage::At(End::A));
    let idle = share_of(&between, |cause| cause == Cause::SenderIdle);
    assert!(idle < 0.1, "{:#?}", between.main().findings);
    assert!(between.main().measures.mss_seen == MSS);
}

/// For two seconds, nothing that A sends arrives: a whole flight of more packets than any step of a counter shows by itself, and
/// the retransmissions by the timer. Seen at B, the counter shows that much was sent. Where nothing was lost, A paused.
#[test]
fn silence_in_which_a_whole_flight_was_lost_is_no_idleness() {
    let idle_share = |outage: bool| {
        let first = u32::from(outage) * 600;
        let last = u32::from(outage) * 2_600;
        let taps = transfer(Setup {
            amount: 12_000_000,
            rate: 25_000,
            fate: Box::new(losing(move |segment| {
                let sent = segment.timestamps.map_or(0, |stamps| stamps.val.wrapping_sub(CLOCK_OF_A));
                segment.from == End::A && segment.len > 0 && (first..last).contains(&sent)
            })),
            ..Setup::default()
        });
        let report = report(&taps.b);
        if outage {
            assert_eq!(
                main_finding(&report).cause.limit(),
                Limit::LossRecovery,
                "{:#?}",
                report.main().findings
            );
        }
        share_of(&report, |cause| cause == Cause::SenderIdle)
    };
    assert!(idle_share(true) < 0.1 && idle_share(false) < 0.1);
}
