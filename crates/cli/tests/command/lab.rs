//! Scenarios on this machine's kernel. The assertions hold however busy the machine is.

use super::{json, outcome, run, slowpath};
use crate::captures::Captures;
use crate::width::narrow;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SMALL: &str = "title = \"Small\"\nduration = \"20 s\"\n[path]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
                     [[path.forward.lose]]\nfrom = \"100000 B\"\nto = \"101448 B\"\n[flows]\namount = \"1 MiB\"\n";

pub fn folder(scenario: &str) -> Captures {
    let folder = Captures::new();
    std::fs::write(folder.path("small.toml"), scenario).expect("a folder to write to");
    folder
}

pub fn document(folder: &Captures, args: &[&str]) -> Value {
    let (code, out, err) = outcome(&run(folder, args));
    // 1: the machine was too busy for the run to count, which the output says.
    assert!(code == 0 || code == 1, "{code}: {err}");
    let document = json(&out);
    assert_eq!(document["invalid"].as_array().map(Vec::is_empty), Some(code == 0), "{err}");
    document
}

/// The network namespaces of processes started by these tests, which inherit a variable that Cargo sets, and the step of
/// `tools/test`, of which several run at the same time.
pub fn namespaces() -> BTreeSet<PathBuf> {
    let entries = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let crate_mark = concat!("CARGO_MANIFEST_DIR=", env!("CARGO_MANIFEST_DIR"), "\0").to_owned();
    let step = std::env::var("SLOWPATH_STEP").map(|step| format!("SLOWPATH_STEP={step}\0"));
    let marks: Vec<String> = std::iter::once(crate_mark).chain(step).collect();
    let is_ours = |process: &PathBuf| {
        let variables = std::fs::read(process.join("environ")).unwrap_or_default();
        let has = |mark: &String| variables.windows(mark.len()).any(|window| window == mark.as_bytes());
        marks.iter().all(has)
    };
    let processes = entries("/proc".into()).map(|entry| entry.path()).filter(is_ours);
    let links = processes.flat_map(|process| {
        let open = entries(process.join("fd")).map(|entry| entry.path());
        open.chain([process.join("ns/net")]).collect::<Vec<_>>()
    });
    // net:[4026531840]
    let all = links.filter_map(|link| std::fs::read_link(link).ok());
    all.filter(|name| name.as_os_str().as_encoded_bytes().starts_with(b"net:")).collect()
}

/// The number of namespaces created since `before`.
pub fn made_since(before: &BTreeSet<PathBuf>) -> usize {
    namespaces().difference(before).count()
}

#[test]
fn unsupported_scenario_is_refused_before_it_starts() {
    let folder = folder("[hosts.receiver]\nkernel = \"2.6.14\"\n");
    let (code, out, err) = outcome(&run(&folder, &["lab", "run", "small.toml"]));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("hosts.receiver.kernel"), "{err}");
}

#[test]
fn lab_check_lists_all_requirements() {
    let folder = folder(SMALL);
    let (code, out, _) = outcome(&run(&folder, &["lab", "check", "--json"]));
    let document = json(&out);
    assert_eq!(document["can_run"].as_bool(), Some(code == 0));
    let abilities = document["abilities"].as_array().expect("a list");
    for ability in abilities {
        assert_eq!(ability["there"].as_bool(), Some(ability["fix"].is_null()), "{ability}");
    }
}

#[test]
#[ignore = "needs root"]
fn scenario_runs_on_this_kernel_and_is_cleaned_up() {
    let folder = folder(SMALL);
    let before = namespaces();
    for carrier in ["veth", "tap"] {
        let args = ["lab", "run", "small.toml", "--json", "--carrier", carrier, "--out", carrier];
        let document = document(&folder, &args);
        assert_eq!(document["carrier"], carrier);
        let flow = &document["flows"][0];
        assert_eq!((flow["bytes"].as_u64(), flow["connections"].as_u64()), (Some(1 << 20), Some(1)));
        assert!(flow["retransmits"].as_u64() >= Some(1), "a segment was dropped: {flow}");
        assert_eq!(document["path"][0]["totals"]["dropped_packets"]["scripted"], 1);
        let diagnosed = &document["diagnosis"]["flows"][0];
        assert!(diagnosed.is_object(), "the capture has the flow");
        assert!(folder.path(carrier).join("receiver.pcap.zst").is_file());
        assert_eq!(made_since(&before), 0);
    }
    let out = narrow(&folder, &["lab", "run", "small.toml"]);
    assert!(out.contains("min RTT") && out.contains("path to the receiver"), "{out}");
    let (code, _, err) = outcome(&run(&folder, &["lab", "run", "small.toml", "--out", "tap"]));
    assert!(code == 2 && err.contains("exists already"), "{err}");
}

#[test]
#[ignore = "needs root"]
fn simulator_and_kernel_are_compared() {
    let folder = folder(SMALL);
    narrow(&folder, &["lab", "compare", "small.toml"]);
    let document = document(&folder, &["lab", "compare", "small.toml", "--json"]);
    let number = |what: &str| {
        let numbers = document["numbers"].as_array().expect("a list");
        let found = numbers.iter().find(|number| number["what"] == what).expect("a number");
        (found["model"].as_f64().expect("a number"), found["kernel"].as_f64().expect("a number"))
    };
    assert_eq!(number("data"), (1.0, 1.0));
    // Half of the transfer takes 20 ms on the path; losses on a busy machine add time.
    let (model, kernel) = number("time");
    assert!(model > 0.4 && kernel > 0.4, "the link beats its rate: {model} {kernel}");
    let (model, kernel) = number("min RTT");
    assert!(model >= 10.0 && kernel >= 10.0, "the path beats its delay: {model} {kernel}");
}

#[test]
#[ignore = "needs root"]
fn a_killed_run_leaves_no_namespace() {
    let long = SMALL.replace("1 MiB", "40 MiB");
    let folder = folder(&long);
    let before = namespaces();
    let mut child = slowpath(&folder)
        .args(["lab", "run", "small.toml"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let given_up = Instant::now() + Duration::from_secs(30);
    while made_since(&before) < 3 {
        assert!(Instant::now() < given_up, "it makes no namespaces");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("it runs");
    child.wait().expect("it is ours");
    // The command's children are killed when it ends.
    while made_since(&before) > 0 {
        assert!(Instant::now() < given_up, "a namespace is left");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// As user nobody, with the binary in a folder that nobody can reach.
#[test]
#[ignore = "needs root"]
fn scenario_runs_without_root_in_a_user_namespace() {
    const NOBODY: u32 = 65_534;
    let folder = folder(SMALL);
    let (own, work) = (folder.path("slowpath"), folder.path("work"));
    std::fs::copy(env!("CARGO_BIN_EXE_slowpath"), &own).expect("a folder to write to");
    std::fs::create_dir(&work).expect("a folder to write to");
    std::fs::copy(folder.path("small.toml"), work.join("small.toml")).expect("a folder to write to");
    std::fs::set_permissions(folder.path("."), Permissions::from_mode(0o755)).expect("it is ours");
    chown(&work, Some(NOBODY), Some(NOBODY)).expect("root may");
    let before = namespaces();
    let output = Command::new(&own)
        .args(["lab", "run", "small.toml", "--json"])
        .current_dir(&work)
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("it starts");
    let (code, out, err) = outcome(&output);
    assert!(code == 0 || code == 1, "{code}: {err}");
    let document = json(&out);
    assert_eq!(document["flows"][0]["bytes"].as_u64(), Some(1 << 20));
    assert_eq!(document["path"][0]["totals"]["dropped_packets"]["scripted"], 1);
    assert!(document["lost"].as_array().is_some_and(|lost| lost.len() == 3), "{}", document["lost"]);
    assert!(document["unwatched"].is_string(), "{}", document["unwatched"]);
    assert_eq!(made_since(&before), 0);
}

/// A connection starts with the ssthresh of the one before, unless the parameter cache was flushed between them: in the
/// simulator and on this kernel.
#[test]
#[ignore = "needs root"]
fn parameter_cache_and_its_flush_have_the_same_effect_in_both() {
    let folder = folder(include_str!("../../../../scenarios/parameter-cache.toml"));
    let rates = ["false", "true"].map(|flush| {
        let flush = format!("flows.1.flush={flush}");
        let args = ["lab", "compare", "small.toml", "--set", &flush, "--set", "flows.1.runs=2", "--json"];
        let document = document(&folder, &args);
        let numbers = document["numbers"].as_array().expect("a list");
        let of = |run: &str| {
            let is_rate = |number: &&Value| number["flow"] == run && number["what"] == "rate";
            let found = numbers.iter().find(is_rate).unwrap_or_else(|| panic!("no {run}: {numbers:?}"));
            ["model", "kernel"].map(|side| found[side].as_f64().expect("a number"))
        };
        [of("later 1"), of("later 2")]
    });
    for side in [0, 1] {
        for (kept, flushed) in rates[0].iter().zip(&rates[1]) {
            assert!(kept[side] < 0.5 * flushed[side], "{rates:?}");
        }
    }
    for [model, kernel] in rates[0] {
        assert!((0.75..1.33).contains(&(kernel / model)), "{rates:?}");
    }
}
