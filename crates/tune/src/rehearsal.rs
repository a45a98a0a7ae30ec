//! A plan on another host: which of its changes can be made on a host of the lab, and how.
//!
//! A host of the lab is a network namespace with one interface. So sysctls of a namespace, attributes of a route and the size of
//! super-packets can be tried there. What belongs to the machine, to a NIC or to a process cannot, and is named.

use crate::access::Access;
use crate::error::AccessError;
use crate::journal::Side;
use crate::namespace;
use crate::plan::{Plan, Planned};
use slowpath_remedies::Setting;
use slowpath_remedies::setting::{LinkAttribute, NO_ROUTE, route_attributes};
use std::net::IpAddr;

/// Sets the congestion control of sockets that ask for none.
const CONTROL: &str = "net.ipv4.tcp_congestion_control";

/// A plan for another host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rehearsal {
    /// The changes that are tried, as the plan has them.
    pub tried: Vec<Planned>,
    /// These changes, for the other host.
    changes: Vec<Planned>,
    /// Congestion controls of its sockets, before and after, if the plan changes them.
    pub control: Option<[String; 2]>,
    /// The settings that are not tried, and why.
    pub not_tried: Vec<(String, String)>,
}

/// Fits a plan to a host with the interface `device`, which reaches `peer` over it. Sysctls are tried in a new namespace.
pub fn fit(plan: &Plan, device: &str, peer: IpAddr) -> Rehearsal {
    let mut fit = Rehearsal::default();
    for planned in &plan.changes {
        match moved(planned, device, peer) {
            Ok(Moved::Control) => {
                fit.control = Some([planned.now.clone(), planned.then.clone()]);
                fit.tried.push(planned.clone());
            }
            Ok(Moved::Change(change)) if fit.changes.iter().any(|other| other.setting == change.setting) => {
                let why = format!("another change of the plan is made to {} there", change.setting);
                fit.not_tried.push((planned.setting.to_string(), why));
            }
            Ok(Moved::Change(change)) => {
                fit.changes.push(change);
                fit.tried.push(planned.clone());
            }
            Err(why) => fit.not_tried.push((planned.setting.to_string(), why)),
        }
    }
    fit
}

impl Rehearsal {
    /// Does not try the congestion control, because of `why`.
    pub fn leave_control(&mut self, why: &str) {
        self.control = None;
        let is_control = |planned: &mut Planned| planned.setting == Setting::Sysctl(CONTROL.to_owned());
        let left = self.tried.extract_if(.., is_control);
        self.not_tried.extend(left.map(|planned| (planned.setting.to_string(), why.to_owned())));
    }

    /// Gives the settings of the calling thread's namespace the values of a side.
    ///
    /// # Errors
    /// Which setting cannot have its value, and why.
    pub fn put(&self, side: Side) -> Result<(), String> {
        let access = Access::reading();
        self.changes.iter().try_for_each(|change| {
            let value = if side == Side::Old { &change.now } else { &change.then };
            access.put(&change.setting, value)
        })
    }
}

/// A change for another host.
enum Moved {
    Change(Planned),
    /// The congestion control, which is chosen with the sockets.
    Control,
}

fn moved(planned: &Planned, device: &str, peer: IpAddr) -> Result<Moved, String> {
    let change = |setting, now: String, then: String| {
        Ok(Moved::Change(Planned { setting, now, then, ..planned.clone() }))
    };
    let (now, then) = (planned.now.clone(), planned.then.clone());
    match &planned.setting {
        Setting::Sysctl(name) if name == CONTROL => Ok(Moved::Control),
        Setting::Sysctl(_) => {
            namespace::in_new_one(|| tries(&planned.setting, [&now, &then]))
                .map_err(|error| format!("no network namespace can be created: {error}"))??;
            change(planned.setting.clone(), now, then)
        }
        Setting::Route { .. } => {
            let [now, then] = [&now, &then].map(|value| match route_attributes(value) {
                none if none.is_empty() => NO_ROUTE.to_owned(),
                attributes => format!("dev {device} {attributes}"),
            });
            let setting = Setting::route_to(peer);
            if setting.is(&now, &then) {
                return Err("it changes no attribute of connections".to_owned());
            }
            change(setting, now, then)
        }
        Setting::Link { attribute: attribute @ LinkAttribute::SuperPackets, .. } => {
            change(Setting::Link { device: device.to_owned(), attribute: *attribute }, now, then)
        }
        other => Err(reason(other).to_owned()),
    }
}

/// Whether a setting of the calling thread's namespace can have the values.
fn tries(setting: &Setting, values: [&String; 2]) -> Result<(), String> {
    let access = Access::reading();
    match access.read(setting) {
        Err(AccessError::NoSysctl(_)) => {
            Err("it is the machine's, and a network namespace has none".to_owned())
        }
        _ => values.into_iter().try_for_each(|value| access.put(setting, value)),
    }
}

/// Why a kind of setting is not tried.
const fn reason(setting: &Setting) -> &'static str {
    match setting {
        Setting::Link { attribute: LinkAttribute::Mtu, .. } => {
            "the lab's interfaces have an MTU of 1500 bytes"
        }
        Setting::Link { .. } | Setting::QueueLimit { .. } | Setting::RootQdisc { .. } => {
            "the qdisc of the lab's interfaces emulates their NIC"
        }
        Setting::Offload { .. } => "the scenario chooses the offloads (nic.tso, nic.gro)",
        Setting::ReceiveRing { .. } => "the lab's interfaces have no ring",
        Setting::Steering { .. } => "the scenario chooses the CPU that receives (nic.interrupt-cpu)",
        Setting::Interrupt(_) => "the lab's interfaces have no interrupt",
        Setting::Process { .. } => {
            "the lab has processes of its own; the scenario schedules them (nice, cpu)"
        }
        Setting::Sysctl(_) | Setting::Route { .. } => "it is not known there",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(setting: &str, now: &str, then: &str) -> Planned {
        let setting: Setting = setting.parse().expect("a setting");
        let [now, then, finding, why, source] = [now, then, "", "", ""].map(str::to_owned);
        Planned { setting, now, then, finding, why, source }
    }

    #[test]
    fn what_belongs_to_the_machine_is_named() {
        let changes = vec![
            planned(
                "route default",
                "via 198.51.100.1 dev ens3 metric 100",
                "via 198.51.100.1 dev ens3 initcwnd 30",
            ),
            planned("route 203.0.113.0/24", "dev ens3 mtu 1400", "dev ens3"),
            planned("sysctl net.ipv4.tcp_congestion_control", "cubic", "reno"),
            planned("link ens3 mtu", "1400", "1500"),
            planned(
                "link ens3 gso_max",
                "gso_max_size 9000 gso_max_segs 6",
                "gso_max_size 65536 gso_max_segs 65535",
            ),
            planned("irq 24 affinity", "0", "1"),
            planned("process 1 nice", "0", "-5"),
            planned("qdisc ens3 root", "default", "fq"),
        ];
        let plan = Plan {
            made: crate::plan::Made::default(),
            changes,
            by_hand: Vec::new(),
            predictions: Vec::new(),
        };
        let fit = fit(&plan, "eth0", [192, 0, 2, 2].into());
        let tried: Vec<String> = fit.tried.iter().map(|one| one.setting.to_string()).collect();
        assert_eq!(tried, ["route default", "sysctl net.ipv4.tcp_congestion_control", "link ens3 gso_max"]);
        assert_eq!(fit.control, Some(["cubic", "reno"].map(str::to_owned)));
        let made: Vec<String> =
            fit.changes.iter().map(|one| format!("{}: {} → {}", one.setting, one.now, one.then)).collect();
        assert_eq!(
            made,
            [
                "route 192.0.2.2/32: none → dev eth0 initcwnd 30",
                "link eth0 gso_max: gso_max_size 9000 gso_max_segs 6 → gso_max_size 65536 gso_max_segs 65535"
            ]
        );
        let not_tried: Vec<&str> = fit.not_tried.iter().map(|(setting, _)| setting.as_str()).collect();
        let named =
            ["route 203.0.113.0/24", "link ens3 mtu", "irq 24 affinity", "process 1 nice", "qdisc ens3 root"];
        assert_eq!(not_tried, named);
    }
}
