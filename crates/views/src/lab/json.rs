//! The JSON of `slowpath lab run`.

use super::hosts::HostResult;
use super::programs::ProgramResult;
use super::text::{lasted, named};
use crate::counts::PathTotals;
use crate::json;
use crate::mirror::mirrored;
use crate::transfers::FlowResult;
use crate::waits::WaitResult;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_lab::relay::Cost;
use slowpath_lab::settings;
use slowpath_lab::truth::OneWay;
use slowpath_runs::kernel::{Live, ways};
use slowpath_scenario::Scenario;

/// A run on the kernel (schema slowpath/lab-run/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/lab-run/1")]
pub struct LabRunDocument<'a> {
    /// `slowpath/lab-run/1`.
    schema: &'static str,
    /// The scenario's title.
    title: &'a str,
    /// The seed of the random numbers of the path.
    seed: u64,
    /// The release of the kernel.
    kernel: &'a str,
    /// How long it took, in seconds.
    seconds: f64,
    /// Why the run does not count; empty if it does.
    invalid: &'a [String],
    /// The scenario's flows; where programs ran instead, one that stands for all of their connections, by the capture at
    /// the host that sent more.
    flows: Vec<FlowResult<'a>>,
    /// The programs that ran instead of the scenario's flows.
    programs: Vec<ProgramResult<'a>>,
    /// Both hosts, the sender's first.
    hosts: Vec<HostResult<'a>>,
    /// Where packets, data and processes waited, at each end of each flow.
    waits: Vec<WaitResult<'a>>,
    /// Why the waits are not known; `null` if they are.
    unwatched: Option<&'a str>,
    /// What the run lacked, if it was made without root; empty as root.
    lost: &'static [&'static str],
    /// What carried the packets. With `tap`, a packet's time is when it was read, so the given times do not include
    /// late reading. With `netem`, only the numbers of packets that arrived, were dropped and were delivered are known.
    carrier: Carrier,
    /// The path to the receiver, and back.
    path: Vec<Way>,
    /// CPUs that carrying the packets kept busy, on average.
    path_cores: Option<f64>,
    /// What `slowpath diagnose --json` says of the capture at the sending host; of programs, at the one that sent more.
    diagnosis: json::Diagnosis<'a>,
}

mirrored! {
    /// The carrier of packets between the hosts.
    enum Carrier of settings::Carrier {
        /// The relay, with packet sockets on pairs of veth(4) devices: the kernel stamps each packet.
            Veth,
        /// The relay, with TAP devices: a packet's time is when it was read.
        Tap,
        /// The kernel, by [`crate::netem`]: hosts are without offloads.
        Netem,
    }
}

/// One direction of the path.
#[derive(Serialize, JsonSchema)]
struct Way {
    /// How many packets it was given, delivered and dropped.
    totals: PathTotals,
    /// The median lateness of delivery, in nanoseconds; `null` if it is not known.
    late_p50_ns: Option<u64>,
    /// The 99th percentile.
    late_p99_ns: Option<u64>,
    /// The 99.9th percentile.
    late_p99_9_ns: Option<u64>,
    /// The maximum.
    late_max_ns: Option<u64>,
    /// For how long a packet may have waited for the next ones of its super-packet, to be delivered with them; 0 if each was
    /// delivered alone.
    joined_within_ns: u64,
    /// Frames in which the packets were delivered.
    delivered_frames: Option<u64>,
    /// Frames that the path missed, since it was too busy; a run that has any does not count.
    missed_frames: u64,
    /// Most frames that had come before the path took them.
    most_waiting_frames: Option<u64>,
    /// Most packets in flight at once.
    most_packets: Option<u64>,
}

impl Way {
    fn new(way: &OneWay, carrier: settings::Carrier) -> Self {
        let late = (carrier != settings::Carrier::Netem).then_some(way.report.lateness);
        Self {
            totals: way.report.totals.clone().into(),
            late_p50_ns: late.map(|late| late.p50_ns),
            late_p99_ns: late.map(|late| late.p99_ns),
            late_p99_9_ns: late.and_then(|late| late.p99_9_ns),
            late_max_ns: late.map(|late| late.max_ns),
            joined_within_ns: way.report.joined_within_ns,
            delivered_frames: way.report.delivered_frames,
            missed_frames: way.report.missed_packets,
            most_waiting_frames: way.report.fullest.map(|fullest| fullest.ring_frames),
            most_packets: way.report.fullest.map(|fullest| fullest.packets),
        }
    }
}

impl<'a> LabRunDocument<'a> {
    /// The document of a run of `scenario`. `lost` is what the run lacked without root.
    pub fn new(
        scenario: &'a Scenario,
        live: &'a Live,
        lost: &'static [&'static str],
        diagnosis: json::Diagnosis<'a>,
    ) -> Self {
        let flows = named(scenario, &live.totals);
        let carrier = live.truth.case.experiment().settings.carrier;
        Self {
            schema: "slowpath/lab-run/1",
            title: &scenario.title,
            seed: scenario.seed,
            kernel: &live.truth.kernel,
            seconds: lasted(live).as_secs_f64(),
            invalid: &live.invalid,
            flows: flows.iter().map(|(name, total)| FlowResult::new(name, total)).collect(),
            programs: ProgramResult::all(scenario, &live.truth),
            hosts: HostResult::both(scenario, &live.truth),
            waits: live.waiting.waited().filter_map(|waited| WaitResult::new(&waited, scenario)).collect(),
            unwatched: live.unwatched.as_deref(),
            lost,
            carrier: carrier.into(),
            path: ways(&live.truth).map(|(_, way)| Way::new(way, carrier)).into(),
            path_cores: live.truth.path.cost.map(Cost::cores),
            diagnosis,
        }
    }
}
