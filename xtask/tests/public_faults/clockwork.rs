//! Programs that write by the clock, and those that take turns.

use crate::wire::{Passed, report};
use crate::writers::{FULL, RTT, Stream};
use crate::{expect, expect_mainly, share_of};
use slowpath_analyses::{Cause, Evidence};
use std::time::Duration;

/// A generator of equal chances (Park and Miller, CACM 1988).
struct Chance(i64);

impl Chance {
    fn up_to(&mut self, most: i64) -> i64 {
        self.0 = self.0 * 16_807 % 2_147_483_647;
        self.0 * most / 2_147_483_647
    }
}

/// Writes of 9,000 bytes, each late by up to 1.5 ms, which B answers with 40 bytes after another 5 to 8 ms. Each is due 100 ms after
/// the one before was `due`, or 50 ms after the answer to the one before.
fn answered(by_the_clock: bool) -> Vec<Passed> {
    let mut stream = Stream::new();
    let mut chance = Chance(7_919);
    let mut due = 100_000;
    for _ in 0..100 {
        let at = due + chance.up_to(1_500);
        stream.write(at, 9_000);
        let answered = at + RTT + 5_000 + chance.up_to(3_000);
        let all = stream.sent();
        stream.acknowledge(at + RTT, all, 0);
        stream.acknowledge(answered, all, 40);
        due = if by_the_clock { due + 100_000 } else { answered + 50_000 };
    }
    stream.passed()
}

#[test]
fn writes_by_the_clock_are_no_turns_though_each_is_answered() {
    let evidence = expect(&report(&answered(true)), Cause::SenderIdle, "written-by-clock");
    let Evidence::WrittenByClock { writes, every, within } = evidence else { panic!("{evidence:?}") };
    assert!(writes >= 90 && every.abs_diff(Duration::from_millis(100)) < Duration::from_micros(50));
    assert!(within < Duration::from_millis(1), "{within:?}");
    expect_mainly(&answered(false), Cause::ThinkTime);
}

/// Eight full segments each 100 ms. Their ACKs let nothing out.
#[test]
fn full_segments_below_the_initial_window_that_acks_follow_with_nothing_are_all_there_was() {
    let mut stream = Stream::new();
    for nth in 0..80 {
        let at = 100_000 + nth * 100_000;
        (0..8).for_each(|segment| stream.send(at + segment * 10, FULL, false));
        let first = stream.sent() - 8 * FULL;
        (1..=4).for_each(|pair| stream.acknowledge(at + RTT + pair * 800, first + pair * 2 * FULL, 0));
    }
    let report = report(&stream.passed());
    assert!(share_of(&report, |cause| cause == Cause::SenderIdle) > 0.9, "{:#?}", report.main().findings);
}
