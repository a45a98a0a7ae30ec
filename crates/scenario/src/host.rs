//! A host: its kernel, CPUs, network card and what else keeps it busy.

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
    /// Its kernel, with the scenario's own choices and sysctls in place.
    pub kernel: KernelProfile,
    /// How many CPUs, at least 1.
    pub cpus: u32,
    /// What the kernel's work costs on this machine.
    pub costs: CostTable,
    /// Its network card; all of the host's paths use it.
    pub nic: Nic,
    /// Background load on its CPUs.
    pub load: Vec<Load>,
}

/// A network card and its driver.
#[derive(Clone, Debug, PartialEq)]
pub struct Nic {
    /// Its rate in each direction, in bits of IP packet per second.
    pub rate: Rate,
    /// Largest IP packet.
    pub mtu: Bytes,
    /// Descriptors for packets that arrive.
    pub rx_ring: u32,
    /// Descriptors for packets to send.
    pub tx_ring: u32,
    /// How long after a packet's arrival the interrupt is raised at the latest; zero raises one for every packet.
    pub interrupt_delay: Duration,
    /// How many packets raise the interrupt before that time is over.
    pub interrupt_packets: u32,
    /// The CPU that takes its interrupts, or the first of them.
    pub interrupt_cpu: u32,
    /// Whether it takes all of them.
    pub interrupt_affinity: Affinity,
    /// Whether it cuts super-packets into packets itself.
    pub tso: bool,
    /// Whether received packets of one flow are merged before the stack sees them.
    pub gro: bool,
    /// Whether it checks and makes checksums; otherwise the CPU does, for every byte.
    pub checksum_offload: bool,
}

/// Something else that wants the host's CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// What it does.
    pub kind: LoadKind,
    /// How its tasks are scheduled.
    pub priority: Priority,
    /// The CPU it is bound to, if to one.
    pub cpu: Option<u32>,
    /// When it begins.
    pub start: Duration,
    /// When it ends; with the run if `None`.
    pub stop: Option<Duration>,
}

/// How a task is scheduled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Priority {
    /// Its class.
    pub class: Class,
    /// Its nice value, −20…19; lower is favoured. 0 for a real-time task.
    pub nice: i8,
}

impl Priority {
    /// The default nice value.
    pub const USUAL: Self = Self::nice(0);

    /// An ordinary task of a nice value.
    pub const fn nice(nice: i8) -> Self {
        Self { class: Class::Other, nice }
    }
}

/// What a load does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadKind {
    /// So many tasks that compute without a pause.
    Hogs {
        /// How many.
        count: u32,
    },
    /// As `make -jN`: N jobs at a time, each a new task that computes and waits in turns.
    Make {
        /// Jobs at a time.
        jobs: u32,
        /// CPU time of one job on average; drawn for each from an exponential distribution.
        job_time: Duration,
        /// How long a job computes before it waits, on average; drawn likewise.
        burst: Duration,
        /// How long it then waits (for its disk, or its child), on average; drawn likewise.
        wait: Duration,
        /// CPU time of each of a job's small processes on average, drawn likewise; `None` if a job is one process.
        tool_time: Option<Duration>,
    },
}

impl LoadKind {
    /// How many tasks there are at a time.
    pub fn tasks(self) -> u32 {
        match self {
            Self::Hogs { count } => count,
            Self::Make { jobs, .. } => jobs,
        }
    }
}
