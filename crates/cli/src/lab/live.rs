//! A scenario on this machine's kernel: what was transferred, what the path did, and what a capture at the sending host
//! says.

use super::probe::{self, Probe};
use crate::console::Console;
use crate::recording;
use crate::waits::Waiting;
use anyhow::ensure;
use slowpath_analyses::hosts::Account;
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, Options, VantageOverride};
use slowpath_lab::host::Host;
use slowpath_lab::machine::is_root;
use slowpath_lab::recording::Format;
use slowpath_lab::scratch::Scratch;
use slowpath_lab::truth::{Connection, OneWay, Truth};
use slowpath_lab::workload::Workload;
use slowpath_lab::workload::end::EndRecord;
use slowpath_lab::workload::stream::number_of;
use slowpath_lab::{run, scenario, signals, task};
use slowpath_model::{Bytes, End, Instant};
use slowpath_scenario::Scenario;
use slowpath_simulator::report::Total;
use slowpath_views::Recording;
use slowpath_views::quantity::duration;
use std::path::Path;
use std::time::Duration;

/// What a run left.
pub struct Live {
    pub truth: Truth,
    /// What came of each flow of the scenario.
    pub totals: Vec<Total>,
    /// The capture at the sending host.
    pub recording: Recording,
    /// Flows of it that were not kept.
    pub not_kept: u64,
    /// What makes the run not count; nothing if it does.
    pub invalid: Vec<String>,
    /// What waited on the hosts, as their kernel told.
    pub waiting: Waiting,
    /// Why nothing is known of that.
    pub unwatched: Option<String>,
}

/// Runs it, and tells each flow that the sending host's capture shows.
pub fn run(
    scenario: &Scenario,
    keep: Option<&Path>,
    console: &Console,
    each: impl FnMut(FlowReport),
) -> anyhow::Result<Live> {
    let case = scenario::case(scenario, &task::own_cpus())?;
    if let Some(folder) = keep {
        ensure!(!folder.exists(), "{}: is there already; name a folder that is not", folder.display());
    }
    ensure!(is_root(), "the lab makes network namespaces, which needs root (CAP_SYS_ADMIN, CAP_NET_ADMIN)");
    signals::remove_namespaces_when_ended()?;
    let waiting = console.working(&scenario.title);
    let scratch = Scratch::create()?;
    let folder = keep.map_or_else(|| scratch.file("run"), Path::to_owned);
    let probe = Probe::start();
    let outcome = run::run(&case, &folder, run::Packing::Quick);
    let seen = probe.and_then(Probe::finish);
    let outcome = outcome?;
    drop(waiting);
    let failed: Vec<_> = outcome.truth.checks.iter().filter(|check| !check.holds).collect();
    ensure!(outcome.written, "the machine was too busy to carry and capture every packet: {failed:?}");
    let capture = folder.join(run::recording_file(Host::Sender, Format::Pcap));
    let options = Options { vantage: Some(VantageOverride::Sender), ..Options::default() };
    let mut analysis = Analysis::new(options);
    let read = recording::read(&capture, &mut analysis, console)?.recording;
    let recording = if keep.is_some() {
        read
    } else {
        Recording { name: format!("{}, at the sending host", scenario.heading()), gone: true, ..read }
    };
    let (not_kept, ()) = analysis.finish_each(each);
    let mut waiting = Waiting::new(scenario);
    let unwatched = match seen {
        Ok(accounts) => {
            join(&mut waiting, scenario, &outcome.truth, &accounts);
            None
        }
        Err(error) => Some(error.to_string()),
    };
    Ok(Live {
        waiting,
        unwatched,
        totals: totals(scenario, &outcome.truth),
        invalid: invalid(&outcome.truth),
        recording,
        not_kept: not_kept.flows,
        truth: outcome.truth,
    })
}

fn totals(scenario: &Scenario, truth: &Truth) -> Vec<Total> {
    let flows = scenario.flow_of_streams();
    let mut totals = vec![Total::default(); scenario.flows.len()];
    for connection in &truth.connections {
        if let Some(total) = flow_of(&flows, truth, connection).and_then(|flow| totals.get_mut(flow)) {
            total.join(&total_of(connection, truth.from_ns));
        }
    }
    totals
}

/// What waited at both ends of each connection, to what waited in its flow.
fn join(waiting: &mut Waiting, scenario: &Scenario, truth: &Truth, accounts: &[Account]) {
    let flows = scenario.flow_of_streams();
    let sender = scenario.flows[0].sender_host();
    for connection in &truth.connections {
        let Some(number) = flow_of(&flows, truth, connection) else { continue };
        let client = if scenario.flows[number].client == sender { End::A } else { End::B };
        for (waits, end) in probe::waits(accounts, connection).into_iter().zip([client, !client]) {
            if let Some(waits) = waits {
                waiting.join(number, end, waits);
            }
        }
    }
}

/// The flow of a connection, given those of all streams.
pub fn flow_of(flow_of_streams: &[usize], truth: &Truth, connection: &Connection) -> Option<usize> {
    match truth.case.workload {
        Workload::Streams(_) => flow_of_streams.get(number_of(&connection.sender)).copied(),
        Workload::Exchange(_) => Some(0),
    }
}

/// What came of a connection, of the direction in which more went.
fn total_of(connection: &Connection, from_ns: u64) -> Total {
    let (a, b) = (&connection.sender, &connection.receiver);
    let (writer, reader) = if a.written_bytes >= b.written_bytes { (a, b) } else { (b, a) };
    let at = |ns: u64| Instant::from_nanos(ns.saturating_sub(from_ns).cast_signed());
    let end = |record: &EndRecord| record.read_ended_ns.or(record.info_ns).unwrap_or(record.established_ns);
    let micros = |us: u32| (us > 0 && us < u32::MAX).then(|| Duration::from_micros(us.into()));
    let info = writer.info.as_ref();
    Total {
        connections: 1,
        bytes: Bytes::new(reader.read_bytes),
        span: Some((at(a.opened_ns.min(b.opened_ns)), at(end(reader)))),
        retransmits: info.map_or(0, |info| info.total_retrans_packets.into()),
        timeouts: info.and_then(|info| info.total_rto).map_or(0, Into::into),
        smoothed_rtt: info.and_then(|info| micros(info.rtt_us)),
        least_rtt: info.and_then(|info| micros(info.min_rtt_us)),
    }
}

/// How late 99 of 100 packets may come: what a delay of this length does not show.
pub fn allowed_lateness(way: &OneWay) -> Duration {
    Duration::from_nanos((way.config.delay_ns / 100).max(200_000))
}

/// Both directions of the path, by name.
pub fn ways(truth: &Truth) -> [(&'static str, &OneWay); 2] {
    [("to the receiver", &truth.path.forward), ("to the sender", &truth.path.backward)]
}

fn invalid(truth: &Truth) -> Vec<String> {
    let late = ways(truth).into_iter().filter_map(|(name, way)| {
        let (late, allowed) = (Duration::from_nanos(way.report.lateness.p99_ns), allowed_lateness(way));
        (late > allowed).then(|| {
            let times = (duration(late), duration(allowed));
            format!("1 of 100 packets {name} came {} late or more; {} at most would count", times.0, times.1)
        })
    });
    late.collect()
}
