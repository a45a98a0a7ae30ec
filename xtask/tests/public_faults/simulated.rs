//! Programs and paths that the simulator has, next to the receiver: its kernels pace, join and split what is written as real
//! ones do.

use crate::captures::{at_random, losing};
use crate::share_of;
use crate::transfer::{MS, Setup, transfer};
use crate::wire::{report, reports};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Cause, Evidence, Limit};
use slowpath_model::End;
use slowpath_runs::file::{Changes, load_text};
use slowpath_simulator::Simulation;
use slowpath_simulator::pcapng::Pcapng;
use std::path::Path;

/// The flows of a simulated scenario, as a capture at this end shows them.
fn seen_at(end: End, text: &str) -> Vec<FlowReport> {
    let scenario = load_text(Path::new("scenario.toml"), text, &Changes::default(), &[]).expect("a scenario");
    let flow = &scenario.flows[0];
    let (host, name) =
        if end == End::A { (flow.sender_host(), "sender") } else { (flow.receiver_host(), "receiver") };
    let mut capture = Pcapng::new(host, name);
    Simulation::new(&scenario).run(&mut capture);
    reports(std::mem::take(capture.buffer()))
}

fn at_receiver(text: &str) -> Vec<FlowReport> {
    seen_at(End::B, text)
}

/// A program that writes at a rate of its own, over a path of this rate, one-way delay and queue, and the kernel of the sender.
fn writer(path: [&str; 3], rate: &str, call: &str, control: &str) -> FlowReport {
    let [link, delay, queue] = path;
    let text = format!(
        "duration = '6 s'\n\
         [path]\nrate = '{link}'\ndelay = '{delay}'\nqueue = '{queue}'\n\
         [flows.sender]\nrate = '{rate}'\ncall-size = '{call}'\n\
         [flows.sender.socket]\nTCP_CONGESTION = '{control}'\nTCP_NODELAY = true\n"
    );
    at_receiver(&text).remove(0)
}

/// Each write arrives in a burst at the rate of the path, which has a queue only meanwhile; or in single segments. Acknowledgements
/// that wait for the next write to be echoed make no queue.
#[test]
fn program_that_writes_at_a_rate_is_one_from_afar() {
    let cases = [
        writer(["54 Mbit/s", "18 ms", "640 kB"], "43 Mbit/s", "93702 B", "cubic"),
        writer(["19 Mbit/s", "44 ms", "270 kB"], "11 Mbit/s", "27849 B", "cubic"),
        writer(["70 Mbit/s", "5 ms", "88 kB"], "21 Mbit/s", "610 B", "cubic"),
        writer(["250 Mbit/s", "3 ms", "240 kB"], "200 Mbit/s", "55147 B", "reno"),
        writer(["289 Mbit/s", "13 ms", "600 kB"], "81 Mbit/s", "79252 B", "bbr"),
    ];
    for (nth, report) in cases.iter().enumerate() {
        let idle = share_of(report, |cause| cause == Cause::SenderIdle);
        assert!(idle > 0.6, "case {nth}: {idle:.2}, {:#?}", report.main().findings);
    }
}

/// A periodic program has one amount in flight in each RTT, and ACKs may pause soon after a write. It pauses while they come.
#[test]
fn periodic_writes_are_no_full_send_buffer() {
    for [link, delay, rate, call] in [
        ["4055 kbit/s", "15175 us", "3408 kbit/s", "24786 B"],
        ["60 Mbit/s", "22500 us", "4480 kbit/s", "14000 B"],
    ] {
        let text = format!(
            "duration = '6 s'\n[path]\nrate = '{link}'\ndelay = '{delay}'\nqueue = '40 kB'\n\
             [flows.sender]\nrate = '{rate}'\ncall-size = '{call}'\n\
             [flows.sender.socket]\nTCP_CONGESTION = 'cubic'\n"
        );
        let report = seen_at(End::A, &text).remove(0);
        let full = share_of(&report, |cause| cause == Cause::SendBufferFull);
        assert!(full < 0.1, "{call}: {full:.2}, {:#?}", report.main().findings);
    }
}

/// A sender with a pacing rate of its own never fills the path. Its echoes wait for its next pair of segments.
#[test]
fn paced_sender_does_not_fill_the_path_from_afar() {
    let text = "duration = '6 s'\n\
        [path]\nrate = '12 Mbit/s'\ndelay = '1.6 ms'\nqueue = '30 kB'\njitter = '135 us'\n\
        [flows.sender.socket]\nTCP_CONGESTION = 'reno'\nSO_MAX_PACING_RATE = '5 Mbit/s'\n";
    let report = at_receiver(text).remove(0);
    let path = share_of(&report, |cause| cause.limit() == Limit::Path);
    assert!(path < 0.1, "{path:.2}, {:#?}", report.main().findings);
}

/// The packets of the others leave pauses between those of each flow; the queue stands all the same.
#[test]
fn flows_that_share_a_queue_fill_the_path_from_afar() {
    let text = "duration = '6 s'\n\
        [path]\nrate = '20 Mbit/s'\ndelay = '3 ms'\nqueue = '30 kB'\n\
        [flows]\nstreams = 3\n[flows.sender.socket]\nTCP_CONGESTION = 'cubic'\n";
    let reports = at_receiver(text);
    assert_eq!(reports.len(), 3);
    let shares = reports.iter().map(|report| share_of(report, |cause| cause.limit() == Limit::Path));
    let mean = shares.sum::<f64>() / 3.0;
    assert!(mean > 0.6, "{mean:.2}");
}

/// What a bulk transfer meets on a path of 80 ms with these elements, next to its sender.
fn bulk_over(path: &str) -> FlowReport {
    let text = format!(
        "duration = '9 s'\nseed = 3\n[path]\ndelay = '40 ms'\n{path}\n\
         [flows.sender.socket]\nTCP_CONGESTION = 'cubic'\n"
    );
    seen_at(End::A, &text).remove(0)
}

/// A bucket that is full again long before the next flight drops the end of each burst. Nothing else shows it: the amounts
/// between losses differ.
#[test]
fn policer_with_a_small_bucket_drops_the_end_of_bursts() {
    for (rate, burst) in [("20 Mbit/s", 15_000), ("10 Mbit/s", 30_000), ("6 Mbit/s", 9_000)] {
        let path = format!("rate = '200 Mbit/s'\npolicer = {{ rate = '{rate}', burst = '{burst} B' }}");
        let report = bulk_over(&path);
        let policer = share_of(&report, |cause| cause == Cause::Policer);
        assert!(policer > 0.5, "{rate}, {burst} B: {policer:.2}, {:#?}", report.main().findings);
        let evidence = report.main().findings.iter().flat_map(|finding| &finding.evidence);
        let mut depths = evidence.filter_map(|evidence| match evidence {
            Evidence::LostInBursts { depth, .. } => Some(depth.get() as f64),
            _ => None,
        });
        let depth = depths.next().expect("a bucket");
        assert!((depth / f64::from(burst) - 1.0).abs() < 0.25, "{rate}, {burst} B: {depth} B");
    }
}

/// Without SACK, a sender takes a late segment for a lost one, and halves its window. Nothing was lost.
#[test]
fn window_reduced_by_reordering_is_of_reordering() {
    let of = |path: &str| {
        let text = format!(
            "duration = '8 s'\nseed = 5\n\
             [hosts.sender.sysctl]\n'net.ipv4.tcp_sack' = 0\n'net.ipv4.tcp_timestamps' = 0\n\
             [path]\nrate = '50 Mbit/s'\ndelay = '20 ms'\n{path}\n\
             [flows.sender.socket]\nTCP_CONGESTION = 'reno'\n"
        );
        seen_at(End::A, &text).remove(0)
    };
    let late = of("reorder = '1 %'\nreorder-by = '9 ms'");
    let share = share_of(&late, |cause| cause == Cause::Reordering);
    assert!(share > 0.6, "{share:.2}, {:#?}", late.main().findings);
    let lost = of("loss = '0.5 %'");
    let share = share_of(&lost, |cause| cause == Cause::Reordering);
    assert!(share < 0.1, "{share:.2}, {:#?}", lost.main().findings);
}

/// A short queue drops the end of bursts as well, and delays their middle; random losses and spells of losses come anywhere.
#[test]
fn short_queues_and_losses_by_chance_are_no_small_bucket() {
    for path in [
        "rate = '20 Mbit/s'\nqueue = '15 kB'",
        "rate = '6 Mbit/s'\nqueue = '9 kB'",
        "rate = '200 Mbit/s'\nloss = '1 %'",
        "rate = '200 Mbit/s'\nbursts = { enter = '0.3 %', leave = '18 %' }",
    ] {
        let report = bulk_over(path);
        let policer = share_of(&report, |cause| cause == Cause::Policer);
        assert!(policer < 0.05, "{path}: {policer:.2}, {:#?}", report.main().findings);
    }
}

/// The path becomes a third longer, and losses keep the congestion window small: RTTs come back to the new shortest one with
/// little and with much in flight.
#[test]
fn path_that_became_a_little_longer_is_not_a_queue() {
    let taps = transfer(Setup {
        amount: 8_000_000,
        one_way: 48 * MS,
        rate: 2_500,
        fate: Box::new(losing(at_random(150))),
        arrives: Box::new(
            |segment, at| {
                if at > 2_000 * MS && segment.from == End::A { at + 31 * MS } else { at }
            },
        ),
        until: 14_000 * MS,
        ..Setup::default()
    });
    let report = report(&taps.a);
    let path = share_of(&report, |cause| cause.limit() == Limit::Path);
    assert!(path < 0.15, "{path:.2}, {:#?}", report.main().findings);
}
