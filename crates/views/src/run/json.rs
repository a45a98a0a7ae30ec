//! The JSON of `slowpath run`.

use crate::counts::{PathTotals, ReceiveCounts, SocketCounts, SoftirqCounts, TransmitCounts};
use crate::json::Diagnosis;
use crate::transfers::FlowResult;
use crate::waits::WaitResult;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_runs::simulated::Run;
use slowpath_scenario::Scenario;
use slowpath_simulator::Simulation;
use slowpath_simulator::report::HostReport;

/// A simulated run (schema slowpath/run/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/run/1")]
pub struct RunDocument<'a> {
    /// `slowpath/run/1`.
    schema: &'static str,
    /// The scenario's title.
    title: &'a str,
    /// The seed of the random numbers.
    seed: u64,
    /// How much was simulated, in seconds.
    simulated_s: f64,
    /// The scenario's flows.
    flows: Vec<FlowResult<'a>>,
    /// Its hosts.
    hosts: Vec<HostResult<'a>>,
    /// Its paths, each direction.
    paths: Vec<PathResult<'a>>,
    /// Where packets, data and processes waited, at each end of each flow.
    waits: Vec<WaitResult<'a>>,
    /// The diagnosis of a capture at the sending host, as `slowpath diagnose --json` prints it.
    diagnosis: Diagnosis<'a>,
}

/// A host.
#[derive(Serialize, JsonSchema)]
struct HostResult<'a> {
    /// Its name.
    name: &'a str,
    /// Its CPUs.
    cpus: Vec<CpuResult>,
    /// The NIC's receive ring.
    ring: ReceiveCounts,
    /// Receive processing in the soft interrupt.
    softirq: SoftirqCounts,
    /// Its sockets.
    sockets: SocketCounts,
    /// The transmit queue, its discipline and the NIC's ring.
    transmit: TransmitCounts,
}

/// The busy time of a CPU.
#[derive(Serialize, JsonSchema)]
struct CpuResult {
    /// Processes and their system calls, in seconds.
    task_s: f64,
    /// Soft interrupts, in seconds.
    softirq_s: f64,
    /// Hard interrupts, in seconds.
    interrupt_s: f64,
    /// Switches from one process to another.
    switches: u64,
}

/// One direction of a path.
#[derive(Serialize, JsonSchema)]
struct PathResult<'a> {
    /// The path's name.
    name: &'a str,
    /// The host at which this direction begins.
    from: &'a str,
    /// Packets delivered.
    delivered: u64,
    /// The most packets in flight at once.
    most_in_flight: usize,
    /// How many packets it was given, delivered and dropped.
    totals: PathTotals,
}

impl<'a> RunDocument<'a> {
    /// The document of a run of `scenario`.
    pub fn new(scenario: &'a Scenario, run: &Run, diagnosis: Diagnosis<'a>) -> Self {
        let reports = run.simulation.host_reports();
        let hosts = scenario.hosts.iter().zip(&reports);
        Self {
            schema: "slowpath/run/1",
            title: &scenario.title,
            seed: scenario.seed,
            simulated_s: run.simulation.now().seconds(),
            flows: run.flows(scenario).iter().map(|(name, flow)| FlowResult::new(name, flow)).collect(),
            hosts: hosts.map(|(host, report)| HostResult::new(&host.name, report)).collect(),
            paths: paths(scenario, &run.simulation),
            waits: run.waiting.waited().filter_map(|waited| WaitResult::new(&waited, scenario)).collect(),
            diagnosis,
        }
    }
}

impl<'a> HostResult<'a> {
    fn new(name: &'a str, report: &HostReport) -> Self {
        let cpus = report.cpus.iter().map(|busy| {
            let [task_s, softirq_s, interrupt_s] = busy.levels.map(|time| time.as_secs_f64());
            CpuResult { task_s, softirq_s, interrupt_s, switches: busy.switches }
        });
        Self {
            name,
            cpus: cpus.collect(),
            ring: report.ring.into(),
            softirq: report.softirq.into(),
            sockets: report.sockets.into(),
            transmit: report.transmit.into(),
        }
    }
}

fn paths<'a>(scenario: &'a Scenario, simulation: &Simulation) -> Vec<PathResult<'a>> {
    let both = scenario.paths.iter().zip(simulation.wires().chunks(2));
    let directions = both
        .flat_map(|(path, wires)| wires.iter().zip(path.ends).map(move |(wire, from)| (path, wire, from)));
    let one = directions.map(|(path, wire, from)| PathResult {
        name: &path.name,
        from: &scenario.host(from).name,
        delivered: wire.delivered(),
        most_in_flight: wire.most_in_flight(),
        totals: wire.totals().clone().into(),
    });
    one.collect()
}
