//! Busy polling (`SO_BUSY_POLL`) in the lab: it needs a NAPI instance, which few virtual devices have.

use super::flows;
use crate::settings::{Carrier, Offload, Settings};
use crate::workload::options;
use slowpath_scenario::{Host, HostId, Scenario};

/// Which of the two hosts have a process that polls, so that they must receive through NAPI.
pub(super) fn needs_napi(
    scenario: &Scenario,
    ids: [HostId; 2],
    offloads: [Offload; 2],
    refused: &mut Vec<String>,
) -> [bool; 2] {
    let mut needed = [false; 2];
    for flow in &scenario.flows {
        let key = format!("flows.{}", flow.name);
        for (at, process, role) in
            [(flow.sender_host(), &flow.sender, "sender"), (flow.receiver_host(), &flow.receiver, "receiver")]
        {
            let polls = flows::busy_poll(process, scenario.host(at)).is_some_and(|time| time > 0);
            let Some(place) = ids.iter().position(|id| *id == at).filter(|_| polls) else { continue };
            needed[place] = true;
            let key = format!("{key}.{role}.socket.SO_BUSY_POLL");
            if offloads[place] == Offload::SuperPackets {
                let name = &scenario.host(at).name;
                refused.push(format!(
                    "{key}: super-packets come to the lab's hosts without NAPI, so that there is nothing to poll; \
                     write hosts.{name}.nic = {{ tso = false, gro = false }}"
                ));
            }
            if let Err(error) = options::may_busy_poll() {
                refused.push(format!(
                    "{key}: this machine's kernel lets only its root (CAP_NET_ADMIN) have a socket poll: {error}"
                ));
            }
        }
    }
    needed
}

/// Programs create their own sockets, and `net.core.busy_read` cannot be set for these alone.
pub(super) fn has_none(hosts: [&Host; 2], refused: &mut Vec<String>) -> [bool; 2] {
    for host in hosts.iter().filter(|host| !host.kernel.receive.busy_read.is_zero()) {
        refused.push(format!(
            "hosts.{}.sysctl.busy_read: it is the whole machine's, and the sockets are the programs' own",
            host.name
        ));
    }
    [false; 2]
}

/// The packets' carrier may have no NAPI.
pub(super) fn refused_over(carrier: Carrier, settings: &Settings) -> Option<String> {
    let needed = settings.sender_napi || settings.receiver_napi;
    (carrier == Carrier::Tap && needed).then(|| {
        "SO_BUSY_POLL: a TAP device has no NAPI that a reader could poll, not even with IFF_NAPI \
         (netif_napi_add_tx); take veth"
            .to_owned()
    })
}
