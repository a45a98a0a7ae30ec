//! Dependencies point one way.

use crate::repository::{self, expect_none};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A crate of the workspace and the others of the workspace that it may name.
struct Allowed {
    name: &'static str,
    always: &'static [&'static str],
    /// Also in its tests, examples and benchmarks.
    in_tests: &'static [&'static str],
}

const fn allowed(
    name: &'static str,
    always: &'static [&'static str],
    in_tests: &'static [&'static str],
) -> Allowed {
    Allowed { name, always, in_tests }
}

const MODEL: &str = "slowpath-model";
const FILES: &str = "slowpath-files";
const BPF: &str = "slowpath-bpf";
const WIRE: &str = "slowpath-wire";
const UAPI: &str = "slowpath-uapi";
pub const PATH: &str = "slowpath-path";
const TCP: &str = "slowpath-tcp";
const KERNELS: &str = "slowpath-kernels";
const SCENARIO: &str = "slowpath-scenario";
const SIMULATOR: &str = "slowpath-simulator";
const DRILL: &str = "slowpath-drill";
const CAPTURE: &str = "slowpath-capture";
pub const LIVE: &str = "slowpath-live";
const RECORDING: &str = "slowpath-recording";
const ANALYSES: &str = "slowpath-analyses";
const REMEDIES: &str = "slowpath-remedies";
pub const VIEWS: &str = "slowpath-views";
pub const RUNS: &str = "slowpath-runs";
pub const LAB: &str = "slowpath-lab";
const PAPERS: &str = "slowpath-papers";
const DOCTOR: &str = "slowpath-doctor";
const TUNE: &str = "slowpath-tune";
const SOCKOPS: &str = "slowpath-sockops";
pub const HTTP: &str = "slowpath-http";
pub const PATHS: &str = "slowpath-paths";
const PROBE: &str = "slowpath-probe";
const COPY: &str = "slowpath-copy";
const FTP: &str = "slowpath-ftp";
const COST: &str = "slowpath-cost";
pub const PROFILE: &str = "slowpath-profile";
const WHATIF: &str = "slowpath-whatif";
const WATCH: &str = "slowpath-watch";
const ANONYMIZE: &str = "slowpath-anonymize";

/// A new crate gets its line here, and a reason in ARCHITECTURE.md.
const CRATES: &[Allowed] = &[
    allowed(MODEL, &[], &[]),
    // Opening and unpacking what nobody vouches for, for all readers of files.
    allowed(FILES, &[], &[]),
    // How BPF objects are built, loaded and read, for those that have one.
    allowed(BPF, &[], &[]),
    // Headers and capture files as bytes, for readers and writers.
    allowed(WIRE, &[MODEL], &[]),
    // Structures of the kernel's API, for crates that query a kernel and for the model that answers like one.
    allowed(UAPI, &[], &[]),
    allowed(PATH, &[MODEL], &[]),
    // Its tests run the kernels that are declared one crate above.
    allowed(TCP, &[MODEL, UAPI], &[KERNELS]),
    allowed(KERNELS, &[MODEL, TCP], &[]),
    allowed(SCENARIO, &[MODEL, PATH, TCP, KERNELS], &[]),
    allowed(SIMULATOR, &[MODEL, WIRE, UAPI, PATH, TCP, KERNELS, SCENARIO], &[]),
    allowed(DRILL, &[MODEL, WIRE, UAPI, TCP, KERNELS], &[]),
    allowed(CAPTURE, &[MODEL, FILES, WIRE], &[]),
    // It writes anew what the reader of captures reads.
    allowed(ANONYMIZE, &[MODEL, WIRE, CAPTURE], &[]),
    allowed(LIVE, &[MODEL, FILES, BPF, UAPI], &[]),
    allowed(RECORDING, &[MODEL, FILES], &[]),
    // Analyses know events only: not even their tests may name where events come from.
    allowed(ANALYSES, &[MODEL], &[]),
    // Its tests compare the handbook's excerpts with the shipped captures.
    allowed(REMEDIES, &[MODEL, ANALYSES], &[CAPTURE]),
    // It fits a scenario to the numbers of a report, and simulates it; who reads the capture is not its matter.
    allowed(WHATIF, &[MODEL, PATH, KERNELS, SCENARIO, SIMULATOR, ANALYSES], &[]),
    // The work of a command between its arguments and its view.
    allowed(
        RUNS,
        &[
            MODEL, FILES, SCENARIO, SIMULATOR, CAPTURE, LIVE, RECORDING, ANALYSES, LAB, KERNELS, DRILL,
            PROBE, PAPERS, COST, PROFILE, REMEDIES, TUNE, SOCKOPS, PATHS, COPY, FTP, WHATIF, ANONYMIZE,
        ],
        &[],
    ),
    allowed(
        VIEWS,
        &[
            MODEL, PATH, KERNELS, SCENARIO, SIMULATOR, DRILL, CAPTURE, RECORDING, ANALYSES, REMEDIES, LIVE,
            DOCTOR, PROBE, LAB, RUNS, PAPERS, COST, PROFILE, TUNE, SOCKOPS, PATHS, COPY, FTP, WHATIF,
            ANONYMIZE,
        ],
        &[],
    ),
    // A screen of what runs reports of this host, in the words of the views; or metrics of it, over HTTP.
    allowed(WATCH, &[MODEL, UAPI, ANALYSES, REMEDIES, LIVE, RUNS, VIEWS, HTTP], &[]),
    // It runs scripts and scenarios on the real kernel, as the model runs them.
    allowed(LAB, &[MODEL, FILES, WIRE, UAPI, PATH, KERNELS, SCENARIO, DRILL, LIVE], &[]),
    // Its experiments are scenarios, and pure like the simulator that runs them; or profiles, whose recording it is
    // given.
    allowed(PAPERS, &[MODEL, KERNELS, SCENARIO, SIMULATOR, ANALYSES, COST], &[]),
    // It examines one host, with the causes, fixes and arithmetic of the advice; its test creates hosts in namespaces.
    allowed(DOCTOR, &[MODEL, UAPI, ANALYSES, REMEDIES], &[LAB]),
    // It applies what doctor or a diagnosis advises; its tests change settings of hosts in namespaces.
    allowed(TUNE, &[MODEL, UAPI, KERNELS, ANALYSES, DOCTOR, REMEDIES], &[LAB]),
    // It tunes connections on this kernel; its tests open them in namespaces, and over an emulated path.
    allowed(SOCKOPS, &[MODEL, BPF], &[LAB]),
    // Servers of commands: where they listen and who may ask. What they answer is the commands' own.
    allowed(HTTP, &[FILES], &[]),
    // It keeps what probe measures and analyses find, and answers with tune's arithmetic.
    allowed(PATHS, &[MODEL, HTTP, ANALYSES, PROBE, TUNE], &[]),
    // It measures an emulated path as it does a real one; its tests create both.
    allowed(PROBE, &[MODEL, UAPI, PATH], &[LAB]),
    // It reports what limited a copy in the words of the analyses; its test copies over the emulated path.
    allowed(COPY, &[MODEL, UAPI, ANALYSES], &[LAB]),
    // It sizes buffers as copy does, and says what bound a transfer as copy does; its tests run servers in namespaces.
    allowed(FTP, &[MODEL, FILES, UAPI, ANALYSES, COPY], &[LAB]),
    // Profiles of CPU time know nothing of packets, nor of who read them.
    allowed(COST, &[], &[]),
    allowed(PROFILE, &[FILES, UAPI, COST], &[]),
    // The lab is for `drill --lab`: a script's expectations can be checked on the kernel too. Its tests write files that are
    // not to be trusted.
    allowed(
        "slowpath",
        &[
            MODEL, PATH, KERNELS, SCENARIO, SIMULATOR, DRILL, CAPTURE, RECORDING, ANALYSES, REMEDIES, RUNS,
            VIEWS, LAB, LIVE, PAPERS, DOCTOR, PROBE, COST, PROFILE, FILES, TUNE, SOCKOPS, PATHS, COPY, FTP,
            WHATIF, WATCH,
        ],
        &[],
    ),
    // It measures what a command predicts, and what a headline says. Its tests compare the statements of whole reports.
    allowed(
        "xtask",
        &[MODEL, PATH, KERNELS, SCENARIO, SIMULATOR, CAPTURE, LIVE, ANALYSES, LAB, RUNS, WHATIF, VIEWS],
        &[WIRE, REMEDIES],
    ),
    // It tries whatever reads what others wrote.
    allowed(
        "slowpath-fuzz",
        &[
            MODEL, WIRE, KERNELS, SCENARIO, DRILL, CAPTURE, RECORDING, ANALYSES, REMEDIES, LIVE, PROBE, COST,
            PROFILE, TUNE, COPY, ANONYMIZE,
        ],
        // For random numbers.
        &[PATH],
    ),
];

/// Crates that neither touch the system nor know the time: the same input gives the same output.
pub const PURE: &[&str] = &[
    MODEL, WIRE, UAPI, PATH, TCP, KERNELS, SCENARIO, SIMULATOR, DRILL, ANALYSES, REMEDIES, VIEWS, PAPERS,
    COST, WHATIF, ANONYMIZE,
];

/// Folders that do not touch the system, in crates that do: what they judge is data.
pub const PURE_PARTS: &[&str] = &[
    "crates/copy/src/account",
    "crates/copy/src/arrivals",
    "crates/copy/src/drs",
    "crates/copy/src/growth",
    "crates/copy/src/hints",
    "crates/copy/src/place",
    "crates/copy/src/protocol",
    "crates/copy/src/report",
    "crates/doctor/src/judge",
    "crates/ftp/src/burst",
    "crates/ftp/src/netrc",
    "crates/ftp/src/offers",
    "crates/ftp/src/place",
    "crates/ftp/src/report",
    "crates/ftp/src/tuning",
    "crates/http/src/access",
    "crates/paths/src/answer",
    "crates/paths/src/entry",
    "crates/paths/src/learned",
    "crates/probe/src/far_end",
    "crates/probe/src/measure",
    "crates/probe/src/near_end",
    "crates/probe/src/protocol",
    "crates/probe/src/simulated",
    "crates/runs/src/diff/caution",
    "crates/runs/src/diff/explain",
    "crates/runs/src/diff/fact",
    "crates/runs/src/diff/pairing",
    "crates/runs/src/diff/seen",
    "crates/runs/src/diff/side",
    "crates/runs/src/diff/time",
    "crates/sockops/src/record",
    "crates/sockops/src/targets",
    "crates/sockops/src/wanted",
    "crates/tune/src/advice",
    "crates/tune/src/gain",
    "crates/tune/src/plan",
    "crates/watch/src/cgroup",
    "crates/watch/src/figures",
    "crates/watch/src/flows",
    "crates/watch/src/host",
    "crates/watch/src/metrics",
    "crates/watch/src/reports",
    "crates/watch/src/screen",
];

/// Packages that reach the system, the clock or randomness.
const REACHING_OUT: &[&str] = &[
    "chrono",
    "crossbeam",
    "getrandom",
    "libc",
    "mio",
    "nix",
    "rand",
    "rayon",
    "rusqlite",
    "rustix",
    "socket2",
    "tempfile",
    "time",
    "tokio",
];

/// The workspace's packages as cargo sees them.
pub fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(repository::root())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo's JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[test]
fn dependencies_point_one_way() {
    let packages = packages();
    let members: Vec<&str> = packages.iter().map(|package| text(&package["name"])).collect();
    let mut wrong = Vec::new();
    for package in &packages {
        let name = text(&package["name"]);
        let Some(allowed) = CRATES.iter().find(|allowed| allowed.name == name) else {
            wrong.push(format!("{name} has no line in {}", file!()));
            continue;
        };
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let on = text(&dependency["name"]);
            let in_tests = text(&dependency["kind"]) == "dev";
            let may = allowed.always.contains(&on) || (in_tests && allowed.in_tests.contains(&on));
            if members.contains(&on) && !may {
                wrong.push(format!("{name} depends on {on}{}", if in_tests { " in its tests" } else { "" }));
            }
        }
    }
    expect_none(&wrong, "a dependency points the wrong way:");
}

#[test]
fn pure_crates_depend_on_no_io_packages() {
    let mut wrong = Vec::new();
    for package in packages().iter().filter(|package| PURE.contains(&text(&package["name"]))) {
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let on = text(&dependency["name"]);
            if dependency["kind"].is_null() && REACHING_OUT.contains(&on) {
                wrong.push(format!("{} depends on {on}", text(&package["name"])));
            }
        }
    }
    expect_none(&wrong, "a pure crate depends on a package that reaches the system:");
}

#[test]
fn every_crate_inherits_lints_and_version_from_the_workspace() {
    let mut wrong = Vec::new();
    for package in packages() {
        let manifest = fs::read_to_string(text(&package["manifest_path"])).expect("a manifest");
        for needed in ["[lints]\nworkspace = true", "version.workspace = true", "license.workspace = true"] {
            if !manifest.contains(needed) {
                wrong.push(format!("{}: {}", text(&package["name"]), needed.replace('\n', " ")));
            }
        }
    }
    expect_none(&wrong, "missing from a crate's Cargo.toml:");
}

/// The folder of a package's sources.
pub fn sources_of(name: &str) -> String {
    let package = packages().into_iter().find(|package| package["name"] == name).expect("a member");
    let manifest = Path::new(text(&package["manifest_path"])).parent().expect("its folder").join("src");
    manifest.strip_prefix(repository::root()).expect("in the repository").display().to_string()
}
