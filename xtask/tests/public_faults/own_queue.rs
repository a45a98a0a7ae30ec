//! A queue of the sending host drops packets in front of the tap: a qdisc whose limit is smaller than a burst.

use crate::captures::{at_random, losing};
use crate::transfer::{MS, Setup, Taps, nearer_to_b, transfer};
use crate::wire::{Passed, report};
use crate::{DELAYS, expect_none, main_finding, share_of};
use slowpath_analyses::{Cause, Evidence, Limit};
use slowpath_model::End;
use std::collections::HashSet;

/// A transfer that loses one packet in a hundred.
pub fn lossy(one_way: i64) -> Taps {
    let fate = Box::new(losing(at_random(100)));
    transfer(Setup { amount: 3_000_000, one_way, fate, ..Setup::default() })
}

/// What A's tap has if that happens in front of it.
pub fn before_tap(taps: &Taps) -> Vec<Passed> {
    let arrived: HashSet<_> = taps.b.iter().map(|(_, segment)| (segment.from, segment.ip.id)).collect();
    let passes =
        |(_, segment): &&Passed| segment.from == End::B || arrived.contains(&(segment.from, segment.ip.id));
    taps.a.iter().filter(passes).copied().collect()
}

#[test]
fn losses_in_front_of_the_tap_are_the_hosts_own() {
    for one_way in [MS / 4].into_iter().chain(DELAYS) {
        let taps = lossy(one_way);
        let report = report(&before_tap(&taps));
        let own = report.main().findings.iter().find(|finding| finding.cause == Cause::LocalQueue);
        let own = own.unwrap_or_else(|| panic!("{one_way}: {:#?}", report.main().findings));
        assert!(
            matches!(own.evidence[0], Evidence::LostBeforeTap { segments } if segments >= 10),
            "{:#?}",
            own.evidence
        );
        assert_eq!(share_of(&report, |cause| cause.limit() == Limit::LossRecovery), 0.0);
    }
}

#[test]
fn losses_behind_the_tap_are_not() {
    for one_way in [MS / 4].into_iter().chain(DELAYS) {
        let taps = lossy(one_way);
        for passed in [&taps.a, &taps.b] {
            expect_none(&report(passed), Cause::LocalQueue);
        }
    }
}

/// Behind the first switch, the cable or the switch may have lost them.
#[test]
fn losses_between_a_host_and_the_next_switch_are_not_of_its_queue() {
    let passed = before_tap(&lossy(DELAYS[0]));
    expect_none(&report(&nearer_to_b(&passed, 140_000)), Cause::LocalQueue);
}

/// A capture that misses packets misses those that arrive, too.
#[test]
fn packets_that_a_capture_misses_were_not_lost_on_the_host() {
    let taps = lossy(DELAYS[0]);
    let mut passed = before_tap(&taps);
    let mut count = 0;
    passed.retain(|(_, segment)| {
        count += u32::from(segment.len > 0);
        segment.len == 0 || count % 90 > 0
    });
    let report = report(&passed);
    expect_none(&report, Cause::LocalQueue);
    assert_ne!(main_finding(&report).cause, Cause::LocalQueue);
}
