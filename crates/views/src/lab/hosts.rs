//! The hosts of a run on the kernel: CPU time of loads and processes, and the kernel's counters.

use crate::mirror::mirrored;
use crate::quantity::{count, duration};
use crate::terminal::Look;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_lab::host::Host;
use slowpath_lab::load::{LoadKind, LoadRecord};
use slowpath_lab::task::{self, Scheduling, TaskRecord};
use slowpath_lab::truth::Truth;
use slowpath_lab::workload::end::EndRecord;
use slowpath_runs::kernel::flow_of;
use slowpath_scenario::Scenario;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

/// A host of the run.
#[derive(Serialize, JsonSchema)]
pub struct HostResult<'a> {
    /// Its name.
    name: &'a str,
    /// The loads on its CPUs.
    loads: Vec<LoadResult>,
    /// The processes of the flows.
    processes: Vec<Processes<'a>>,
    /// The increase of its kernel's counters, by their names in nstat(8).
    counters: &'a BTreeMap<String, u64>,
}

mirrored! {
    /// A scheduling class (sched(7)).
    enum Class of task::Class {
        /// `SCHED_OTHER`.
        Other,
        /// `SCHED_IDLE`.
        Idle,
        /// `SCHED_FIFO`, at the least priority: below all of the lab's own threads.
        Fifo,
    }
}

/// A load.
#[derive(Serialize, JsonSchema)]
struct LoadResult {
    /// `hogs` or `make`.
    kind: &'static str,
    /// How many tasks at a time.
    tasks: u32,
    /// Their nice value.
    nice: i8,
    /// Their scheduling class: `other`, `idle` or `fifo`.
    class: Class,
    /// The machine's CPUs that they could run on.
    cpus: Vec<u32>,
    /// Their CPU time, in seconds.
    ran_s: f64,
}

/// A flow's processes on a host, all connections together.
#[derive(Serialize, JsonSchema)]
struct Processes<'a> {
    /// The flow.
    flow: &'a str,
    /// How long they were on a CPU, in seconds.
    ran_s: f64,
    /// How long they could have run and waited for a CPU, in seconds.
    waited_s: f64,
    /// Their nice value.
    nice: i8,
    /// Their scheduling class: `other`, `idle` or `fifo`; by default `fifo`, so that nothing but the scenario slows
    /// them.
    class: Class,
    /// The machine's CPUs that they could run on.
    cpus: Vec<u32>,
    /// The machine's CPU whose softirq handed up the last packet of the last connection; `null` if none is known.
    softirq_cpu: Option<u32>,
}

/// Counters that grow in every transfer and show no problem.
const ORDINARY: [&str; 16] = [
    "AutoCorking",
    "DelayedACKLocked",
    "DelayedACKs",
    "Delivered",
    "HPAcks",
    "HPHits",
    "HystartDelayCwnd",
    "HystartDelayDetect",
    "HystartTrainCwnd",
    "HystartTrainDetect",
    "MTUPSuccess",
    "OrigDataSent",
    "PureAcks",
    "RcvCoalesce",
    "RcvQDrop",
    "TW",
];

impl<'a> HostResult<'a> {
    /// Both hosts of a run.
    pub fn both(scenario: &'a Scenario, truth: &'a Truth) -> Vec<Self> {
        let first = &scenario.flows[0];
        let hosts = [
            (Host::Sender, first.sender_host(), &truth.counters.sender),
            (Host::Receiver, first.receiver_host(), &truth.counters.receiver),
        ];
        let of = |(role, id, counters)| Self {
            name: &scenario.host(id).name,
            loads: truth.loads.iter().filter(|load| load.load.host == role).map(LoadResult::of).collect(),
            processes: processes(scenario, truth, role),
            counters,
        };
        hosts.map(of).into()
    }

    /// A line for each load and each flow's processes, and one for the counters.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn print(&self, look: &Look, out: &mut impl Write) -> io::Result<()> {
        let lead = format!("host {}: ", self.name);
        let seconds = |seconds| duration(Duration::from_secs_f64(seconds));
        for load in &self.loads {
            let what = if load.kind == "make" { "jobs" } else { "hogs" };
            let how = scheduling(load.class, load.nice, &load.cpus);
            let text = format!("{} {what}{how} used {} of CPU", load.tasks, seconds(load.ran_s));
            look.paragraph(out, &lead, &text)?;
        }
        for flow in &self.processes {
            let how = scheduling(flow.class, flow.nice, &flow.cpus);
            let (ran, waited) = (seconds(flow.ran_s), seconds(flow.waited_s));
            let text = format!("the processes of {}{how} ran {ran} and waited {waited} for a CPU", flow.flow);
            look.paragraph(out, &lead, &text)?;
        }
        let is_worth_a_word = |name: &&String| {
            let short = name.strip_prefix("TcpExt").map(|name| name.strip_prefix("TCP").unwrap_or(name));
            short.is_some_and(|short| !ORDINARY.contains(&short))
        };
        let counters = self.counters.iter().filter(|(name, _)| is_worth_a_word(name));
        let counters: Vec<_> = counters.map(|(name, grown)| format!("{name} {}", count(*grown))).collect();
        if counters.is_empty() { Ok(()) } else { look.paragraph(out, &lead, &counters.join(", ")) }
    }
}

/// The tasks' scheduling, if it differs from the default.
fn scheduling(class: Class, nice: i8, cpus: &[u32]) -> String {
    let mut text = match class {
        Class::Other => String::new(),
        Class::Idle => " of SCHED_IDLE".to_owned(),
        Class::Fifo => " of SCHED_FIFO".to_owned(),
    };
    if nice != 0 {
        text += &format!(" of nice {nice}");
    }
    if let [cpu] = cpus {
        text += &format!(" on CPU {cpu}");
    }
    text
}

impl LoadResult {
    fn of(record: &LoadRecord) -> Self {
        let (kind, tasks) = match record.load.kind {
            LoadKind::Hogs { count } => ("hogs", count),
            LoadKind::Make { jobs, .. } => ("make", jobs),
        };
        let Scheduling { class, nice, cpus } = record.load.scheduling.clone();
        Self { kind, tasks, nice, class: class.into(), cpus, ran_s: record.ran_ns as f64 / 1e9 }
    }
}

/// The tasks of an end that transferred data.
fn tasks(end: &EndRecord) -> impl Iterator<Item = &TaskRecord> {
    let reader = end.reader.as_ref().filter(|_| end.read_bytes > 0);
    let writer = end.writer.as_ref().filter(|_| end.written_bytes > 0);
    reader.into_iter().chain(writer)
}

fn processes<'a>(scenario: &'a Scenario, truth: &Truth, role: Host) -> Vec<Processes<'a>> {
    let mut flows: Vec<Option<Processes<'a>>> = scenario.flows.iter().map(|_| None).collect();
    let numbers = scenario.flow_of_streams();
    for connection in &truth.connections {
        let end = match role {
            Host::Sender => &connection.sender,
            Host::Receiver => &connection.receiver,
        };
        let Some(number) = flow_of(&numbers, truth, connection) else { continue };
        for task in tasks(end) {
            let Scheduling { class, nice, cpus } = task.scheduling.clone();
            let empty = Processes {
                flow: &scenario.flows[number].name,
                ran_s: 0.0,
                waited_s: 0.0,
                nice,
                class: class.into(),
                cpus,
                softirq_cpu: None,
            };
            let sum = flows[number].get_or_insert(empty);
            sum.ran_s += task.ran_ns as f64 / 1e9;
            sum.waited_s += task.waited_ns as f64 / 1e9;
            sum.softirq_cpu = end.softirq_cpu;
        }
    }
    flows.into_iter().flatten().collect()
}
