//! The results of a run, final or so far.

use super::Simulation;
use crate::host::Host;
use crate::links::Link;
use crate::report::{HostReport, Total, Transfer};

impl Simulation {
    /// The connections so far, in the order of opening; of the closed ones only the last thousand or so.
    pub fn transfers(&self) -> Vec<Transfer> {
        self.links().iter().map(|(number, link)| self.transfer(number, link)).collect()
    }

    /// The total of all connections of a scenario's flow.
    pub fn total(&self, flow: usize) -> Total {
        let mut total = Total::default();
        for stream in (0..self.streams()).filter(|stream| self.flow_of(*stream) == flow) {
            total.join(&self.links().past(stream));
        }
        for (number, link) in self.links().iter().filter(|(_, link)| self.flow_of(link.stream) == flow) {
            total.add(&self.transfer(number, link));
        }
        total
    }

    fn transfer(&self, number: u32, link: &Link) -> Transfer {
        let sender = link.sender().index();
        let host = &self.hosts()[link.hosts[sender]];
        link.transfer(number, link.sockets[sender].and_then(|id| host.socket_info(id, self.now())))
    }

    /// The result of each host, in the order of the scenario.
    pub fn host_reports(&self) -> Vec<HostReport> {
        self.hosts().iter().map(Host::report).collect()
    }

    /// The elements that do not conserve packets; none, unless the simulator is wrong.
    pub fn not_conserved(&self) -> Vec<String> {
        let wires = self.wires().iter().enumerate().filter(|(_, wire)| !wire.is_conserved());
        let mut wrong: Vec<String> = wires.map(|(number, _)| format!("wire {number}")).collect();
        for (number, host) in self.hosts().iter().enumerate() {
            wrong.extend(host.not_conserved().into_iter().map(|element| format!("host {number}: {element}")));
        }
        wrong
    }
}
