//! Background load in the lab, as root: scheduling of the loads, the CPU of softirqs, and cleanup.

use super::lab::{document, folder, made_since, namespaces};
use super::{send_signal, slowpath};
use crate::captures::Captures;
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A receiver that shares its only CPU with loads.
const BUSY: &str = "duration = \"20 s\"\n[path]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n[flows]\namount = \"10 MiB\"\n\
                    [hosts.sender.nic]\ntso = false\ngro = false\n[hosts.receiver]\ncpus = 1\n\
                    load = [{ hogs = 3, nice = 5 }, { make = 2, class = \"idle\" }]\nnic = { tso = false, gro = false }\n";

/// The processes of a run's loads: its descendants.
fn loads_of(run: u32) -> Vec<u32> {
    let parent = |id: u32| -> Option<u32> {
        let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (name, rest) = text.split_once('(')?.1.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let runs = fields.next()? != "Z";
        (name == "slowpath-load" && runs).then(|| fields.next()?.parse().ok()).flatten()
    };
    let entries = fs::read_dir("/proc").expect("proc(5)").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_of = |id: &u32| parent(*id).is_some_and(|up| up == run || parent(up) == Some(run));
    ids.filter(is_of).collect()
}

fn soon(what: &str, mut look: impl FnMut() -> bool) {
    let given_up = Instant::now() + Duration::from_secs(60);
    while !look() {
        assert!(Instant::now() < given_up, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a long run and returns the processes of its loads. Behind hogs, jobs of the idle class could take longer to
/// start than a short run lasts.
fn lasting(folder: &Captures) -> (Child, Vec<u32>) {
    let said = folder.path("said");
    let mut child = slowpath(folder)
        .args(["lab", "run", "small.toml", "--set", "flows.amount=240MiB"])
        .args(["--set", "hosts.receiver.load.1.class=other"])
        .stdout(Stdio::null())
        .stderr(fs::File::create(&said).expect("a folder to write to"))
        .spawn()
        .expect("the binary runs");
    let mut loads = Vec::new();
    soon("three hogs, a make and its two jobs", || {
        let ended = child.try_wait().expect("it is ours");
        assert!(ended.is_none(), "{ended:?}, {loads:?}: {}", fs::read_to_string(&said).unwrap_or_default());
        loads = loads_of(child.id());
        loads.len() == 6
    });
    (child, loads)
}

fn are_gone(loads: &[u32]) -> bool {
    loads.iter().all(|id| {
        let name = fs::read_to_string(format!("/proc/{id}/comm"));
        name.is_err()
            || fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    })
}

#[test]
#[ignore = "needs root"]
fn loads_run_with_their_scheduling_class_and_nice_value() {
    let folder = folder(BUSY);
    let before = namespaces();
    let document =
        document(&folder, &["lab", "run", "small.toml", "--json", "--set", "flows.receiver.nice=-3"]);
    let host = &document["hosts"][1];
    assert_eq!(host["name"], "receiver");
    for (load, kind, class, nice) in [(0, "hogs", "other", 5), (1, "make", "idle", 0)] {
        let load = &host["loads"][load];
        assert_eq!((load["kind"].as_str(), load["class"].as_str()), (Some(kind), Some(class)), "{load}");
        assert_eq!(load["nice"].as_i64(), Some(nice), "{load}");
        assert!(load["ran_s"].as_f64() > Some(0.0), "it ran: {load}");
        assert_eq!(load["cpus"], host["processes"][0]["cpus"], "both have the host's one CPU");
    }
    let reader = &host["processes"][0];
    assert_eq!((reader["nice"].as_i64(), reader["class"].as_str()), (Some(-3), Some("other")));
    assert!(reader["ran_s"].as_f64() > Some(0.0) && reader["waited_s"].as_f64() > Some(0.0), "{reader}");
    let sender = &document["hosts"][0];
    assert_eq!(sender["loads"].as_array().map(Vec::len), Some(0));
    assert_eq!(sender["processes"][0]["class"], "fifo", "it has its host for itself");
    assert!(sender["counters"]["TcpExtTCPOrigDataSent"].as_u64() > Some(7000), "{sender}");
    assert_eq!(document["flows"][0]["bytes"].as_u64(), Some(10 << 20));
    assert_eq!(made_since(&before), 0);
}

#[test]
#[ignore = "needs root"]
fn receive_softirqs_run_on_the_configured_cpu() {
    let folder = folder(&BUSY.replace("cpus = 1", "cpus = 2"));
    let mut of_host = Vec::new();
    for interrupts in ["0", "1"] {
        let asked = format!("--set=hosts.receiver.nic.interrupt-cpu={interrupts}");
        let reader = format!("--set=flows.receiver.cpu={interrupts}");
        let document = document(&folder, &["lab", "run", "small.toml", "--json", &reader, &asked]);
        let process = &document["hosts"][1]["processes"][0];
        assert_eq!(
            process["cpus"],
            serde_json::json!([process["softirq_cpu"]]),
            "both are the host's {interrupts}th"
        );
        of_host.push(process["softirq_cpu"].as_u64().expect("a CPU"));
    }
    assert_ne!(of_host[0], of_host[1]);
    // The reader on one CPU, the softirq on the other.
    let apart = ["--set=hosts.receiver.nic.interrupt-cpu=1", "--set=flows.receiver.cpu=0"];
    let document = document(&folder, &[&["lab", "run", "small.toml", "--json"], &apart[..]].concat());
    let process = &document["hosts"][1]["processes"][0];
    assert_eq!(process["cpus"], serde_json::json!([of_host[0]]));
    assert_eq!(process["softirq_cpu"].as_u64(), Some(of_host[1]));
}

#[test]
#[ignore = "needs root"]
fn no_load_outlives_its_run() {
    let folder = folder(BUSY);
    let before = namespaces();
    let (mut child, loads) = lasting(&folder);
    send_signal(&child, libc::SIGINT);
    assert_eq!(child.wait().expect("it is ours").code(), Some(130));
    soon("the end of what an interrupted run loaded", || are_gone(&loads));
    assert_eq!(made_since(&before), 0);

    let (mut child, loads) = lasting(&folder);
    child.kill().expect("it runs");
    child.wait().expect("it is ours");
    soon("the end of what a killed run loaded", || are_gone(&loads));
    document(&folder, &["lab", "run", "small.toml", "--json"]);
    assert_eq!(made_since(&before), 0);
}
