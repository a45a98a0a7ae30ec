//! Short exchanges written by hand, and long random ones whose losses are known.

use super::report::{Pairing, Tally};
use super::*;
use proptest::prelude::*;
use slowpath_model::{Endpoint, Event, EventKind, FlowKey, Instant, Sink};
use std::net::Ipv4Addr;

fn key(last: u8, port: u16) -> FlowKey {
    let end = |host: u8, port| Endpoint { address: Ipv4Addr::new(192, 0, 2, host).into(), port };
    FlowKey { a: end(last, 40_000), b: end(200, port), occurrence: 0 }
}

fn tap(key: FlowKey, events: impl IntoIterator<Item = Event>) -> Tap {
    let mut collector = Collector::default();
    collector.open(FlowId(1), &key);
    for event in events {
        collector.accept(FlowId(1), &event);
    }
    collector.finish(0)
}

fn script(text: &str) -> Vec<Event> {
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| line.parse().expect(line)).collect()
}

fn paired(near: &str, far: &str) -> Pairing {
    pair(&tap(key(1, 80), script(near)), &tap(key(1, 80), script(far))).unwrap()
}

fn at(instants: &[f64]) -> Vec<Instant> {
    instants.iter().map(|seconds| Instant::from_nanos((seconds * 1e9) as i64)).collect()
}

const SHAKE_NEAR: &str = "
    0.000 > S 0:0(0) win 1000 <mss 1012,TS val 100 ecr 0> // id 1
    0.020 < S. 0:0(0) ack 1 win 1000 <mss 1012,TS val 900 ecr 100> // id 0
    0.020 > . 1:1(0) ack 1 win 1000 <TS val 120 ecr 900> // id 2";
const SHAKE_FAR: &str = "
    0.010 > S 0:0(0) win 1000 <mss 1012,TS val 100 ecr 0> // id 1
    0.010 < S. 0:0(0) ack 1 win 1000 <mss 1012,TS val 900 ecr 100> // id 0
    0.030 > . 1:1(0) ack 1 win 1000 <TS val 120 ecr 900> // id 2";

#[test]
fn super_packet_matches_its_segments_on_the_wire() {
    let pairing = paired(
        &format!(
            "{SHAKE_NEAR}
            0.021 > . 1:4001(4000) ack 1 win 1000 <TS val 121 ecr 900> // id 3
            0.042 < . 1:1(0) ack 1001 win 1000 <TS val 922 ecr 121> // id 10
            0.043 < . 1:1(0) ack 1001 win 1000 <TS val 923 ecr 121,sack 2001:4001> // id 11
            0.044 > . 1001:2001(1000) ack 1 win 1000 <TS val 144 ecr 923> // id 7
            0.065 < . 1:1(0) ack 4001 win 1000 <TS val 945 ecr 144> // id 12"
        ),
        // Of the four, the second is lost; GRO joins the last two.
        &format!(
            "{SHAKE_FAR}
            0.031 > . 1:1001(1000) ack 1 win 1000 <TS val 121 ecr 900> // id 3
            0.032 < . 1:1(0) ack 1001 win 1000 <TS val 922 ecr 121> // id 10
            0.032 > . 2001:4001(2000) ack 1 win 1000 <TS val 121 ecr 900> // id 5
            0.033 < . 1:1(0) ack 1001 win 1000 <TS val 923 ecr 121,sack 2001:4001> // id 11
            0.054 > . 1001:2001(1000) ack 1 win 1000 <TS val 144 ecr 923> // id 7
            0.055 < . 1:1(0) ack 4001 win 1000 <TS val 945 ecr 144> // id 12"
        ),
    );
    let [sent, answered] = &pairing.flows[0].directions;
    assert_eq!(pairing.flows[0].nearer, Some([0, 1]));
    assert_eq!((sent.packets, sent.data_packets, sent.arrived), (7, 6, 6));
    assert_eq!(sent.lost, Tally { count: 1, instants: at(&[0.021]) });
    assert_eq!((answered.packets, answered.lost.count, answered.near), (4, 0, 1));
    let delay = sent.delay.as_ref().unwrap().delay;
    assert_eq!((delay.min_ns, delay.max_ns), (10_000_000, 11_000_000));
    assert_eq!(answered.delay.as_ref().unwrap().delay.median_ns, 10_000_000);
    assert_eq!(sent.answer.unwrap().median_ns, 1_000_000);
}

#[test]
fn lost_ack_duplicate_and_reordered_packet_are_counted() {
    let pairing = paired(
        &format!(
            "{SHAKE_NEAR}
            0.021 > . 1:1001(1000) ack 1 win 1000 <TS val 121 ecr 900> // id 3
            0.022 > . 1001:2001(1000) ack 1 win 1000 <TS val 122 ecr 900> // id 4
            0.023 > . 2001:3001(1000) ack 1 win 1000 <TS val 123 ecr 900> // id 5
            0.053 < . 1:1(0) ack 3001 win 1000 <TS val 933 ecr 123> // id 11"
        ),
        &format!(
            "{SHAKE_FAR}
            0.031 > . 1:1001(1000) ack 1 win 1000 <TS val 121 ecr 900> // id 3
            0.031 > . 1:1001(1000) ack 1 win 1000 <TS val 121 ecr 900> // id 3
            0.033 < . 1:1(0) ack 1001 win 1000 <TS val 923 ecr 121> // id 10
            0.033 > . 2001:3001(1000) ack 1 win 1000 <TS val 123 ecr 900> // id 5
            0.037 > . 1001:2001(1000) ack 1 win 1000 <TS val 122 ecr 900> // id 4
            0.043 < . 1:1(0) ack 3001 win 1000 <TS val 933 ecr 123> // id 11"
        ),
    );
    let [sent, answered] = &pairing.flows[0].directions;
    assert_eq!((sent.lost.count, sent.twice.count), (0, 1));
    assert_eq!(sent.overtaken, Tally { count: 1, instants: at(&[0.037]) });
    assert_eq!(sent.overtaken_by.as_millis(), 4);
    assert_eq!(answered.lost, Tally { count: 1, instants: at(&[0.033]) });
    assert_eq!(answered.lost_data, 0);
}

/// A firewall on the way gives each packet a new identification, and so does the sender's stack for the recording next to it.
#[test]
fn other_identifications_everywhere_leave_the_handshake() {
    let others = |text: &str, first: u32| {
        let lines = text.lines().filter_map(|line| line.rsplit_once("// id "));
        let lines = lines.zip(first..).map(|((line, _), id)| format!("{line}// id {id}"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let near = format!(
        "{SHAKE_NEAR}
            0.021 > . 1:1001(1000) ack 1 win 1000 <TS val 121 ecr 900> // id 3
            0.043 < . 1:1(0) ack 1001 win 1000 <TS val 923 ecr 121> // id 10"
    );
    let far = format!(
        "{SHAKE_FAR}
            0.031 > . 1:1001(1000) ack 1 win 1000 <TS val 121 ecr 900> // id 3
            0.033 < . 1:1(0) ack 1001 win 1000 <TS val 923 ecr 121> // id 10"
    );
    let pairing = paired(&others(&near, 20_000), &others(&far, 50_000));
    let [sent, answered] = &pairing.flows[0].directions;
    assert_eq!((sent.data_packets, sent.arrived, answered.packets), (2, 3, 2));
    let other = others(&far, 50_000).replace("val 100", "val 77").replace("ecr 100", "ecr 77");
    let [near, other] = [&others(&near, 20_000), &other].map(|text| tap(key(1, 80), script(text)));
    assert!(pair(&near, &other).is_err(), "another connection with the same ports");
}

/// A full packet, and six super-packets of 1,200 bytes: the path's MTU has become smaller, and each is cut into two packets of 600
/// bytes. One is lost.
#[test]
fn super_packets_are_cut_as_the_path_has_them_by_then() {
    let (mut near, mut far) = (SHAKE_NEAR.to_owned(), SHAKE_FAR.to_owned());
    let fields = "ack 1 win 1000 <TS val 121 ecr 900>";
    near += &format!("\n0.021 > . 1:1001(1000) {fields} // id 3");
    far += &format!("\n0.031 > . 1:1001(1000) {fields} // id 3");
    for nth in 0..6 {
        let (seq, id) = (1001 + nth * 1_200, 4 + nth * 2);
        near += &format!("\n{}.1 > . {seq}:{}(1200) {fields} // id {id}", nth + 1, seq + 1_200);
        for half in 0..2 {
            let (from, id) = (seq + half * 600, id + half);
            if (nth, half) != (4, 1) {
                far += &format!("\n{}.11 > . {from}:{}(600) {fields} // id {id}", nth + 1, from + 600);
            }
        }
    }
    let pairing = paired(&near, &far);
    let [sent, _] = &pairing.flows[0].directions;
    assert_eq!((sent.lost.count, sent.missed_near.count, sent.missed_far.count), (1, 0, 0));
    assert_eq!(sent.lost.instants, at(&[5.1]));
}

#[test]
fn packets_missed_by_one_capture_are_not_lost() {
    let pairing = paired(
        // The recording near the sender missed 2001:3001.
        &format!(
            "{SHAKE_NEAR}
            0.021 > . 1:1001(1000) ack 1 win 1000 <TS val 121 ecr 900> // id 3
            0.022 > . 1001:2001(1000) ack 1 win 1000 <TS val 122 ecr 900> // id 4
            0.053 < . 1:1(0) ack 3001 win 1000 <TS val 933 ecr 123> // id 11"
        ),
        // The other missed 1001:2001, which was acknowledged and never came again.
        &format!(
            "{SHAKE_FAR}
            0.031 > . 1:1001(1000) ack 1 win 1000 <TS val 121 ecr 900> // id 3
            0.033 > . 2001:3001(1000) ack 1 win 1000 <TS val 123 ecr 900> // id 5
            0.043 < . 1:1(0) ack 3001 win 1000 <TS val 933 ecr 123> // id 11"
        ),
    );
    let sent = &pairing.flows[0].directions[0];
    assert_eq!(sent.lost.count, 0);
    assert_eq!(sent.missed_far, Tally { count: 1, instants: at(&[0.022]) });
    assert_eq!(sent.missed_near, Tally { count: 1, instants: at(&[0.033]) });
}

#[test]
fn unacknowledged_transmission_of_two_missed_ones_is_lost() {
    let pairing = paired(
        &format!(
            "{SHAKE_NEAR}
            0.021 > . 1:1001(1000) ack 1 win 1000 <TS val 121 ecr 900> // id 3
            0.221 > . 1:1001(1000) ack 1 win 1000 <TS val 321 ecr 900> // id 4
            0.243 < . 1:1(0) ack 1001 win 1000 <TS val 933 ecr 321> // id 11
            0.300 > . 1001:1101(100) ack 1 win 1000 <TS val 400 ecr 933> // id 5"
        ),
        &format!(
            "{SHAKE_FAR}
            0.233 < . 1:1(0) ack 1001 win 1000 <TS val 933 ecr 321> // id 11
            0.310 > . 1001:1101(100) ack 1 win 1000 <TS val 400 ecr 933> // id 5"
        ),
    );
    let sent = &pairing.flows[0].directions[0];
    assert_eq!(sent.lost.instants, at(&[0.021]));
    assert_eq!(sent.missed_far.instants, at(&[0.221]));
}

#[test]
fn packet_dropped_by_receiving_host_is_not_lost_on_the_path() {
    let pairing = paired(
        &format!(
            "{SHAKE_NEAR}
            0.021 > . 1:1001(1000) ack 1 win 1000 <TS val 121 ecr 900> // id 3
            0.022 > . 1001:2001(1000) ack 1 win 1000 <TS val 122 ecr 900> // id 4
            0.060 < . 1:1(0) ack 1 win 1000 <TS val 940 ecr 120,sack 1001:2001> // id 10
            0.061 > . 1:1001(1000) ack 1 win 1000 <TS val 161 ecr 900> // id 5
            0.082 < . 1:1(0) ack 2001 win 1000 <TS val 971 ecr 161> // id 11"
        ),
        &format!(
            "{SHAKE_FAR}
            0.031 > . 1:1001(1000) ack 1 win 1000 <TS val 121 ecr 900> // id 3
            0.032 > . 1001:2001(1000) ack 1 win 1000 <TS val 122 ecr 900> // id 4
            0.050 < . 1:1(0) ack 1 win 1000 <TS val 940 ecr 120,sack 1001:2001> // id 10
            0.071 > . 1:1001(1000) ack 1 win 1000 <TS val 161 ecr 900> // id 5
            0.072 < . 1:1(0) ack 2001 win 1000 <TS val 971 ecr 161> // id 11"
        ),
    );
    let sent = &pairing.flows[0].directions[0];
    assert_eq!((sent.lost.count, sent.twice.count), (0, 0));
    assert_eq!(sent.ignored, Tally { count: 1, instants: at(&[0.031]) });
}

/// A firewall drops each SYN-ACK on its way back: what passes next to A, and next to B.
const SYNS: [&str; 2] = [
    "
    0.000 > S 0:0(0) win 1000 <mss 1012,TS val 100 ecr 0> // id 1
    1.000 > S 0:0(0) win 1000 <mss 1012,TS val 1100 ecr 0> // id 2
    3.000 > S 0:0(0) win 1000 <mss 1012,TS val 3100 ecr 0> // id 3",
    "
    0.010 > S 0:0(0) win 1000 <mss 1012,TS val 100 ecr 0> // id 1
    0.010 < S. 0:0(0) ack 1 win 1000 <mss 1012,TS val 900 ecr 100> // id 0
    1.010 > S 0:0(0) win 1000 <mss 1012,TS val 1100 ecr 0> // id 2
    1.010 < S. 0:0(0) ack 1 win 1000 <mss 1012,TS val 1900 ecr 100> // id 0
    2.010 < S. 0:0(0) ack 1 win 1000 <mss 1012,TS val 2900 ecr 100> // id 0
    3.010 > S 0:0(0) win 1000 <mss 1012,TS val 3100 ecr 0> // id 3
    7.010 < S. 0:0(0) ack 1 win 1000 <mss 1012,TS val 7900 ecr 100> // id 0",
];

/// `text` without what distinguishes one SYN from the next, and by a clock that is `ahead` by so many seconds.
fn plain(text: &str, ahead: f64) -> Vec<Event> {
    let mut events = script(text);
    for event in &mut events {
        event.at = event.at.plus_nanos((ahead * 1e9) as i64);
        let EventKind::Seen(segment) = &mut event.kind else { continue };
        (segment.ip.id, segment.timestamps) = (None, None);
    }
    events
}

#[test]
fn syn_acks_that_only_the_responders_capture_has_were_lost_on_the_way_back() {
    let [at_a, at_b] = SYNS;
    for ahead in [0.0, -500.0, 500.0] {
        let later: Vec<Event> = script(at_b)
            .into_iter()
            .map(|event| Event { at: event.at.plus_nanos((ahead * 1e9) as i64), ..event })
            .collect();
        let (one, two) = (tap(key(1, 80), script(at_a)), tap(key(1, 80), later));
        for (first, second, nearer) in [(&one, &two, [0, 1]), (&two, &one, [1, 0])] {
            let pairing = pair(first, second).unwrap();
            assert_eq!(pairing.flows[0].nearer, Some(nearer), "{ahead}");
            let [sent, answered] = &pairing.flows[0].directions;
            assert_eq!((sent.packets, sent.arrived, sent.lost.count), (3, 3, 0), "{ahead}");
            assert_eq!((sent.overtaken.count, sent.overtaken_by), (0, std::time::Duration::ZERO));
            // The last SYN-ACK left after A's capture had ended.
            assert_eq!((answered.packets, answered.lost.count, answered.lost_syns), (3, 3, 3), "{ahead}");
            assert_eq!((answered.outside, answered.near), (1, nearer[1]), "{ahead}");
        }
    }
}

#[test]
fn syns_that_look_alike_arrive_in_the_order_in_which_they_were_sent() {
    let [at_a, at_b] = SYNS;
    let one = tap(key(1, 80), plain(at_a, 0.0));
    for ahead in [0.0, 500.0] {
        let two = tap(key(1, 80), plain(at_b, ahead));
        let pairing = pair(&one, &two).unwrap();
        let [sent, answered] = &pairing.flows[0].directions;
        assert_eq!((sent.arrived, sent.overtaken.count, sent.lost.count), (3, 0, 0), "{ahead}");
        assert_eq!(answered.lost_syns, 3, "{ahead}");
    }
}

/// Of three SYNs the second is lost, and nothing else shows how long the way takes.
#[test]
fn lost_syn_among_unanswered_ones_is_found_by_its_fields() {
    let [at_a, at_b] = SYNS;
    let at_b: String =
        at_b.lines().filter(|line| !line.contains("1.010")).map(|line| format!("{line}\n")).collect();
    let pairing = paired(at_a, &at_b);
    let [sent, answered] = &pairing.flows[0].directions;
    assert_eq!((sent.lost.clone(), sent.lost_syns), (Tally { count: 1, instants: at(&[1.0]) }, 1));
    assert_eq!((sent.overtaken.count, answered.lost_syns), (0, 2));
}

/// A tap that captures one direction only shows no loss of the other: A acknowledges what B sent.
#[test]
fn direction_that_one_capture_lacks_is_not_lost_if_it_is_acknowledged() {
    let of_a = |text: &str| {
        text.lines().filter(|line| line.contains(" > ")).map(|line| format!("{line}\n")).collect::<String>()
    };
    let pairing = paired(&of_a(SHAKE_NEAR), SHAKE_FAR);
    let [_, answered] = &pairing.flows[0].directions;
    assert_eq!((answered.lost.count, answered.lost_syns), (0, 0));
}

/// A made-up transfer as both recordings have it, and what happened to it.
struct Made {
    near: Vec<Event>,
    far: Vec<Event>,
    lost: u64,
    twice: u64,
    lost_acks: u64,
    overtaken: u64,
}

/// How the packets of a made-up transfer can be distinguished.
#[derive(Clone, Copy, Debug)]
struct Looks {
    ids: bool,
    stamps: bool,
}

/// `fates`, one per packet: lost below 20, sent twice by the path below 30, late below 45, of 256.
fn made(fates: &[u8], ack_fates: &[u8], looks: Looks) -> Made {
    const MS: i64 = 1_000_000;
    const TRANSIT: i64 = 10 * MS;
    let mut made = Made {
        near: script(SHAKE_NEAR),
        far: script(SHAKE_FAR),
        lost: 0,
        twice: 0,
        lost_acks: 0,
        overtaken: 0,
    };
    let plain = |event: &mut Event| {
        let EventKind::Seen(segment) = &mut event.kind else { return };
        segment.ip.id = segment.ip.id.filter(|_| looks.ids);
        segment.timestamps = segment.timestamps.filter(|_| looks.stamps);
    };
    let mut fates = fates.iter();
    let (mut id, mut now) = (100u16, 30 * MS);
    let mut arrivals = Vec::new();
    for n in 0..fates.len() as i64 {
        // Each piece of data is retransmitted until it arrives, every 100 ms.
        let mut sent = now;
        loop {
            let fate = fates.next().copied().unwrap_or(255);
            let line = format!(
                "0.0 > . {}:{}(1000) ack 1 win 1000 <TS val {} ecr 900> // id {id}",
                1 + n * 1000,
                1001 + n * 1000,
                100 + sent / MS
            );
            let EventKind::Seen(segment) = line.parse::<Event>().unwrap().kind else { unreachable!() };
            let event = |at: i64| Event { at: Instant::from_nanos(at), kind: EventKind::Seen(segment) };
            id = id.wrapping_add(1);
            made.near.push(event(sent));
            let lost = fate < 20;
            let late = if (30..45).contains(&fate) { 25 * MS } else { 0 };
            if !lost {
                arrivals.push((event(sent + TRANSIT + late), (sent, made.near.len())));
                if (20..30).contains(&fate) {
                    made.twice += 1;
                    arrivals.push((event(sent + TRANSIT + 1), (sent, made.near.len())));
                }
                break;
            }
            made.lost += 1;
            sent += 100 * MS;
        }
        now += 2 * MS;
    }
    arrivals.sort_by_key(|(event, _)| event.at);
    let mut latest = (i64::MIN, 0);
    let mut known = std::collections::HashSet::new();
    for (_, sent) in &arrivals {
        if known.insert(*sent) {
            made.overtaken += u64::from(*sent < latest);
        }
        latest = latest.max(*sent);
    }
    // One ACK for each new byte in order, a little after the end of all, so that none is outside.
    let mut ack_fates = ack_fates.iter();
    let mut reached = std::collections::BTreeSet::new();
    let mut next = 1i64;
    let mut acks = Vec::new();
    for (number, (event, _)) in (0i64..).zip(&arrivals) {
        let EventKind::Seen(segment) = event.kind else { continue };
        reached.insert(segment.seq.0);
        while reached.contains(&next) {
            next += 1000;
        }
        let at = event.at.nanos() + 50_000;
        let line = format!(
            "0.0 < . 1:1(0) ack {next} win {} <TS val {} ecr 100> // id {}",
            1000 + number % 7,
            900 + at / MS,
            (500 + number) as u16
        );
        let EventKind::Seen(answer) = line.parse::<Event>().unwrap().kind else { unreachable!() };
        let ack = |at: i64| Event { at: Instant::from_nanos(at), kind: EventKind::Seen(answer) };
        let last = number as usize + 1 == arrivals.len();
        acks.push((ack(at), (!last && ack_fates.next().is_some_and(|fate| *fate < 20)).then_some(())));
        if acks.last().is_some_and(|(_, lost)| lost.is_none()) {
            made.near.push(ack(at + TRANSIT));
        } else {
            made.lost_acks += 1;
        }
    }
    made.far.extend(arrivals.iter().map(|(event, _)| *event));
    made.far.extend(acks.iter().map(|(event, _)| *event));
    for events in [&mut made.near, &mut made.far] {
        events.iter_mut().for_each(plain);
        events.sort_by_key(|event| event.at);
    }
    made
}

fn compare(made: &Made, second: FlowKey) -> Pairing {
    pair(&tap(key(1, 80), made.near.iter().copied()), &tap(second, made.far.iter().copied())).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_losses_duplicates_and_reordering_are_found(
        fates in prop::collection::vec(any::<u8>(), 20..300), ack_fates in prop::collection::vec(any::<u8>(), 300),
        ids: bool, stamps: bool,
    ) {
        let made = made(&fates, &ack_fates, Looks { ids, stamps });
        let pairing = compare(&made, key(1, 80));
        let [sent, answered] = &pairing.flows[0].directions;
        prop_assert_eq!(sent.missed_far.count + sent.missed_near.count + sent.outside + sent.ignored.count, 0);
        if ids || stamps {
            prop_assert_eq!(sent.lost.count, made.lost);
            prop_assert_eq!(sent.twice.count, made.twice);
            prop_assert_eq!(sent.overtaken.count, made.overtaken);
        } else {
            // A lost packet and a second copy of its retransmission look like a late packet and its retransmission.
            prop_assert!(sent.lost.count <= made.lost);
            prop_assert_eq!(made.lost - sent.lost.count, made.twice - sent.twice.count);
        }
        prop_assert_eq!(answered.lost.count, made.lost_acks);
        prop_assert_eq!(answered.outside + answered.missed_near.count, 0);
        prop_assert_eq!(sent.arrived + sent.lost.count, sent.packets);
    }

    /// Wherever the recordings begin and end, nothing counts as lost that was not.
    #[test]
    fn packets_outside_one_capture_do_not_count(
        fates in prop::collection::vec(45u8.., 100..200), first in 0usize..60, last in 0usize..60, end in 0usize..60,
    ) {
        let mut made = made(&fates, &[], Looks { ids: true, stamps: true });
        made.near.truncate(made.near.len() - end);
        let from = made.far[first].at;
        made.far.retain(|event| event.at >= from);
        // What is left starts in the middle, so its positions count from what comes first.
        if first > 3 {
            for event in &mut made.far {
                if let EventKind::Seen(segment) = &mut event.kind {
                    let forward = segment.from == End::A;
                    let by = |ours: bool| if ours { 12_345 } else { 1 };
                    segment.seq = segment.seq - by(forward);
                    segment.ack = segment.ack.map(|ack| ack - by(!forward));
                }
            }
        }
        made.far.truncate(made.far.len() - last);
        let pairing = compare(&made, key(1, 80));
        for direction in &pairing.flows[0].directions {
            prop_assert_eq!(direction.lost.count, 0);
            prop_assert_eq!(direction.missed_far.count + direction.missed_near.count, 0);
        }
    }
}

#[test]
fn nat_translated_connection_is_paired_by_handshake() {
    let made = made(&[200; 100], &[], Looks { ids: true, stamps: true });
    let pairing = compare(&made, key(99, 80));
    assert_eq!(pairing.flows[0].identified, identify::Identified::ByHandshake);
    assert_eq!(pairing.flows[0].directions[0].lost.count, 0);
    let stranger = tap(
        key(99, 80),
        script(
            "0.0 > S 0:0(0) win 1000 <mss 1012,TS val 777 ecr 0> // id 9\n0.1 > . 1:1(0) ack 1 win 1 <TS val 778 ecr 1> // id 10",
        ),
    );
    let error = pair(&tap(key(1, 80), made.near.iter().copied()), &stranger).unwrap_err();
    assert_eq!(error, PairingError::NothingInCommon { first: 1, second: 1 });
    let nothing = Collector::default().finish(0);
    assert_eq!(pair(&stranger, &nothing).unwrap_err(), PairingError::Empty { recording: 1 });
}

#[test]
fn thinned_transfer_keeps_its_loss_rate() {
    let fates: Vec<u8> = (0..20_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let made = made(&fates, &fates, Looks { ids: true, stamps: true });
    let collected = |events: &[Event], most_per_flow| {
        let mut collector = Collector::new(CollectorOptions { most_per_flow, ..Default::default() });
        collector.open(FlowId(1), &key(1, 80));
        events.iter().for_each(|event| collector.accept(FlowId(1), event));
        collector.finish(0)
    };
    let pairing = pair(&collected(&made.near, 20_000), &collected(&made.far, 9_000)).unwrap();
    let pair = &pairing.flows[0];
    assert!(pair.one_in >= 4, "{}", pair.one_in);
    let sent = &pair.directions[0];
    assert_eq!(sent.missed_far.count + sent.missed_near.count + sent.outside, 0);
    let share = made.lost as f64 / (made.lost + fates.len() as u64) as f64;
    assert!((sent.loss() - share).abs() < 0.02, "{} {share}", sent.loss());
}

/// Anything a forged capture may hold.
fn anything() -> impl Strategy<Value = Event> {
    let place = prop_oneof![-5i64..5000, any::<i64>()];
    let len = prop_oneof![Just(0u32), 1u32..3000, any::<u32>()];
    let when = prop_oneof![0i64..1_000_000_000, any::<i64>()];
    let fields = (any::<bool>(), 0u16..64, place.clone(), place, len, when);
    (fields, any::<Option<u16>>(), prop::option::of((0u32..50, 0u32..50)), prop::option::of(0u16..3))
        .prop_map(|((a, flags, seq, ack, len, when), id, stamps, mss)| {
            let from = if a { End::A } else { End::B };
            let flags = slowpath_model::Flags(flags);
            let mut segment =
                slowpath_model::Segment::new(from, flags, slowpath_model::StreamOffset(seq), len);
            segment.ack = Some(slowpath_model::StreamOffset(ack));
            segment.ip.id = id;
            segment.timestamps = stamps.map(|(val, ecr)| slowpath_model::Timestamps { val, ecr });
            segment.mss = mss;
            Event { at: Instant::from_nanos(when), kind: EventKind::Seen(segment) }
        })
}

proptest! {
    #[test]
    fn pairing_accepts_any_events(
        both in prop::collection::vec(anything(), 1..60), one in prop::collection::vec(anything(), 0..30),
        other in prop::collection::vec(anything(), 0..30), epochs: [i64; 2],
    ) {
        let collected = |more: &[Event], epoch| {
            let mut collector = Collector::default();
            collector.open(FlowId(1), &key(1, 80));
            both.iter().chain(more).for_each(|event| collector.accept(FlowId(1), event));
            collector.finish(epoch)
        };
        let pairing = pair(&collected(&one, epochs[0]), &collected(&other, epochs[1]));
        if let Ok(pairing) = pairing {
            for direction in pairing.flows.iter().flat_map(|pair| &pair.directions) {
                let fates = direction.arrived + direction.lost.count + direction.missed_far.count;
                prop_assert_eq!(fates, direction.packets);
            }
        }
    }
}

#[test]
fn one_direction_in_each_recording_is_named() {
    let sent = "0.0 > S 0:0(0) win 1000 <mss 1012> // id 9\n0.1 > . 1:1(0) ack 1 win 1 // id 10";
    let answered = "0.05 < S. 0:0(0) ack 1 win 1000 <mss 1012> // id 70\n0.2 < . 1:1(0) ack 1 win 9 // id 71";
    let [sent, answered] = [sent, answered].map(|lines| tap(key(1, 80), script(lines)));
    assert_eq!(pair(&sent, &answered).unwrap_err(), PairingError::OneDirectionEach);
}
