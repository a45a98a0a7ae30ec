//! What came of a run: connections, hosts, and whether every packet is accounted for.

use crate::host::cpu::Busy;
use crate::host::nic::receive::ReceiveCounts;
use crate::host::nic::transmit::TransmitCounts;
use crate::host::socket::SocketCounts;
use crate::host::softirq::SoftirqCounts;
use crate::simulation::Simulation;
use slowpath_model::{Bytes, End, FlowKey, Rate};
use slowpath_tcp::TcpInfo;
use std::time::Duration;

/// What the kernel of one end has to say of a connection (`TCP_INFO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Segments sent again.
    pub retransmits: u32,
    /// Retransmission timeouts.
    pub timeouts: u16,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub smoothed_rtt: Option<Duration>,
    /// Shortest round-trip time; `None` before the first measurement.
    pub least_rtt: Option<Duration>,
    /// The congestion window, in segments.
    pub congestion_window: u32,
}

impl Told {
    /// From what `getsockopt` would say.
    pub fn of(info: &TcpInfo) -> Self {
        let measured =
            |micros: u32| (micros != 0 && micros != u32::MAX).then(|| Duration::from_micros(micros.into()));
        Self {
            retransmits: info.total_retrans,
            timeouts: info.total_rto,
            smoothed_rtt: measured(info.rtt),
            least_rtt: measured(info.min_rtt),
            congestion_window: info.snd_cwnd,
        }
    }
}

/// What came of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The stream that it served, counted over all flows of the scenario.
    pub stream: usize,
    /// Its addresses and ports.
    pub key: FlowKey,
    /// The end that sent more.
    pub sender: End,
    /// What the other end's process has read.
    pub bytes: Bytes,
    /// From the call of `connect` to the last byte read.
    pub lasted: Duration,
    /// What the sender's kernel has to say; `None` if it has no connection, and never had one.
    pub told: Option<Told>,
}

impl Transfer {
    /// Data read, over the time from the opening to the last of it; `None` if there was none.
    pub fn rate(&self) -> Option<Rate> {
        if self.bytes == Bytes::ZERO { None } else { Rate::of(self.bytes, self.lasted) }
    }
}

/// What came of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostReport {
    /// What its CPUs were busy with; nothing on a host where nothing takes time.
    pub cpus: Vec<Busy>,
    /// Its receive ring.
    pub ring: ReceiveCounts,
    /// Its way out.
    pub transmit: TransmitCounts,
    /// Its softirqs; nothing on a host where nothing takes time.
    pub softirq: SoftirqCounts,
    /// All of its sockets together; `most_waiting` is the most of any one.
    pub sockets: SocketCounts,
}

impl Simulation {
    /// The connections so far, in the order in which they were opened.
    pub fn transfers(&self) -> Vec<Transfer> {
        (0..self.links().len()).map(|number| self.transfer(number)).collect()
    }

    fn transfer(&self, number: usize) -> Transfer {
        let link = &self.links()[number];
        let sender = if link.read[End::A.index()].0 > link.read[End::B.index()].0 { End::B } else { End::A };
        let (bytes, last) = link.read[(!sender).index()];
        let alive = link.sockets[sender.index()]
            .and_then(|id| self.hosts()[link.hosts[sender.index()]].told(id, self.now()));
        Transfer {
            stream: link.stream,
            key: crate::tap::key(number as u32, link),
            sender,
            bytes: Bytes::new(bytes),
            lasted: last.since(link.opened).unwrap_or_default(),
            told: alive.or(link.told[sender.index()]),
        }
    }

    /// What came of each host, in the order of the scenario.
    pub fn host_reports(&self) -> Vec<HostReport> {
        self.hosts().iter().map(crate::host::Host::report).collect()
    }

    /// The elements at which a packet was made or lost without being counted; none, unless the simulator is wrong.
    pub fn not_conserved(&self) -> Vec<String> {
        let wires = self.wires().iter().enumerate().filter(|(_, wire)| !wire.is_conserved());
        let mut wrong: Vec<String> = wires.map(|(number, _)| format!("wire {number}")).collect();
        for (number, host) in self.hosts().iter().enumerate() {
            wrong.extend(host.not_conserved().into_iter().map(|element| format!("host {number}: {element}")));
        }
        wrong
    }
}
