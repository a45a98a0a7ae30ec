//! Invariants of every run.

use crate::run::{Run, scenario};
use slowpath_kernels::BottomHalves;
use slowpath_scenario::{Affinity, HostId, Scenario};
use slowpath_simulator::Simulation;
use slowpath_simulator::pcapng::Pcapng;
use std::fs;
use std::path::Path;

fn shipped() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the scenarios' folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("a scenario"))
        })
        .collect();
    files.sort();
    assert!(files.len() >= 15, "only {} scenarios were found", files.len());
    files
}

/// Every shipped scenario, cut short: every element conserves packets, and no link exceeds its rate.
#[test]
fn every_shipped_scenario_conserves_packets() {
    for (name, text) in shipped() {
        let mut plan = scenario(&text);
        plan.duration = plan.duration.min(std::time::Duration::from_secs(3));
        assert_conserves_packets(&name, &plan);
    }
}

/// Every reader busy-polls the NIC before it sleeps.
#[test]
fn every_shipped_scenario_with_busy_polling_conserves_packets() {
    for (name, text) in shipped() {
        let mut plan = scenario(&text);
        plan.duration = plan.duration.min(std::time::Duration::from_secs(1));
        for host in &mut plan.hosts {
            host.kernel.receive.busy_read = std::time::Duration::from_micros(200);
        }
        assert_conserves_packets(&name, &plan);
    }
}

/// All CPUs take the NICs' interrupts.
#[test]
fn every_shipped_scenario_with_round_robin_interrupts_conserves_packets() {
    for bottom_halves in [BottomHalves::EachCpu, BottomHalves::OneAtATime] {
        for (name, text) in shipped() {
            let mut plan = scenario(&text);
            plan.duration = plan.duration.min(std::time::Duration::from_millis(500));
            for host in &mut plan.hosts {
                host.cpus = host.cpus.max(3);
                host.nic.interrupt_affinity = Affinity::InTurn;
                host.kernel.receive.bottom_halves = bottom_halves;
                host.kernel.big_kernel_lock = bottom_halves == BottomHalves::OneAtATime;
                host.kernel.receive.busy_read = std::time::Duration::from_micros(20);
            }
            assert_conserves_packets(&name, &plan);
        }
    }
}

fn assert_conserves_packets(name: &str, plan: &Scenario) {
    let mut simulation = Simulation::new(plan);
    simulation.run(&mut slowpath_simulator::Nobody);
    assert_eq!(simulation.not_conserved(), Vec::<String>::new(), "{name}");
    for report in simulation.host_reports() {
        for busy in report.cpus {
            let worked: std::time::Duration = busy.levels.iter().sum();
            assert!(worked <= plan.duration, "{name}: a CPU worked for {worked:?}");
        }
    }
    let read: u64 = simulation.transfers().iter().map(|transfer| transfer.bytes.get()).sum();
    assert!(read > 0, "{name}: nothing was transferred");
    for (path, wires) in plan.paths.iter().zip(simulation.wires().chunks(2)) {
        for (config, wire) in [(&path.forward, &wires[0]), (&path.reverse, &wires[1])] {
            let Some(link) = &config.link else { continue };
            let most = link.rate.get() as f64 / 8.0 * simulation.now().seconds();
            let totals = wire.totals();
            let least_bytes = 40 * wire.delivered();
            assert!(least_bytes as f64 <= most, "{name}: {} packets delivered", totals.scheduled_packets);
        }
    }
}

fn capture(text: &str) -> Vec<u8> {
    let mut simulation = Simulation::new(&scenario(text));
    let mut file = Pcapng::new(HostId(0), "sender");
    simulation.run(&mut file);
    std::mem::take(file.buffer())
}

const EVENTFUL: &str = r#"
title = "losses, reordering, a busy receiver"
duration = "3 s"
[hosts.receiver]
cpus = 1
load = { hogs = 2 }
[path]
rate = "50 Mbit/s"
delay = "10 ms"
queue = "60 packets"
loss = "0.1 %"
"#;

#[test]
fn capture_depends_only_on_scenario_and_seed() {
    let first = capture(EVENTFUL);
    assert!(first.len() > 100_000);
    assert!(first == capture(EVENTFUL));
    assert!(first != capture(&format!("seed = 99\n{EVENTFUL}")));
}

/// Running in steps gives the same as running at once.
#[test]
fn running_in_steps_changes_nothing() {
    let plan = scenario(EVENTFUL);
    let mut simulation = Simulation::new(&plan);
    let mut file = Pcapng::new(HostId(0), "sender");
    while simulation.now() < simulation.end() {
        let until = simulation.now() + std::time::Duration::from_millis(7);
        simulation.run_until(until, &mut file);
    }
    assert!(*file.buffer() == capture(EVENTFUL));
}

/// The receiver's process reads what the sender's wrote, whatever the path does.
#[test]
fn every_byte_written_is_read() {
    for path in [
        "rate = \"50 Mbit/s\"\nloss = \"1 %\"",
        "rate = \"50 Mbit/s\"\nqueue = \"20 packets\"",
        "rate = \"50 Mbit/s\"\nreorder = \"2 %\"\nreorder-by = \"5 ms\"\nduplicate = \"1 %\"",
    ] {
        let run = Run::of(&format!(
            "title = \"t\"\nduration = \"120 s\"\n[path]\ndelay = \"5 ms\"\n{path}\n[flows]\namount = \"5 MiB\"\n"
        ));
        assert_eq!(run.bytes().get(), 5 << 20, "{path}");
    }
}

/// Of closed connections only their totals remain, the same as if all were kept.
#[test]
fn all_short_connections_are_counted_but_few_are_kept() {
    // A minute of them is in TIME-WAIT.
    let text = "title = \"t\"\nduration = \"600 s\"\n[hosts.sender]\nmachine = \"free\"\n[hosts.receiver]\nmachine = \"free\"\n\
                [path]\nrate = \"1 Gbit/s\"\ndelay = \"10 ms\"\n\
                [flows]\nstreams = 2\n\
                [flows.requests]\nresponse = \"2000 B\"\ncount = 5000\nconnection = \"each\"\n";
    let mut simulation = Simulation::new(&scenario(text));
    simulation.run(&mut slowpath_simulator::Nobody);
    let total = simulation.total(0);
    assert_eq!((total.connections, total.bytes.get()), (10_000, 10_000 * 2000));
    assert!(simulation.transfers().len() < 4500, "{} are kept", simulation.transfers().len());
    assert_eq!(total.least_rtt.map(|rtt| rtt.as_millis()), Some(20));
    let rate = total.rate().expect("data").get();
    let lasted = simulation.now().seconds();
    assert!(
        (rate as f64 - 10_000.0 * 2000.0 * 8.0 / lasted).abs() < 0.01 * rate as f64,
        "{rate} bit/s in {lasted} s"
    );
}
