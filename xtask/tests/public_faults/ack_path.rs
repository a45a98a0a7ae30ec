//! Queues on the way of the ACKs, which RTTs alone do not tell from queues of the data.

use crate::both_taps::{CLOCKS, compared};
use crate::transfer::{MS, Setup, Taps, transfer, without_timestamps};
use crate::wire::report;
use crate::{DELAYS, expect_mainly, expect_none, share_of};
use slowpath_analyses::{Cause, Limit};
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
