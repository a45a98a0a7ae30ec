//! Queues on the way of the ACKs, which RTTs alone do not tell from queues of the data.

use crate::both_taps::{CLOCKS, compared, files};
use crate::transfer::{MS, Setup, Taps, transfer, without_timestamps};
use crate::wire::{report, reports};
use crate::{DELAYS, expect_mainly, expect_none, main_finding, share_of};
use slowpath_analyses::{Cause, Evidence, Limit};
use slowpath_model::End;

/// An uplink of which each ACK takes `each` nanoseconds, and which is busy with other data for `others` of every 100 ms.
fn over(one_way: i64, rate: i64, each: i64, others: i64) -> Taps {
    let mut free = 0;
    transfer(Setup {
        amount: 12_000_000,
        send_buffer: 1_000_000,
        one_way,
        rate,
        arrives: Box::new(move |segment, at| {
            if segment.from == End::A {
                return at;
            }
            let busy = at / (100 * MS) * (100 * MS) + others;
            free = (at.max(free).max(if at % (100 * MS) < others { busy } else { 0 })) + each;
            free
        }),
        ..Setup::default()
    })
}

/// 1 Gbit/s of data whose ACKs a line of 0.5 Mbit/s carries, one each millisecond: the window grows, and with it only the queue
/// of ACKs.
#[test]
fn queue_on_the_way_of_acks_is_told_from_one_of_data() {
    for one_way in DELAYS {
        let taps = over(one_way, 125_000, MS, 0);
        for passed in [&taps.a, &taps.b] {
            expect_mainly(passed, Cause::AckPathQueue);
        }
        for ahead in CLOCKS {
            let (_, flows) = compared(&[(&taps, 0)], ahead);
            let share = share_of(&flows[0], |cause| cause == Cause::AckPathQueue);
            assert!(share > 0.6, "{:#?}", flows[0].main().findings);
        }
    }
}

/// Without timestamps, only both recordings together tell.
#[test]
fn both_taps_tell_the_way_of_a_queue_without_timestamps() {
    let taps = over(20 * MS, 125_000, MS, 0);
    let taps = Taps { a: without_timestamps(&taps.a), b: without_timestamps(&taps.b) };
    for passed in [&taps.a, &taps.b] {
        expect_none(&report(passed), Cause::AckPathQueue);
    }
    let (_, flows) = compared(&[(&taps, 0)], CLOCKS[1]);
    let share = share_of(&flows[0], |cause| cause == Cause::AckPathQueue);
    assert!(share > 0.6, "{:#?}", flows[0].main().findings);
}

/// A queue of data, and one of data behind which ACKs wait a little as well.
#[test]
fn queue_of_data_is_not_one_of_acks() {
    for each in [0, 250_000] {
        let taps = over(10 * MS, 1_250, each, 0);
        for passed in [&taps.a, &taps.b] {
            let report = report(passed);
            expect_none(&report, Cause::AckPathQueue);
            assert_eq!(report.main().findings[0].cause.limit(), Limit::Path, "{:#?}", report.main().findings);
        }
        let (_, flows) = compared(&[(&taps, 0)], CLOCKS[1]);
        expect_none(&flows[0], Cause::AckPathQueue);
    }
}

/// An upload fills the uplink from the first ACKs on: they take half a second, and the download behind them comes in bursts with
/// long pauses. That no program paused shows in the timestamps that its data echoes, older than those that passed meanwhile.
#[test]
fn waits_for_acks_behind_an_upload_are_no_pauses_of_a_program() {
    for one_way in DELAYS {
        let waits =
            |at: i64| if at < 300 * MS { 0 } else { 300 * MS + (at % (4_000 * MS) - 2_000 * MS).abs() / 8 };
        let mut last = 0;
        let taps = transfer(Setup {
            amount: 2_000_000,
            send_buffer: 80_000,
            one_way,
            arrives: Box::new(move |segment, at| {
                last = if segment.from == End::A { last } else { last.max(at + waits(at)) };
                if segment.from == End::A { at } else { last }
            }),
            ..Setup::default()
        });
        let report = report(&taps.b);
        let share = share_of(&report, |cause| cause == Cause::AckPathQueue);
        assert!(share > 0.6, "{:#?}", report.main().findings);
        assert!(share_of(&report, |cause| cause == Cause::SenderIdle) < 0.1, "{:#?}", report.main().findings);
    }
}

/// An upload that fills the uplink before the download begins: from the SYN on, no RTT of it is short. That the path is
/// shows in another flow of the same host.
#[test]
fn queue_that_was_there_first_shows_in_another_flow() {
    let short = transfer(Setup { amount: 20_000, one_way: 20 * MS, ..Setup::default() });
    let mut last = 0;
    let mut queued = transfer(Setup {
        amount: 2_000_000,
        one_way: 20 * MS,
        arrives: Box::new(move |segment, at| {
            let waits = 300 * MS + (at % (4_000 * MS) - 2_000 * MS).abs() / 8;
            last = if segment.from == End::A { last } else { last.max(at + waits) };
            if segment.from == End::A { at } else { last }
        }),
        ..Setup::default()
    });
    // The SYN-ACK waited, too.
    for (nth, (at, segment)) in queued.b.iter_mut().take(3).enumerate() {
        let stamps = segment.timestamps.as_mut().expect("with timestamps");
        if nth < 2 {
            *at = at.plus_nanos(-300 * MS);
            stamps.val -= 300;
        }
        stamps.ecr = stamps.ecr.saturating_sub(300);
    }
    // From a minute later on, the route may be another.
    for (begins, queue) in [(2_000 * MS, 300..600), (62_000 * MS, 50..200)] {
        let [_, file] = files(&[(&short, 0), (&queued, begins)], CLOCKS[0]);
        let flows = reports(file);
        assert_eq!(share_of(&flows[0], |cause| cause == Cause::AckPathQueue), 0.0);
        let finding = main_finding(&flows[1]);
        let found = finding.evidence.iter().find_map(|evidence| match evidence {
            Evidence::DataPunctual { queue, .. } => Some(queue.as_millis()),
            _ => None,
        });
        assert!(
            finding.cause == Cause::AckPathQueue && found.is_some_and(|found| queue.contains(&found)),
            "{finding:#?}"
        );
    }
}
