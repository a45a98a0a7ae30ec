//! TCP segments in IP fragments, at the receiver's tap: a segment has arrived when all its fragments have.

use crate::captures::at_random;
use crate::expect_none;
use crate::transfer::{Fate, MSS, Setup, Taps, transfer};
use crate::wire::{ENDS, Passed, file_of, frames, in_fragments, report, reports};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Cause, Limit};
use slowpath_model::{End, Segment};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// The most data of a packet on the path: as much as an MTU of 1396 bytes allows.
const MOST: usize = 1376;

/// One segment in 60 does not get to B's TCP though it passes B's tap, and the identifications of these packets.
fn unaccepted() -> (Taps, BTreeSet<u16>) {
    let ids = RefCell::new(BTreeSet::new());
    let (mut seen, mut at_random) = (BTreeSet::new(), at_random(60));
    let taps = transfer(Setup {
        amount: 3_000_000,
        fate: Box::new(|segment: &Segment| {
            if !at_random(segment) || segment.len < MSS || !seen.insert(segment.seq) {
                return Fate::Pass;
            }
            ids.borrow_mut().extend(segment.ip.id);
            Fate::Refuse
        }),
        ..Setup::default()
    });
    (taps, ids.into_inner())
}

/// The report of what B's tap has, each long packet in fragments. Of packets with these identifications, the second is
/// lost; with `is_filtered`, the capture has no second fragments.
fn at_receiver(passed: &[Passed], lost: &BTreeSet<u16>, is_filtered: bool) -> FlowReport {
    let mut all = Vec::new();
    for (frame, (_, segment)) in frames(passed, ENDS).into_iter().zip(passed) {
        let (first, second) = in_fragments(frame, MOST);
        all.push(first);
        let is_lost = segment.ip.id.is_some_and(|id| segment.from == End::A && lost.contains(&id));
        all.extend(second.filter(|_| !is_lost && !is_filtered));
    }
    all.sort_by_key(|frame| frame.at);
    let mut reports = reports(file_of(&all));
    assert_eq!(reports.len(), 1, "one flow");
    reports.remove(0)
}

#[test]
fn segment_without_its_second_fragment_is_lost() {
    let (taps, lost) = unaccepted();
    assert!(lost.len() > 20, "{lost:?}");
    let report = at_receiver(&taps.b, &lost, false);
    expect_none(&report, Cause::NotAccepted);
    let main = &report.main().findings[0];
    assert!(matches!(main.cause.limit(), Limit::CongestionWindow | Limit::LossRecovery), "{main:#?}");
    let labels = &report.main().measures.labels;
    assert_eq!(labels.retransmission, lost.len() as u64, "{labels:?}");
}

#[test]
fn whole_segments_that_are_not_accepted_stay_so_in_fragments() {
    let (taps, refused) = unaccepted();
    let unfragmented = report(&taps.b);
    let fragmented = at_receiver(&taps.b, &BTreeSet::new(), false);
    for report in [&unfragmented, &fragmented] {
        assert_eq!(report.main().findings[0].cause, Cause::NotAccepted, "{:#?}", report.main().findings);
        assert_eq!(report.main().measures.labels.retransmission, refused.len() as u64);
    }
}

/// A filter by port drops all fragments but the first: the first counts as the segment.
#[test]
fn filtered_fragments_are_not_lost() {
    let taps = transfer(Setup { amount: 1_000_000, ..Setup::default() });
    let [whole, filtered] =
        [false, true].map(|is_filtered| at_receiver(&taps.b, &BTreeSet::new(), is_filtered));
    for report in [&whole, &filtered] {
        let labels = &report.main().measures.labels;
        assert_eq!((labels.retransmission, labels.spurious), (0, 0), "{labels:?}");
        assert!(report.main().findings.iter().all(|finding| finding.cause.limit() != Limit::LossRecovery));
    }
    assert_eq!(whole.main().measures.labels.new, filtered.main().measures.labels.new);
}
