//! A host: its kernel, CPUs, NIC and background load.

use crate::costs::CostTable;
pub use crate::schema::quantity::{Affinity, Class};
use slowpath_kernels::KernelProfile;
use slowpath_model::{Bytes, Rate};
use std::time::Duration;

/// A host.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Its name in the file.
    pub name: String,
    /// Its kernel, with the scenario's choices and sysctls applied.
    pub kernel: KernelProfile,
    /// How many CPUs, at least 1.
    pub cpus: u32,
    /// CPU costs of the kernel's work on this machine.
    pub costs: CostTable,
    /// Its NIC; all of the host's paths use it.
    pub nic: Nic,
    /// Background load on its CPUs.
    pub load: Vec<Load>,
    /// When its parameter cache is flushed (`ip tcp_metrics flush`), in order.
    pub flush: Vec<Duration>,
}

/// A NIC and its driver.
#[derive(Clone, Debug, PartialEq)]
pub struct Nic {
    /// Its rate in each direction, in IP bits per second.
    pub rate: Rate,
    /// Largest IP packet.
    pub mtu: Bytes,
    /// Receive descriptors.
    pub rx_ring: u32,
    /// Transmit descriptors.
    pub tx_ring: u32,
    /// The maximum time from a packet's arrival to the interrupt; zero raises one for every packet.
    pub interrupt_delay: Duration,
    /// How many packets raise the interrupt before that time is over.
    pub interrupt_packets: u32,
    /// The CPU that takes its interrupts, or the first of them.
    pub interrupt_cpu: u32,
    /// Whether that CPU takes all of them.
    pub interrupt_affinity: Affinity,
    /// Whether it segments super-packets.
    pub tso: bool,
    /// Whether received packets of a flow are merged before the stack sees them.
    pub gro: bool,
    /// Whether it computes and verifies checksums; otherwise the CPU does, for every byte.
    pub checksum_offload: bool,
    /// The bus between it and memory; `None`: it takes no time.
    pub bus: Option<Bus>,
}

/// A bus between a NIC and memory that carries one transaction at a time, in either direction, such as PCI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bus {
    /// Rate within a burst.
    pub rate: Rate,
    /// Largest number of bytes in one transaction.
    pub burst: Bytes,
    /// Time of a transaction besides its data.
    pub lost: Duration,
    /// Size of a frame's descriptor, which is read from memory and written back.
    pub descriptor: Bytes,
    /// Frames received and not yet carried that the NIC can hold; others are dropped.
    pub memory: Bytes,
}

/// A background load of the host's CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// What it does.
    pub kind: LoadKind,
    /// How its tasks are scheduled.
    pub priority: Priority,
    /// The CPU it is pinned to, if any.
    pub cpu: Option<u32>,
    /// When it begins.
    pub start: Duration,
    /// When it ends; `None`: at the end of the run.
    pub stop: Option<Duration>,
}

/// How a task is scheduled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Priority {
    /// Its class.
    pub class: Class,
    /// Its nice value, −20…19; a lower value gets more CPU time. 0 for a real-time task.
    pub nice: i8,
}

impl Priority {
    /// The default nice value.
    pub const USUAL: Self = Self::nice(0);

    /// An ordinary task with this nice value.
    pub const fn nice(nice: i8) -> Self {
        Self { class: Class::Other, nice }
    }
}

/// What a load does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadKind {
    /// Tasks that compute without a pause.
    Hogs {
        /// How many.
        count: u32,
    },
    /// Like `make -jN`: N jobs at a time, each a new task that alternates between computing and waiting.
    Make {
        /// Jobs at a time.
        jobs: u32,
        /// Mean CPU time of a job; exponentially distributed.
        job_time: Duration,
        /// Mean time that a job computes before it waits; exponentially distributed.
        burst: Duration,
        /// Mean time that it then waits (for its disk, or its child); exponentially distributed.
        wait: Duration,
        /// Mean CPU time of each of a job's small processes; exponentially distributed. `None`: a job is one process.
        tool_time: Option<Duration>,
    },
}

impl LoadKind {
    /// The number of tasks at a time.
    pub fn tasks(self) -> u32 {
        match self {
            Self::Hogs { count } => count,
            Self::Make { jobs, .. } => jobs,
        }
    }
}
