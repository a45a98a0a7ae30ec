//! What the changes of a plan would give: the captured transfer is fitted and simulated with each of them, and with all.
//!
//! A plan has settings of a host, a simulation remedies of a transfer. A setting is predicted only if the capture shows that it
//! was what limited the transfer: a buffer that a program has fixed does not grow with a sysctl.

use super::{Diagnosed, Transfer};
use crate::what_if::{Stage, reproduced, simulated};
use slowpath_kernels::Release;
use slowpath_model::{Bytes, Rate};
use slowpath_remedies::Setting;
use slowpath_remedies::setting::route_attributes;
use slowpath_tune::plan::{Here, Planned};
use slowpath_tune::{Plan, inside, known};
use slowpath_whatif::reproduce::Model;
use slowpath_whatif::{Predicted, ReceiveBuffer, Refusal, Remedy};
use std::sync::atomic::AtomicBool;

/// A setting that allows more than this factor of what the capture shows did not limit it.
const NOT_THE_LIMIT: u64 = 2;

/// What is predicted of one change of a plan, or of all together.
#[derive(Clone, Debug)]
pub struct Told {
    /// The changes, by their places in the plan.
    pub changes: Vec<usize>,
    /// The captured rate and the prediction.
    pub result: Result<(Rate, Predicted), NotPredicted>,
}

/// Why nothing is predicted of changes.
#[derive(Clone, Debug, PartialEq)]
pub enum NotPredicted {
    /// A diagnosis that was printed before has no packets to simulate.
    NoPackets,
    /// The transfer cannot be fitted, or its fit does not reproduce it.
    Transfer(Refusal),
    /// No setting of a simulated transfer stands for it.
    NotSimulated,
    /// What the capture shows as the limit is less than the setting allows already.
    NotTheLimit {
        /// The buffer that the capture shows.
        shown: Bytes,
        /// What the setting allows now.
        allowed: Bytes,
    },
    /// The capture does not show that the other end offers window scaling.
    OtherEnd,
    /// It has an effect only together with another change of the plan.
    With(String),
    /// Of one of the changes, nothing is predicted.
    Parts,
    /// No run transferred anything.
    NoRun,
}

/// The host that a plan is for, as its predictions need it.
struct Host {
    is_sender: bool,
    is_receiver: bool,
    /// The largest receive buffer that tuning makes there.
    most_received: Option<Bytes>,
}

/// Predicts each change of a plan, and all together if there are several. The transfer is that of this host with the most data.
pub fn foretell(
    plan: &Plan,
    diagnosed: &mut Diagnosed,
    here: Here,
    netns: Option<&str>,
    at: &(dyn Fn(Stage) + Sync),
) -> Vec<Told> {
    let mut sets: Vec<Vec<usize>> = (0..plan.changes.len()).map(|place| vec![place]).collect();
    if sets.is_empty() {
        return Vec::new();
    }
    if sets.len() > 1 {
        sets.push((0..plan.changes.len()).collect());
    }
    let all = |why: &NotPredicted, sets: Vec<Vec<usize>>| {
        sets.into_iter().map(|changes| Told { changes, result: Err(why.clone()) }).collect()
    };
    let Some(packets) = &mut diagnosed.packets else { return all(&NotPredicted::NoPackets, sets) };
    let own = diagnosed.flows.iter().enumerate().filter(|(_, flow)| flow.is_end(here) != [false; 2]);
    let amount = |place: usize| packets.reports[place].main().measures.unique_bytes;
    let Some((place, flow)) = own.max_by_key(|(place, _)| amount(*place)) else { return Vec::new() };
    let sysctls = inside(netns, known).map(|known| known.sysctls).unwrap_or_default();
    let rmem = sysctls.iter().find(|(name, _)| *name == RMEM).and_then(|(_, value)| third(value));
    let [is_sender, is_receiver] = flow.is_end(here);
    let host = Host { is_sender, is_receiver, most_received: rmem };
    let transfer = packets.transfer(place);
    match predict(plan, &transfer, &host, sets.clone(), at) {
        Ok(told) => told,
        Err(refusal) => all(&NotPredicted::Transfer(refusal), sets),
    }
}

/// Fits the transfer and simulates it with each set of changes.
fn predict(
    plan: &Plan,
    transfer: &Transfer,
    host: &Host,
    sets: Vec<Vec<usize>>,
    at: &(dyn Fn(Stage) + Sync),
) -> Result<Vec<Told>, Refusal> {
    let stop = AtomicBool::new(false);
    let seen = transfer.seen.as_ref().map_err(Clone::clone)?;
    let found = reproduced(seen, transfer.shared, Release::Linux6_18, &stop, at)?;
    let model = &found.models[0];
    let trials: Vec<Result<Vec<Remedy>, NotPredicted>> =
        sets.iter().map(|changes| remedies(plan, changes, model, host)).collect();
    let mut asked: Vec<Vec<Remedy>> = Vec::new();
    for trial in trials.iter().flatten() {
        if !asked.contains(trial) {
            asked.push(trial.clone());
        }
    }
    let predicted = simulated(seen, &found, &asked, asked.len(), &stop, at)?;
    let of = |trial: Vec<Remedy>| {
        let found = predicted.iter().find(|one| one.remedies == trial).cloned();
        found.map(|predicted| (seen.rate, predicted)).ok_or(NotPredicted::NoRun)
    };
    let told = sets.into_iter().zip(trials);
    Ok(told.map(|(changes, trial)| Told { changes, result: trial.and_then(of) }).collect())
}

const RMEM: &str = "net.ipv4.tcp_rmem";
const MODERATE: &str = "net.ipv4.tcp_moderate_rcvbuf";

/// The remedies that stand for changes.
fn remedies(plan: &Plan, changes: &[usize], model: &Model, host: &Host) -> Result<Vec<Remedy>, NotPredicted> {
    let is_of = |place: &usize, name: &str| matches!(&plan.changes[*place].setting, Setting::Sysctl(known) if known == name);
    let has = |name: &str| changes.iter().any(|place| is_of(place, name));
    let is_planned = |name: &str| (0..plan.changes.len()).any(|place| is_of(&place, name));
    if has(RMEM) && !has(MODERATE) && is_planned(MODERATE) {
        return Err(NotPredicted::With(format!("sysctl {MODERATE}")));
    }
    let mut remedies = Vec::new();
    for place in changes {
        if is_of(place, MODERATE) && has(RMEM) {
            // Tuning then reaches what the other change allows.
            continue;
        }
        let change = &plan.changes[*place];
        if is_of(place, RMEM)
            && host.is_receiver
            && let Some(first) = first_buffer(change, model)
        {
            remedies.push(first);
            if !is_raised(change) {
                continue;
            }
        }
        let remedy = remedy(change, model, host);
        remedies.push(if changes.len() > 1 { remedy.map_err(|_| NotPredicted::Parts)? } else { remedy? });
    }
    Ok(remedies)
}

/// The remedy that stands for another first size of the receive buffer, if the capture shows that the size now is what it began
/// with.
fn first_buffer(planned: &Planned, model: &Model) -> Option<Remedy> {
    let [now, then] = [&planned.now, &planned.then].map(|value| size(value, 1));
    let (now, then) = (now?, then?);
    let shown = model.fitted.first_buffer.value.get();
    let is_it =
        now.get() <= shown.saturating_mul(NOT_THE_LIMIT) && shown <= now.get().saturating_mul(NOT_THE_LIMIT);
    let is_tuned = matches!(model.fitted.receive, ReceiveBuffer::Tuned(_));
    (now != then && is_tuned && is_it).then_some(Remedy::FirstReceiveBuffer(then))
}

/// Whether a change is one of the largest size.
fn is_raised(planned: &Planned) -> bool {
    third(&planned.now) != third(&planned.then)
}

/// The remedy that stands for a change.
fn remedy(planned: &Planned, model: &Model, host: &Host) -> Result<Remedy, NotPredicted> {
    let text = match &planned.setting {
        Setting::Sysctl(name) => match name.as_str() {
            RMEM if host.is_receiver && is_raised(planned) => {
                let shown = match &model.fitted.receive {
                    // The kernel doubles what a program asks for (sock_setsockopt, 6.18).
                    ReceiveBuffer::Fixed { size, .. } => Bytes::new(size.value.get() * 2),
                    ReceiveBuffer::Tuned(most) => most.value,
                    ReceiveBuffer::Untuned { size, .. } => size.value,
                };
                need_limit(shown, planned)?;
                third(&planned.then).map(|most| format!("receive-buffer={} B", most.get()))
            }
            "net.ipv4.tcp_wmem" if host.is_sender => {
                if let Some(size) = &model.fitted.send {
                    need_limit(Bytes::new(size.value.get() * 2), planned)?;
                }
                third(&planned.then).map(|most| format!("send-buffer={} B", most.get()))
            }
            MODERATE if host.is_receiver && planned.then == "1" => {
                host.most_received.map(|most| format!("receive-buffer={} B", most.get()))
            }
            "net.ipv4.tcp_window_scaling" if planned.then == "1" => {
                let [by_sender, by_receiver] = model.fitted.scaling;
                if (host.is_receiver && !by_sender) || (host.is_sender && !by_receiver) {
                    return Err(NotPredicted::OtherEnd);
                }
                Some("window-scaling=on".to_owned())
            }
            "net.ipv4.tcp_slow_start_after_idle" if host.is_sender && planned.then == "0" => {
                Some("slow-start-after-idle=off".to_owned())
            }
            "net.ipv4.tcp_congestion_control" if host.is_sender => {
                Some(format!("congestion-control={}", planned.then))
            }
            _ => None,
        },
        Setting::Route { .. } if host.is_sender => initial_window(&planned.now, &planned.then),
        _ => None,
    };
    text.and_then(|text| text.parse().ok()).ok_or(NotPredicted::NotSimulated)
}

/// Refuses if a buffer's limit is far above what the capture shows.
fn need_limit(shown: Bytes, planned: &Planned) -> Result<(), NotPredicted> {
    match third(&planned.now) {
        Some(allowed) if allowed.get() > shown.get().saturating_mul(NOT_THE_LIMIT) => {
            Err(NotPredicted::NotTheLimit { shown, allowed })
        }
        _ => Ok(()),
    }
}

/// The largest of the three sizes of `tcp_rmem` or `tcp_wmem`.
fn third(value: &str) -> Option<Bytes> {
    size(value, 2)
}

/// One of these three sizes, counted from 0.
fn size(value: &str, place: usize) -> Option<Bytes> {
    value.split_whitespace().nth(place)?.parse().ok().map(Bytes::new)
}

/// The initial window, if nothing else of a route's attributes changes.
fn initial_window(now: &str, then: &str) -> Option<String> {
    let [now, then] = [now, then].map(route_attributes);
    let (before, after) = then.split_once("initcwnd ")?;
    let (window, after) = after.split_once(' ').unwrap_or((after, ""));
    let others = format!("{before}{after}");
    let is_known = others.split_whitespace().all(|word| now.split_whitespace().any(|known| known == word));
    is_known.then(|| format!("initial-window={window}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_a_buffer_are_read_by_place() {
        assert_eq!(size("4096 16384 33554432", 1), Some(Bytes::kib(16)));
        assert_eq!(third("4096\t131072\t6291456"), Some(Bytes::kib(6144)));
        assert_eq!(size("0", 1), None);
    }

    #[test]
    fn a_route_is_an_initial_window_if_nothing_else_changes() {
        let of = |now, then| initial_window(now, then);
        assert_eq!(of("none", "dev eth0 initcwnd 30"), Some("initial-window=30".to_owned()));
        assert_eq!(
            of("dev eth0 advmss 1400", "dev eth0 advmss 1400 initcwnd 30"),
            Some("initial-window=30".to_owned())
        );
        assert_eq!(of("dev eth0", "dev eth0 initcwnd 30 rto_min 50ms"), None);
        assert_eq!(of("dev eth0", "dev eth0 initrwnd 30"), None);
    }

    #[test]
    fn a_limit_far_above_what_shows_is_not_the_limit() {
        let planned = |now: &str| Planned {
            setting: format!("sysctl {RMEM}").parse().expect("a setting"),
            now: now.to_owned(),
            then: "4096 131072 33554432".to_owned(),
            finding: String::new(),
            why: String::new(),
            source: String::new(),
        };
        let shown = Bytes::kib(128);
        assert_eq!(need_limit(shown, &planned("4096 65536 131072")), Ok(()));
        let allowed = Bytes::kib(6144);
        assert_eq!(
            need_limit(shown, &planned("4096 131072 6291456")),
            Err(NotPredicted::NotTheLimit { shown, allowed })
        );
    }
}
