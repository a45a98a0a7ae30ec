//! Assigns the machine's CPUs to hosts, relay and load.
//!
//! The receiver's host gets them from the last one down, the sender's from the first one up, so that two hosts with few
//! CPUs do not share any. Everything that the case does not bind (the path, captures, processes of a host with nothing
//! else to do) keeps away from the CPUs that it binds something to, as long as others are left.

use crate::error::LabError;
use crate::experiment::Experiment;
use crate::host::{DEVICE, Host};
use crate::namespaces::{Namespaces, Place};
use crate::privilege::{self, Privilege};
use crate::task::{self, Scheduling};
use crate::workload::Workload;

/// The machine's CPU for a host's `cpu`th one; `None` if the machine does not have that many.
pub fn of_host(machine: &[u32], host: Host, cpu: u32) -> Option<u32> {
    let place = cpu as usize;
    match host {
        Host::Sender => machine.get(place),
        Host::Receiver => machine.iter().rev().nth(place),
    }
    .copied()
}

/// The CPUs that the case binds loads or processes to.
fn bound(experiment: &Experiment) -> Vec<u32> {
    let processes: Vec<&Scheduling> = match &experiment.workload {
        Workload::Streams(streams) => {
            streams.iter().flat_map(|stream| [&stream.opener, &stream.acceptor]).flatten().collect()
        }
        Workload::Exchange(plan) => [&plan.client, &plan.server].into_iter().flatten().collect(),
        Workload::Programs(plan) => [&plan.client, &plan.server]
            .into_iter()
            .filter_map(|program| program.scheduling.as_ref())
            .collect(),
    };
    let loads = experiment.loads.iter().map(|load| &load.scheduling);
    processes.into_iter().chain(loads).flat_map(|scheduling| scheduling.cpus.iter().copied()).collect()
}

/// Keeps the calling thread, and all threads it creates, away from the CPUs that a case binds something to, until this
/// value is dropped.
#[derive(Debug)]
pub struct KeptAway {
    before: Vec<u32>,
}

impl KeptAway {
    /// Keeps away from the CPUs that an experiment binds something to, or from none if no other would be left.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn from(experiment: &Experiment) -> Result<Self, LabError> {
        Self::from_cpus(&bound(experiment))
    }

    /// Keeps away from these CPUs, or from none if no other would be left.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn from_cpus(bound: &[u32]) -> Result<Self, LabError> {
        let before = task::own_cpus();
        let rest: Vec<u32> = before.iter().copied().filter(|cpu| !bound.contains(cpu)).collect();
        task::set_cpus(0, &rest)?;
        Ok(Self { before })
    }
}

impl Drop for KeptAway {
    fn drop(&mut self) {
        // The thread had them before.
        let _ = task::set_cpus(0, &self.before);
    }
}

/// Runs the receive softirqs of both hosts where the case says, by receive packet steering
/// (Documentation/networking/scaling.rst). Otherwise a veth device runs them on the CPU that transmits, the path's.
///
/// # Errors
/// If the kernel has no receive packet steering (`CONFIG_RPS`). Without root it is not tried: only the machine's root
/// may steer.
pub fn steer(namespaces: &Namespaces, experiment: &Experiment) -> Result<(), LabError> {
    if privilege::held() != Privilege::Root {
        return Ok(());
    }
    let settings = &experiment.settings;
    for (place, cpu) in
        [(Place::Sender, settings.sender_softirq_cpu), (Place::Receiver, settings.receiver_softirq_cpu)]
    {
        let Some(cpu) = cpu else { continue };
        steer_to(namespaces, place, cpu)?;
    }
    Ok(())
}

/// Receives a host's packets on one CPU.
///
/// # Errors
/// If the kernel has no receive packet steering, or the process is not root of the machine.
pub fn steer_to(namespaces: &Namespaces, place: Place, cpu: u32) -> Result<(), LabError> {
    namespaces.write_sys(place, &format!("/sys/class/net/{DEVICE}/queues/rx-0/rps_cpus"), &mask(cpu))
}

/// A set of one CPU in the format of /sys: hexadecimal, the highest first, a comma between groups of 32 bits.
fn mask(cpu: u32) -> String {
    format!("{:x}{}", 1_u32 << (cpu % 32), ",00000000".repeat((cpu / 32) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_get_cpus_from_opposite_ends() {
        let machine = [0, 1, 5, 7];
        let of = |host| [0, 1, 3, 4].map(|cpu| of_host(&machine, host, cpu));
        assert_eq!(of(Host::Sender), [Some(0), Some(1), Some(7), None]);
        assert_eq!(of(Host::Receiver), [Some(7), Some(5), Some(0), None]);
    }

    #[test]
    fn cpu_mask_has_one_bit() {
        assert_eq!(
            [0, 3, 31, 32, 69].map(mask),
            ["1", "8", "80000000", "1,00000000", "20,00000000,00000000"]
        );
    }
}
