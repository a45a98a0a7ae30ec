//! Which CPU takes the NIC's interrupt, and which softirqs belong to which CPU.
//!
//! An I/O APIC in lowest-priority mode finds all CPUs equal, since Linux never sets the task priority (`TARGET_CPUS`
//! and `dest_LowestPrio`, arch/i386/kernel/io_apic.c, 2.2 to 2.6). The APIC bus of the P6 family decides between equals
//! by arbitration, where the last winner comes last: interrupts are distributed round-robin. The xAPIC of the Pentium 4
//! has no such bus, and the first CPU gets them all until a program (`irqbalance`) changes that.
//!
//! Each CPU that takes interrupts has its own softirqs (`softnet_data`). In 2.2 (`NET_BH`) the host has one set, run by
//! one CPU at a time. No second CPU enters a NIC's handler: interrupts raised meanwhile are handled when the first one
//! is done. Two CPUs reorder the packets of a connection as a consequence, which is not modelled separately. Not
//! modelled: a process waiting for the spinlock of a socket that a softirq holds; the locks of qdisc and NIC, which are
//! held for less time than sending takes; and `start_bh_atomic` of 2.2. A timer runs where the last NIC interrupt went;
//! in later kernels, where it was set.

use super::cpu::Cpu;
use super::softirq::Softirq;
use slowpath_kernels::BottomHalves;
use slowpath_scenario::{Affinity, Nic};
use std::ops::{Index, IndexMut, Range};

/// The CPUs that take the NIC's interrupts.
#[derive(Debug)]
pub struct Delivery {
    affinity: Affinity,
    /// The CPU that takes them, or took the last.
    cpu: usize,
    /// The CPU that takes the next.
    next: usize,
    cpus: usize,
    /// An interrupt is on its way to a CPU, or its handler runs.
    in_service: bool,
}

impl Delivery {
    /// For a NIC on a host with `cpus` CPUs.
    pub fn new(nic: &Nic, cpus: usize) -> Self {
        let first = (nic.interrupt_cpu as usize).min(cpus - 1);
        let affinity = if cpus == 1 { Affinity::One } else { nic.interrupt_affinity };
        Self { affinity, cpu: first, next: first, cpus, in_service: false }
    }

    /// The CPU that takes the NIC's interrupts, or took the last.
    pub fn cpu(&self) -> usize {
        self.cpu
    }

    /// The CPU that takes the interrupt raised now; `None` if the handler still runs, which no second CPU enters: the
    /// line of a PCI card is sampled again after it returns (Remote IRR, until `end_level_ioapic_irq`), and the handler
    /// has seen what was raised meanwhile.
    pub fn deliver(&mut self) -> Option<usize> {
        if self.affinity == Affinity::InTurn {
            if self.in_service {
                return None;
            }
            self.in_service = true;
            self.cpu = self.next;
            self.next = (self.next + 1) % self.cpus;
        }
        Some(self.cpu)
    }

    /// The handler has returned.
    pub fn end(&mut self) {
        self.in_service = false;
    }

    /// The softirqs of a host; tells each CPU that takes interrupts which of them it runs.
    pub fn softirqs(&self, cpus: &mut [Cpu], bottom_halves: BottomHalves) -> Softirqs {
        match (self.affinity, bottom_halves) {
            (Affinity::One, _) => {
                cpus[self.cpu].softirqs = Some(0);
                Softirqs::new(self.cpu, 0..0)
            }
            (Affinity::InTurn, BottomHalves::OneAtATime) => {
                cpus.iter_mut().for_each(|cpu| cpu.softirqs = Some(0));
                Softirqs::new(self.cpu, 0..0)
            }
            (Affinity::InTurn, BottomHalves::EachCpu) => {
                for (number, cpu) in cpus.iter_mut().enumerate() {
                    cpu.softirqs = Some(number);
                }
                Softirqs::new(0, 1..cpus.len())
            }
        }
    }
}

/// The softirqs of a host. Most hosts have one set, which is found without checking how many there are.
#[derive(Debug)]
pub struct Softirqs {
    first: Softirq,
    others: Vec<Softirq>,
}

impl Softirqs {
    /// For these CPUs.
    pub(super) fn new(first: usize, others: Range<usize>) -> Self {
        Self { first: Softirq::new(first), others: others.map(Softirq::new).collect() }
    }

    /// Whether there are several.
    pub(super) fn are_several(&self) -> bool {
        !self.others.is_empty()
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Softirq> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// All of them, mutable.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Softirq> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }
}

impl Index<usize> for Softirqs {
    type Output = Softirq;
    fn index(&self, at: usize) -> &Softirq {
        if at == 0 { &self.first } else { &self.others[at - 1] }
    }
}

impl IndexMut<usize> for Softirqs {
    fn index_mut(&mut self, at: usize) -> &mut Softirq {
        if at == 0 { &mut self.first } else { &mut self.others[at - 1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(text: &str, cpus: usize) -> Delivery {
        let text = format!("[hosts.sender]\ncpus = 8\nnic = {{ {text} }}");
        let scenario = slowpath_scenario::check("test", &text, &[], None).expect("a scenario").scenario;
        Delivery::new(&scenario.hosts[0].nic, cpus)
    }

    #[test]
    fn interrupts_go_round_robin_after_the_handler_returns() {
        let mut delivery = delivery("interrupt-affinity = \"in-turn\", interrupt-cpu = 1", 3);
        let mut took = Vec::new();
        for _ in 0..4 {
            took.extend(delivery.deliver());
            assert_eq!(delivery.deliver(), None, "its handler runs on CPU {}", delivery.cpu());
            delivery.end();
        }
        assert_eq!(took, [1, 2, 0, 1]);
    }

    #[test]
    fn single_cpu_delivery_may_interrupt_at_any_time() {
        let mut delivery = delivery("interrupt-cpu = 1", 3);
        assert_eq!([delivery.deliver(), delivery.deliver()], [Some(1); 2]);
    }
}
