//! How a task is scheduled.

use crate::host::{Class, Priority};
use crate::schema::{Key, Reader};
use slowpath_kernels::{KernelProfile, Scheduler};

/// Its nice value.
pub static NICE: Key<i8> = Key::new("nice", "Nice value; a lower value gets more CPU time.")
    .range("-20", "19")
    .default("0", "nice(1) without an option");
/// Its class.
pub static CLASS: Key<Class> = Key::new(
    "class",
    "Scheduling class: `SCHED_OTHER`; `SCHED_IDLE`, which gets almost no CPU time while others want it; or \
     `SCHED_FIFO`, which runs before all others until it sleeps.",
)
.default("other", "sched(7): the default class");

/// Reads it, for a host with this kernel, if known.
pub fn read(reader: &Reader<'_>, kernel: Option<&KernelProfile>) -> Priority {
    let priority = Priority { class: reader.get(&CLASS), nice: reader.get(&NICE) };
    let knows_idle =
        |kernel: &KernelProfile| matches!(kernel.scheduler, Scheduler::Cfs | Scheduler::Eevdf { .. });
    if priority.class == Class::Idle
        && let Some(kernel) = kernel.filter(|kernel| !knows_idle(kernel))
    {
        let message = format!("{} has no SCHED_IDLE, which came with 2.6.23", kernel.name);
        reader.refuse(&CLASS, message, "write nice = 19");
    }
    if priority.class == Class::Fifo && priority.nice != 0 {
        reader.refuse(&NICE, "a real-time task has no nice value", "leave it out, or the class");
    }
    priority
}
