//! Hosts without timestamps (as Windows has them), seen at the receiver, where no RTT shows but those of the handshake and
//! of repairs.

use crate::captures::{at_random, losing};
use crate::transfer::{MS, MSS, Refills, Setup, transfer, without_timestamps};
use crate::wire::{Passed, report};
use crate::{DELAYS, expect_mainly, expect_none, main_finding, share_of};
use slowpath_analyses::{Cause, Limit};

/// After the handshake, other flows keep the bottleneck busy for two thirds of each 60 ms.
fn in_turns(at: i64) -> i64 {
    if at < 100 * MS { 0 } else { (40 * MS - at % (60 * MS)).max(0) }
}

/// What B's tap has of it.
fn at_b(setup: Setup<'_>) -> Vec<Passed> {
    without_timestamps(&transfer(setup).b)
}

#[test]
fn repairs_date_the_queue_that_flows_share() {
    let fate = Box::new(losing(at_random(250)));
    let (amount, rate) = (3_000_000, 1_250);
    let report = report(&at_b(Setup { amount, rate, others: in_turns, fate, ..Setup::default() }));
    let on_path = share_of(&report, |cause| cause.limit() == Limit::Path);
    assert!(on_path > 0.5, "{:#?}", report.main().findings);
    assert!(share_of(&report, |cause| cause == Cause::SenderIdle) < 0.05, "{:#?}", report.main().findings);
}

/// A congestion window of thirty segments, whose bursts come an RTT after the ACKs of those before: no queue stands.
#[test]
fn bursts_after_acks_show_that_no_queue_stands() {
    for one_way in DELAYS {
        let clamped = || Setup { amount: 3_000_000, send_buffer: 30 * MSS, one_way, ..Setup::default() };
        expect_mainly(&at_b(clamped()), main_finding(&report(&transfer(clamped()).b)).cause);
        expect_mainly(&at_b(clamped()), Cause::EarlyExit);
    }
}

/// A writer that is let continue when a third of its buffer is free reacts later than an RTT, and no queue stands.
#[test]
fn late_refills_of_a_buffer_are_no_queue() {
    for send_buffer in [40_000, 65_535, 100_000] {
        let setup =
            Setup { amount: 3_000_000, send_buffer, refills: Refills::WhenWritable, ..Setup::default() };
        expect_none(&report(&at_b(setup)), Cause::BottleneckFull);
    }
}

/// The tap misses all that passes for 0.3 s in each second. What passes then is beyond the last window that it saw.
#[test]
fn gaps_of_the_capture_bring_the_sender_no_nearer() {
    let window = Box::new(|_, _| 20 * MSS);
    let mut passed = at_b(Setup { amount: 2_000_000, window, ..Setup::default() });
    passed.retain(|(at, _)| at.nanos() % (1000 * MS) < 700 * MS);
    let report = report(&passed);
    assert_eq!(main_finding(&report).cause, Cause::ReceiveBufferTooSmall, "{:#?}", report.main().findings);
    expect_none(&report, Cause::StandingQueue);
}

/// The first window of ten segments takes longer than the RTT, so that no pause ends it.
#[test]
fn first_window_shows_the_rate_of_a_slow_path() {
    expect_mainly(&at_b(Setup { rate: 625, one_way: 5 * MS, ..Setup::default() }), Cause::BottleneckFull);
}
