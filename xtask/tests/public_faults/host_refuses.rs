//! A device on the path sets timestamps back, and the receiver refuses all data from then on (PAWS, RFC 7323,
//! section 5); and connections whose server never sees more than the SYN.

use crate::both_taps::{CLOCKS, compared};
use crate::captures::{self, losing};
use crate::transfer::{Fate, MS, MSS, ONE_WAY, Setup, Taps, in_between, transfer};
use crate::wire::{Passed, report, script};
use crate::{expect, expect_none, main_finding};
use slowpath_analyses::{Cause, Confidence, Evidence};
use slowpath_model::{End, Flags, Instant, Segment, StreamOffset};

/// From here on, the device sets timestamps back.
const FAILOVER: i64 = 900 * MS;

/// By so much, in milliseconds.
const SET_BACK: u32 = 500_000;

/// Seven segments are lost at first; all data has this fate after the failover.
fn failover(fate: Fate, has_ids: bool) -> Taps {
    let mut early =
        losing(|segment: &Segment| (200..207).contains(&(segment.seq.0 / i64::from(MSS))) && segment.len > 0);
    let (mut seen, mut passed) = (std::collections::BTreeSet::new(), 0);
    let mut taps = transfer(Setup {
        amount: 8_000_000,
        fate: Box::new(move |segment| {
            passed = passed.max(segment.timestamps.map_or(0, |stamps| stamps.val));
            let since = i64::from(passed - crate::transfer::CLOCK_OF_A.min(passed)) * MS;
            if segment.from == End::B || segment.len == 0 {
                return Fate::Pass;
            }
            if since > FAILOVER {
                return fate;
            }
            if seen.insert(segment.seq) { early(segment) } else { Fate::Pass }
        }),
        until: 12_000 * MS,
        ..Setup::default()
    });
    let mut answers = Vec::new();
    let mut acknowledged = (StreamOffset(1), 0, None);
    for (at, segment) in &mut taps.b {
        if segment.from == End::B {
            let stamps = segment.timestamps;
            acknowledged = (segment.ack.unwrap_or(acknowledged.0), segment.window, stamps);
        } else if segment.len > 0
            && let Some(stamps) = &mut segment.timestamps
            && i64::from(stamps.val - crate::transfer::CLOCK_OF_A) * MS > FAILOVER
        {
            stamps.val -= SET_BACK;
            // Each is answered with the same ACK.
            let mut ack = Segment::new(End::B, Flags::ACK, StreamOffset(1), 0);
            (ack.ack, ack.window, ack.timestamps) = (Some(acknowledged.0), acknowledged.1, acknowledged.2);
            (ack.ip.id, ack.ip.ttl) = (Some(30_000 + answers.len() as u16), 64);
            answers.push((Instant::from_nanos(at.nanos() + 15_000), ack));
        }
    }
    let there = |(at, ack): &Passed| {
        let mut ack = *ack;
        ack.ip.ttl = 63;
        (Instant::from_nanos(at.nanos() + ONE_WAY), ack)
    };
    taps.a.extend(answers.iter().map(there));
    taps.b.extend(answers);
    for tap in [&mut taps.a, &mut taps.b] {
        tap.sort_by_key(|(at, _)| *at);
        for (_, segment) in tap.iter_mut().filter(|_| !has_ids) {
            segment.ip.id = Some(0);
        }
    }
    taps
}

#[test]
fn data_with_timestamps_set_back_is_not_accepted() {
    for has_ids in [true, false] {
        let taps = failover(Fate::Refuse, has_ids);
        let at_receiver = report(&taps.b);
        let evidence = expect(&at_receiver, Cause::NotAccepted, "stale-timestamps");
        assert_eq!(evidence, Evidence::StaleTimestamps {});
        assert_eq!(main_finding(&at_receiver).confidence, Confidence::High);
        let (pairing, flows) = compared(&[(&taps, 0)], CLOCKS[0]);
        let ways = &pairing.flows[0].directions[0];
        assert_eq!((ways.missed_near.count, ways.missed_far.count), (0, 0), "{ways:#?}");
        assert_eq!(ways.lost.count, 7, "{ways:#?}");
        expect(&flows[0], Cause::NotAccepted, "stale-timestamps");
    }
}

/// Next to the sender and in between, the answers show that its retransmissions arrive.
#[test]
fn retransmissions_answered_by_acks_of_nothing_are_not_accepted() {
    let passed = failover(Fate::Refuse, true).a;
    for passed in [in_between(&passed), passed] {
        let report = report(&passed);
        let evidence = expect(&report, Cause::NotAccepted, "answered-in-vain");
        assert!(matches!(evidence, Evidence::AnsweredInVain { retransmissions: 3.. }), "{evidence:?}");
    }
}

#[test]
fn data_lost_after_a_failover_is_not_refused() {
    let taps = failover(Fate::Lose, true);
    expect_none(&report(&taps.a), Cause::NotAccepted);
    expect_none(&report(&taps.b), Cause::NotAccepted);
    let (_, flows) = compared(&[(&taps, 0)], CLOCKS[0]);
    expect_none(&flows[0], Cause::NotAccepted);
    let main = main_finding(&flows[0]);
    assert!(matches!(main.cause, Cause::LostRetransmission | Cause::PeerGone), "{main:#?}");
}

/// A firewall drops all of the client's packets but the SYN: it has not seen the SYN-ACK, which took another way.
fn only_the_syn_arrives() -> Taps {
    let mut near = captures::handshake();
    let mut far = "0.020000 > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7> // frame 0 id 101 ttl 63
                   0.020023 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,wscale 7> // frame 0 id 0 ttl 64\n"
        .to_owned();
    for (n, at) in [0.0401, 0.274, 0.514, 0.994, 1.95, 3.84, 7.74].iter().enumerate() {
        near += &format!("{at:.6} > P. 1:301(300) ack 1 win 502 // frame 0 id {} ttl 64\n", 110 + n);
        if let Some(again) = [1.05, 3.07, 7.22].get(n.wrapping_sub(3)).filter(|_| n > 2) {
            let syn_ack = "< S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,wscale 7> // frame 0 id 0 ttl";
            near += &format!(
                "{:.6} {syn_ack} 63\n{:.6} > . 301:301(0) ack 1 win 502 // frame 0 id {} ttl 64\n",
                again + 0.02,
                again + 0.02002,
                120 + n
            );
            far += &format!("{again:.6} {syn_ack} 64\n");
        }
    }
    Taps { a: script(&near), b: script(&far) }
}

#[test]
fn handshake_that_never_ends_is_reported_at_the_server() {
    let report = report(&only_the_syn_arrives().b);
    let finding = main_finding(&report);
    assert!(matches!(finding.cause, Cause::SynLost | Cause::PeerGone), "{finding:#?}");
    assert!(finding.share > 0.9, "{finding:#?}");
}

#[test]
fn handshake_that_never_arrives_is_no_full_accept_queue() {
    let (_, flows) = compared(&[(&only_the_syn_arrives(), 0)], CLOCKS[0]);
    expect_none(&flows[0], Cause::AcceptQueueFull);
    expect(&flows[0], Cause::LostRetransmission, "lost-between");
}

#[test]
fn full_accept_queue_stays_one_in_both_captures() {
    let b = captures::accept_queue_full();
    let at_client = |(at, segment): &Passed| {
        let (mut segment, is_a) = (*segment, segment.from == End::A);
        segment.ip.ttl = if is_a { 64 } else { 63 };
        (Instant::from_nanos(at.nanos() + if is_a { 0 } else { 2 * ONE_WAY }), segment)
    };
    let mut a: Vec<_> = b.iter().map(at_client).collect();
    a.sort_by_key(|(at, _)| *at);
    let later = |(at, segment): Passed| (Instant::from_nanos(at.nanos() + ONE_WAY), segment);
    let taps = Taps { a, b: b.into_iter().map(later).collect() };
    let (_, flows) = compared(&[(&taps, 0)], CLOCKS[0]);
    assert_eq!(main_finding(&flows[0]).cause, Cause::AcceptQueueFull, "{:#?}", flows[0].main().findings);
}

/// A NAT mixes the timestamps of two hosts: every fifth data packet arrives with an older one, and is refused. All that
/// is refused is retransmitted, so that no packet with another timestamp is the only one of its bytes.
#[test]
fn data_whose_timestamps_a_device_changes_is_matched_and_refused() {
    let refused = |id: Option<u16>| id.is_some_and(|id| id % 5 == 0);
    let mut taps = transfer(Setup {
        amount: 2_000_000,
        fate: Box::new(move |segment| {
            let is_data = segment.from == End::A && segment.len > 0;
            if is_data && refused(segment.ip.id) { Fate::Refuse } else { Fate::Pass }
        }),
        ..Setup::default()
    });
    let mut changed = 0;
    for (_, segment) in &mut taps.b {
        if let Some(stamps) = &mut segment.timestamps
            && segment.from == End::A
            && segment.len > 0
            && refused(segment.ip.id)
        {
            stamps.val -= 50_000;
            changed += 1;
        }
    }
    assert!(changed > 100, "{changed}");
    let (pairing, flows) = compared(&[(&taps, 0)], CLOCKS[0]);
    let ways = &pairing.flows[0].directions[0];
    assert_eq!((ways.lost.count, ways.missed_near.count, ways.missed_far.count), (0, 0, 0), "{ways:#?}");
    let main = main_finding(&flows[0]);
    assert_eq!(main.cause, Cause::NotAccepted, "{:#?}", flows[0].main().findings);
    let retransmitting =
        |cause: Cause| matches!(cause, Cause::LostRetransmission | Cause::FastRecovery | Cause::Timeout);
    let findings = &flows[0].main().findings;
    assert!(!findings.iter().any(|finding| retransmitting(finding.cause)), "{findings:#?}");
}
