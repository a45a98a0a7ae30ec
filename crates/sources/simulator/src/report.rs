//! The result of a run: connections, hosts, and whether every packet is accounted for.

use crate::host::cpu::Busy;
pub use crate::host::nic::receive::ReceiveCounts;
pub use crate::host::nic::transmit::TransmitCounts;
pub use crate::host::socket::SocketCounts;
pub use crate::host::softirq::SoftirqCounts;
pub use crate::transfer::{DatagramCounts, SocketInfo, Total, Transfer};

/// The result of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostReport {
    /// The time of its CPUs by context; empty on a zero-cost host.
    pub cpus: Vec<Busy>,
    /// Its receive ring.
    pub ring: ReceiveCounts,
    /// Its transmission.
    pub transmit: TransmitCounts,
    /// Its softirqs; zero on a zero-cost host.
    pub softirq: SoftirqCounts,
    /// The number of times a CPU found a socket's lock held by another CPU's softirq.
    pub spins: u64,
    /// All of its sockets together; `most_waiting` is the maximum of a single one.
    pub sockets: SocketCounts,
}
