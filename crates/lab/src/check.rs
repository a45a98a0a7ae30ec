//! Checks that the fault of a case really occurred in a run.

use crate::case::{Check, Expectation};
use crate::experiment::Experiment;
use crate::path::LossReason;
use crate::path::link::LinkConfig;
use crate::relay::Fate;
use crate::truth::{CheckResult, Connection, Truth, overall_share};
use crate::workload::Workload;
use crate::workload::end::EndRecord;
use slowpath_live::TcpInfo;

/// The ends that send what the case is about: those on the sender's host, unless a stream is reversed.
pub fn sending_ends<'a>(experiment: &Experiment, connections: &'a [Connection]) -> Vec<&'a EndRecord> {
    let sent_more = |c: &'a Connection| {
        if c.sender.written_bytes >= c.receiver.written_bytes { &c.sender } else { &c.receiver }
    };
    match &experiment.workload {
        Workload::Exchange(_) => connections.iter().map(|c| &c.sender).collect(),
        Workload::Streams(_) | Workload::Programs(_) => connections.iter().map(sent_more).collect(),
    }
}

/// Every check of the expectation, and those that every run has to pass.
pub fn all(experiment: &Experiment, expectation: Option<&Expectation>, truth: &Truth) -> Vec<CheckResult> {
    let mut results: Vec<CheckResult> = expectation
        .into_iter()
        .flat_map(|expectation| &expectation.checks)
        .map(|check| measure(check, experiment, truth))
        .collect();
    let mut must = |required: Check, measured: u64, holds: bool| {
        results.push(CheckResult { required, measured: measured as f64, holds });
    };
    let lost = truth.captures.sender.dropped_packets + truth.captures.receiver.dropped_packets;
    must(Check::CapturesComplete, lost, lost == 0);
    let ways = [&truth.path.forward.report, &truth.path.backward.report];
    let missed: u64 = ways.iter().map(|w| w.missed_packets + w.refused_packets).sum();
    must(Check::PathComplete, missed, missed == 0 && ways.iter().all(|w| w.is_conserved()));
    if matches!(experiment.workload, Workload::Programs(_)) {
        // Programs do not report what they wrote and read.
        return results;
    }
    let unread: u64 = truth
        .connections
        .iter()
        .map(|c| {
            c.sender.written_bytes.abs_diff(c.receiver.read_bytes)
                + c.receiver.written_bytes.abs_diff(c.sender.read_bytes)
        })
        .sum();
    let all_arrived = unread == 0 || experiment.cut_after_ns.is_some();
    let holds = all_arrived && !truth.connections.is_empty();
    results.push(CheckResult { required: Check::EveryByteArrived, measured: unread as f64, holds });
    results
}

fn measure(check: &Check, experiment: &Experiment, truth: &Truth) -> CheckResult {
    let ends = sending_ends(experiment, &truth.connections);
    let forward = &truth.path.forward.report;
    let share = |basis| overall_share(&ends, basis).map_or(0.0, |s| s.of_transfer);
    let counter =
        |counters: &slowpath_live::Counters, name: &String| counters.get(name).copied().unwrap_or(0) as f64;
    let retransmitted = || {
        ends.iter().filter_map(|e| e.info.as_ref()).map(|i| f64::from(i.total_retrans_packets)).sum::<f64>()
    };
    let largest = |of: &dyn Fn(&TcpInfo) -> u32| {
        ends.iter().filter_map(|e| e.info.as_ref()).map(of).max().map_or(f64::INFINITY, f64::from)
    };
    let at_least = |measured: f64, least: f64| (measured, measured >= least);
    let at_most = |measured: f64, most: f64| (measured, measured <= most);
    let (measured, holds) = match check {
        Check::Share(basis, least) => at_least(share(*basis), *least),
        Check::ShareAtMost(basis, most) => at_most(share(*basis), *most),
        Check::SenderCounter(name, least) => at_least(counter(&truth.counters.sender, name), *least as f64),
        Check::ReceiverCounter(name, least) => {
            at_least(counter(&truth.counters.receiver, name), *least as f64)
        }
        Check::Retransmitted(least) => at_least(retransmitted(), *least as f64),
        Check::RetransmittedAtMost(most) => at_most(retransmitted(), *most as f64),
        Check::Dropped(least) => at_least(forward.totals.dropped() as f64, *least as f64),
        Check::NoQueueDrops => {
            let drops = forward.totals.dropped_packets.get(&LossReason::Queue).copied().unwrap_or(0);
            at_most(drops as f64, 0.0)
        }
        Check::NothingDropped => {
            at_most((forward.totals.dropped() + truth.path.backward.report.totals.dropped()) as f64, 0.0)
        }
        Check::HeldBack(least) => at_least(forward.totals.held_back_packets as f64, *least as f64),
        Check::Duplicated(least) => at_least(forward.totals.duplicated_packets as f64, *least as f64),
        Check::ReaderWaited(least) => at_least(reader_waited(truth, &ends), *least),
        Check::LeftOut(least) => {
            let recordings = &truth.recordings;
            at_least(
                recordings.sender.left_out_frames.min(recordings.receiver.left_out_frames) as f64,
                *least as f64,
            )
        }
        Check::SynDropped(least) => at_least(syns_dropped(truth), *least as f64),
        Check::LinkUsed(least) => at_least(link_used(experiment.forward.link.as_ref(), truth, &ends), *least),
        Check::LinkUsedAtMost(most) => {
            at_most(link_used(experiment.forward.link.as_ref(), truth, &ends), *most)
        }
        Check::QueueReached(least) => at_least(queue_ms(experiment.forward.link.as_ref(), truth), *least),
        Check::SsthreshAtMost(most) => at_most(largest(&|i| i.snd_ssthresh_packets), f64::from(*most)),
        Check::CwndAtMost(most) => at_most(largest(&|i| i.snd_cwnd_packets), f64::from(*most)),
        Check::LatenessAtMost(most) => {
            let worst = forward.lateness.p99_ns.max(truth.path.backward.report.lateness.p99_ns);
            at_most(worst as f64 / 1e6, *most)
        }
        Check::CapturesComplete | Check::PathComplete | Check::EveryByteArrived => (0.0, true),
    };
    CheckResult { required: check.clone(), measured, holds }
}

/// Only SYNs have no payload and offset 0 and are dropped by the script.
fn syns_dropped(truth: &Truth) -> f64 {
    let faults = truth.path.forward.report.faults.iter().chain(&truth.path.backward.report.faults);
    let scripted = Fate::Dropped(LossReason::Scripted);
    faults.filter(|f| f.fate == scripted && f.payload_bytes == 0 && f.offset == 0).count() as f64
}

fn reader_waited(truth: &Truth, ends: &[&EndRecord]) -> f64 {
    let stops = truth.connections.iter().flat_map(|c| c.sender.stops_ns.iter().chain(&c.receiver.stops_ns));
    let waited_ns: u64 = stops.map(|(from, to)| to - from).sum();
    let transfers_ns: u64 =
        ends.iter().filter_map(|e| Some(e.info_ns?.saturating_sub(e.write_began_ns?))).sum();
    waited_ns as f64 / transfers_ns.max(1) as f64
}

fn link_used(link: Option<&LinkConfig>, truth: &Truth, ends: &[&EndRecord]) -> f64 {
    let Some(link) = link else { return 0.0 };
    let from_ns = ends.iter().filter_map(|e| e.write_began_ns).min().unwrap_or(0);
    let to_ns = ends.iter().filter_map(|e| e.info_ns).max().unwrap_or(0);
    let totals = &truth.path.forward.report.totals;
    let mean_bytes = totals.offered_bytes as f64 / (totals.offered_packets as f64).max(1.0);
    let carried_bits = totals.scheduled_packets as f64 * mean_bytes * 8.0;
    let seconds = to_ns.saturating_sub(from_ns) as f64 / 1e9;
    if seconds > 0.0 { carried_bits / seconds / link.rate.get() as f64 } else { 0.0 }
}

fn queue_ms(link: Option<&LinkConfig>, truth: &Truth) -> f64 {
    let bits = truth.path.forward.report.totals.longest_queue_bytes as f64 * 8.0;
    link.map_or(0.0, |l| bits / l.rate.get() as f64 * 1e3)
}
