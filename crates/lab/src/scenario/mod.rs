//! A scenario as the lab runs it.
//!
//! Hosts are namespaces of this machine, so their kernel, CPUs and cards are this machine's. Anything else in a
//! scenario is refused, all of it at once; nothing is ignored silently.

mod busy_poll;
mod flows;
mod hosts;
mod programs;

pub use programs::Instead;

use crate::experiment::Experiment;
use crate::host::Host as Role;
use crate::netem;
use crate::recording::Recording;
use crate::settings::{Carrier, Offload, Settings};
use crate::workload::Workload as Work;
use hosts::Placed;
use slowpath_kernels::{KernelProfile, registry, sysctls};
use slowpath_model::{Bytes, nanos, shown};
use slowpath_scenario::{Affinity, Host, HostId, Process, Scenario, Workload};
use std::fmt;
use std::time::Duration;

/// The parts of a scenario that the lab cannot do, each a sentence that starts with the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refused(pub Vec<String>);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the lab cannot run this scenario on real hosts:")?;
        self.0.iter().try_for_each(|what| write!(f, "\n  {}", shown::line(what)))
    }
}

/// The longest scenario here: packets and processes are real.
pub const LONGEST: Duration = Duration::from_secs(240);
/// The MTU of the testbed's devices.
const MTU: Bytes = Bytes::new(1500);

/// Roughly a card's interrupt delay (a scenario's `interrupt-delay`, if it has none).
const JOINED_WITHIN_NS: u64 = 50_000;

/// The scenario as an experiment on a machine with these CPUs. Its path draws the same random numbers as the
/// simulator's: the nth packet has the same fate in both.
///
/// # Errors
/// If the lab cannot do something in it.
pub fn experiment(scenario: &Scenario, machine: &[u32]) -> Result<Experiment, Refused> {
    whole(|refused| translate(scenario, machine, None, refused))
}

/// The scenario as an experiment with programs in place of the scenario's flows.
///
/// # Errors
/// If the lab cannot do something in the rest of it.
pub fn experiment_of_programs(
    scenario: &Scenario,
    machine: &[u32],
    instead: &Instead,
) -> Result<Experiment, Refused> {
    whole(|refused| translate(scenario, machine, Some(instead), refused))
}

/// The experiment with another carrier of packets.
///
/// # Errors
/// If that carrier cannot do what the path does.
pub fn carried_by(carrier: Carrier, experiment: Experiment) -> Result<Experiment, Refused> {
    let no_napi = busy_poll::refused_over(carrier, &experiment.settings);
    let ways = [("to the receiver", &experiment.forward), ("to the sender", &experiment.backward)];
    let refused = ways.map(|(way, config)| {
        let of_way = move |why: String| format!("path, {way}: {why}");
        let why = if carrier == Carrier::Netem { netem::refused(config) } else { Vec::new() };
        why.into_iter().map(of_way)
    });
    let refused: Vec<String> = refused.into_iter().flatten().chain(no_napi).collect();
    let settings = Settings { carrier, ..experiment.settings.clone() };
    if refused.is_empty() { Ok(Experiment { settings, ..experiment }) } else { Err(Refused(refused)) }
}

fn whole(translate: impl FnOnce(&mut Vec<String>) -> Option<Experiment>) -> Result<Experiment, Refused> {
    let mut refused = Vec::new();
    match translate(&mut refused) {
        Some(experiment) if refused.is_empty() => Ok(experiment),
        _ => Err(Refused(refused)),
    }
}

fn translate(
    scenario: &Scenario,
    machine: &[u32],
    instead: Option<&Instead>,
    refused: &mut Vec<String>,
) -> Option<Experiment> {
    let first = &scenario.flows[0];
    let path = scenario.path(first.path);
    let (sender, receiver) = (first.sender_host(), first.receiver_host());
    if scenario.paths.len() > 1 {
        refused.push(format!(
            "paths: there are {}, and the lab has one, between two hosts",
            scenario.paths.len()
        ));
    }
    if scenario.duration > LONGEST {
        refused.push(format!("duration: it is real time here, {LONGEST:?} at most"));
    }
    let placed = [(sender, Role::Sender), (receiver, Role::Receiver)].map(|(id, role)| Placed {
        host: scenario.host(id),
        role,
        machine,
    });
    let processes = [sender, receiver].map(|id| processes_on(scenario, id));
    for (place, processes) in placed.iter().zip(&processes) {
        check_host(place.host, refused);
        place.check(processes, refused);
    }
    let (forward, backward) = (path.direction(sender)?.clone(), path.direction(receiver)?.clone());
    let hosts = [scenario.host(sender), scenario.host(receiver)];
    let offloads = hosts.map(|host| offload(host, refused));
    let [sender_napi, receiver_napi] = match instead {
        None => busy_poll::needs_napi(scenario, [sender, receiver], offloads, refused),
        Some(_) => busy_poll::has_none(hosts, refused),
    };
    let settings = Settings {
        offload: offloads[0],
        receiver_offload: Some(offloads[1]).filter(|own| *own != offloads[0]),
        joined_within_ns: JOINED_WITHIN_NS,
        sender_card_bit_per_s: Some(hosts[0].nic.rate.get()),
        receiver_card_bit_per_s: Some(hosts[1].nic.rate.get()),
        sender_sysctls: own_sysctls(&hosts[0].kernel),
        receiver_sysctls: own_sysctls(&hosts[1].kernel),
        sender_softirq_cpu: placed[0].softirq_cpu(&processes[0]),
        receiver_softirq_cpu: placed[1].softirq_cpu(&processes[1]),
        sender_napi,
        receiver_napi,
        sender_socket: flows::options(&first.sender, hosts[0]),
        receiver_socket: flows::options(&first.receiver, hosts[1]),
        ..Settings::plain()
    };
    let work = match (&first.workload, scenario.flows.as_slice()) {
        _ if instead.is_some() => Work::Programs(instead?.work(first, placed, &settings)),
        (Workload::RequestResponse(plan), [flow]) => {
            Work::Exchange(flows::exchange(flow, plan, placed, refused)?)
        }
        (_, flows) => Work::Streams(
            flows.iter().flat_map(|flow| flows::streams(scenario, flow, placed, refused)).collect(),
        ),
    };
    let mut seeds = scenario.draws();
    let mut seeds = [seeds.bits(), seeds.bits()];
    if path.ends[0] != sender {
        seeds.swap(0, 1);
    }
    Some(Experiment {
        settings,
        forward,
        backward,
        seeds: Some(seeds),
        warm_up_bytes: None,
        workload: work,
        loads: placed.iter().flat_map(Placed::loads).collect(),
        flushes: placed.iter().flat_map(Placed::flushes).collect(),
        cut_after_ns: Some(nanos(scenario.duration)),
        recording: Recording::default(),
    })
}

/// The processes of all flows on a host.
fn processes_on(scenario: &Scenario, host: HostId) -> Vec<&Process> {
    let flows = scenario.flows.iter();
    flows
        .flat_map(|flow| [(flow.sender_host(), &flow.sender), (flow.receiver_host(), &flow.receiver)])
        .filter(|(at, _)| *at == host)
        .map(|(_, process)| process)
        .collect()
}

fn check_host(host: &Host, refused: &mut Vec<String>) {
    let name = &host.name;
    if !is_this_machines(&host.kernel) {
        refused.push(format!(
            "hosts.{name}.kernel: it is {}, and here it is this machine's kernel; only sysctls can be set",
            host.kernel.name
        ));
    }
    if host.nic.interrupt_affinity != Affinity::One {
        refused.push(format!(
            "hosts.{name}.nic.interrupt-affinity: the lab steers what comes to one CPU (`interrupt-cpu`)"
        ));
    }
    if host.nic.mtu != MTU {
        refused
            .push(format!("hosts.{name}.nic.mtu: it is {}, and the lab's devices have {MTU}", host.nic.mtu));
    }
}

/// Whether a profile is today's kernel except for what can be set on any machine.
fn is_this_machines(kernel: &KernelProfile) -> bool {
    let Some(mut today) = registry::named("linux-6.18") else { return false };
    today.name.clone_from(&kernel.name);
    today.sysctls.clone_from(&kernel.sysctls);
    today.receive.busy_read = kernel.receive.busy_read;
    today.tcp.clock.hz = kernel.tcp.clock.hz;
    today.tcp.congestion_control = kernel.tcp.congestion_control;
    today == *kernel
}

fn offload(host: &Host, refused: &mut Vec<String>) -> Offload {
    match (host.nic.tso, host.nic.gro) {
        (true, true) => Offload::SuperPackets,
        (false, false) => Offload::PerPacket,
        _ => {
            let key = format!("hosts.{}.nic.tso, gro", host.name);
            refused.push(format!("{key}: the lab has both on or both off"));
            Offload::PerPacket
        }
    }
}

/// The sysctls of the namespace itself; the congestion control is set on the sockets.
fn own_sysctls(kernel: &KernelProfile) -> Vec<(String, String)> {
    let is_own = |name: &str| name.starts_with("net.ipv4.") && name != "net.ipv4.tcp_congestion_control";
    let own = sysctls().filter(|sysctl| is_own(sysctl.name));
    own.map(|sysctl| (sysctl.name.to_owned(), sysctl.of(kernel))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::link::QueueLimit;
    use crate::task::{Class, Scheduling};
    use crate::workload::Writer;

    fn read(text: &str) -> Scenario {
        slowpath_scenario::check("test.toml", text, &[], None).expect("a scenario").scenario
    }

    #[test]
    fn all_unsupported_keys_are_refused_at_once() {
        let text = "[hosts.receiver]\nkernel = \"2.6.14\"\nload = { hogs = 2000 }\n[hosts.sender.nic]\ntso = false\ninterrupt-affinity = \"in-turn\"\n\
                    [flows]\nmessages = { size = \"10 kB\" }";
        let Refused(all) = experiment(&read(text), &[0, 1]).expect_err("none of that is there");
        for key in [
            "hosts.receiver.kernel",
            "hosts.receiver.cpus",
            "hosts.receiver.load",
            "hosts.sender.nic.tso",
            "hosts.sender.nic.interrupt-affinity",
            "flows.flow-1.messages.count",
        ] {
            assert_eq!(all.iter().filter(|what| what.starts_with(key)).count(), 1, "{key}: {all:?}");
        }
    }

    #[test]
    fn make_jobs_with_several_processes_are_refused() {
        let make = |keys: &str| format!("[hosts.receiver]\ncpus = 1\nload = {{ make = 2{keys} }}\n");
        assert!(experiment(&read(&make("")), &[0]).is_ok());
        let Refused(all) =
            experiment(&read(&make(", tool-time = \"1 ms\"")), &[0]).expect_err("it has no tools");
        assert!(all.len() == 1 && all[0].contains("tool-time"), "{all:?}");
    }

    /// Polling needs a NAPI: packets must come one by one over a veth.
    #[test]
    fn busy_polling_needs_napi() {
        const POLLS: &str = "[flows.receiver.socket]\nSO_BUSY_POLL = \"50 us\"\n";
        const SINGLE: &str = "[hosts.receiver.nic]\ntso = false\ngro = false\n";
        let read = |text: &str| experiment(&read(text), &[0, 1]);
        let able = read(&format!("{SINGLE}{POLLS}")).expect("the lab can do that");
        assert_eq!((able.settings.sender_napi, able.settings.receiver_napi), (false, true));
        let Work::Streams(streams) = &able.workload else { panic!("streams") };
        assert_eq!(streams[0].acceptor_socket.as_ref().and_then(|socket| socket.busy_poll_us), Some(50));
        assert!(carried_by(Carrier::Netem, able.clone()).is_ok());
        let Refused(over_tap) = carried_by(Carrier::Tap, able).expect_err("it has none");
        assert!(over_tap[0].starts_with("SO_BUSY_POLL: a TAP device"), "{over_tap:?}");

        let Refused(all) = read(POLLS).expect_err("super-packets");
        assert_eq!(all.len(), 1);
        assert!(all[0].starts_with("flows.flow-1.receiver.socket.SO_BUSY_POLL: super-packets"), "{all:?}");
        let none = read(&POLLS.replace("50 us", "0 us")).expect("it does not poll");
        assert!(!none.settings.receiver_napi);

        // The receiver's own setting overrides the default of the host's sockets.
        let inherits = "[hosts.sender]\nnic = { tso = false, gro = false }\nsysctl = { busy_read = 20 }\n";
        let inherited = read(&format!("{inherits}{SINGLE}")).expect("the lab can do that");
        assert!(inherited.settings.sender_napi && !inherited.settings.receiver_napi);
        assert_eq!(inherited.settings.sender_socket.busy_poll_us, Some(20));
    }

    #[test]
    fn netem_refuses_unsupported_keys_per_direction() {
        let text = "[path]\ndelay = \"10 ms\"\nreorder = \"1 %\"\n[path.forward.policer]\nrate = \"10 Mbit/s\"\n\
                    [[path.reverse.lose]]\nfrom = \"0 B\"\nto = \"1 B\"\n";
        let experiment = experiment(&read(text), &[0, 1]).expect("the lab can do that");
        assert!(carried_by(Carrier::Tap, experiment.clone()).is_ok());
        let Refused(all) = carried_by(Carrier::Netem, experiment).expect_err("none of that is there");
        let told: Vec<_> = all.iter().map(|why| why.rsplit_once(": ").expect("key and reason").0).collect();
        assert_eq!(
            told,
            [
                "path, to the receiver: policer",
                "path, to the receiver: reorder",
                "path, to the sender: lose",
                "path, to the sender: reorder",
            ]
        );
    }

    #[test]
    fn flow_from_the_receiver_is_reversed() {
        let text = "[path]\nrate = \"100 Mbit/s\"\ndelay = \"20 ms\"\n\
                    [[path.reverse.lose]]\nfrom = \"0 B\"\nto = \"1 B\"\n\
                    [[flows]]\nname = \"down\"\namount = \"1 MB\"\nstreams = 2\n\
                    [[flows]]\nname = \"up\"\nfrom = \"receiver\"\nto = \"sender\"\namount = \"2 MB\"\n";
        let scenario = read(text);
        let experiment = experiment(&scenario, &[0, 1]).expect("the lab can do that");
        let Work::Streams(streams) = &experiment.workload else { panic!("streams") };
        assert_eq!(streams.iter().map(|stream| stream.reversed).collect::<Vec<_>>(), [false, false, true]);
        assert_eq!(scenario.flow_of_streams(), [0, 0, 1]);
        assert_eq!(
            (experiment.forward.delay, experiment.backward.loss.len()),
            (Duration::from_millis(20), 1)
        );
        let queue = experiment.forward.link.as_ref().expect("a bottleneck").queue;
        // One bandwidth-delay product.
        assert_eq!(queue, QueueLimit::Bytes(Bytes::new(100_000_000 / 8 / 25)));
    }

    #[test]
    fn bound_tasks_get_cpus_of_the_machine() {
        let text = "[hosts.receiver]\ncpus = 2\nload = [{ hogs = 10, nice = 5 }, { make = 3, cpu = 1, class = \"idle\" }]\n\
                    [hosts.receiver.nic]\ninterrupt-cpu = 1\n[flows.receiver]\ncpu = 0\nnice = -5\n";
        let experiment = experiment(&read(text), &[0, 1, 2]).expect("the lab can do that");
        let Work::Streams(streams) = &experiment.workload else { panic!("streams") };
        assert_eq!(streams[0].opener, None, "the sender's host has nothing else to do");
        let scheduling = |nice, cpus: &[u32]| Scheduling { class: Class::Other, nice, cpus: cpus.to_vec() };
        assert_eq!(streams[0].acceptor, Some(scheduling(-5, &[2])));
        let loads: Vec<_> = experiment.loads.iter().map(|load| load.scheduling.clone()).collect();
        assert_eq!(loads, [scheduling(5, &[2, 1]), Scheduling { class: Class::Idle, ..scheduling(0, &[1]) }]);
        let softirqs = (experiment.settings.sender_softirq_cpu, experiment.settings.receiver_softirq_cpu);
        assert_eq!(softirqs, (None, Some(1)));
    }

    #[test]
    fn requests_without_a_count_end_with_the_run() {
        let text = "[flows]\nrequests = { response = [\"10 B\", \"20 B\", \"30 B\"], connection = \"each\" }\n\
                    start = \"1 s\"\nstreams = 2\nstagger = \"500 ms\"\n";
        let experiment = experiment(&read(text), &[0, 1]).expect("the lab can do that");
        let Work::Exchange(plan) = &experiment.workload else { panic!("an exchange") };
        assert_eq!((plan.connections_per_client, plan.rounds_per_connection), (u32::MAX, 1));
        assert_eq!((plan.after_ns, plan.stagger_ns), (1_000_000_000, 500_000_000));
        assert_eq!([0, 1, 2, 3, 4].map(|nth| plan.response(nth)), [10, 20, 30, 10, 20]);
        assert!(experiment.cut_after_ns.is_some());
    }

    #[test]
    fn rate_without_an_amount_ends_with_the_run() {
        let text = "duration = \"2 s\"\n[flows.sender]\nrate = \"8 Mbit/s\"\ncall-size = \"1 kB\"\n";
        let experiment = experiment(&read(text), &[0, 1]).expect("the lab can do that");
        let Work::Streams(streams) = &experiment.workload else { panic!("streams") };
        assert_eq!(streams[0].writer, Writer::Messages { bytes: 1000, every_ns: 1_000_000, count: 2000 });
        assert_eq!(experiment.cut_after_ns, Some(2_000_000_000));
    }
}
