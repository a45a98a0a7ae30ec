//! One run on this machine's kernel, in the lab: its transfers, its path, and the flows of a capture at the sending host.

mod accounts;

use crate::Error;
use crate::waits::Waiting;
use slowpath_analyses::hosts::Account;
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, AnalysisOptions, VantageOverride};
use slowpath_capture::{Capture, CaptureSummary};
use slowpath_lab::host::Host;
use slowpath_lab::recording::Format;
use slowpath_lab::scenario::Instead;
use slowpath_lab::scratch::Scratch;
use slowpath_lab::settings::Carrier;
use slowpath_lab::truth::{Connection, OneWay, Truth};
use slowpath_lab::workload::Workload;
use slowpath_lab::workload::end::EndRecord;
use slowpath_lab::workload::programs::Role;
use slowpath_lab::workload::stream::number_of;
use slowpath_lab::{run, scenario, signals, task, testbed};
use slowpath_model::units::duration_text;
use slowpath_model::{Bytes, End, Instant, Vantage, measured};
use slowpath_scenario::Scenario;
use slowpath_simulator::report::Total;
use std::path::Path;
use std::time::Duration;

/// How a run is made, apart from its scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct How<'a> {
    /// Programs in place of its flows.
    pub instead: Option<&'a Instead>,
    /// The carrier of the packets.
    pub carrier: Carrier,
    /// The folder for the run's files, if they are to be kept; it must not exist.
    pub keep: Option<&'a Path>,
}

/// The results of a run on the kernel.
pub struct Live {
    /// The lab's record of the run.
    pub truth: Truth,
    /// Each flow of the scenario, summed over its connections.
    pub totals: Vec<Total>,
    /// The capture at the sending host; for programs, at the host that sent more.
    pub capture: CaptureSummary,
    /// Flows in the capture that were not kept.
    pub not_kept: u64,
    /// Why the run does not count; empty if it does.
    pub invalid: Vec<String>,
    /// Waits on the hosts, as recorded by the kernel.
    pub waiting: Waiting,
    /// Why waits were not recorded; `None` if they were.
    pub unwatched: Option<String>,
}

/// Runs a scenario, or programs instead of its flows (then `scenario` is that of [`Instead::of`]), and passes every
/// flow of the capture at the sending host to `each`. The process must have the privilege for it.
///
/// # Errors
///
/// If the lab cannot run the scenario, or the machine was too busy for a complete capture.
pub fn run(
    scenario: &Scenario,
    How { instead, carrier, keep }: How<'_>,
    mut each: impl FnMut(FlowReport),
) -> Result<Live, Error> {
    let machine = task::own_cpus();
    let experiment = match instead {
        None => scenario::experiment(scenario, &machine)?,
        Some(instead) => scenario::experiment_of_programs(scenario, &machine, instead)?,
    };
    let experiment = scenario::carried_by(carrier, experiment)?;
    if let Some(folder) = keep.filter(|folder| folder.exists()) {
        return Err(Error::Exists(folder.to_owned()));
    }
    signals::clean_up_when_ended()?;
    let scratch = Scratch::create()?;
    let folder = keep.map_or_else(|| scratch.file("run"), Path::to_owned);
    let outcome = run::run(&experiment, &folder, run::Keep { packing: run::Packing::Quick, probe: true })?;
    let failed: Vec<_> = outcome.truth.checks.iter().filter(|check| !check.holds).collect();
    if !outcome.written {
        return Err(Error::TooBusy(format!("{failed:?}")));
    }
    // Which program sends is not known in advance, and some send both ways.
    let sent_more = if instead.is_some() { sent_more(&outcome.truth) } else { Host::Sender };
    let vantage = instead.is_none().then_some(VantageOverride::Sender);
    let capture = folder.join(run::recording_file(sent_more, Format::Pcap));
    let options = AnalysisOptions { vantage, ..AnalysisOptions::default() };
    let mut analysis = Analysis::new(options);
    let capture = Capture::open(&capture)?.run(&mut analysis)?;
    let mut captured = Total::default();
    let (not_kept, ()) = analysis.finish_each(|flow| {
        captured.join(&total_by_capture(&flow));
        each(flow);
    });
    let totals = if instead.is_some() { vec![captured] } else { totals(scenario, &outcome.truth) };
    if let Some(failed) = outcome.truth.programs.iter().find(|record| record.has_failed())
        && captured.connections == 0
    {
        return Err(failed.failure("without a connection").into());
    }
    let mut waiting = Waiting::new(scenario);
    let unwatched = outcome.unwatched;
    if unwatched.is_none() {
        join(&mut waiting, scenario, &outcome.truth, &accounts::read(&folder)?);
    }
    Ok(Live {
        waiting,
        unwatched,
        totals,
        invalid: invalid(&outcome.truth),
        capture,
        not_kept: not_kept.flows,
        truth: outcome.truth,
    })
}

/// The host that sent more data over the path.
fn sent_more(truth: &Truth) -> Host {
    let [forward, backward] = ways(truth).map(|(_, way)| way.report.totals.offered_bytes);
    if forward >= backward { Host::Sender } else { Host::Receiver }
}

/// The result of a connection without records of its programs, in the direction with more data.
fn total_by_capture(flow: &FlowReport) -> Total {
    let measures = &flow.main().measures;
    Total {
        connections: 1,
        bytes: measures.unique_bytes,
        span: Some((flow.first, flow.last)),
        retransmits: measures.retransmitted(),
        timeouts: measures.timeouts,
        smoothed_rtt: None,
        // Seen from elsewhere, it covers only the path to one end.
        least_rtt: measures.rtt_by_ack.min.filter(|_| flow.vantage.vantage == Vantage::At(flow.sender)),
        datagrams: None,
    }
}

pub(crate) fn totals(scenario: &Scenario, truth: &Truth) -> Vec<Total> {
    let flows = scenario.flow_of_streams();
    let mut totals = vec![Total::default(); scenario.flows.len()];
    for connection in &truth.connections {
        if let Some(total) = flow_of(&flows, truth, connection).and_then(|flow| totals.get_mut(flow)) {
            total.join(&total_of(connection, truth.from_ns));
        }
    }
    totals
}

/// Adds the waits at both ends of each connection to its flow.
fn join(waiting: &mut Waiting, scenario: &Scenario, truth: &Truth, accounts: &[Account]) {
    let flows = scenario.flow_of_streams();
    let sender = scenario.flows[0].sender_host();
    if !truth.programs.is_empty() {
        let hosts = Host::BOTH.map(|host| testbed::address(truth.case.experiment().settings.family, host));
        for (end, waits) in accounts::waits_by_host(accounts, hosts) {
            waiting.join(0, end, waits);
        }
    }
    for connection in &truth.connections {
        let Some(number) = flow_of(&flows, truth, connection) else { continue };
        let client = if scenario.flows[number].client == sender { End::A } else { End::B };
        for (waits, end) in accounts::waits(accounts, connection).into_iter().zip([client, !client]) {
            if let Some(waits) = waits {
                waiting.join(number, end, waits);
            }
        }
    }
}

/// The flow of a connection, given the flow of each stream.
pub fn flow_of(flow_of_streams: &[usize], truth: &Truth, connection: &Connection) -> Option<usize> {
    match truth.case.experiment().workload {
        Workload::Streams(_) => flow_of_streams.get(number_of(&connection.sender)).copied(),
        Workload::Exchange(_) => Some(0),
        Workload::Programs(_) => None,
    }
}

/// The result of a connection, in the direction with more data.
fn total_of(connection: &Connection, from_ns: u64) -> Total {
    let (a, b) = (&connection.sender, &connection.receiver);
    let (writer, reader) = if a.written_bytes >= b.written_bytes { (a, b) } else { (b, a) };
    let at = |ns: u64| Instant::from_nanos(ns.saturating_sub(from_ns).cast_signed());
    let end = |record: &EndRecord| record.read_ended_ns.or(record.info_ns).unwrap_or(record.established_ns);
    let time = |micros| measured(micros).map(|micros| Duration::from_micros(micros.into()));
    let info = writer.info.as_ref();
    Total {
        connections: 1,
        bytes: Bytes::new(reader.read_bytes),
        span: Some((at(a.opened_ns.min(b.opened_ns)), at(end(reader)))),
        retransmits: info.map_or(0, |info| info.total_retrans_packets.into()),
        timeouts: info.and_then(|info| info.total_rto).map_or(0, Into::into),
        smoothed_rtt: info.and_then(|info| time(info.rtt_us)),
        least_rtt: info.and_then(|info| time(info.min_rtt_us)),
        datagrams: None,
    }
}

/// The permitted 99th percentile of packet lateness, for a delay of this length.
pub fn allowed_lateness(way: &OneWay) -> Duration {
    (way.config.delay / 100).max(Duration::from_micros(200))
}

/// Both directions of the path, by name.
pub fn ways(truth: &Truth) -> [(&'static str, &OneWay); 2] {
    [("to the receiver", &truth.path.forward), ("to the sender", &truth.path.backward)]
}

/// Programs that failed before the run was over.
fn failures(truth: &Truth) -> impl Iterator<Item = String> {
    let were_left =
        truth.programs.iter().all(|record| record.role == Role::Server || record.exit_code.is_some());
    let failed = truth.programs.iter().filter(move |record| were_left && record.has_failed());
    failed.map(|record| format!("the {}: {}", record.role.name(), record.failure("by itself")))
}

/// Why a run does not count.
pub(crate) fn invalid(truth: &Truth) -> Vec<String> {
    let failed = failures(truth);
    let late = ways(truth).into_iter().filter_map(|(name, way)| {
        let (late, allowed) = (Duration::from_nanos(way.report.lateness.p99_ns), allowed_lateness(way));
        (late > allowed).then(|| {
            let times = (duration_text(late), duration_text(allowed));
            format!("1 of 100 packets {name} came {} late or more; {} at most would count", times.0, times.1)
        })
    });
    late.chain(failed).collect()
}
