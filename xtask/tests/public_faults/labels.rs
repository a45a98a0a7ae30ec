//! Labels of data segments in captures by others: duplicates, counters that wrap, gaps of the capture.

use crate::captures::{at_random, handshake, losing, one_at_a_time};
use crate::transfer::{MSS, Setup, transfer};
use crate::wire::{Passed, count, labels, report, script};
use slowpath_analyses::Label;
use slowpath_model::{Bytes, End, Flags, Instant};

/// Each frame once more, this many microseconds later and one hop further: a mirror port of both sides of a router. An
/// IPv4 identification of 0 and IPv6, which has none, look the same.
fn mirrored(passed: &[Passed], later: i64) -> Vec<Passed> {
    let both = passed.iter().flat_map(|&(at, mut segment)| {
        segment.ip.id = segment.ip.id.map(|_| 0);
        let mut copy = segment;
        copy.ip.ttl = copy.ip.ttl.saturating_sub(1);
        [(at, segment), (at.plus_nanos(later * 1000), copy)]
    });
    let mut both: Vec<Passed> = both.collect();
    both.sort_by_key(|(at, _)| *at);
    both
}

/// 20 segments of 1460 bytes, each acknowledged after 40 ms.
fn twenty_segments() -> Vec<Passed> {
    script(&(handshake() + &one_at_a_time(20, 1460, [0.05, 0.05, 0.04], [502, 509])))
}

#[test]
fn mirror_port_frames_without_ip_id_are_duplicates() {
    for later in [40, 3_000] {
        let passed = mirrored(&twenty_segments(), later);
        let found = labels(&passed);
        for (label, times) in
            [(Label::New, 20), (Label::Duplicate, 20), (Label::Retransmission, 0), (Label::Spurious, 0)]
        {
            assert_eq!(count(&found, End::A, label), times, "{label:?} of {later} µs: {found:?}");
        }
        let report = report(&passed);
        assert_eq!((report.opening.retransmitted, report.opening.unanswered), (0, 1), "{later} µs");
        assert_eq!(report.main().measures.packets, 44, "copies are packets of the capture");
        assert_eq!(report.main().measures.unique_bytes, Bytes::new(20 * 1460));
    }
}

/// After a timeout, a sender retransmits everything outstanding, including data sent very recently.
#[test]
fn data_retransmitted_soon_after_sending_by_rto_is_a_retransmission() {
    let mut lines = handshake();
    lines += "0.050000 > . 1:1461(1460) ack 1 win 502 // id 0
              0.090100 < . 1:1(0) ack 1461 win 509
              0.090200 > . 1461:2921(1460) ack 1 win 502 // id 0
              0.090210 > . 2921:4381(1460) ack 1 win 502 // id 0
              0.390000 > P. 4381:4881(500) ack 1 win 502 // id 0
              0.392900 > . 1461:2921(1460) ack 1 win 502 // id 0
              0.392910 > . 2921:4381(1460) ack 1 win 502 // id 0
              0.393800 > P. 4381:4881(500) ack 1 win 502 // id 0
              0.433000 < . 1:1(0) ack 4881 win 509";
    let found = labels(&script(&lines));
    assert_eq!(count(&found, End::A, Label::Retransmission), 3, "{found:?}");
    assert_eq!(count(&found, End::A, Label::Duplicate), 0, "{found:?}");
}

/// A server's counter of all its packets: 30,000 a second.
fn busy_host(at: f64) -> u16 {
    (at * 30_000.0) as u64 as u16
}

#[test]
fn wrapped_ip_id_does_not_make_a_retransmission_reordered() {
    let mut lines = String::new();
    for n in 0..20 {
        let (at, start) = (f64::from(n).mul_add(0.0021, 0.01), 1 + 1400 * n);
        lines += &format!(
            "{at:.6} > . {start}:{}(1400) ack 1 win 500 // id {} ttl 117\n",
            start + 1400,
            busy_host(at)
        );
    }
    lines += "0.090000 < . 1:1(0) ack 26601 win 65535\n";
    // The timer doubles: each time, the counter is elsewhere.
    for at in [0.35, 0.95, 2.15, 4.55, 9.35, 18.95] {
        lines += &format!("{at:.6} > . 26601:28001(1400) ack 1 win 500 // id {} ttl 117\n", busy_host(at));
    }
    let found = labels(&script(&(handshake() + &lines)));
    assert_eq!(count(&found, End::A, Label::Retransmission), 6, "{found:?}");
}

/// Some load balancers retransmit stored packets unchanged, with the original identification, while that of ACKs goes
/// on.
#[test]
fn retransmission_with_original_ip_id_is_not_reordered() {
    let mut lines = handshake();
    for n in 0..20 {
        let (at, start) = (f64::from(n).mul_add(0.05, 0.05), 1 + 1000 * n);
        lines += &format!(
            "{at:.6} > P. {start}:{}(1000) ack {} win 502 // id {} ttl 60
             {:.6} < P. {}:{}(10) ack {} win 509\n",
            start + 1000,
            1 + 10 * n,
            100 + n,
            at + 0.04,
            1 + 10 * n,
            11 + 10 * n,
            if n < 19 { start + 1000 } else { start },
        );
    }
    lines += "1.350000 > . 20001:20001(0) ack 201 win 502 // id 120 ttl 60
              1.400000 > P. 19001:20001(1000) ack 191 win 502 // id 119 ttl 60
              1.900000 > P. 19001:20001(1000) ack 191 win 502 // id 119 ttl 60
              1.940000 < . 201:201(0) ack 20001 win 509";
    let found = labels(&script(&lines));
    assert_eq!(count(&found, End::A, Label::OutOfOrder), 0, "{found:?}");
    assert_eq!(count(&found, End::A, Label::Retransmission), 2, "{found:?}");
}

/// What a capture missed leaves gaps in the identifications as well, and pauses.
#[test]
fn new_data_after_a_capture_gap_is_new() {
    let taps = transfer(Setup { amount: 1_000_000, ..Setup::default() });
    for (from, passed) in [taps.a, taps.b].into_iter().enumerate() {
        for (every, lost) in [(60, 1), (60, 7), (150, 45)] {
            let kept = passed.iter().enumerate().filter(|(n, _)| n % every >= lost || *n < 40);
            let kept: Vec<Passed> = kept.map(|(_, passed)| *passed).collect();
            let found = labels(&kept);
            assert_eq!(count(&found, End::A, Label::New), found.len(), "tap {from}, {lost} of {every}");
        }
    }
}

/// More segments are missing than full ones would be: some were short.
#[test]
fn new_data_after_a_capture_gap_with_short_segments_is_new() {
    let mut lines = handshake();
    let (mut at, mut start) = (0.05, 1);
    for n in 0..20 {
        lines += &format!(
            "{at:.6} > . {start}:{}(1460) ack 1 win 502 // id {} ttl 57\n{:.6} < . 1:1(0) ack {} win 509\n",
            start + 1460,
            200 + n,
            at + 0.0001,
            start + 1460
        );
        (at, start) = (at + 0.02, start + 1460);
    }
    // 44 packets were not captured, 38 full ones and 6 short ones, nor their ACKs.
    (at, start) = (at + 0.1, start + 38 * 1460 + 720);
    for n in 0..4 {
        lines +=
            &format!("{at:.6} > . {start}:{}(1460) ack 1 win 502 // id {} ttl 57\n", start + 1460, 264 + n);
        (at, start) = (at + 0.0001, start + 1460);
    }
    let found = labels(&script(&lines));
    assert_eq!(count(&found, End::A, Label::New), 24, "{found:?}");
}

/// A bulk transfer through a mirror port without identifications has the same verdict, though seen twice.
#[test]
fn mirrored_transfer_has_the_verdict_of_the_transfer() {
    let taps = transfer(Setup { fate: Box::new(losing(at_random(300))), ..Setup::default() });
    for (tap, passed) in [taps.a, taps.b].into_iter().enumerate() {
        let once = report(&passed);
        let twice = report(&mirrored(&passed, 60));
        let [one, two] = [&once, &twice].map(|report| &report.main().measures);
        assert_eq!(two.labels.duplicate, one.data_packets, "tap {tap}");
        assert_eq!(two.unique_bytes, one.unique_bytes, "tap {tap}");
        assert_eq!(two.labels.retransmission, one.labels.retransmission, "tap {tap}");
        let acks = [&once, &twice].map(|report| report.directions[End::B.index()].measures.duplicate_acks);
        assert_eq!(acks[0], acks[1], "tap {tap}");
        let causes =
            [&once, &twice].map(|report| report.main().findings.first().map(|finding| finding.cause));
        assert_eq!(causes[0], causes[1], "tap {tap}");
    }
}

/// One SYN, sent twice, is answered by two hosts behind one address. The first answer is accepted.
#[test]
fn second_syn_ack_from_another_host_causes_no_retransmissions() {
    let lines = "0.000000 > S 0:0(0) win 14600 <mss 1400,sackOK,wscale 7>
                 1.000000 > S 0:0(0) win 14600 <mss 1400,sackOK,wscale 7>
                 1.042000 < S. 0:0(0) ack 1 win 4380 <mss 1400>
                 1.049000 > . 1:1(0) ack 1 win 14600
                 1.737000 < S. 99310615:99310615(0) ack 1 win 4380 <mss 1400>
                 1.739000 > . 1:1(0) ack 1 win 14600
                 1.750000 > P. 1:185(184) ack 1 win 14600
                 1.790000 < . 1:1281(1280) ack 185 win 42156
                 1.790100 < P. 1281:2561(1280) ack 185 win 42156
                 1.800000 > . 185:185(0) ack 2561 win 16640";
    let found = labels(&script(lines));
    assert_eq!(count(&found, End::B, Label::New), 2, "{found:?}");
}

/// The capture starts between a reordered segment and the one that overtook it.
#[test]
fn data_below_the_first_seen_segment_is_new() {
    let lines = "0.000000 > P. 1397:1419(22) ack 1 win 110 <TS val 772 ecr 281>
                 0.000180 < . 1:1(0) ack 1 win 65535 <TS val 282 ecr 772,sack 1397:1419>
                 0.000410 > . 1:1397(1396) ack 1 win 110 <TS val 771 ecr 281>
                 0.000860 < . 1:1(0) ack 1419 win 65434 <TS val 282 ecr 772>
                 0.016400 > P. 1419:1484(65) ack 1 win 110 <TS val 793 ecr 282>";
    let passed = script(lines);
    let found = labels(&passed);
    let found: Vec<Label> = found.into_iter().map(|(_, _, label)| label).collect();
    assert_eq!(found, [Label::New, Label::OutOfOrder, Label::New]);
    assert_eq!(report(&passed).main().measures.unique_bytes, Bytes::new(1483));
}

#[test]
fn keep_alive_on_a_connection_without_data() {
    let mut lines = handshake();
    for n in 1..5 {
        let at = f64::from(n) * 45.0;
        lines += &format!("{at:.6} > . 0:0(0) ack 1 win 502\n{:.6} < . 1:1(0) ack 1 win 509\n", at + 0.04);
    }
    let found = labels(&script(&lines));
    assert_eq!(count(&found, End::A, Label::KeepAlive), 4, "{found:?}");
}

/// The FIN takes a sequence number and is no payload.
#[test]
fn fin_added_to_retransmitted_data_is_not_a_unique_byte() {
    let lines = handshake()
        + "0.050000 > P. 1:206(205) ack 1 win 502
           0.400000 > FP. 1:206(205) ack 1 win 502
           0.440000 < . 1:1(0) ack 207 win 509";
    assert_eq!(report(&script(&lines)).main().measures.unique_bytes, Bytes::new(205));
}

/// 200 requests and answers of a connection whose start was not captured: the field is 229, and is scaled.
#[test]
fn window_of_unknown_scale_is_not_full() {
    let lines = one_at_a_time(200, 86, [0.05, 0.05, 0.04], [229, 229]);
    assert_eq!(report(&script(&lines)).main().measures.window_full, 0);
}

/// Over the loopback interface, one full segment is nearly the window.
#[test]
fn request_does_not_fill_a_window_of_one_segment() {
    let mut lines = "0.000000 > S 0:0(0) win 65476 <mss 65476,sackOK,wscale 7>
         0.000010 < S. 0:0(0) ack 1 win 65464 <mss 65476,sackOK,wscale 7>
         0.000020 > . 1:1(0) ack 1 win 512\n"
        .to_owned();
    lines += &one_at_a_time(50, 144, [0.05, 0.01, 0.00001], [512, 511]);
    assert_eq!(report(&script(&lines)).main().measures.window_full, 0);
    let full = "1.000000 > P. 7201:72609(65408) ack 1 win 512\n";
    assert_eq!(report(&script(&(lines + full))).main().measures.window_full, 1);
}

/// One end of a short connection, of which little is known: three segments, the last two reordered.
#[test]
fn ip_id_between_its_neighbours_is_reordering() {
    let lines = "0.055200 > P. 1:1310(1309) ack 1 win 110 // id 62740 ttl 55
                 0.056700 > P. 2706:2728(22) ack 1 win 110 // id 62742 ttl 55
                 0.057100 > . 1310:2706(1396) ack 1 win 110 // id 62741 ttl 55";
    let found = labels(&script(lines));
    assert_eq!(count(&found, End::A, Label::OutOfOrder), 1, "{found:?}");
    let lost = lines.replace("id 62741", "id 62743");
    assert_eq!(count(&labels(&script(&lost)), End::A, Label::Retransmission), 1);
}

/// The splitter of super-packets numbered the pieces 256 apart, and so beyond later packets.
#[test]
fn no_reordering_at_a_tap_next_to_the_sender() {
    let mut lines = handshake();
    for n in 0..12 {
        let (at, start) = (f64::from(n).mul_add(0.000_001, 0.05), 1 + 1460 * n);
        lines += &format!(
            "{at:.6} > . {start}:{}(1460) ack 1 win 502 // id {} ttl 64\n",
            start + 1460,
            300 + 256 * n
        );
    }
    lines += "0.090000 < . 1:1(0) ack 14601 win 509
              0.090050 > P. 17521:18421(900) ack 1 win 502 // id 312 ttl 64
              0.131000 < . 1:1(0) ack 14601 win 509 <sack 16061:18421>
              0.290000 > . 14601:16061(1460) ack 1 win 502 // id 313 ttl 64
              0.330000 < . 1:1(0) ack 18421 win 509";
    let found = labels(&script(&lines));
    assert_eq!(count(&found, End::A, Label::OutOfOrder), 0, "{found:?}");
    assert_eq!(count(&found, End::A, Label::Retransmission), 1, "{found:?}");
}

/// For all kinds of identifications: per connection, per host, random, swapped, or none.
#[test]
fn no_new_byte_is_labelled_retransmission_at_any_tap() {
    let seen = |passed: &[Passed], policy: u32| -> Vec<Passed> {
        let mut state = 1u32;
        let ids = passed.iter().map(|&(at, mut segment)| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let host = (at.nanos_since(Instant::START) / 100_000) as u16;
            segment.ip.id = segment.ip.id.map(|id| match policy {
                0 => id,
                1 => id.wrapping_add(host),
                2 => (state >> 16) as u16,
                3 => id.swap_bytes(),
                _ => 0,
            });
            (at, segment)
        });
        ids.collect()
    };
    let taps = transfer(Setup { amount: 600_000, fate: Box::new(losing(at_random(40))), ..Setup::default() });
    // At the sender, everything passes: earlier transmissions are known.
    for policy in 0..5 {
        let found = labels(&seen(&taps.a, policy));
        let mut next = 0;
        for (at, segment, label) in &found {
            if segment.from == End::A && segment.len > 0 {
                let is_new = segment.seq.0 >= next;
                next = next.max(segment.end().0);
                assert_eq!(*label == Label::New, is_new, "policy {policy}, {at:?}: {segment}");
            }
        }
        assert!(next > i64::from(600_000 - MSS), "{next}");
        assert!(!found.iter().any(|(_, segment, _)| segment.flags.has(Flags::SYN)));
    }
}

/// The path delivers each segment twice, and the receiver's TCP reports the second. A tap at the sender sees the reports only,
/// one next to the receiver the copies too. Neither a probe's byte nor a retransmission is a copy.
#[test]
fn copies_that_the_receiver_reports_were_made_by_the_network() {
    let lines = |at_receiver: bool| {
        let mut lines = handshake();
        for n in 0..20 {
            let (at, start, end) = (0.05 + 0.05 * f64::from(n), 1 + 1460 * n, 1461 + 1460 * n);
            let data = format!("> . {start}:{end}(1460) ack 1 win 502 // id {}\n", 200 + n);
            lines += &format!("{at:.6} {data}");
            if at_receiver {
                lines += &format!("{:.6} {data}", at + 0.0003);
            }
            lines += &format!("{:.6} < . 1:1(0) ack {end} win 509 // id {}\n", at + 0.04, 500 + 2 * n);
            let report = format!("< . 1:1(0) ack {end} win 509 <sack {start}:{end}> // id {}", 501 + 2 * n);
            lines += &format!("{:.6} {report}\n", at + 0.0403);
        }
        lines += "1.300000 > . 29200:29201(1) ack 1 win 502 // id 230
                  1.340000 < . 1:1(0) ack 29201 win 509 <sack 29200:29201> // id 560
                  1.400000 > . 29201:30661(1460) ack 1 win 502 // id 231
                  1.700000 > . 29201:30661(1460) ack 1 win 502 // id 232
                  1.740000 < . 1:1(0) ack 30661 win 509 // id 561
                  1.741000 < . 1:1(0) ack 30661 win 509 <sack 29201:30661> // id 562";
        script(&lines)
    };
    for (at_receiver, copies) in [(true, 20), (false, 0)] {
        let report = report(&lines(at_receiver));
        let [sent, answered] = [End::A, End::B].map(|end| &report.directions[end.index()].measures);
        assert_eq!((sent.labels.duplicate, sent.labels.spurious), (copies, 1), "{:?}", sent.labels);
        assert_eq!((answered.dsack_blocks, answered.unusual().dsack_copies), (22, 20));
    }
}

/// Where the sender's card cuts super-packets, one that is retransmitted is as many segments as it holds.
#[test]
fn retransmitted_super_packet_counts_as_its_segments() {
    let mut lines = handshake();
    for n in 0..20 {
        let (at, start) = (0.05 + 0.001 * f64::from(n), 1 + 4_380 * n);
        lines += &format!(
            "{at:.6} > . {start}:{}(4380) ack 1 win 502 // id {} ttl 64\n",
            start + 4_380,
            200 + 3 * n
        );
    }
    // The first was lost, and the last segment of the second.
    lines += "0.092000 < . 1:1(0) ack 1 win 509 <sack 4381:7301 8761:87601,nop,nop>
              0.100000 > . 1:4381(4380) ack 1 win 502 // id 300 ttl 64
              0.100100 > . 7301:8761(1460) ack 1 win 502 // id 303 ttl 64
              0.141000 < . 1:1(0) ack 87601 win 509\n";
    let measures = report(&script(&lines)).main().measures.clone();
    assert_eq!((measures.labels.retransmission, measures.retransmitted()), (2, 4), "{measures:?}");
    assert_eq!(measures.data_segments(), 64);
    assert!(measures.lost_share().is_some_and(|share| (share - 4.0 / 64.0).abs() < 1e-9));
}
