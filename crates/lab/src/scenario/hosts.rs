//! A scenario's hosts on this machine: CPUs, background load, and scheduling.

use crate::cpus;
use crate::flush::Flush;
use crate::host::Host as Role;
use crate::load::{Load, LoadKind};
use crate::task::{Class, Scheduling};
use slowpath_model::nanos;
use slowpath_scenario::{Host, Priority, Process};

/// A host of the scenario, on this machine.
#[derive(Clone, Copy)]
pub(super) struct Placed<'a> {
    pub host: &'a Host,
    pub role: Role,
    /// The machine's CPUs.
    pub machine: &'a [u32],
}

impl Placed<'_> {
    fn key(&self) -> String {
        format!("hosts.{}", self.host.name)
    }

    /// The machine's CPU for this host's `cpu`th one.
    fn cpu(&self, cpu: u32) -> Option<u32> {
        cpus::of_host(self.machine, self.role, cpu)
    }

    fn cpus(&self, bound_to: Option<u32>) -> Vec<u32> {
        let of_host = match bound_to {
            Some(cpu) => cpu..cpu + 1,
            None => 0..self.host.cpus,
        };
        of_host.filter_map(|cpu| self.cpu(cpu)).collect()
    }

    /// Whether its CPUs matter: something is bound to one of them, or others want them too.
    fn needs_cpus(&self, processes: &[&Process]) -> bool {
        let elsewhere = self.host.nic.interrupt_cpu > 0;
        elsewhere || !self.host.load.is_empty() || processes.iter().any(|process| process.cpu.is_some())
    }

    /// How one of its processes is scheduled: as asked, if anything is asked; otherwise as on a host of its own,
    /// whatever else this machine does: above all ordinary tasks.
    pub fn scheduling(&self, process: &Process) -> Option<Scheduling> {
        let alone = self.host.load.is_empty() && process.priority == Priority::USUAL && process.cpu.is_none();
        let is_bound = process.cpu.is_some() || !self.host.load.is_empty();
        (!alone).then(|| Scheduling {
            class: class(process.priority),
            nice: process.priority.nice,
            cpus: if is_bound { self.cpus(process.cpu) } else { Vec::new() },
        })
    }

    /// Background load on its CPUs.
    pub fn loads(&self) -> impl Iterator<Item = Load> {
        self.host.load.iter().map(|load| Load {
            host: self.role,
            kind: match load.kind {
                slowpath_scenario::LoadKind::Hogs { count } => LoadKind::Hogs { count },
                slowpath_scenario::LoadKind::Make { jobs, job_time, burst, wait, .. } => LoadKind::Make {
                    jobs,
                    job_ns: nanos(job_time),
                    burst_ns: nanos(burst),
                    wait_ns: nanos(wait),
                },
            },
            scheduling: Scheduling {
                class: class(load.priority),
                nice: load.priority.nice,
                cpus: self.cpus(load.cpu),
            },
            after_ns: nanos(load.start),
            until_ns: load.stop.map(nanos),
        })
    }

    /// When its parameter cache is flushed.
    pub fn flushes(&self) -> impl Iterator<Item = Flush> {
        self.host.flush.iter().map(|time| Flush { host: self.role, after_ns: nanos(*time) })
    }

    /// Where its receive softirqs run, if that matters.
    pub fn softirq_cpu(&self, processes: &[&Process]) -> Option<u32> {
        self.needs_cpus(processes).then(|| self.cpu(self.host.nic.interrupt_cpu)).flatten()
    }

    /// The CPUs that this machine lacks.
    pub fn check(&self, processes: &[&Process], refused: &mut Vec<String>) {
        let (wanted, there) = (self.host.cpus, self.machine.len());
        if self.needs_cpus(processes) && wanted as usize > there {
            refused.push(format!(
                "{}.cpus: there are {wanted}, and with load or with something bound to a CPU they have to be this \
                 machine's, which has {there}",
                self.key()
            ));
        }
        let has_tools = |kind| matches!(kind, slowpath_scenario::LoadKind::Make { tool_time: Some(_), .. });
        if self.host.load.iter().any(|load| has_tools(load.kind)) {
            refused.push(format!(
                "{}.load: a job of the lab's make is one process; tool-time is the simulator's",
                self.key()
            ));
        }
        let tasks: u32 = self.host.load.iter().map(|load| load.kind.tasks()).sum();
        if tasks > MOST_TASKS {
            refused.push(format!(
                "{}.load: it has {tasks} processes, and the lab makes {MOST_TASKS} at most",
                self.key()
            ));
        }
    }
}

fn class(priority: Priority) -> Class {
    match priority.class {
        slowpath_scenario::Class::Other => Class::Other,
        slowpath_scenario::Class::Idle => Class::Idle,
        slowpath_scenario::Class::Fifo => Class::Fifo,
    }
}

/// A machine may not allow more processes than this (`ulimit -u`, `pids.max`).
const MOST_TASKS: u32 = 1000;
