//! The user's own programs, in place of a scenario's flows.

use super::hosts::Placed;
use crate::host::Host as Role;
use crate::settings::Settings;
use crate::workload::programs::{Program, Programs};
use slowpath_scenario::{Bulk, Flow, Scenario, Workload};

/// What runs in place of a scenario's flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instead {
    /// The host of the server; the client is on the other.
    pub server_at: Role,
    /// The server's command.
    pub server: String,
    /// The client's.
    pub client: String,
}

impl Instead {
    /// The scenario with one flow in place of its own, which stands for all connections of the programs: from the host
    /// that sends in the scenario's first flow.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Scenario {
        let first = &scenario.flows[0];
        let flow = Flow {
            name: "programs".to_owned(),
            client: first.sender_host(),
            server: first.receiver_host(),
            streams: 1,
            workload: Workload::Bulk(Bulk::Endless),
            ..first.clone()
        };
        Scenario { flows: vec![flow], ..scenario.clone() }
    }

    /// The programs as the lab runs them, scheduled as the processes of the scenario's first flow.
    pub(super) fn work(
        &self,
        first: &Flow,
        [sender, receiver]: [Placed<'_>; 2],
        settings: &Settings,
    ) -> Programs {
        let program = |host: Role, command: &str| Program {
            host,
            command: command.to_owned(),
            congestion_control: settings.socket_of(host).congestion_control.clone(),
            scheduling: match host {
                Role::Sender => sender.scheduling(&first.sender),
                Role::Receiver => receiver.scheduling(&first.receiver),
            },
        };
        Programs {
            server: program(self.server_at, &self.server),
            client: program(self.server_at.other(), &self.client),
        }
    }
}
