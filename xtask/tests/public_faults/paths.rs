//! Paths that change, and captures with parts left out, on otherwise fully known transfers.

use crate::captures::{at_random, losing};
use crate::transfer::{MS, Setup, Taps, in_between, transfer};
use crate::wire::{Passed, file_cut, report, reports};
use crate::{DELAYS, expect, share_of};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Cause, Confidence, Evidence, Limit};
use slowpath_model::{End, Segment};
use std::cell::Cell;

/// The cause with the most time, with its share.
fn mostly(report: &FlowReport) -> (Cause, f64) {
    let finding = &report.main().findings[0];
    (finding.cause, finding.share)
}

/// Asserts the limit with the most time at both taps.
fn expect_limit(taps: &Taps, limit: Limit) {
    for (place, passed) in [("sender", &taps.a), ("receiver", &taps.b)] {
        let report = report(passed);
        assert_eq!(mostly(&report).0.limit(), limit, "at the {place}: {:#?}", report.main().findings);
    }
}

/// In a local network both ends are within a millisecond of the tap. A queue in between delays ACKs; neither the
/// receiver nor the sender does.
#[test]
fn lan_queue_is_on_the_path() {
    for send_buffer in [100_000, 400_000] {
        let taps = transfer(Setup {
            amount: 4_000_000,
            one_way: 15_000,
            rate: 3_750,
            send_buffer,
            ..Setup::default()
        });
        expect_limit(&taps, Limit::Path);
    }
}

/// The path becomes 100 ms longer each way, at the same rate: the data in flight fills only part of it, in bursts. The
/// sender's tap shows constant RTTs.
#[test]
fn longer_path_is_not_a_queue() {
    let taps = transfer(Setup {
        amount: 16_000_000,
        rate: 2_500,
        send_buffer: 250_000,
        fate: Box::new(losing({
            let mut left = 1;
            move |segment| segment.seq.0 == 1_000_001 / 1448 * 1448 + 1 && std::mem::take(&mut left) > 0
        })),
        arrives: Box::new(|_, at| if at > 3_000 * MS { at + 100 * MS } else { at }),
        until: 9_000 * MS,
        ..Setup::default()
    });
    let report = report(&taps.a);
    let (cause, _) = mostly(&report);
    assert_eq!(cause.limit(), Limit::CongestionWindow, "{:#?}", report.main().findings);
    let evidence = report.main().findings.iter().flat_map(|finding| &finding.evidence);
    assert!(evidence.into_iter().any(|evidence| matches!(evidence, Evidence::LongerPath { .. })));
}

/// The path was full before it became longer, and ACKs came in batches.
#[test]
fn longer_path_after_a_full_one_is_not_a_queue() {
    let batch = 15 * MS;
    let mut left = 1;
    let taps = transfer(Setup {
        amount: 24_000_000,
        rate: 5_000,
        one_way: 12 * MS,
        send_buffer: 260_000,
        fate: Box::new(losing(move |segment| {
            let is_one = segment.from == End::A && segment.seq.0 == 1 + 200 * 1448;
            is_one && std::mem::take(&mut left) > 0
        })),
        arrives: Box::new(move |segment, at| match at > 3_000 * MS {
            true => at + 50 * MS,
            false if segment.from == End::B => (at + batch - 1) / batch * batch,
            false => at,
        }),
        until: 9_000 * MS,
        ..Setup::default()
    });
    let report = report(&taps.a);
    let mut evidence = report.main().findings.iter().flat_map(|finding| &finding.evidence);
    let is_longer = evidence.any(|evidence| matches!(evidence, Evidence::LongerPath { .. }));
    assert!(is_longer, "{:#?}", report.main().findings);
    let of_path = report.main().findings.iter().filter(|finding| finding.cause.limit() == Limit::Path);
    let share: f64 = of_path.map(|finding| finding.share).sum();
    assert!(share < 0.45, "{:#?}", report.main().findings);
}

/// ACKs come in batches, so that the last of each shows no queue. More data in flight is not delivered faster: the path
/// is full.
#[test]
fn full_path_with_batched_acks_is_full() {
    let batch = 20 * MS;
    let mut lost = 0;
    let taps = transfer(Setup {
        amount: 12_000_000,
        rate: 3_750,
        one_way: 15 * MS,
        fate: Box::new(losing(move |segment| {
            let is_one = segment.from == End::A && segment.seq.0 == 1 + 300 * 1448;
            lost += i32::from(is_one);
            is_one && lost == 1
        })),
        arrives: Box::new(
            move |segment, at| {
                if segment.from == End::B { (at + batch - 1) / batch * batch } else { at }
            },
        ),
        ..Setup::default()
    });
    let report = report(&taps.a);
    let (cause, share) = mostly(&report);
    assert!(cause.limit() == Limit::Path && share > 0.7, "{:#?}", report.main().findings);
}

/// Every second packet is late, and the link is full all the time: reordering then costs no time.
#[test]
fn reordering_costs_no_time_on_a_full_path() {
    let mut count = 0;
    let taps = transfer(Setup {
        amount: 8_000_000,
        rate: 2_500,
        send_buffer: 300_000,
        arrives: Box::new(move |segment, at| {
            count += i32::from(segment.len > 0);
            // By less than three segments.
            if segment.len > 0 && count % 7 == 0 { at + MS } else { at }
        }),
        ..Setup::default()
    });
    expect_limit(&taps, Limit::Path);
}

/// The application's window of 65,535 bytes, whose last segment Nagle's algorithm holds back until an ACK.
#[test]
fn nagle_tail_does_not_hide_a_protocol_window() {
    let taps = transfer(Setup { credit: Some(65_535), nagle: true, ..Setup::default() });
    let report = report(&taps.a);
    assert_eq!(mostly(&report).0, Cause::ProtocolWindow, "{:#?}", report.main().findings);
}

/// The capture starts after the handshake, and the window is 65,535 without a scale: the data in flight ends there each
/// time.
#[test]
fn window_filled_to_the_segment_without_handshake_is_unscaled() {
    let taps =
        transfer(Setup { amount: 6_000_000, scale: 0, window: Box::new(|_, _| 65_535), ..Setup::default() });
    for tap in [taps.a, taps.b] {
        let report = report(&without_beginning(&tap));
        let finding = &report.main().findings[0];
        assert_eq!(finding.cause, Cause::ReceiveBufferTooSmall, "{:#?}", report.main().findings);
        assert!(finding.share > 0.8 && finding.confidence == Confidence::Low);
    }
}

/// All but the first second.
fn without_beginning(passed: &[Passed]) -> Vec<Passed> {
    passed.iter().filter(|(at, _)| at.nanos() > 1_000 * MS).copied().collect()
}

/// Old tcpdumps kept 68 bytes, some people keep 54: the SYNs' options are cut, and with them the window scale. Options
/// that were not captured were not absent.
#[test]
fn options_cut_by_snaplen_are_unknown_not_absent() {
    let taps = transfer(Setup { amount: 8_000_000, rate: 2_500, send_buffer: 300_000, ..Setup::default() });
    for passed in [&taps.a, &taps.b] {
        for snap_length in [54, 68] {
            let reports = reports(file_cut(passed, snap_length));
            let findings = &reports[0].main().findings;
            let of_window = findings.iter().filter(|finding| finding.cause.limit() == Limit::ReceiveWindow);
            assert_eq!(of_window.count(), 0, "{snap_length}: {findings:#?}");
            let is_path = findings[0].cause.limit() == Limit::Path;
            assert!(is_path || findings[0].cause == Cause::Undetermined, "{snap_length}: {findings:#?}");
        }
    }
}

/// The reader stops now and then, and its window shrinks, but stays larger than the data in flight: the path is full
/// all the time.
#[test]
fn shrinking_window_with_room_is_not_a_limit() {
    // It reads nothing for the first 0.4 s of each second, and then everything.
    let mut read = 0_u32;
    let read = std::cell::RefCell::new(&mut read);
    let taps = transfer(Setup {
        amount: 12_000_000,
        rate: 2_500,
        send_buffer: 300_000,
        delays_unread: true,
        window: Box::new(|now, next| {
            if now % (1_000 * MS) > 400 * MS {
                **read.borrow_mut() = next;
            }
            (4 << 20) - (next - **read.borrow())
        }),
        ..Setup::default()
    });
    expect_limit(&taps, Limit::Path);
}

/// A radio link delivers what it has every 3.5 ms: RTTs vary by as much, and anew each time. What random loss leaves of the
/// congestion window is a part of what the path carries.
#[test]
fn batches_of_a_radio_link_are_not_a_queue() {
    const BATCH: i64 = 3_500_000;
    let over = |rate: i64, send_buffer: u32, one_in: u32| {
        transfer(Setup {
            amount: 6_000_000,
            send_buffer,
            one_way: 5 * MS,
            rate,
            arrives: Box::new(|_, at| (at + BATCH - 1) / BATCH * BATCH),
            fate: Box::new(losing(at_random(one_in))),
            ..Setup::default()
        })
    };
    let lossy = over(13_000, u32::MAX, 300);
    let report = report(&lossy.a);
    assert_eq!(mostly(&report).0.limit(), Limit::CongestionWindow, "{:#?}", report.main().findings);
    let evidence = &report.main().findings[0].evidence;
    assert!(evidence.iter().any(|one| matches!(one, Evidence::Jitter { .. })), "{evidence:#?}");
    expect_limit(&over(2_000, 100_000, 1_000_000), Limit::Path);
}

/// Far from the sender, slow start is flights that double, with pauses in between.
#[test]
fn slow_start_from_afar_is_no_idle_application() {
    for one_way in DELAYS {
        let taps = transfer(Setup { amount: 300_000, one_way, rate: 60_000, ..Setup::default() });
        let report = report(&taps.b);
        let idle = share_of(&report, |cause| cause == Cause::SenderIdle);
        let slow = share_of(&report, |cause| cause == Cause::SlowStart);
        assert!(slow > 1.3 * idle, "{one_way}: {:#?}", report.main().findings);
    }
}

/// A reader that takes all of a small window at once, and one time leaves all of it for 80 ms.
#[test]
fn one_stall_of_a_reader_does_not_make_it_slow() {
    let edge = Cell::new(None);
    let taps = transfer(Setup {
        amount: 6_000_000,
        window: Box::new(move |at, nxt| {
            const SMALL: u32 = 40_544;
            if !(1_000 * MS..1_080 * MS).contains(&at) {
                edge.set(Some(nxt + SMALL));
                return SMALL;
            }
            edge.get().map_or(0, |edge| edge.saturating_sub(nxt))
        }),
        scale: 0,
        updates: vec![1_080 * MS],
        ..Setup::default()
    });
    for passed in [&taps.a, &taps.b] {
        let report = report(passed);
        let small = share_of(&report, |cause| cause == Cause::ReceiveBufferTooSmall);
        let slow = share_of(&report, |cause| cause == Cause::SlowReader);
        assert!(small > 0.6 && small > 2.0 * slow, "{:#?}", report.main().findings);
    }
}

/// A window that holds less than the path, which becomes far longer after a second.
#[test]
fn window_of_a_path_that_became_longer_allows_what_that_path_lets_it() {
    let window = Box::new(|_, _| 64 << 10);
    let arrives = Box::new(|_: &Segment, at: i64| if at > 1_000 * MS { at + 60 * MS } else { at });
    let taps = transfer(Setup { amount: 4_000_000, window, arrives, ..Setup::default() });
    let found = report(&taps.a);
    let evidence = expect(&found, Cause::ReceiveBufferTooSmall, "window-allows");
    let Evidence::WindowAllows { rtt, rate } = evidence else { panic!("{evidence:?}") };
    assert!((155..170).contains(&rtt.as_millis()), "{rtt:?}, and not the 40 ms of before");
    assert!((3.0e6..3.5e6).contains(&(rate.get() as f64)), "{rate:?}");
}

/// A queue of another flow may have stood since before a capture began, so that no RTT in it is short: it says nothing of queues.
#[test]
fn capture_that_begins_later_does_not_exclude_a_queue() {
    let taps = transfer(Setup { fate: Box::new(losing(at_random(100))), ..Setup::default() });
    let says = |passed: &[Passed]| {
        let findings = report(passed).main().findings.clone();
        let of_loss = findings.into_iter().find(|finding| finding.cause == Cause::AfterLoss).expect("losses");
        of_loss.evidence.iter().any(|evidence| evidence.slug() == "no-queue")
    };
    assert!(says(&taps.a));
    assert!(!says(&taps.a[3..]), "without the handshake");
}

/// Losses keep the congestion window small, and a tap in between stamps a packet in two hundred 3 ms late: whatever answers that
/// one seems nearer. The path is no longer than its shortest RTT for that.
#[test]
fn packets_that_are_stamped_late_make_no_queue_from_in_between() {
    let taps = transfer(Setup {
        amount: 8_000_000,
        one_way: 16 * MS,
        rate: 5_000,
        fate: Box::new(losing(at_random(120))),
        until: 15_000 * MS,
        ..Setup::default()
    });
    let mut passed = in_between(&taps.a);
    for (at, _) in passed.iter_mut().skip(10).step_by(199) {
        *at = at.plus_nanos(3 * MS);
    }
    let report = report(&passed);
    let path = share_of(&report, |cause| cause.limit() == Limit::Path);
    assert!(path < 0.1, "{path:.2}, {:#?}", report.main().findings);
}
